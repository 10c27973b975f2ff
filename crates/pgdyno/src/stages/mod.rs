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
mod job;
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
mod storage;
mod subject;
pub mod subjects;
mod tpcc;
pub mod watch;

use std::process::ExitCode;

use pgdyno_core::{problem::Problem, stop::Stop};

pub use job::{External, Job, Output, Wanted};
pub use tpcc::are_as_many;

use crate::{context::Context, progress::Progress};
use prepare::Prepared;
use recording::Recording;

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
