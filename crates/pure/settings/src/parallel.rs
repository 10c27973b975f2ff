//! Processes of parallel queries and of parallel maintenance.

use pgdyno_core::{
    facts::{Choice, amount::MB},
    units::{bytes, plural},
};

use super::{
    inputs::{DEFAULT_WORKER_PROCESSES, Inputs, MOST_WORKERS},
    rule::{Given, Rule, choice, manual, page},
};
use crate::{Finding, Purpose, Today};

/// Rules of this family.
pub const RULES: &[Rule] = &[
    Rule::of(page(
        "max_worker_processes",
        Today::Kept,
        "How many background processes there may be: parallel workers, logical replication, extensions.",
        "One for each processor, at least the default of 8, and one more than the workers that a load \
         requests. It takes a restart.",
        manual::RESOURCES,
    ))
    .recommends(max_worker_processes)
    .judges(judge_worker_processes),
    Rule::of(
        page(
            "max_parallel_workers",
            Today::Kept,
            "How many of the background processes may be parallel workers.",
            "One for each processor. More than max_worker_processes has no effect.",
            manual::RESOURCES,
        )
        .since(10),
    )
    .recommends(max_parallel_workers)
    .judges(judge_parallel_workers),
    Rule::of(
        page(
            "max_parallel_workers_per_gather",
            Today::Kept,
            "How many workers one node of a parallel query may have; 0 turns parallel queries off.",
            "Half of the processors, at most 4; at most 16 for few long queries. Every worker may use \
         work_mem. Short transactions do not reach the cost from which on plans are parallel.",
            manual::RESOURCES,
        )
        .since(9),
    )
    .recommends(max_parallel_workers_per_gather)
    .judges(judge_per_gather),
    Rule::of(
        page(
            "max_parallel_maintenance_workers",
            Today::Kept,
            "How many workers CREATE INDEX of a B-tree, from 17 of BRIN, from 18 of GIN, and VACUUM of \
         indexes may have.",
            "Half of the processors, from 1 to 8; up to 16 for loads. A CREATE INDEX uses fewer where \
         maintenance_work_mem would leave less than 32 MB to each.",
            manual::RESOURCES,
        )
        .since(11),
    )
    .recommends(max_parallel_maintenance_workers)
    .judges(judge_maintenance_workers),
    Rule::of(
        page(
            "parallel_leader_participation",
            Today::DefaultIsRight,
            "Whether the leader of a parallel query works too.",
            "Off lets it only collect rows: it helps where many workers return many rows, and costs a \
         process elsewhere.",
            manual::PLANNER,
        )
        .since(11),
    ),
    Rule::of(
        page(
            "min_parallel_table_scan_size",
            Today::DefaultIsRight,
            "From which size on a scan of a table may be parallel.",
            "0 asks for workers for the smallest tables, where starting them takes longer than the scan.",
            manual::PLANNER,
        )
        .since(10),
    )
    .judges(forced),
    Rule::of(
        page(
            "min_parallel_index_scan_size",
            Today::DefaultIsRight,
            "From which size on a scan of an index may be parallel.",
            "0 asks for workers for the smallest indexes, where starting them takes longer than the scan.",
            manual::PLANNER,
        )
        .since(10),
    )
    .judges(forced),
    Rule::of(
        page(
            "parallel_setup_cost",
            Today::DefaultIsRight,
            "What starting workers is estimated to cost, in pages read in sequence.",
            "0 makes short queries parallel, which then mostly wait for processes to start. For a \
         measurement of scans SET it in the session.",
            manual::PLANNER,
        )
        .since(9),
    )
    .judges(forced),
    Rule::of(
        page(
            "parallel_tuple_cost",
            Today::DefaultIsRight,
            "What handing a row from a worker to the leader is estimated to cost.",
            "0 makes queries parallel whose rows all pass through the leader.",
            manual::PLANNER,
        )
        .since(9),
    )
    .judges(forced),
];

fn for_each_cpu(cpus: u64) -> String {
    format!("one for each of {}", plural(cpus, "processor"))
}

/// One process more than workers: the launcher of logical replication is one of them.
fn max_worker_processes(inputs: &Inputs<'_>) -> Option<Choice> {
    let (cpus, wanted) = (u64::from(inputs.cpus()), inputs.key_workers.total());
    let (value, reason) = match wanted + 1 {
        processes if wanted > 0 && processes > cpus => (processes, inputs.key_workers.reason()),
        _ => (cpus, for_each_cpu(cpus)),
    };
    (value > DEFAULT_WORKER_PROCESSES).then(|| choice("max_worker_processes", value, reason))?
}

fn max_parallel_workers(inputs: &Inputs<'_>) -> Option<Choice> {
    let (cpus, wanted) = (u64::from(inputs.cpus()), inputs.key_workers.total());
    let (value, reason) = match wanted > cpus {
        true => (wanted, inputs.key_workers.reason()),
        false => (cpus, for_each_cpu(cpus)),
    };
    choice("max_parallel_workers", value.min(MOST_WORKERS), reason)
}

