//! The subjects' part of the record during the run.

use pgdyno_analysis::compare::{LoadedData, Side, compare_at_one_server, compare_sides};
use pgdyno_core::{
    facts::{Choice, is_private_setting},
    problem::Problem,
};
use pgdyno_record::{LoadRecord, RunRecord, SubjectRecord};
use pgdyno_rows::load::Set;

use crate::{Job, SubjectJob, fill::Filled, prepared::Prepared, recording::Recording, subject::Subject};

/// Changes the record of every subject at a server of the job.
pub fn set_at(recording: &mut Recording, job: &Job, server: usize, mut set: impl FnMut(&mut SubjectRecord)) {
    for (place, _) in job.subjects_at(server) {
        recording.record.subjects.get_mut(place).into_iter().for_each(&mut set);
    }
}

/// Records what was loaded into a server.
pub fn keep(record: &mut SubjectRecord, filled: &Filled) {
    match filled {
        Filled::Loaded(loaded) => record.load = Some((**loaded).clone()),
        Filled::Own(done) => record.setup = Some(done.clone()),
        Filled::All(tier) => record.server.iter_mut().for_each(|server| server.durability = *tier),
    }
}

/// Records the servers, and how they differ from the server of the first subject.
///
/// # Errors
/// The record could not be written.
pub fn set_servers(
    recording: &mut Recording,
    job: &Job,
    prepared: &Prepared,
    servers: &[Subject],
) -> Result<(), Problem> {
    for (at, server) in servers.iter().enumerate() {
        let public = server.choices.iter().filter(|choice| !is_private_setting(&choice.name));
        let choices: Vec<_> = public.cloned().collect();
        let connection = prepared.existing(at).map(|reached| reached.connection.clone());
        let storage = prepared.storage_elsewhere(server.storage());
        set_at(recording, job, at, |record| {
            record.server = Some(server.facts.clone());
            record.bundle_pinned = server.bundle_pinned;
            record.own_server = server.own_name().map(str::to_owned);
            record.choices.clone_from(&choices);
            record.connection.clone_from(&connection);
            record.storage.clone_from(&storage);
        });
    }
    share_choices(&mut recording.record);
    judge(recording, job, prepared);
    recording.show()
}

/// Whether a server's data is on another file system than the run's `storage`.
pub fn is_elsewhere(recording: &Recording, job: &Job, server: usize) -> bool {
    let mut records = job.subjects_at(server).filter_map(|(place, _)| recording.record.subjects.get(place));
    records.any(|record| record.storage.is_some())
}

/// Moves choices that are identical for all subjects to the choices of the run.
fn share_choices(record: &mut RunRecord) {
    let same = |one: &Choice, other: &Choice| (&one.name, &one.value) == (&other.name, &other.value);
    for subject in &mut record.subjects {
        subject.choices.retain(|choice| !record.choices.iter().any(|known| same(known, choice)));
    }
    let Some((first, others)) = record.subjects.split_first() else { return };
    let everywhere = |choice: &&Choice| {
        others.iter().all(|subject| subject.choices.iter().any(|other| same(other, choice)))
    };
    let shared: Vec<_> = first.choices.iter().filter(everywhere).cloned().collect();
    for subject in &mut record.subjects {
        subject.choices.retain(|choice| !shared.iter().any(|known| same(known, choice)));
    }
    record.choices.extend(shared);
}

/// Judges again, from the record so far, whether each subject is comparable with the first.
pub fn judge(recording: &mut Recording, job: &Job, prepared: &Prepared) {
    let records = &recording.record.subjects;
    let Some(first) = records.first() else { return };
    let setup = recording.record.material.as_ref().and_then(|own| own.setup.as_ref());
    let texts: Vec<_> = setup.iter().flat_map(|setup| &setup.texts).map(|text| text.name.as_str()).collect();
    let own = texts.join(", ");
    let reference = side(first, job.subjects[0].server, &own, prepared);
    let of = |(record, subject): (&SubjectRecord, &SubjectJob)| {
        let other = side(record, subject.server, &own, prepared);
        match job.has_one_server() {
            true => compare_at_one_server(&reference, &other, &subject.asked),
            false => compare_sides(&reference, &other, &subject.asked),
        }
    };
    let judged: Vec<_> = records.iter().zip(&job.subjects).skip(1).map(of).collect();
    for (record, (comparable, differences)) in recording.record.subjects.iter_mut().skip(1).zip(judged) {
        (record.comparable, record.differences) = (Some(comparable), differences);
    }
}

/// Facts of a subject that decide whether it is comparable; `own` names the SQL that set up its tables.
fn side<'a>(of: &'a SubjectRecord, server: Option<usize>, own: &str, prepared: &'a Prepared) -> Side<'a> {
    let loaded = of.load.as_ref();
    let setup = of.setup.as_ref();
    let is_loaded = loaded.is_some() || setup.is_some();
    let copy = loaded.map(LoadRecord::words);
    let sql = setup.map(|done| format!("{} statements of {own}, {} tables", done.statements, done.tables));
    let prewarmed = [loaded.map(|load| load.prewarm.is_some()), setup.map(|done| done.prewarm.is_some())];
    // A setup records the size of all tables except TPC-B's.
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
        connection: of.connection_facts(),
        storage: prepared.storage_of(of.server.as_ref(), of.storage.as_ref()),
        data,
        clients: Some(prepared.bench.max_clients()),
        processors: server.and_then(|server| prepared.cpus_of(server)),
        chosen: &of.choices,
    }
}
