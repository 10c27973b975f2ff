//! Executes measurements of storage and of the clock, as one recorded run.

use std::{path::Path, process::ExitCode};

use pgdyno_core::{
    disk::{DeclaredStorage, Disk},
    problem::Problem,
    profile::Profiling,
    stop::Stop,
    units,
};
use pgdyno_lab::{
    Events, Job,
    operation::{
        On, OperationJob, Operations, Seen,
        disk::{self, DiskTask, failure, passed},
    },
};
use pgdyno_plan::StagePlan;
use pgdyno_record::Found;

use super::{file, recorded};
use crate::{
    conclude,
    context::Context,
    exit::Exit,
    interrupt,
    measure::Task,
    operate::{self, RecordFlags},
    progress::Progress,
};

/// Measures one after the other.
///
/// # Errors
/// The problem to print; what was measured until then is recorded.
pub(super) fn run(
    tasks: &[DiskTask],
    declared: Vec<DeclaredStorage>,
    (json, record): (bool, &RecordFlags),
    context: &Context,
) -> Result<ExitCode, Problem> {
    tasks.iter().try_for_each(DiskTask::check)?;
    let stop = interrupt::on_interrupt_saying("stopping; what was measured is kept", "exited immediately");
    let progress = Progress::new();
    let paths = paths(tasks);
    let name = tasks.first().map_or("disk", DiskTask::name).replace(' ', "-");
    let job = OperationJob {
        name: &name,
        description: "Measures storage and clocks as PostgreSQL uses them".to_owned(),
        command: recorded::of_process(),
        on: On::Storage(&paths),
        connections: 1,
        copies: Vec::new(),
    };
    let mut operations = operate::begin(&job, record, context, &stop, &progress)?;
    operations.declare(declared);
    let found = tasks.iter().map(|task| one(&mut operations, task, &stop)).collect();
    progress.finish();
    operate::end(operations, found, (json, record), |found: Vec<Disk>| {
        let exit = Exit::of_check(found.iter().all(|of| passed(of) != Some(false)));
        ((!json).then(|| pgdyno_report::disks(&found, record.cut())), exit.into())
    })
}

/// Runs a plan whose stages need no server.
///
/// # Errors
/// The plan could not be begun.
pub(super) fn plan(task: &Task, context: &Context) -> Result<ExitCode, Problem> {
    let Task { job: Job { plan, command, .. }, dry_run, output } = task;
    let of_stage = |stage: &StagePlan| disk::tasks(stage, None);
    let tasks: Vec<DiskTask> = plan.stage.iter().map(of_stage).collect::<Result<Vec<_>, _>>()?.concat();
    let published = file::published(plan)?;
    conclude::check_output(output)?;
    for stage in &plan.stage {
        eprintln!("stage: {}", units::printable(&stage.words()));
    }
    if *dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    let stop = interrupt::on_interrupt();
    let progress = Progress::new();
    let paths = paths(&tasks);
    let job = OperationJob {
        name: &plan.name,
        description: plan.description.clone(),
        command: command.clone(),
        on: On::Storage(&paths),
        connections: 1,
        copies: Vec::new(),
    };
    let seen = Seen { observe: plan.measure.observe, profile: Profiling::default() };
    let events = Events::new(progress.clone());
    let mut operations = Operations::recorded(&job, (&context.lab(), seen), &stop, events)?;
    operations.add_published(published);
    operations.declare(plan.storage.declared());
    let done = tasks.iter().try_for_each(|task| one(&mut operations, task, &stop).map(drop));
    progress.finish();
    let ended = operations.end(done)?;
    Ok(ended.map_or(ExitCode::SUCCESS, |outcome| conclude::conclude(&task.job, output, outcome)))
}

/// The directories and devices of measurements, each once.
fn paths(tasks: &[DiskTask]) -> Vec<&Path> {
    let mut paths: Vec<&Path> = Vec::new();
    for path in tasks.iter().filter_map(DiskTask::path) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// Measures and records; what ended early is recorded, too.
fn one(operations: &mut Operations, task: &DiskTask, stop: &Stop) -> Result<Disk, Problem> {
    let found = operations.run(task.name(), |under_way| {
        let found = task.carry_out(stop, under_way.begun())?;
        let is_sound = passed(&found);
        Ok((found.clone(), Found::Disk(found), is_sound))
    })?;
    failure(&found).map_or(Ok(found), Err)
}
