//! A measuring command from its job to its exit status.

use std::process::ExitCode;

use pgdyno_core::{problem::Problem, units};
use pgdyno_lab::{Announcement, Event, Events, Job};
use pgdyno_record::Run;

use crate::{
    conclude::{self, Output},
    context::Context,
    interrupt,
    progress::Progress,
};

/// A job, and what becomes of it.
#[derive(Debug)]
pub struct Task {
    /// What is to be measured.
    pub job: Job,
    /// Dry run: say what would be done, and end.
    pub dry_run: bool,
    /// What becomes of the result.
    pub output: Output,
}

/// Carries a job out. The first Ctrl-C stops it and keeps what was measured, the second ends it at once.
///
/// # Errors
/// What kept it from its beginning.
pub fn measure(task: &Task, context: &Context) -> Result<ExitCode, Problem> {
    let Task { job, dry_run, output } = task;
    let stop = interrupt::on_interrupt();
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

/// Goes on with a run whose command gives this task.
///
/// # Errors
/// What kept it from going on.
pub fn resume(mut task: Task, run: &Run, context: &Context) -> Result<ExitCode, Problem> {
    let stop = interrupt::on_interrupt();
    let progress = Progress::new();
    conclude::check_output(&task.output)?;
    let lab = context.lab();
    let asked = pgdyno_lab::digest_of(&task.job);
    pgdyno_lab::as_recorded(&mut task.job, &run.record);
    let Task { job, dry_run, output } = &task;
    let prepared = pgdyno_lab::prepare(job, &lab, &stop)?;
    let kept = units::plural(run.record.runs.len() as u64, "run");
    let of_all = match job.comparison() {
        None => format!(" of {}", prepared.bench.cost.runs),
        Some(_) => String::new(),
    };
    eprintln!("resuming {}: {kept}{of_all} measured before", run.record.id);
    print(&pgdyno_lab::announce(job, &prepared, &lab));
    if *dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    let events = Events::new(progress.clone());
    let outcome = pgdyno_lab::resume(job, &asked, &prepared, run, &lab, &stop, &events);
    progress.finish();
    Ok(conclude::conclude(job, output, outcome?))
}

/// Says on stderr what will be done.
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
        eprintln!("warning: {text}");
        hint.iter().for_each(|hint| eprintln!("hint: {hint}"));
    }
}
