//! Executes the files of a plan: its setup and its resets; and their entries in the record.

use std::{collections::BTreeMap, time::Instant};

use pgdyno_core::{measure::DataState, problem::Problem, stop::Stop};
use pgdyno_plan::{SqlText, Steps, Work, WorkloadFiles, WorkloadPlan};
use pgdyno_postgres::load::{StepVariables, carry_out, data_state, prewarm_own, settle};
use pgdyno_record::{
    SetupDone, SetupRecord, TextRecord, WeightedText, WorkloadFilesRecord, WorkloadRecord, redact_sql,
};
use pgdyno_script::{Automatic, Definition};
use pgdyno_wire::{Session, WireError};
use sha2::{Digest, Sha256};

use crate::{
    Events, Prepared,
    load::{fits_buffers, prewarm_record},
    reset_state::ResetState,
    subject::Subject,
};

/// Most characters of a statement that are shown while it runs.
const SHOWN: usize = 48;

/// Variables with the client counts for all SQL of the plan: of this run, and the highest.
pub fn client_count_variables(prepared: &Prepared, clients: u32) -> Vec<Definition> {
    let number = |name: &str, value: u32| Definition { name: name.to_owned(), value: value.to_string() };
    vec![number("clients", clients), number("max_clients", prepared.bench.max_clients())]
}

/// Sets up the plan's own tables, if it has any.
///
/// # Errors
/// The first statement that failed, or that a stop was requested.
pub fn set_up(
    prepared: &Prepared,
    subject: &mut Subject,
    stop: &Stop,
    events: &Events,
) -> Result<Option<SetupDone>, Problem> {
    let Some(setup) = &prepared.workload_files.setup else { return Ok(None) };
    let mut session = subject.session(stop)?;
    let (begin, total) = (Instant::now(), setup.statements());
    let show = &mut |number: u64, label: &str| {
        events.doing(&format!("setting up, {number} of {total}: {}", short(label)));
    };
    let most = prepared.bench.max_clients();
    let statements = step(prepared, &mut session, setup, most, stop, show)?;
    let statements_s = begin.elapsed().as_secs_f64();
    // Ends the session with its settings and open transactions.
    drop(session);
    let mut session = subject.session(stop)?;
    events.doing("vacuuming");
    let outcome = settle(&mut session, subject.table_scope(), stop)?;
    let prewarm = match fits_buffers(outcome.size_bytes, subject.largest_buffers_bytes) {
        true => {
            events.doing("reading tables into shared buffers");
            prewarm_own(&mut session, subject.table_scope())
                .map_err(|error| error.into_problem("could not read the tables into shared buffers"))?
        }
        false => None,
    };
    Ok(Some(SetupDone {
        statements,
        statements_s,
        vacuum_s: outcome.vacuum_s,
        tables: outcome.tables,
        size_bytes: outcome.size_bytes,
        prewarm: prewarm.map(prewarm_record),
    }))
}

fn step(
    prepared: &Prepared,
    session: &mut Session,
    steps: &Steps,
    clients: u32,
    stop: &Stop,
    show: &mut dyn FnMut(u64, &str),
) -> Result<u64, Problem> {
    let seed = prepared.seed.cast_signed();
    let scale = prepared.bench.scale.unwrap_or(1) as i64;
    let automatic = Automatic { scale, client_id: 0, random_seed: seed, default_seed: seed };
    let more = client_count_variables(prepared, clients);
    carry_out(session, steps, StepVariables { automatic, more: &more }, stop, show)
}

/// A statement, shortened for the line of events.
fn short(label: &str) -> String {
    let label = redact_sql(label);
    match label.char_indices().nth(SHOWN) {
        Some((cut, _)) => format!("{}…", &label[..cut]),
        None => label,
    }
}

/// Restores the data that every run of a workload starts from, if the workload has a reset.
///
/// # Errors
/// What could not be executed.
pub fn reset(
    prepared: &Prepared,
    subject: &mut Subject,
    work: &Work,
    clients: u32,
    stop: &Stop,
    events: &Events,
) -> Result<(), Problem> {
    let Some(reset) = &work.reset else { return Ok(()) };
    // A separate session: its settings and open transactions must not affect anything else.
    let mut session = subject.session(stop)?;
    step(prepared, &mut session, reset, clients, stop, &mut |_, _| ())?;
    drop(session);
    subject.wait_for_replication(stop, events)?;
    subject.written_out = None;
    subject.untouched = Some(ResetState::new(work, reset, clients));
    Ok(())
}

/// Restores the data before a run, unless it is untouched, and inspects what the run will find.
///
/// # Errors
/// What could not be executed.
pub fn before_run(
    prepared: &Prepared,
    subject: &mut Subject,
    work: &Work,
    clients: u32,
    stop: &Stop,
    events: &Events,
) -> Result<Option<DataState>, Problem> {
    let wanted = work.reset.as_ref().map(|reset| ResetState::new(work, reset, clients));
    if subject.untouched != wanted {
        reset(prepared, subject, work, clients, stop, events)?;
    }
    subject.untouched = None;
    if !prepared.has_own_tables() {
        return Ok(None);
    }
    let table_scope = subject.table_scope();
    let wrong = |error: WireError| error.into_problem("could not inspect the plan's own tables");
    data_state(&mut subject.admin, table_scope).map(Some).map_err(wrong)
}

/// The record of the files before anything runs.
pub fn first_record(files: &WorkloadFiles, workloads: &[WorkloadPlan]) -> Option<WorkloadFilesRecord> {
    if !files.is_own() {
        return None;
    }
    let setup = files.setup.as_ref().map(|setup| SetupRecord {
        texts: setup.texts.iter().map(text).collect(),
        variables: variables(&setup.definitions),
    });
    let own = files.work.iter().zip(workloads).filter(|(work, _)| work.is_own());
    let workloads = own.map(|(work, plan)| WorkloadRecord {
        name: work.name.clone(),
        protocol: plan.protocol.name().to_owned(),
        scripts: work.texts.iter().zip(&work.weights).map(weighted).collect(),
        variables: variables(&work.definitions),
        reset: work.reset.as_ref().and_then(|reset| reset.texts.first()).map(text),
    });
    Some(WorkloadFilesRecord { setup, workloads: workloads.collect() })
}

fn weighted((of, &weight): (&SqlText, &u32)) -> WeightedText {
    WeightedText { weight, text: text(of) }
}

fn variables(definitions: &[Definition]) -> BTreeMap<String, String> {
    definitions.iter().map(|one| (one.name.clone(), redact_sql(&one.value))).collect()
}

fn text(of: &SqlText) -> TextRecord {
    let hash = Sha256::digest(of.text.as_bytes());
    TextRecord {
        name: of.name.clone(),
        sha256: hash.iter().map(|byte| format!("{byte:02x}")).collect(),
        text: redact_sql(&of.text),
    }
}
