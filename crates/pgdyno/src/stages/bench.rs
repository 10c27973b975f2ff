//! `bench` and `run`: one server, every cell in every block.

use std::{iter, sync::Arc};

use pgdyno_core::{measure::Workload, problem::Problem, stop::Stop};
use pgdyno_record::HeldRecord;

use super::{
    Job, Wanted,
    cell::{Bench, Cell, Driving},
    fill::{Filled, fill},
    full_disk,
    holding::{When, look},
    load,
    prepare::Prepared,
    recording::Recording,
    storage::storage_stage,
    subject::{Subject, keep_evidence, with_leftovers},
    tpcc,
};
use crate::progress::Progress;

/// All stages, from the server to its end.
///
/// # Errors
/// The first problem; what was measured before it is in the record.
pub fn all_stages(
    job: &Job,
    wanted: &Wanted,
    prepared: &Prepared,
    recording: &mut Recording,
    stop: &Stop,
    progress: &Progress,
) -> Result<(), Problem> {
    let explain = |problem| full_disk::explain(problem, &full_disk::places(job));
    let opened = recording
        .stage("server", stop, |_| Subject::open(wanted, prepared.reached(0), prepared, stop, progress));
    let mut subject = opened.map_err(explain)?;
    recording.set_server(&subject)?;
    let measured = storage_stage(job, &subject, recording, stop, progress)
        .and_then(|check| {
            recording.record.sync_check = check;
            measured_stages(prepared, &mut subject, recording, stop, progress)
        })
        .map_err(explain);
    let logged = subject.log_path().map_or(Ok(()), |log| recording.dir.keep_server_log(log));
    let (evidence, measured) = keep_evidence(measured);
    let closed = recording.stage_always("clean up", || {
        progress.stage("cleaning up");
        subject.close(job.keep || evidence)
    });
    with_leftovers(measured.and(logged), closed)
}

fn measured_stages(
    prepared: &Prepared,
    subject: &mut Subject,
    recording: &mut Recording,
    stop: &Stop,
    progress: &Progress,
) -> Result<(), Problem> {
    fill(prepared, subject, recording, stop, progress, |recording, filled| match filled {
        Filled::Loaded(loaded) => recording.record.load = Some(*loaded),
        Filled::All(tier) => {
            let server = recording.record.server.as_mut();
            server.into_iter().for_each(|server| server.durability = tier);
        }
        Filled::Own(done) => {
            let material = recording.record.material.as_mut();
            if let Some(setup) = material.and_then(|material| material.setup.as_mut()) {
                setup.done = Some(done);
            }
        }
    })?;
    recording.save()?;
    look(When::Before, iter::once(&mut *subject), recording, stop, progress, of_run)?;
    let driven =
        recording.stage("measure", stop, |recording| drive(prepared, subject, recording, stop, progress));
    driven?;
    let tier = subject.look_at_tables_again(stop);
    recording.weaken_all(tier, |_| true);
    look(When::After, iter::once(&mut *subject), recording, stop, progress, of_run)?;
    recording.stage("check", stop, |recording| {
        recording.record.balance = load::check(prepared, subject, &recording.record, stop, progress)?;
        recording.record.consistency = tpcc::check(prepared, subject, stop, progress)?;
        Ok(())
    })
}

fn of_run(recording: &mut Recording, _: usize, change: &dyn Fn(&mut Option<HeldRecord>)) {
    change(&mut recording.record.held);
}

/// Runs all cells of a workload, then those of the next; blocks go up and down the client counts in turn, so that a
/// drift of the machine meets all cells alike.
fn drive(
    prepared: &Prepared,
    subject: &mut Subject,
    recording: &mut Recording,
    stop: &Stop,
    progress: &Progress,
) -> Result<(), Problem> {
    let mut driving = Driving::begin(prepared, recording, stop, progress)?;
    let mut watch = driving.watch(subject);
    let workloads = prepared.plan.workload.iter().zip(&prepared.material.work).zip(&prepared.bench.levels);
    for ((plan, work), levels) in workloads {
        let script = match work.builtin {
            Some(builtin) => Arc::new(subject.scripts(builtin)?),
            None => Arc::clone(&work.scripts),
        };
        for block in 0..prepared.plan.measure.blocks {
            let mut counts = levels.clone();
            if block % 2 == 1 {
                counts.reverse();
            }
            for clients in counts {
                let workload = Workload {
                    script: work.name.clone(),
                    protocol: plan.protocol.name().to_owned(),
                    clients,
                    rate_per_s: prepared.plan.measure.rate,
                    arm: None,
                    subject: None,
                };
                let cell = Cell {
                    workload,
                    protocol: plan.protocol,
                    script: &script,
                    own: Some(work),
                    block,
                    draws: None,
                };
                driving.run(Bench { subject, watch: &mut watch }, cell)?;
            }
        }
    }
    Ok(())
}
