//! A measuring command from its plan to its report, one stage after the other:
//! facts → server → storage check → load → drive → check → conclude.

mod conclude;
mod drive;
mod full_disk;
mod load;
mod prepare;
mod reach;
mod recording;
mod subject;
mod watch;

use std::process::ExitCode;

use pgdyno_core::{advice::bench::Level, plan::Plan, problem::Problem};
use pgdyno_engine::Stop;
use pgdyno_postgres::{provision::Request, wire::ConnectOptions};

use crate::{context::Context, progress::Progress};
use prepare::Prepared;
use recording::Recording;
use subject::Subject;

/// What a measuring command wants done.
#[derive(Debug)]
pub struct Job {
    /// The experiment.
    pub plan: Plan,
    /// How much time it may take.
    pub level: Level,
    /// The server: one that is there, or one to be made.
    pub server: Wanted,
    /// The exact command line, without secrets.
    pub command: String,
    /// Whether that line names the seed.
    pub seed_given: bool,
    /// Whether an own server stays, with its data, when the run is over.
    pub keep: bool,
    /// What is printed on stdout at the end, and written elsewhere.
    pub output: Output,
}

/// Which server.
#[derive(Debug)]
pub enum Wanted {
    /// One that is already there.
    External(Box<External>),
    /// One to be made for this run.
    Own(Box<Request>),
}

/// A server that is already there.
#[derive(Debug)]
pub struct External {
    /// How the driver's clients connect.
    pub drive: ConnectOptions,
    /// How everything else does, where that is another way.
    pub admin: Option<ConnectOptions>,
}

impl External {
    /// How everything but the driver's clients connects.
    pub fn admin(&self) -> &ConnectOptions {
        self.admin.as_ref().unwrap_or(&self.drive)
    }
}

/// What becomes of the result.
#[derive(Debug, Default)]
pub struct Output {
    /// Print `run.json` instead of the report.
    pub json: bool,
    /// Write the report to this file too; its ending says in which form.
    pub out: Option<std::path::PathBuf>,
}

/// Carries a job out. The first Ctrl-C stops it and keeps what was measured, the second ends it at once.
///
/// # Errors
/// What kept it from its end; what was measured until then is recorded as stopped.
pub fn measure(job: &Job, context: &Context) -> Result<ExitCode, Problem> {
    let stop = crate::interrupt::on_interrupt();
    let progress = Progress::new();
    conclude::check_output(&job.output)?;
    let prepared = prepare::prepare(job, &stop)?;
    prepare::announce(job, &prepared, context);
    let mut recording = Recording::begin(job, &prepared, context)?;
    let result = all_stages(job, prepared, &mut recording, &stop, &progress);
    progress.finish();
    conclude::conclude(job, recording, result)
}

fn all_stages(
    job: &Job,
    prepared: Prepared,
    recording: &mut Recording,
    stop: &Stop,
    progress: &Progress,
) -> Result<(), Problem> {
    let explain = |problem| full_disk::explain(problem, &full_disk::places(job));
    let opened = recording.stage("server", stop, |_| Subject::open(job, &prepared, stop, progress));
    let mut subject = opened.map_err(explain)?;
    recording.set_server(&subject)?;
    let measured = storage_stage(job, &subject, recording, stop, progress)
        .and_then(|()| measured_stages(&prepared, &mut subject, recording, stop, progress))
        .map_err(explain);
    let logged = subject.log_path().map_or(Ok(()), |log| recording.dir.keep_server_log(log));
    let closed = recording.stage_always("clean up", || {
        progress.stage("cleaning up");
        subject.close(job.keep)
    });
    measured.and(logged).and(closed)
}

/// What one synchronous write costs where the data of an own server lies.
fn storage_stage(
    job: &Job,
    subject: &Subject,
    recording: &mut Recording,
    stop: &Stop,
    progress: &Progress,
) -> Result<(), Problem> {
    let Some(dir) = subject.own_data_dir() else { return Ok(()) };
    let check = recording.stage("storage check", stop, |_| {
        progress.stage("checking synchronous writes");
        pgdyno_host::disk::check_sync_writes(dir, prepare::storage_check_time(job.level), stop)
    })?;
    recording.record.sync_check = Some(check);
    Ok(())
}

fn measured_stages(
    prepared: &Prepared,
    subject: &mut Subject,
    recording: &mut Recording,
    stop: &Stop,
    progress: &Progress,
) -> Result<(), Problem> {
    let loaded = recording.stage("load", stop, |_| load::load(prepared, subject, stop, progress))?;
    if subject.elsewhere.is_some() {
        recording.stage("replication", stop, |_| subject.wait_for_replication(stop, progress))?;
    }
    recording.record.load = Some(loaded);
    recording.save()?;
    let driven = recording
        .stage("measure", stop, |recording| drive::drive(prepared, subject, recording, stop, progress));
    driven?;
    let balance = recording
        .stage("check", stop, |recording| load::check(prepared, subject, &recording.record, progress))?;
    recording.record.balance = balance;
    Ok(())
}