fn max_parallel_workers_per_gather(inputs: &Inputs<'_>) -> Option<Choice> {
    let most = if inputs.purpose == Purpose::Olap { 16 } else { 4 };
    let cpus = inputs.cpus();
    let reason = format!("half of {}, at most {most}", plural(cpus.into(), "processor"));
    choice("max_parallel_workers_per_gather", (cpus / 2).min(most), reason)
}

fn max_parallel_maintenance_workers(inputs: &Inputs<'_>) -> Option<Choice> {
    let most = if inputs.purpose == Purpose::BulkLoad { 16 } else { 8 };
    let cpus = inputs.cpus();
    let (value, reason) = match inputs.key_workers.each {
        0 => (
            (cpus / 2).clamp(1, most).into(),
            format!("half of {}, from 1 to {most}", plural(cpus.into(), "processor")),
        ),
        each => (each, "requested for each key".to_owned()),
    };
    choice("max_parallel_maintenance_workers", value.min(MOST_WORKERS), reason)
}

fn judge_worker_processes(given: &Given<'_>) -> Finding {
    let (processes, cpus) = (given.number().unwrap_or(0.0), given.inputs.cpus());
    let recommended = u64::from(cpus).max(DEFAULT_WORKER_PROCESSES);
    if processes < DEFAULT_WORKER_PROCESSES as f64 {
        return given.improve(
            recommended,
            "fewer than the default: parallel queries and extensions get \
         none",
        );
    }
    let slots = format!("slots for {processes} processes, which cost little");
    // 9.5 has no parallel queries, and 9.6 has no limit of their workers but this one.
    match given.other_number("max_parallel_workers") {
        Some(workers) if workers > processes => {
            given.improve(workers, format!("max_parallel_workers is {workers}, and only so many can start"))
        }
        Some(workers) => given.fine(format!(
            "{slots}; {workers} of them may be parallel workers on {}",
            plural(cpus.into(), "processor")
        )),
        None if given.inputs.version_num >= 90_600 => given.fine(format!(
            "{slots}; all of them may be parallel workers on {}",
            plural(cpus.into(), "processor")
        )),
        None => given.fine(slots),
    }
}

fn judge_parallel_workers(given: &Given<'_>) -> Finding {
    let (workers, cpus) = (given.number().unwrap_or(0.0), f64::from(given.inputs.cpus()));
    let processes = given.other_number("max_worker_processes").unwrap_or(8.0);
    if workers > processes {
        return given.no_effect(format!("max_worker_processes = {processes} allows no more"));
    }
    match workers > 2.0 * cpus {
        true => given.improve(
            cpus,
            format!(
                "{workers} workers would share {cpus} processors with the \
         sessions"
            ),
        ),
        false => given.fine(format!("up to {workers} workers on {cpus} processors")),
    }
}

fn judge_per_gather(given: &Given<'_>) -> Finding {
    let (workers, cpus) = (given.number().unwrap_or(0.0), f64::from(given.inputs.cpus()));
    // In 9.6 the limit of background processes is the only one.
    let limit =
        if given.inputs.version_num < 100_000 { "max_worker_processes" } else { "max_parallel_workers" };
    let most = given.other_number(limit).unwrap_or(workers);
    match workers {
        ..=0.0 if given.inputs.purpose != Purpose::Oltp => given.by_recommendation(),
        ..=0.0 => given.fine(
            "no query is parallel unless a session asks for it, which short \
         transactions do not miss",
        ),
        _ if workers > most => given.no_effect(format!("{limit} = {most} allows no more")),
        _ if workers > cpus => given.by_recommendation(),
        _ => given.fine(format!("one query may keep {} of {cpus} processors busy", workers + 1.0)),
    }
}

fn judge_maintenance_workers(given: &Given<'_>) -> Finding {
    let (workers, cpus) = (given.number().unwrap_or(0.0), f64::from(given.inputs.cpus()));
    let most = given.other_number("max_parallel_workers").unwrap_or(8.0);
    let memory = given.other_number("maintenance_work_mem").unwrap_or(64.0 * MB as f64);
    let share = memory / (workers + 1.0);
    match workers {
        ..=0.0 => given.by_recommendation(),
        _ if workers > most => given.no_effect(format!("max_parallel_workers = {most} allows no more")),
        _ if workers > cpus => given.by_recommendation(),
        _ if share < 32.0 * MB as f64 => given.no_effect(format!(
            "an index is built with fewer: each must have 32 MiB, and maintenance_work_mem leaves {}",
            bytes(share as u64)
        )),
        _ => given.fine(format!("one index may keep {} of {cpus} processors busy", workers + 1.0)),
    }
}

/// Costs and sizes that force parallel plans.
fn forced(given: &Given<'_>) -> Finding {
    let is_off = given.other_number("max_parallel_workers_per_gather").is_some_and(|workers| workers <= 0.0);
    match given.number().unwrap_or(0.0) > 0.0 {
        _ if given.is(given.default()) => given.fine("it is the default"),
        false if is_off => given.no_effect(
            "max_parallel_workers_per_gather is 0; a session that raises it gets parallel plans for the \
             smallest queries",
        ),
        _ => given.by_default(),
    }
}
