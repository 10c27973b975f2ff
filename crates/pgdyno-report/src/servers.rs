//! The data of each server of a run.

use pgdyno_record::{HeldRecord, LoadRecord, RunRecord};

use crate::figure::{Format, Phrase, Source};

/// What is known of the data of one subject.
pub struct ServerData<'a> {
    /// Where it stands in `run.json`.
    pub at: String,
    /// Whose it is, to be put behind a title; empty where there is one subject.
    pub whose: Phrase,
    /// How its tables were loaded.
    pub load: Option<&'a LoadRecord>,
    /// What it held before and after the runs.
    pub held: Option<&'a HeldRecord>,
}

/// The data of every subject, in the order of the record.
pub fn servers<'a>(record: &'a RunRecord, source: &Source) -> Vec<ServerData<'a>> {
    let data = |(place, subject): (usize, &'a pgdyno_record::SubjectRecord)| ServerData {
        at: format!("/subjects/{place}"),
        whose: whose(place, record, source),
        load: subject.load.as_ref(),
        held: subject.held.as_ref(),
    };
    record.subjects.iter().enumerate().map(data).collect()
}

/// ` of NAME`; nothing where there is one subject.
pub fn whose(place: usize, record: &RunRecord, source: &Source) -> Phrase {
    match record.subjects.len() {
        0 | 1 => Phrase::default(),
        _ => Phrase::of(" of ").figure(source.figure(format!("/subjects/{place}/name"), Format::Text)),
    }
}
