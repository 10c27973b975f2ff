//! Operations: loads, comparisons, copies, reading into shared buffers, probes, measurements of storage.

pub mod disk;
mod load;
mod next;
pub mod prewarm;
pub mod probe;
mod shape;
mod touch;
mod verification;

pub use next::next;
use pgdyno_core::probe::Probe;
use pgdyno_document::{
    block::{Fact, Section},
    figure::Format::{Bytes, Count, Rate, Seconds, Text},
    phrase::{Phrase, maybe, phrase},
};
use pgdyno_record::{Found, OperationRecord};

use crate::{run::Run, source::Place};

/// The operations with their places, in execution order.
fn all<'a>(run: &'a Run<'_>) -> impl Iterator<Item = (Place<'a>, &'a OperationRecord)> {
    let operations = run.record.operations.iter().enumerate();
    operations.map(|(index, operation)| (run.root().at(format!("operations/{index}")), operation))
}

/// A section for each operation.
pub fn sections(run: &Run<'_>) -> Vec<Section> {
    let each = all(run).map(|(at, operation)| section(run, &at, operation));
    let disks = all(run).filter_map(|(at, operation)| match &operation.found {
        Found::Disk(of) => Some((at.at("found/disk"), of)),
        _ => None,
    });
    let published = (run.record.published.as_slice(), &run.root().at("published"));
    disk::side_by_side(disks, published).into_iter().chain(each).collect()
}

fn section(run: &Run<'_>, at: &Place<'_>, operation: &OperationRecord) -> Section {
    let found = at.at("found");
    let blocks = match &operation.found {
        Found::Load(of) => load::blocks(&found.at("load"), of),
        Found::Verification(of) => verification::blocks(&found.at("verification"), of),
        Found::Copies(of) => verification::copies(&found.at("copies"), of),
        Found::Prewarm(of) => prewarm::blocks(&found.at("prewarm"), of),
        Found::Probe(of) => probe::blocks(&found.at("probe"), of),
        Found::Disk(of) => disk::blocks(&found.at("disk"), of),
    };
    let place = match &operation.found {
        Found::Disk(of) => disk::place(&found.at("disk"), of),
        _ => Phrase::default(),
    };
    let whose = maybe(" of ", at.figure("subject", Text), "");
    Section::new(phrase![title(&operation.found), place, whose, when(run, operation)], blocks)
}

/// When an operation took place, if its run drove something.
fn when(run: &Run<'_>, operation: &OperationRecord) -> &'static str {
    match run.record.runs.first() {
        None => "",
        Some(first) if operation.start_s < first.start_s => " before the runs",
        Some(_) => " after the runs",
    }
}

fn title(found: &Found) -> &'static str {
    match found {
        Found::Load(_) => "Load",
        Found::Verification(_) => "Verification",
        Found::Copies(_) => "Copies",
        Found::Prewarm(_) => "Shared buffers",
        Found::Probe(Probe::Ddl(_)) => "DDL",
        Found::Probe(Probe::Count(_)) => "Counts",
        Found::Probe(Probe::FirstTouch(_)) => "First touch",
        Found::Probe(Probe::Partitions(_)) => "Cost of partitions",
        Found::Probe(Probe::Depth(_)) => "Depths of indexes",
        Found::Probe(Probe::Sizes(_)) => "Sizes",
        Found::Disk(of) => disk::title(of),
    }
}

/// A sentence for each operation.
pub fn sentences(run: &Run<'_>) -> Vec<Phrase> {
    let several = run.record.subjects.len() > 1;
    let of = |(at, operation): (Place<'_>, &OperationRecord)| {
        let whose = at.figure("subject", Text).filter(|_| several);
        phrase![maybe("", whose, ": "), sentence(&at, operation)]
    };
    all(run).map(of).collect()
}

fn sentence(at: &Place<'_>, operation: &OperationRecord) -> Phrase {
    let found = at.at("found");
    match &operation.found {
        Found::Load(of) => load::sentence(&found.at("load"), of),
        Found::Verification(of) => verification::sentence(&found.at("verification"), of),
        Found::Copies(of) => verification::copied(&found.at("copies"), of),
        Found::Prewarm(of) => prewarm::sentence(&found.at("prewarm"), of),
        Found::Disk(of) => disk::sentence(&found.at("disk"), of),
        Found::Probe(_) => phrase![at.figure("name", Text), " took ", at.figure("duration_s", Seconds), "."],
    }
}

/// The speed of each load.
pub fn cards(run: &Run<'_>) -> Vec<Fact> {
    let loads = all(run).filter(|(_, operation)| matches!(operation.found, Found::Load(_)));
    let card = |(at, _): (Place<'_>, _)| {
        let load = at.at("found/load");
        let rate = phrase![load.figure("rows_per_s", Rate), " rows/s"];
        let remarks = vec![
            phrase![load.figure("rows", Count), " rows"],
            phrase![load.figure("size_bytes", Bytes), " on disk"],
        ];
        Fact { remarks, ..Fact::new(at.figure("name", Text), rate) }
    };
    loads.map(card).collect()
}
