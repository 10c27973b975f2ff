//! A measuring command from its plan to its report, one stage after the other:
//! facts → server → storage check → load → drive → check → conclude.
//!
//! `bench` and `run` drive all cells at one server (`bench.rs`), `run` with several subjects all cells at all of theirs
//! (`subjects/`), `ab` one cell at two (`ab/`). Everything else is the same rooms for all: facts and choices
//! (`prepare.rs`), a server (`subject.rs`), several at once (`side_by_side.rs`), its tables (`load.rs`), one run
//! (`cell.rs`), the record (`recording.rs`), the end (`conclude.rs`).

pub mod ab;
mod bench;
pub mod cell;
mod conclude;
mod fill;
mod full_disk;
mod holding;
mod load;
mod looking;
mod material;
pub mod places;
mod prepare;
mod programs;
mod reach;
mod recording;
mod side_by_side;
pub mod slow;
mod subject;
pub mod subjects;
mod tpcc;
pub mod watch;

use std::process::ExitCode;

use pgdyno_core::{
    advice::bench::Level,
    measure::SyncCheck,
    plan::{Material, Plan},
    problem::Problem,
};
use pgdyno_engine::Stop;
use pgdyno_postgres::{provision::Request, wire::ConnectOptions};
use prepare::Prepared;
use recording::Recording;
use subject::Subject;
pub use tpcc::are_as_many;

use crate::{context::Context, progress::Progress};

/// What a measuring command wants done.
#[derive(Debug)]
pub struct Job {
    /// The experiment.
    pub plan: Plan,
    /// What it brings of its own: one workload for each of the plan's.
    pub material: Material,
    /// Whether its scripts may run programs on this machine.
    pub trust: bool,
    /// Whether to end when it is known and told what would be done.
    pub dry_run: bool,
    /// How much time it may take.
    pub level: Level,
    /// The servers, each there or to be made: one, or in a comparison those of the arms.
    pub servers: Vec<Wanted>,
    /// What is compared, where that is the question.
    pub compare: Option<ab::Compare>,
    /// What is measured side by side, where there are several servers and no comparison of two.
    pub subjects: Option<subjects::Subjects>,
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
    prepare::warn_of_addresses(job);
    match &job.compare {
        None => prepare::announce(job, &prepared, context),
        Some(compare) => ab::announce(job, compare, &prepared, context),
    }
    if job.dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    let mut recording = Recording::begin(job, &prepared, context)?;
    let result = all_stages(job, &prepared, &mut recording, &stop, &progress);
    progress.finish();
    conclude::conclude(job, recording, result)
}

fn all_stages(
    job: &Job,
    prepared: &Prepared,
    recording: &mut Recording,
    stop: &Stop,
    progress: &Progress,
) -> Result<(), Problem> {
    if let Some(subjects) = &job.subjects {
        return subjects::all_stages(job, subjects, prepared, recording, stop, progress);
    }
    match (&job.compare, job.servers.first()) {
        (Some(compare), _) => ab::all_stages(job, compare, prepared, recording, stop, progress),
        (None, Some(wanted)) => bench::all_stages(job, wanted, prepared, recording, stop, progress),
        (None, None) => Err(Problem::wrong_request("there is no server to measure")),
    }
}

/// What one synchronous write costs where the data of an own server lies; `None` of a server that is somebody else's.
fn storage_stage(
    job: &Job,
    subject: &Subject,
    recording: &mut Recording,
    stop: &Stop,
    progress: &Progress,
) -> Result<Option<SyncCheck>, Problem> {
    let Some(dir) = subject.own_data_dir() else { return Ok(None) };
    let check = recording.stage("storage check", stop, |_| {
        progress.stage("checking synchronous writes");
        pgdyno_host::disk::check_sync_writes(dir, prepare::storage_check_time(job.level), stop)
    });
    check.map(Some)
}
