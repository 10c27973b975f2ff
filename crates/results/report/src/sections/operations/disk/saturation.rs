//! Throughput and latency by operations in flight.

use pgdyno_core::disk::io::{Saturation, SaturationPoint};
use pgdyno_document::{
    block::{Block, Column, Row, Table, Tone},
    figure::Format::{BytesEachSecond, Count, Latency, Rate, Text},
    phrase::{Phrase, maybe, phrase},
};

use super::io::{end, notes};
use crate::source::Place;

/// The knee, and what it means for PostgreSQL.
pub(super) fn sentence(at: &Place<'_>, of: &Saturation) -> Phrase {
    let best = best(of).map(|index| at.at("curve").at(index));
    let most = best.map_or_else(Phrase::default, |point| {
        phrase![" gives at most ", point.figure("rate_per_s", Rate), " operations/s"]
    });
    let knee = match of.knee {
        Some(_) => maybe(", saturated from ", at.figure("knee", Count), " in flight on"),
        None => phrase![", and no saturation was reached"],
    };
    let concurrency =
        maybe("; effective_io_concurrency = ", at.figure("effective_io_concurrency", Count), "");
    phrase![at.figure("pattern/name", Text), most, knee, concurrency, "."]
}

fn best(of: &Saturation) -> Option<usize> {
    let each = of.curve.iter().enumerate();
    each.max_by(|a, b| a.1.rate_per_s.total_cmp(&b.1.rate_per_s)).map(|(index, _)| index)
}

pub(super) fn blocks(at: &Place<'_>, of: &Saturation) -> Vec<Block> {
    let columns = ["in flight", "jobs", "depth", "operations/s", "per second", "mean", "p99"];
    let columns = columns.map(Column::number).into();
    let row = |(index, point): (usize, &SaturationPoint)| {
        let own = at.at("curve").at(index);
        Row::new(
            of.knee == Some(point.in_flight),
            [
                own.figure("in_flight", Count).into(),
                own.figure("jobs", Count).into(),
                own.figure("depth", Count).into(),
                own.figure("rate_per_s", Rate).into(),
                own.figure("bytes_per_s", BytesEachSecond).into(),
                own.figure("latency_ns_mean", Latency).into(),
                own.figure("latency_ns_p99", Latency).into(),
            ],
        )
    };
    let table = Table::new(columns, of.curve.iter().enumerate().map(row).collect());
    let warnings = notes(&of.notes).into_iter().chain(end(&of.ended));
    let warnings = Block::prose(Tone::Warning, warnings.collect());
    [Block::text(sentence(at, of)), Block::Table(table)].into_iter().chain(warnings).collect()
}
