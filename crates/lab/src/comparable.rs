//! Whether the subjects of a run are comparable.

use std::collections::BTreeMap;

use pgdyno_analysis::compare::{Asked, LoadedData, Side, compare_at_one_server, compare_sides};
use pgdyno_core::{facts::SESSION, host::Storage};
use pgdyno_record::{LoadRecord, LoadTerms, RunRecord, SubjectRecord};
use pgdyno_rows::load::{LoadRequest, Set};

use crate::{Job, Prepared, SubjectJob};

/// Name of the load's option that `LoadedData::load` has in words.
const METHOD: &str = "method";

/// Judges again, from the record so far, whether each subject is comparable with the first.
pub fn judge(job: &Job, prepared: &Prepared, record: &mut RunRecord) {
    let records = &record.subjects;
    let Some(first) = records.first() else { return };
    let setup = record.material.as_ref().and_then(|own| own.setup.as_ref());
    let texts: Vec<_> = setup.iter().flat_map(|setup| &setup.texts).map(|text| text.name.as_str()).collect();
    let own = texts.join(", ");
    let reference = side(first, &job.subjects[0], &own, prepared);
    let of = |(record, subject): (&SubjectRecord, &SubjectJob)| {
        let other = side(record, subject, &own, prepared);
        match job.has_one_server() {
            true => compare_at_one_server(&reference, &other, &asked(first, record, subject)),
            false => compare_sides(&reference, &other, &asked(first, record, subject)),
        }
    };
    let judged: Vec<_> = records.iter().zip(&job.subjects).skip(1).map(of).collect();
    for (record, (comparable, differences)) in record.subjects.iter_mut().skip(1).zip(judged) {
        (record.comparable, record.differences) = (Some(comparable), differences);
    }
}

/// Requested differences of a subject from the first, with the settings that connection strings request for sessions.
fn asked(first: &SubjectRecord, other: &SubjectRecord, subject: &SubjectJob) -> Asked {
    let servers = [first, other].into_iter().filter_map(|record| record.server.as_ref());
    let of_sessions = servers.flat_map(|server| &server.settings).filter(|setting| setting.source == SESSION);
    let mut asked = subject.asked.clone();
    asked.settings.extend(of_sessions.map(|setting| setting.name.to_ascii_lowercase()));
    asked
}

/// Facts of a subject that decide whether it is comparable; `own` names the SQL that set up its tables.
fn side<'a>(of: &'a SubjectRecord, subject: &SubjectJob, own: &str, prepared: &'a Prepared) -> Side<'a> {
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
        options: loaded.and_then(|load| load.terms.as_ref()).map(options).unwrap_or_default(),
        in_buffers: prewarmed.into_iter().flatten().all(|is| is),
        size_bytes: sizes.into_iter().flatten().sum(),
        accounts: loaded.and_then(|load| load.accounts.clone()),
    });
    Side {
        server: of.server.as_ref(),
        connection: of.connection_facts(),
        storage: storage(of, prepared),
        data,
        clients: Some(subject.clients.unwrap_or_else(|| prepared.bench.max_clients())),
        processors: subject.server.and_then(|server| cpus(server, prepared)),
        chosen: &of.choices,
    }
}

/// The options of a load with their values as words, but for the method.
fn options(of: &LoadTerms) -> BTreeMap<String, String> {
    let all = LoadRequest { jobs: Some(of.streams), ..of.options.clone() }.by_name();
    let others = all.into_iter().filter(|(name, _)| name != METHOD);
    others.map(|(name, value)| (name, value.unwrap_or_else(|| "yes".to_owned()))).collect()
}

/// Storage under a subject's data; `None` if its server does not reveal its data directory.
fn storage<'a>(of: &'a SubjectRecord, prepared: &'a Prepared) -> Option<&'a Storage> {
    of.server.as_ref()?.data_directory.as_ref()?;
    of.storage.as_ref().or(prepared.storage.as_ref())
}

/// CPUs that a server of the job may use; `None` on another machine.
fn cpus(server: usize, prepared: &Prepared) -> Option<u32> {
    let all = prepared.host.allowed_cpus().len() as u32;
    let own = &prepared.bench.cpus.server;
    match &prepared.existing[server] {
        Some(existing) => existing.local.then_some(all),
        None if own.is_empty() => Some(all),
        None => Some(own.len() as u32),
    }
}
