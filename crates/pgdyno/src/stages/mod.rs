//! A measuring command from its plan to its report, one stage after the other:
//! facts → server → storage check → load → drive → check → conclude.
//!
//! Every command writes a job (`job.rs`): its subjects, and what its runs are to answer. Facts and choices
//! (`prepare.rs`) come before the experiment (`experiment/`): servers (`subject.rs`, `side_by_side.rs`), their tables
//! (`load.rs`), round after round as the schedule says, one run at a time (`cell.rs`); the record (`recording.rs`)
//! and the end (`conclude.rs`).

pub mod cell;
mod conclude;
mod experiment;
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
mod tpcc;
pub mod watch;

use std::process::ExitCode;

use pgdyno_core::problem::Problem;

pub use job::{
    Compare, External, Job, Measured, Output, PGBENCH_RESULT, Question, SubjectJob, SubjectWork, Wanted,
};
pub use tpcc::are_as_many;

use crate::{context::Context, progress::Progress};
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
    match job.comparison() {
        None => prepare::announce(job, &prepared, context),
        Some(compare) => experiment::announce(job, compare, &prepared, context),
    }
    if job.dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    let mut recording = Recording::begin(job, &prepared, context)?;
    let result = experiment::all_stages(job, &prepared, &mut recording, &stop, &progress);
    progress.finish();
    conclude::conclude(job, recording, result)
}
