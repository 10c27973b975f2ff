//! What is declared of storage, next to what was measured, and what transactions cost by declared prices.

use pgdyno_core::disk::{CellCost, NominalShare, NominalUnit};
use pgdyno_document::{
    block::{Block, Column, Fact, Row, Section, Table},
    figure::Format::{BytesEachSecond, Count, Number, Percent, Rate, Text},
    phrase::{Phrase, Piece, joined, maybe, phrase},
};

use crate::{run::Run, source::Place};

/// Most rows of costs: one for every cell of a long sweep would say little more.
const MOST_COSTS: usize = 30;

/// What is declared, what was measured of it, and costs; `None` if nothing is declared.
pub fn section(run: &Run<'_>) -> Option<Section> {
    let record = run.record;
    let rows = |list: &str, count: usize, row: &dyn Fn(usize, &Place<'_>) -> Row| -> Vec<Row> {
        (0..count).map(|index| row(index, &run.root().at(list).at(index))).collect()
    };
    let shares = rows("nominal_shares", record.nominal_shares.len(), &|index, at| {
        share(at, &record.nominal_shares[index])
    });
    let costs =
        rows("costs", record.costs.len().min(MOST_COSTS), &|index, at| cost(at, &record.costs[index]));
    let said = "Declared by the user, not measured. The rate of all disks, at most the limit of the machine, is shown \
                next to the highest measured rate.";
    let facts = (0..record.declared.len()).map(|index| fact(&run.root().at("declared").at(index))).collect();
    let tables = [(share_columns(), shares), (cost_columns(), costs)];
    let tables = tables.into_iter().filter(|(_, rows)| !rows.is_empty());
    let tables = tables.map(|(columns, rows)| Block::Table(Table::new(columns, rows)));
    let blocks = [Block::text(said), Block::facts(facts)].into_iter().chain(tables);
    let blocks = blocks.chain(price_note(&record.costs)).collect();
    (!record.declared.is_empty()).then(|| Section::new("Declared storage", blocks))
}

/// `disks: 2 of 50,000 IOPS and 350 MiB/s each`, and so on.
fn fact(at: &Place<'_>) -> Fact {
    let rates = [
        maybe("", at.figure("iops", Rate), " IOPS"),
        maybe("", at.figure("bytes_per_s", BytesEachSecond), "/s"),
    ];
    let rates = joined(rates.into_iter().filter(|rate| !rate.is_empty()), " and ");
    let each = if rates.is_empty() { rates } else { phrase![" of ", rates, " each"] };
    let disks =
        phrase!["disks: ", at.figure("disks", Count), each, maybe(", in ", at.figure("dir", Text), "")];
    let machine = [
        maybe("machine limit ", at.figure("instance_iops", Rate), " IOPS"),
        maybe("machine limit ", at.figure("instance_bytes_per_s", BytesEachSecond), "/s"),
    ];
    let price = maybe("", at.figure("price_per_hour", Number), "");
    let price = match price.is_empty() {
        true => price,
        false => phrase![price, maybe(" ", at.figure("currency", Text), ""), " an hour"],
    };
    let parts = [disks].into_iter().chain(machine).chain([price]);
    Fact::new(at.figure("name", Text), joined(parts.filter(|part| !part.is_empty()), "; "))
}

fn share_columns() -> Vec<Column> {
    let words = ["of", "most by", "per second"].map(Column::words);
    words.into_iter().chain(["declared", "measured", "share"].map(Column::number)).collect()
}

fn share(at: &Place<'_>, of: &NominalShare) -> Row {
    let (format, unit) = match of.unit {
        NominalUnit::Operations => (Rate, "reads and writes"),
        NominalUnit::Bytes => (BytesEachSecond, "bytes"),
    };
    let [name, path, pattern] = ["name", "path", "pattern"].map(|field| at.figure(field, Text));
    let [declared, measured] =
        ["declared_per_s", "measured_per_s"].map(|field| at.figure(field, format).into());
    let most = phrase![pattern, " in ", path];
    let cells = [Phrase::from(name).into(), most.into(), Phrase::from(unit).into(), declared, measured];
    Row::new(false, cells.into_iter().chain([at.figure("share", Percent).into()]))
}

fn cost_columns() -> Vec<Column> {
    let interval: Phrase = Piece::Fixed("95 % interval").into();
    let words = ["cell", "of"].map(Column::words);
    words.into_iter().chain([Column::number("a million transactions"), Column::number(interval)]).collect()
}

fn cost(at: &Place<'_>, of: &CellCost) -> Row {
    let [cell, name] = ["cell", "name"].map(|field| Phrase::from(at.figure(field, Text)).into());
    let price = phrase![at.figure("per_million", Number), maybe(" ", at.figure("currency", Text), "")];
    let range = at.at("per_million_range");
    let interval = match of.per_million_range {
        Some(_) => phrase![range.figure(0, Number), " to ", range.figure(1, Number)],
        None => Phrase::default(),
    };
    Row::new(false, [cell, name, price.into(), interval.into()])
}

/// What a price of transactions assumes.
fn price_note(costs: &[CellCost]) -> Option<Block> {
    let note = "The cost of a million transactions is their share of the declared hourly price, if the server is paid \
                by the hour and always as busy as in the cell.";
    (!costs.is_empty()).then(|| Block::text(note))
}
