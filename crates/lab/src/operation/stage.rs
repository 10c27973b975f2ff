//! Operations as stages of a plan.

use pgdyno_core::{
    probe::{Prewarm, Probe},
    problem::Problem,
    stop::Stop,
    units,
};
use pgdyno_plan::{Action, StagePlan};
use pgdyno_postgres::load::BulkLoad;
use pgdyno_postgres::probe::{
    self as probe, CountRequest, DdlRequest, PartitionsRequest, PrewarmProgress, PrewarmRequest, TouchRequest,
};
use pgdyno_record::Found;
use pgdyno_rows::load::LoadPlan;
use pgdyno_wire::ConnectOptions;

use crate::{Events, records};

/// Most sessions of an operation.
const MOST_SESSIONS: u64 = 8;
/// How long a statement waits for its lock: nobody else should use the tables.
const LOCK_TIMEOUT_MS: u64 = 2_000;

/// The tables that operations of a plan are about.
#[derive(Debug, Clone, Copy)]
pub struct Tables<'a> {
    /// Finds them.
    pub options: &'a ConnectOptions,
    /// How they were loaded in this run; `None` if they were there, or are the plan's own.
    pub load: Option<&'a LoadPlan>,
    /// Whether they were made for this run, so that DDL may be timed on them.
    pub are_ours: bool,
    /// Whether the database was made for this run, so that extensions may be created in it.
    pub in_own_database: bool,
    /// CPUs that this process may use.
    pub cpus: u64,
}

/// Executes an operation of a plan. Returns what it found, and whether what it checks holds.
///
/// # Errors
/// A query failed, a table does not exist, or a stop is requested.
pub fn carry_out(
    stage: &StagePlan,
    tables: &Tables<'_>,
    stop: &Stop,
    events: &Events,
) -> Result<(Found, Option<bool>), Problem> {
    let report = &mut |what: &str| events.doing(&units::printable(what));
    let Tables { options, .. } = tables;
    let names = names(stage, tables.load)?;
    let probed = |found: Probe| (Found::Probe(found), None);
    match stage.action {
        Action::Verify => verify(tables, stop, events),
        Action::Prewarm => {
            let request = prewarm_request(stage, tables);
            let warmed = prewarm(options, &request, stop, &mut || events)?;
            let passed = warmed.is_complete(request.anyway);
            Ok((Found::Prewarm(warmed), Some(passed)))
        }
        Action::ProbeDdl => {
            let request = ddl_request(stage, tables, names);
            probe::ddl(options, &request, stop, report).map(Probe::Ddl).map(probed)
        }
        Action::ProbeCount => {
            let (by, workers, repeats) = (stage.by(), stage.parallel(), stage.repeats());
            let request = CountRequest { tables: names, by, workers, repeats };
            probe::count(options, &request, stop, report).map(Probe::Count).map(probed)
        }
        Action::ProbeFirstTouch => {
            let (limit, repeats, cold) = (stage.limit(), stage.repeats(), stage.cold.unwrap_or(false));
            let request = TouchRequest { tables: names, limit, repeats, cold };
            probe::first_touch(options, &request, stop, report).map(Probe::FirstTouch).map(probed)
        }
        Action::ProbePartitions => {
            let request = PartitionsRequest { tables: names, repeats: stage.repeats() };
            probe::partitions(options, &request, stop, report).map(Probe::Partitions).map(probed)
        }
        Action::ProbeDepth => {
            let may_create = stage.create_extension.unwrap_or(tables.in_own_database);
            probe::depth(options, &names, may_create, stop).map(Probe::Depth).map(probed)
        }
        Action::ProbeSizes => probe::sizes(options, &names, stop).map(Probe::Sizes).map(probed),
        Action::Load
        | Action::Drive
        | Action::DiskSync
        | Action::DiskIo
        | Action::DiskCosts
        | Action::DiskClock => {
            Err(Problem::wrong_request(format!("`{}` is no operation on tables", stage.action.name())))
        }
    }
}

fn ddl_request(stage: &StagePlan, tables: &Tables<'_>, names: Vec<String>) -> DdlRequest {
    DdlRequest {
        tables: names,
        may_change: tables.are_ours,
        // Others may have tables in a database that is not that of the run.
        are_ours: tables.are_ours && (tables.in_own_database || stage.tables.is_empty()),
        commit: stage.commit.unwrap_or(false),
        sessions: stage.sessions.unwrap_or(1),
        rewrite: stage.rewrite.unwrap_or(false),
        repeats: stage.repeats(),
        lock_timeout_ms: LOCK_TIMEOUT_MS,
    }
}

/// Reads tables into shared buffers as a stage requests it, unrecorded.
///
/// # Errors
/// As [`carry_out`].
pub fn prewarm_again(
    stage: &StagePlan,
    tables: &Tables<'_>,
    stop: &Stop,
    events: &Events,
) -> Result<(), Problem> {
    prewarm(tables.options, &prewarm_request(stage, tables), stop, &mut || events).map(drop)
}

/// Reads tables into shared buffers; `events` is asked for the sinks once the tables are known.
///
/// # Errors
/// A query failed, the tables do not fit, or a stop is requested.
pub fn prewarm<'a>(
    options: &ConnectOptions,
    request: &PrewarmRequest,
    stop: &Stop,
    events: &mut dyn FnMut() -> &'a Events,
) -> Result<Prewarm, Problem> {
    probe::prewarm(options, request, stop, &mut |at| match at {
        PrewarmProgress::Reading(pages) => events().counting("reading", pages, "pages"),
        PrewarmProgress::Pages(pages) => events().counted(pages),
        PrewarmProgress::Looking => events().doing("checking which pages are in shared buffers"),
    })
}

fn prewarm_request(stage: &StagePlan, tables: &Tables<'_>) -> PrewarmRequest {
    PrewarmRequest {
        tables: stage.tables.clone(),
        create_extension: stage.create_extension.unwrap_or(tables.in_own_database),
        anyway: stage.anyway.unwrap_or(false),
        jobs: tables.cpus.clamp(1, MOST_SESSIONS),
    }
}

/// The tables that a stage names; for probes that need one, the largest that was loaded.
fn names(stage: &StagePlan, load: Option<&LoadPlan>) -> Result<Vec<String>, Problem> {
    let needs_one = !matches!(stage.action, Action::Prewarm | Action::ProbeDepth | Action::ProbeSizes);
    match load {
        _ if !stage.tables.is_empty() || !needs_one => Ok(stage.tables.clone()),
        Some(load) => Ok(vec![load.set.main().generator().table().to_owned()]),
        None => {
            let what = format!("could not execute the stage `{}`: it names no table", stage.action.name());
            Err(Problem::wrong_request(what).hint("add tables = [\"NAME\"] to it"))
        }
    }
}

fn verify(tables: &Tables<'_>, stop: &Stop, events: &Events) -> Result<(Found, Option<bool>), Problem> {
    events.doing("comparing counts and checksums");
    let mut bulk = BulkLoad::new(tables.options, tables.cpus.clamp(1, MOST_SESSIONS), stop)?;
    let (set, proof) = match tables.load {
        Some(plan) => (plan.set, bulk.verify_against(plan)?),
        None => bulk.verify(None).map(|(plan, proof)| (plan.set, proof))?,
    };
    let record = records::verification(set, &proof, None);
    let passed = record.passed();
    Ok((Found::Verification(record), Some(passed)))
}
