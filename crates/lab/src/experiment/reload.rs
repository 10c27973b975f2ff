//! Loads the tables of the servers again, as the next workload has them.

use pgdyno_core::problem::Problem;
use pgdyno_postgres::verify::Ledger;
use pgdyno_record::{FootprintRecord, LoadRecord, WorkloadLoad};

use super::tables;
use crate::{check::check_server, context::Context, fill, recording::Recording, subject::Subject};

/// Checks the data of all servers, and loads their tables as a workload has them. The ledgers start again.
///
/// # Errors
/// A check or a load that could not be executed.
pub fn reload(
    context: Context<'_>,
    (servers, ledgers): (&mut [Subject], &mut [Ledger]),
    recording: &mut Recording,
    workload: usize,
) -> Result<(), Problem> {
    let start_s = recording.begin_stage("load");
    let mut all = servers.iter_mut().zip(ledgers).enumerate();
    let loaded = all.try_for_each(|(at, of)| one(context, of, recording, (at, workload)));
    let saved = recording.end_stage("load", start_s, loaded.is_ok());
    loaded.and(saved)
}

fn one(
    context: Context<'_>,
    (server, ledger): (&mut Subject, &mut Ledger),
    recording: &mut Recording,
    (at, workload): (usize, usize),
) -> Result<(), Problem> {
    let Context { job, prepared, .. } = context;
    let before = prepared.load_for(at, server.loaded_for);
    let Some((before, plan)) = before.zip(prepared.load_for(at, workload)) else { return Ok(()) };
    check_server(context, server, std::mem::take(ledger), &mut recording.record, at)?;
    server.revive()?;
    server.drop_loaded(before)?;
    let mut sampling = recording.sampling(server.watched, None);
    sampling.start();
    let loaded = fill::load(context, plan, job.load_for(at, workload).streams(), server)?;
    sampling.stop();
    let stage = format!("load for {}", job.workload_files.work[workload].name);
    recording.end_sampling(sampling, job.of_subject(at, &stage));
    server.loaded_for = workload;
    server.wait_for_replication()?;
    tables::prewarm_again(context, server, at)?;
    keep(context, recording, (at, workload), &loaded);
    let before = server.look().footprint;
    for (_, record) in job.records_at(&mut recording.record, at) {
        record.held = Some(FootprintRecord { before: before.clone(), after: None });
    }
    Ok(())
}

/// Puts the load of a server for a workload into the record.
pub fn keep(
    context: Context<'_>,
    recording: &mut Recording,
    (at, workload): (usize, usize),
    loaded: &LoadRecord,
) {
    let Context { job, prepared, .. } = context;
    let works = job.workload_files.work.iter().enumerate();
    let alike = works.filter(|(other, _)| !prepared.loads_differ(workload, *other));
    let workloads: Vec<_> = alike.map(|(_, work)| work.name.clone()).collect();
    let (first_run, at_s) = (recording.record.runs.len() as u64, recording.seconds());
    let is_first = !prepared.loads_differ(workload, 0) && first_run == 0;
    for (_, record) in job.records_at(&mut recording.record, at) {
        if is_first || prepared.loads_of_workloads.is_empty() {
            record.load = Some(loaded.clone());
        } else {
            let load = WorkloadLoad { workloads: workloads.clone(), first_run, at_s, load: loaded.clone() };
            record.loads_of_workloads.push(load);
        }
    }
}
