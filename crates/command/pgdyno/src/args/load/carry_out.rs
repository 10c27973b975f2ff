//! A load from its flags to its result.

use std::process::ExitCode;

use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_lab::operation::{self, LoadTask, On, OperationJob, Operations};
use pgdyno_postgres::load::{BulkLoad, BulkOutcome, Entry, Job, Survey};
use pgdyno_rows::load::{LoadRequest, Set};
use pgdyno_wire::ConnectOptions;

use super::{
    calibrate,
    flags::Flags,
    foretell::foretell,
    outcome::{loaded, result},
    outlook::outlook,
    times::{self, Kept},
};
use crate::{args::recorded, context::Context, exit::Exit, interrupt, operate, progress::Progress};

/// What is kept is said once it is known how tables are loaded.
pub(super) fn stopping() -> Stop {
    let first = "stopping (Ctrl-C again to exit immediately)";
    interrupt::on_interrupt_saying(first, "exited immediately; --resume continues with what was kept")
}

/// Loads what flags and a request ask for, or says what that would be.
///
/// # Errors
/// What the user should read.
pub(super) fn load(flags: &Flags, request: &LoadRequest, context: &Context) -> Result<ExitCode, Problem> {
    let streams = flags.streams();
    flags.check()?;
    if flags.calibrate {
        return calibrate::run(flags, request);
    }
    if let Some(server) = flags.imagined() {
        let plan = request.plan(streams)?;
        let survey = Survey::imagined(&plan, &server, streams)?.with_room(flags.room_bytes());
        return foretell(&plan, &survey, streams);
    }
    let options = flags.resolve()?;
    if request.scale.is_some() {
        request.plan(streams)?;
    }
    let stop = stopping();
    let mut bulk = BulkLoad::new(&options, streams, &stop)?;
    bulk.with_room(flags.room_bytes());
    if flags.dry_run {
        let (plan, survey) = bulk.survey(request)?;
        return foretell(&plan, &survey, streams);
    }
    let progress = Progress::new();
    let mut operations = begin(flags, (&options, request.set), context, &stop, &progress)?;
    let entry = flags.entry();
    let done = bulk.enter(entry, request).and_then(|entered| {
        let outcome = carry_out(&mut operations, &mut bulk, (&entered, entry), flags, streams)?;
        Ok((entered.0, outcome))
    });
    progress.finish();
    operate::end(operations, done, (flags.json, &flags.record), |(job, outcome)| {
        let text = (!flags.json).then(|| result(&job, &outcome));
        (text, Exit::of_check(loaded(&outcome)).into())
    })
}

/// Begins the run directory of a load.
///
/// # Errors
/// As [`load`].
pub(super) fn begin(
    flags: &Flags,
    (options, set): (&ConnectOptions, Set),
    context: &Context,
    stop: &Stop,
    progress: &Progress,
) -> Result<Operations, Problem> {
    let job = OperationJob {
        name: "load",
        description: format!("Loads the tables of {}", set.name()),
        command: recorded::of_process(),
        on: On::Server(options),
        connections: flags.streams(),
        copies: Vec::new(),
    };
    operate::begin(&job, &flags.record, context, stop, progress)
}

/// Says what will be loaded, and loads it.
///
/// # Errors
/// As [`load`].
pub(super) fn carry_out(
    operations: &mut Operations,
    bulk: &mut BulkLoad<'_>,
    (entered, entry): (&(Job, Survey), Entry),
    flags: &Flags,
    streams: u64,
) -> Result<BulkOutcome, Problem> {
    let (job, survey) = entered;
    let kept = times::kept();
    let forecast = kept.as_ref().map(|kept| kept.forecast(&job.plan, survey, streams)).unwrap_or_default();
    let expected = kept.map(|kept| kept.expected(&job.plan, survey, streams)).unwrap_or_default();
    eprint!("{}{forecast}", outlook(&job.plan, survey, streams));
    interrupt::answer_with(format!("stopping: {} (Ctrl-C again to exit immediately)", job.plan.kept()));
    operations.of_tables(job.plan.scale, job.plan.seed);
    let (until, wants_proof) = (flags.until(), !flags.no_verify);
    let task = LoadTask { entered, entry, streams, until, wants_proof, expected: &expected };
    let outcome = operation::load(operations, bulk, &task);
    let outcome = outcome.map_err(|problem| unfinished(problem, bulk, operations))?;
    if entry == Entry::New
        && let Some(run) = operations.run_name()
    {
        times::keep(Kept::Run(run), (&job.plan, survey), streams, &outcome);
    }
    Ok(outcome)
}

/// Adds to the problem of a load what its tables hold, and the command that continues it. The record has the former,
/// too.
fn unfinished(problem: Problem, bulk: &BulkLoad<'_>, operations: &mut Operations) -> Problem {
    let Ok(Some(remains)) = bulk.remains_afterwards() else { return problem };
    operation::kept(operations, remains.rows_there());
    let lines = problem.detail.clone().into_iter().chain(remains.lines()).collect::<Vec<_>>().join("\n");
    let command = recorded::of_process();
    let resume = if command.contains(" --resume") { "" } else { " --resume" };
    let command = format!("{}{resume}", command.replace(" --join", ""));
    let hint = match &problem.hint {
        Some(hint) => format!("{hint}: {command}"),
        None => command,
    };
    problem.detail(lines).hint(hint)
}
