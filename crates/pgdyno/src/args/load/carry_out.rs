//! A load from its flags to what is told of it.

use std::process::ExitCode;

use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_postgres::load::{BulkLoad, BulkProgress, Job, Survey};
use pgdyno_rows::load::{LoadRequest, Stage};

use super::{flags::Flags, outcome::conclude, outlook::outlook};
use crate::{interrupt, output, progress::Progress};

/// What is kept is said once it is known how tables are loaded.
pub(super) fn stopping() -> Stop {
    let first = "stopping (Ctrl-C again to exit immediately)";
    interrupt::on_interrupt_saying(first, "exited immediately; --resume continues with what was kept")
}

/// Loads what flags and a request ask for, or says what that would be.
///
/// # Errors
/// What the user should read.
pub(super) fn load(flags: &Flags, request: &LoadRequest) -> Result<ExitCode, Problem> {
    let (options, streams) = (flags.resolve()?, flags.streams());
    if request.scale.is_some() {
        request.plan(streams)?;
    }
    let stop = stopping();
    let mut bulk = BulkLoad::new(&options, streams, &stop)?;
    if flags.dry_run {
        let (plan, survey) = bulk.survey(request)?;
        output::print(&outlook(&plan, &survey, streams))?;
        return survey.check_room().map(|()| ExitCode::SUCCESS);
    }
    let entered = bulk.enter(flags.entry(), request)?;
    carry_out(&mut bulk, &entered, flags, streams)
}

/// Loads, and tells how it went.
///
/// # Errors
/// As [`load`].
pub(super) fn carry_out(
    bulk: &mut BulkLoad<'_>,
    (job, survey): &(Job, Survey),
    flags: &Flags,
    streams: u64,
) -> Result<ExitCode, Problem> {
    eprint!("{}", outlook(&job.plan, survey, streams));
    interrupt::answer_with(format!("stopping: {} (Ctrl-C again to exit immediately)", job.plan.kept()));
    let progress = Progress::new();
    let rows = job.plan.rows_total();
    let outcome =
        bulk.run(job, survey, (flags.until(), !flags.no_verify), &mut |at| show(&progress, rows, at));
    progress.finish();
    conclude(job, &outcome?)
}

pub(super) fn show(progress: &Progress, rows: u64, at: BulkProgress) {
    match at {
        BulkProgress::Stage(Stage::Copy) => progress.counted("rows", rows, "rows"),
        BulkProgress::Stage(stage) => progress.stage(stage.name()),
        BulkProgress::Rows(done) => progress.at(done),
        BulkProgress::Doing { stage, words } => progress.say(format!("{}: {words}", stage.name())),
        BulkProgress::Waits { stage, pids } => progress.aside(|| eprintln!("{}", waits(stage, &pids))),
        BulkProgress::Proving => progress.stage("comparing counts and checksums"),
    }
}

fn waits(stage: Stage, pids: &[u32]) -> String {
    let many = if pids.len() == 1 { "" } else { "es" };
    let pids: Vec<_> = pids.iter().map(u32::to_string).collect();
    format!(
        "{}: waits for server process{many} {}, at work on all tasks that are left; \
         where a loader is gone for good, free them by SELECT pg_terminate_backend(PID)",
        stage.name(),
        pids.join(", ")
    )
}
