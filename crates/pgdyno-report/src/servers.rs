//! The servers of a run: its own one, those of A and B, or those of several subjects.

use pgdyno_record::{HeldRecord, LoadRecord, RunRecord};

use crate::figure::{Format, Phrase, Source};

/// What is known of the data of one server.
pub struct ServerData<'a> {
    /// Where it stands in `run.json`.
    pub at: String,
    /// Whose it is, to be put behind a title; empty where there is one server.
    pub whose: Phrase,
    /// How its tables were loaded.
    pub load: Option<&'a LoadRecord>,
    /// What it held before and after the runs.
    pub held: Option<&'a HeldRecord>,
}

/// The data of every server, in the order of the record.
pub fn servers<'a>(record: &'a RunRecord, source: &Source) -> Vec<ServerData<'a>> {
    let data = |at: String, whose, load: &'a Option<LoadRecord>, held: &'a Option<HeldRecord>| ServerData {
        at,
        whose,
        load: load.as_ref(),
        held: held.as_ref(),
    };
    let mut all = vec![data(String::new(), Phrase::default(), &record.load, &record.held)];
    for (index, arm) in record.comparison.iter().flat_map(|comparison| comparison.arms.iter().enumerate()) {
        let whose = Phrase::of(if index == 0 { " of A" } else { " of B" });
        all.push(data(format!("/comparison/arms/{index}"), whose, &arm.load, &arm.held));
    }
    for (index, subject) in record.subjects.iter().flat_map(|subjects| subjects.list.iter().enumerate()) {
        let at = format!("/subjects/list/{index}");
        let whose = Phrase::of(" of ").figure(source.figure(format!("{at}/name"), Format::Text));
        all.push(data(at, whose, &subject.load, &subject.held));
    }
    all
}
