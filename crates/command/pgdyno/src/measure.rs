//! Runs a measuring command, from its job to its exit status.

use std::process::ExitCode;

use pgdyno_core::{problem::Problem, stop::Stop, units};
use pgdyno_lab::{Announcement, Event, Events, Job};
use pgdyno_record::{Run, RunRecord};

use crate::{
    advice::fitted,
    conclude::{self, Output},
    context::Context,
    interrupt,
    progress::Progress,
};

/// A job and the requested output.
#[derive(Debug)]
pub struct Task {
    /// What to measure.
    pub job: Job,
    /// Dry run: print what would be done, and stop.
    pub dry_run: bool,
    /// Requested output.
    pub output: Output,
}

/// Handles signals. A process that ends at once leaves a changed host behind.
fn on_interrupt(job: &Job) -> Stop {
    match job.allow_host_changes {
        false => interrupt::on_interrupt(),
        true => interrupt::on_interrupt_saying(
            "stopping; the measurements so far are kept, and the host is put back",
            "exited immediately; the partial record is kept. `pgdyno host undo` puts the host back",
        ),
    }
}

/// Runs a job. The first Ctrl-C stops it and keeps the measurements so far, the second exits immediately.
///
/// # Errors
/// The job could not be started.
pub fn measure(task: &Task, context: &Context) -> Result<ExitCode, Problem> {
    let Task { job, dry_run, output } = task;
    let stop = on_interrupt(job);
    let progress = Progress::new();
    conclude::check_output(output)?;
    let lab = context.lab();
    let prepared = pgdyno_lab::prepare(job, &lab, &stop)?;
    print(&pgdyno_lab::announce(job, &prepared, &lab));
    if *dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    let events = Events::new(progress.clone());
    let outcome = pgdyno_lab::execute(job, &prepared, &lab, &stop, &events);
    progress.finish();
    Ok(conclude::conclude(job, output, outcome?))
}

/// Resumes a run whose recorded command yields this task, or continues its comparison by some blocks.
///
/// # Errors
/// The run could not be resumed.
pub fn resume(
    mut task: Task,
    run: &Run,
    more_blocks: Option<u32>,
    context: &Context,
) -> Result<ExitCode, Problem> {
    let stop = on_interrupt(&task.job);
    let progress = Progress::new();
    conclude::check_output(&task.output)?;
    let lab = context.lab();
    let digest = pgdyno_lab::digest_of(&task.job);
    pgdyno_lab::as_recorded(&mut task.job, &run.record, more_blocks)?;
    let Task { job, dry_run, output } = &task;
    let prepared = pgdyno_lab::prepare(job, &lab, &stop)?;
    let measured = measured(&run.record);
    let of_all = match job.comparison() {
        None => format!(" of {}", prepared.bench.cost.runs),
        Some(_) => String::new(),
    };
    eprintln!("resuming {}: {measured}{of_all} already measured", run.record.id);
    print(&pgdyno_lab::announce(job, &prepared, &lab));
    if *dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    let events = Events::new(progress.clone());
    let outcome = pgdyno_lab::resume(job, &digest, &prepared, run, &lab, &stop, &events);
    progress.finish();
    Ok(conclude::conclude(job, output, outcome?))
}

/// How much was measured: runs of the driver, or blocks where loads and commands are compared.
fn measured(record: &RunRecord) -> String {
    match &record.comparison {
        Some(comparison) if record.runs.is_empty() => units::plural(comparison.blocks.len() as u64, "block"),
        _ => units::plural(record.measured_runs().len() as u64, "run"),
    }
}

/// Prints on stderr what will be done.
fn print(announcement: &Announcement) {
    eprintln!("{}", announcement.title);
    for (label, text) in &announcement.facts {
        match label.is_empty() {
            true => eprintln!("  {text}"),
            false => eprintln!("  {label:<7} {text}"),
        }
    }
    announcement.warnings.iter().for_each(print_warning);
}

fn print_warning(event: &Event) {
    if let Event::Warning { text, hint } = event {
        eprintln!("warning: {}", fitted(text));
        hint.iter().for_each(|hint| eprintln!("hint: {}", fitted(hint)));
    }
}
