//! The subjects' part of the record while it comes about.

use pgdyno_analysis::compare::{Comparable, LoadedData, Side, levels};
use pgdyno_core::{
    facts::{Choice, is_private_setting},
    problem::Problem,
};
use pgdyno_record::{HeldRecord, LoadRecord, RunRecord, SubjectRecord, SubjectsRecord};
use pgdyno_rows::load::Set;

use super::{MARGIN, Subjects};
use crate::stages::{prepare::Prepared, recording::Recording, subject::Subject};

/// What is known before anything is measured.
pub fn first_record(subjects: &Subjects) -> SubjectsRecord {
    let one = |subject: &super::SubjectJob| SubjectRecord {
        name: subject.name.clone(),
        said: subject.said.clone(),
        ..SubjectRecord::default()
    };
    let list = subjects.list.iter().map(one).collect();
    SubjectsRecord { margin: MARGIN, list, judged: 0, levels: Vec::new() }
}

/// Changes the record of one subject.
pub fn set(recording: &mut Recording, at: usize, set: impl FnOnce(&mut SubjectRecord)) {
    if let Some(record) = recording.record.subjects.as_mut().and_then(|subjects| subjects.list.get_mut(at)) {
        set(record);
    }
}

/// Changes what the record says of sizes of a subject.
pub fn set_held(recording: &mut Recording, at: usize, change: &dyn Fn(&mut Option<HeldRecord>)) {
    set(recording, at, |record| change(&mut record.held));
}

/// Records the servers, and in what they differ from the first.
///
/// # Errors
/// Where it cannot be written.
pub fn set_servers(
    recording: &mut Recording,
    subjects: &Subjects,
    prepared: &Prepared,
    servers: &[Subject],
) -> Result<(), Problem> {
    recording.subjects_pinned = servers.iter().map(|server| server.bundle_pinned).collect();
    for (at, server) in servers.iter().enumerate() {
        let public = server.choices.iter().filter(|choice| !is_private_setting(&choice.name));
        let choices: Vec<_> = public.cloned().collect();
        let connection = prepared.reached(at).map(|reached| reached.connection.clone());
        let storage = prepared.storage_elsewhere(server);
        set(recording, at, |record| {
            record.server = Some(server.facts.clone());
            record.choices = choices;
            record.connection = connection;
            record.storage = storage;
        });
    }
    tell_once(&mut recording.record);
    judge(recording, subjects, prepared);
    recording.show()
}

/// Whether the data of a subject are on another file system than the run's `storage`.
pub fn is_elsewhere(recording: &Recording, at: usize) -> bool {
    let record = recording.record.subjects.as_ref().and_then(|subjects| subjects.list.get(at));
    record.is_some_and(|record| record.storage.is_some())
}

/// What was chosen for all subjects alike stands once among the choices of the run.
fn tell_once(record: &mut RunRecord) {
    let Some(subjects) = &mut record.subjects else { return };
    let same = |one: &Choice, other: &Choice| (&one.name, &one.value) == (&other.name, &other.value);
    for subject in &mut subjects.list {
        subject.choices.retain(|choice| !record.choices.iter().any(|known| same(known, choice)));
    }
    let Some((first, others)) = subjects.list.split_first() else { return };
    let everywhere = |choice: &&Choice| {
        others.iter().all(|subject| subject.choices.iter().any(|other| same(other, choice)))
    };
    let shared: Vec<_> = first.choices.iter().filter(everywhere).cloned().collect();
    for subject in &mut subjects.list {
        subject.choices.retain(|choice| !shared.iter().any(|known| same(known, choice)));
    }
    record.choices.extend(shared);
}

/// Says anew whether each can be compared with the first, by what is in the record until now.
pub fn judge(recording: &mut Recording, subjects: &Subjects, prepared: &Prepared) {
    let Some(record) = &recording.record.subjects else { return };
    let Some(first) = record.list.first() else { return };
    let setup = recording.record.material.as_ref().and_then(|material| material.setup.as_ref());
    let texts: Vec<_> = setup.iter().flat_map(|setup| &setup.texts).map(|text| text.name.as_str()).collect();
    let own = texts.join(", ");
    let reference = side(first, 0, &own, prepared);
    let judged: Vec<_> = record
        .list
        .iter()
        .zip(&subjects.list)
        .enumerate()
        .skip(1)
        .map(|(at, (of, job))| Comparable::judge(&reference, &side(of, at, &own, prepared), &job.asked))
        .collect();
    for (at, (comparable, differences)) in judged.into_iter().enumerate() {
        set(recording, at + 1, |record| {
            (record.comparable, record.differences) = (Some(comparable), differences);
        });
    }
}

/// What is known of a subject; `own` names the SQL that set its tables up.
fn side<'a>(of: &'a SubjectRecord, at: usize, own: &str, prepared: &'a Prepared) -> Side<'a> {
    let loaded = of.load.as_ref();
    let setup = of.setup.as_ref();
    let is_loaded = loaded.is_some() || setup.is_some();
    let copy = loaded.map(LoadRecord::words);
    let sql = setup.map(|done| format!("{} statements of {own}, {} tables", done.statements, done.tables));
    let prewarmed = [loaded.map(|load| load.prewarm.is_some()), setup.map(|done| done.prewarm.is_some())];
    // What a setup leaves is counted with all tables but those of TPC-B.
    let is_counted = |load: &&LoadRecord| {
        setup.is_some() && load.terms.as_ref().is_some_and(|terms| terms.set != Set::Tpcb)
    };
    let sizes = [
        loaded.filter(|load| !is_counted(load)).map(|load| load.size_bytes),
        setup.map(|done| done.size_bytes),
    ];
    let data = is_loaded.then(|| LoadedData {
        scale: loaded.and(prepared.bench.scale).unwrap_or(0),
        rows: loaded.map_or(0, |load| load.rows),
        load: [copy, sql].into_iter().flatten().collect::<Vec<_>>().join("; "),
        in_buffers: prewarmed.into_iter().flatten().all(|is| is),
        size_bytes: sizes.into_iter().flatten().sum(),
        accounts: loaded.and_then(|load| load.accounts.clone()),
    });
    Side {
        server: of.server.as_ref(),
        connection: of.way(),
        storage: prepared.storage_of(of.server.as_ref(), of.storage.as_ref()),
        data,
        clients: Some(prepared.bench.max_clients()),
        processors: prepared.processors_of(at),
        chosen: &of.choices,
    }
}

/// Says anew what all runs come to, where there are several subjects.
pub fn conclude(record: &mut RunRecord) {
    if let Some(subjects) = &mut record.subjects {
        let found = levels(&record.runs, &subjects.names(), subjects.margin);
        subjects.judged = found.iter().filter(|level| level.result.is_some()).count() as u32;
        subjects.levels = found;
    }
}
