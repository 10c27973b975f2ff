//! What pages cost for the planner.

use pgdyno_core::disk::{costs::DiskCosts, io::PlannerCosts};
use pgdyno_document::{
    block::{Block, Column, Row, Table, Tone},
    figure::Format::{Bytes, Count, Number, Percent},
    phrase::{Phrase, maybe, phrase},
};

use super::{io::end, saturation};
use crate::source::Place;

/// The share of cached pages that PostgreSQL's defaults assume.
const ASSUMED: f64 = 0.9;

/// The costs at the share that PostgreSQL's defaults assume.
pub(super) fn sentence(at: &Place<'_>, of: &DiskCosts) -> Phrase {
    let index = of.costs.iter().position(|costs| costs.cached_share >= ASSUMED);
    let costs = index.map_or_else(
        || phrase!["no costs were measured"],
        |index| {
            let own = at.at("costs").at(index);
            phrase![
                "random_page_cost = ",
                own.figure("random_page_cost", Number),
                interval(&own),
                " with ",
                own.figure("cached_share", Percent),
                " of all pages cached"
            ]
        },
    );
    let concurrency = at.at("saturation").figure("effective_io_concurrency", Count);
    phrase![costs, maybe(", effective_io_concurrency = ", concurrency, ""), "."]
}

fn interval(at: &Place<'_>) -> Phrase {
    let ends = ["random_page_cost_low", "random_page_cost_high"].map(|end| at.figure(end, Number));
    match ends {
        [Some(low), Some(high)] => phrase![" [", Some(low), ", ", Some(high), "]"],
        _ => Phrase::default(),
    }
}

pub(super) fn blocks(at: &Place<'_>, of: &DiskCosts) -> Vec<Block> {
    let names = ["cached", "ms a page in sequence", "ms a random page", "random_page_cost", "interval"];
    let columns = names.map(Column::number).into();
    let row = |(index, _): (usize, &PlannerCosts)| {
        let own = at.at("costs").at(index);
        Row::new(
            false,
            [
                own.figure("cached_share", Percent).into(),
                own.figure("sequential_page_ms", Number).into(),
                own.figure("random_page_ms", Number).into(),
                own.figure("random_page_cost", Number).into(),
                interval(&own).into(),
            ],
        )
    };
    let table = Block::Table(Table::new(columns, of.costs.iter().enumerate().map(row).collect()));
    let unit = phrase![
        "seq_page_cost is the unit, 1. Pages of ",
        at.figure("block_bytes", Bytes),
        " were read by one process in a file of ",
        at.figure("file_bytes", Bytes),
        ". An interval holds for this session."
    ];
    let curve = of.saturation.iter().flat_map(|of| saturation::blocks(&at.at("saturation"), of));
    let ended = Block::prose(Tone::Warning, end(&of.ended).into_iter().collect());
    [table, Block::text(unit)].into_iter().chain(curve).chain(ended).collect()
}
