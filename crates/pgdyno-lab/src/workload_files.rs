//! What a plan brings of its own, carried out: its setup, its resets, and what the record keeps of both.

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

/// What all SQL of the plan knows of its clients: those of a run and the most of any.
pub fn numbers_of_clients(prepared: &Prepared, clients: u32) -> Vec<Definition> {
    let number = |name: &str, value: u32| Definition { name: name.to_owned(), value: value.to_string() };
    vec![number("clients", clients), number("max_clients", prepared.bench.max_clients())]
}

/// Sets the plan's own tables up, if it has any.
///
/// # Errors
/// The first statement that failed, or that a stop was requested.
pub fn set_up(
    prepared: &Prepared,
    subject: &mut Subject,
    stop: &Stop,
    events: &Events,
) -> Result<Option<SetupDone>, Problem> {
    let Some(setup) = &prepared.material.setup else { return Ok(None) };
    let mut session = subject.session(stop)?;
    let (begin, total) = (Instant::now(), setup.statements());
    let show = &mut |number: u64, label: &str| {
        events.doing(&format!("setting up, {number} of {total}: {}", short(label)));
    };
    let most = prepared.bench.max_clients();
    let statements = step(prepared, &mut session, setup, most, stop, show)?;
    let statements_s = begin.elapsed().as_secs_f64();
    // What it set in its session, or left open, ends with it.
    drop(session);
    let mut session = subject.session(stop)?;
    events.doing("vacuuming");
    let outcome = settle(&mut session, subject.whereabouts(), stop)?;
    let prewarm = match fits_buffers(outcome.size_bytes, subject.largest_buffers_bytes) {
        true => {
            events.doing("reading tables into shared buffers");
            prewarm_own(&mut session, subject.whereabouts())
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
    let more = numbers_of_clients(prepared, clients);
    carry_out(session, steps, StepVariables { automatic, more: &more }, stop, show)
}

/// A statement as the line of events shows it.
fn short(label: &str) -> String {
    let label = redact_sql(label);
    match label.char_indices().nth(SHOWN) {
        Some((cut, _)) => format!("{}…", &label[..cut]),
        None => label,
    }
}

/// Puts the data into the state in which every run of a workload begins, where the workload says how.
///
/// # Errors
/// What could not be carried out.
pub fn reset(
    prepared: &Prepared,
    subject: &mut Subject,
    work: &Work,
    clients: u32,
    stop: &Stop,
    events: &Events,
) -> Result<(), Problem> {
    let Some(reset) = &work.reset else { return Ok(()) };
    // A session of its own: what it sets or leaves open must not reach anything else.
    let mut session = subject.session(stop)?;
    step(prepared, &mut session, reset, clients, stop, &mut |_, _| ())?;
    drop(session);
    subject.wait_for_replication(stop, events)?;
    subject.written_out = None;
    subject.untouched = Some(ResetState::new(work, reset, clients));
    Ok(())
}

/// Puts the data into their first state before a run, unless they were left so, and looks at what the run will find.
///
/// # Errors
/// What could not be carried out.
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
    let whereabouts = subject.whereabouts();
    let wrong = |error: WireError| error.into_problem("could not look at the plan's own tables");
    data_state(&mut subject.admin, whereabouts).map(Some).map_err(wrong)
}

/// What the record keeps of it before anything is done.
pub fn first_record(material: &WorkloadFiles, workloads: &[WorkloadPlan]) -> Option<WorkloadFilesRecord> {
    if !material.is_own() {
        return None;
    }
    let setup = material.setup.as_ref().map(|setup| SetupRecord {
        texts: setup.texts.iter().map(text).collect(),
        variables: variables(&setup.definitions),
    });
    let own = material.work.iter().zip(workloads).filter(|(work, _)| work.is_own());
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
