//! Reads facts and decides what the plan leaves open.

use std::path::{Path, PathBuf};

use pgdyno_analysis::doubts::{Key, Measuring};
use pgdyno_core::{
    facts::Choice,
    host::{Inventory, Storage},
    problem::Problem,
    stop::Stop,
};
use pgdyno_engine::SocketDriver;
use pgdyno_host::facts;
use pgdyno_plan::{
    BalanceCheckMode, Plan, Waiting,
    advice::{
        bench::{BenchFacts, BenchPlan, LOAD_ROWS_PER_S, Level, resolve},
        config::usable_memory_bytes,
    },
};
use pgdyno_postgres::verify::BalanceMode;
use pgdyno_provision::{Request, builds};
use pgdyno_rows::{
    PAGE_BYTES,
    load::{LoadPlan, Set},
};

use crate::{
    Job, Lab, Wanted, dirs, draw_seed,
    estimated::{estimated, smallest_tables_bytes},
    host_states::HostStates,
    inspect_server::{ExistingServer, inspect_all},
    instrument,
    prepared::{CheckMode, Prepared},
    presets, programs,
    refuse_clients::{max_connections, refuse_clients, refuse_slots, refuse_tpcc_of_several},
    refuse_tables::refuse_tables,
    restarts::blocks_per_start,
    room::{make_room, own_servers},
};

/// Reads facts and resolves the plan.
///
/// # Errors
/// This machine or the existing server does not support what the job requests.
pub fn prepare(job: &Job, lab: &Lab, stop: &Stop) -> Result<Prepared, Problem> {
    let host = facts::host()
        .map_err(|error| Problem::could_not(format!("could not read the facts of this machine: {error}")))?;
    let mut plan = job.plan.clone();
    let seed = plan.seed.unwrap_or_else(draw_seed);
    plan.seed = Some(seed);
    let reached = inspect_all(job, &mut plan, stop)?;
    let there: Vec<&ExistingServer> = reached.iter().flatten().collect();
    let known = there.last().map(|reached| &reached.facts);
    let place = own_data_place(job)?.or_else(|| known?.data_directory.clone().map(PathBuf::from));
    let storage = place.and_then(|dir| pgdyno_host::facts::storage(&dir).ok());
    let facts = bench_facts(job, &host, &reached, storage.as_ref())?;
    let estimated = estimated(job, &plan);
    let mut bench = resolve(&estimated, job.level, &facts)
        .map_err(|problem| named(problem, job, lowest_max_connections(job, &reached)))?;
    refuse_clients(job, &facts, &reached)?;
    refuse_slots(job, &plan, &facts, &reached)?;
    refuse_tpcc_of_several(job)?;
    // Every subject costs as much as one server. A comparison adds up its own cost.
    let each = if job.comparison().is_none() { job.subjects.len() as u64 } else { 1 };
    bench.cost = bench.cost.times(each);
    bench.choices.extend(there.iter().flat_map(|reached| reached.choices.clone()));
    let loads = loads(job, &plan, bench.scale, 0)?;
    let loads_of_workloads = loads_of_workloads(job, &plan, bench.scale)?;
    [&loads]
        .into_iter()
        .chain(&loads_of_workloads)
        .try_for_each(|loads| refuse_tables(job, loads, &reached))?;
    let all_loads = if loads_of_workloads.is_empty() { loads.clone() } else { loads_of_workloads.concat() };
    let programs = programs::foresee(job)?;
    let room = |request: &mut Request| make_room(request, job, &all_loads, &bench);
    let presets = presets::foresee(job, &programs, &host, &room)?;
    let shared_buffers_bytes = shared_buffers_of_several(job, &host);
    bench.choices.extend(shared_buffers_bytes.map(|bytes| choice_of_shared_buffers(job, bytes)));
    let blocks_per_start =
        blocks_per_start(job, &estimated, &bench, &presets, (facts.page_bytes, facts.buffers_bytes()))?;
    let by = Measuring::of_command(&job.command);
    let thorough_hint = thorough_hint(by, thorough_s(&estimated, &facts, each));
    let host_changes = host_changes(job, storage.as_ref())?;
    let is_own = loads.iter().flatten().any(|load| load.set == Set::Scaleup);
    Ok(Prepared {
        balance_checks: (0..job.servers.len()).map(|server| check_mode(job, &bench, server)).collect(),
        waiting: waiting(plan.measure.waiting)?,
        instrument: instrument::kept(&host, &lab.program),
        run_s: run_s(job, bench.cost.run_s, &loads),
        blocks_per_start,
        has_own_tables: is_own || job.workload_files.setup.is_some(),
        uses_existing: loads.iter().all(Option::is_none) && !job.workload_files.makes_tables(),
        smallest_tables_bytes: smallest_tables_bytes(job, &plan, bench.scale, &facts),
        plan,
        seed,
        bench,
        loads,
        loads_of_workloads,
        host,
        storage,
        shared_buffers_bytes,
        thorough_hint,
        programs,
        presets,
        host_changes,
        existing: reached,
    })
}

/// What of the host is changed for the runs, in words.
fn host_changes(job: &Job, storage: Option<&Storage>) -> Result<Vec<String>, Problem> {
    if job.subjects.iter().all(|subject| !subject.host.applies()) {
        return Ok(Vec::new());
    }
    let data = storage.map(|storage| Path::new(&storage.path));
    let host = facts::host_with(data);
    Ok(HostStates::of(job, &host)?.foreseen())
}

/// Seconds of a run, about so many if it loads the tables.
fn run_s(job: &Job, driven_s: f64, loads: &[Option<LoadPlan>]) -> f64 {
    match job.loads_in_runs() {
        true => loads.iter().flatten().map(LoadPlan::rows_total).max().unwrap_or(0) as f64 / LOAD_ROWS_PER_S,
        false => driven_s,
    }
}

/// Facts for the choices. Own servers share the disk and the memory.
fn bench_facts<'a>(
    job: &Job,
    host: &'a Inventory,
    reached: &[Option<ExistingServer>],
    storage: Option<&'a Storage>,
) -> Result<BenchFacts<'a>, Problem> {
    let there: Vec<&ExistingServer> = reached.iter().flatten().collect();
    let own = own_servers(job);
    let here = there.iter().filter(|reached| reached.local).count() as u64;
    let side_by_side = (own + here).max(1);
    let lowest_max_connections = lowest_max_connections(job, reached).map(|(connections, _)| connections);
    Ok(BenchFacts {
        host,
        disk_available_bytes: storage.map(|storage| storage.available_bytes / side_by_side),
        disk_path: storage.map(|storage| storage.path.as_str()),
        side_by_side,
        own_server: own > 0,
        server_local: there.is_empty() || there.iter().any(|reached| reached.local),
        // Subjects with client counts of their own are checked one by one.
        max_connections: lowest_max_connections.filter(|_| !job.has_own_clients()),
        reserved_connections: there.iter().map(|reached| reached.reserved_connections).max().unwrap_or(0),
        shared_buffers_bytes: there
            .iter()
            .map(|reached| reached.facts.shared_buffers_bytes)
            .min()
            .or_else(|| (own > 1).then(|| shared_buffers_each(host, own))),
        page_bytes: match there.last() {
            Some(reached) => reached.facts.block_bytes.into(),
            None => largest_page_bytes(job)?,
        },
    })
}

/// The load of each server of a job for a workload.
fn loads(
    job: &Job,
    plan: &Plan,
    scale: Option<u64>,
    workload: usize,
) -> Result<Vec<Option<LoadPlan>>, Problem> {
    let load = |server| plan.with_load(&job.load_for(server, workload)).loads(scale);
    (0..job.servers.len()).map(load).collect()
}

/// The loads before each workload; empty if the tables are loaded once.
fn loads_of_workloads(
    job: &Job,
    plan: &Plan,
    scale: Option<u64>,
) -> Result<Vec<Vec<Option<LoadPlan>>>, Problem> {
    let workloads = if job.has_loads_of_workloads() { plan.workload.len() } else { 0 };
    (0..workloads).map(|workload| loads(job, plan, scale, workload)).collect()
}

/// The lowest known `max_connections` of the job's servers, and the index of that server. A pooler has its own limit,
/// which shows when the clients connect; an own server gets what it needs unless the setting is requested.
fn lowest_max_connections(job: &Job, reached: &[Option<ExistingServer>]) -> Option<(u32, usize)> {
    let all = job.servers.iter().zip(reached).enumerate();
    all.filter_map(|(at, (wanted, reached))| Some((max_connections(wanted, reached.as_ref())?, at))).min()
}

/// Adds to a problem about connections the name of the subject that has too few.
fn named(problem: Problem, job: &Job, lowest_max_connections: Option<(u32, usize)>) -> Problem {
    match lowest_max_connections.filter(|_| problem.what.contains("max_connections")) {
        Some((_, at)) => Problem { what: job.of_subject(at, &problem.what), ..problem },
        None => problem,
    }
}

/// Shared buffers of each of several own servers, in bytes; `None` for one, and if presets set all of them.
fn shared_buffers_of_several(job: &Job, host: &Inventory) -> Option<u64> {
    let own = own_servers(job);
    let chooses = |wanted: &Wanted| matches!(wanted, Wanted::Own(request) if request.preset.is_none());
    (own > 1 && job.servers.iter().any(chooses)).then(|| shared_buffers_each(host, own))
}

fn choice_of_shared_buffers(job: &Job, bytes: u64) -> Choice {
    let own = own_servers(job);
    Choice {
        name: "shared_buffers".into(),
        value: format!("{}MB", bytes >> 20),
        reason: format!("the {own} servers running side by side share a quarter of memory"),
    }
}

/// Shared buffers of each of several own servers, in bytes: together a quarter of memory, in whole MiB.
pub fn shared_buffers_each(host: &Inventory, servers: u64) -> u64 {
    const MB: u64 = 1 << 20;
    (usable_memory_bytes(host) / 4 / servers / MB * MB).max(16 * MB)
}

/// Largest page size of the own servers, in bytes: larger pages leave more space unused.
fn largest_page_bytes(job: &Job) -> Result<u64, Problem> {
    let mut largest = PAGE_BYTES;
    for wanted in &job.servers {
        let Wanted::Own(request) = wanted else { continue };
        if let Some(name) = &request.build {
            let build = builds::find(&dirs()?, name)?;
            largest = largest.max(u64::from(build.manifest.block_kb) << 10);
        }
    }
    Ok(largest)
}

/// Where the data of an own server will be: the directory itself, or its nearest existing parent.
fn own_data_place(job: &Job) -> Result<Option<PathBuf>, Problem> {
    let own = |wanted: &Wanted| matches!(wanted, Wanted::Own(_));
    let Some(Wanted::Own(request)) = job.servers.iter().find(|wanted| own(wanted)) else { return Ok(None) };
    let wanted = match &request.data {
        Some(data) => data.clone(),
        None => dirs()?.servers(),
    };
    let absolute = std::path::absolute(&wanted).unwrap_or(wanted);
    Ok(absolute.ancestors().find(|dir| dir.is_dir()).map(Path::to_path_buf))
}

/// The requested method of waiting, or the cheapest that works on this machine.
fn waiting(wanted: Waiting) -> Result<SocketDriver, Problem> {
    match wanted {
        Waiting::Auto => Ok(SocketDriver::best()),
        Waiting::Epoll => Ok(SocketDriver::Epoll),
        Waiting::IoUring => SocketDriver::IoUring.check().map(|()| SocketDriver::IoUring).map_err(|error| {
            Problem::could_not(format!("could not use io_uring: {error}"))
                .detail(
                    "it needs Linux 6.1, kernel.io_uring_disabled = 0, and no container filter (seccomp) against it",
                )
                .hint("leave measure.waiting out of the plan: epoll works everywhere")
        }),
    }
}

/// How to ask this command for a thorough run, with its duration if one is possible.
fn thorough_hint(by: Measuring, seconds: Option<f64>) -> String {
    let flag = Key::Thorough.named(by);
    match seconds {
        Some(seconds) => format!("{flag} ({:.0} min)", (seconds / 60.0).ceil()),
        None => flag.to_owned(),
    }
}

/// Seconds of a thorough run of all servers one after the other; `None` if it is not possible.
fn thorough_s(plan: &Plan, facts: &BenchFacts<'_>, servers: u64) -> Option<f64> {
    let mut thorough = plan.clone();
    Level::Thorough.apply(&mut thorough);
    let resolved = resolve(&thorough, Level::Thorough, facts).ok()?;
    Some(resolved.cost.times(servers).seconds)
}

/// Largest scale of existing tables whose accounts a comparison sums before and after: 10 million rows.
const MAX_SUMMED_SCALE: u64 = 100;

/// How the balances of a server are checked; `None` if that is not requested or not possible.
fn check_mode(job: &Job, bench: &BenchPlan, server: usize) -> Option<CheckMode> {
    let scale = bench.scale?;
    let accounts = bench.balance == BalanceCheckMode::Full;
    if job.comparison().is_some() {
        let accounts = scale <= MAX_SUMMED_SCALE;
        let mode = if job.plan.data.loaded { CheckMode::Changes { accounts } } else { CheckMode::Sums };
        return job.is_known_to_write(server).then_some(mode);
    }
    let rows = match bench.balance {
        BalanceCheckMode::Full => BalanceMode::Full,
        BalanceCheckMode::Touched => BalanceMode::Touched,
        BalanceCheckMode::Auto | BalanceCheckMode::Off => return None,
    };
    Some(match (job.plan.data.loaded, job.has_several()) {
        (true, _) => CheckMode::Changes { accounts },
        (false, true) => CheckMode::Sums,
        (false, false) => CheckMode::Rows(rows),
    })
}

#[cfg(test)]
mod tests {
    use pgdyno_plan::WorkloadPlan;
    use pgdyno_script::{Builtin, Protocol};

    use super::*;

    #[test]
    fn a_thorough_run_of_several_subjects_takes_several_times_as_long() {
        let host = pgdyno_host::facts::host().expect("we are on one");
        let plan = Plan::new("x", vec![WorkloadPlan::builtin(Builtin::SelectOnly, Protocol::Prepared)]);
        let facts = BenchFacts {
            host: &host,
            disk_available_bytes: None,
            disk_path: None,
            side_by_side: 1,
            own_server: true,
            server_local: true,
            max_connections: None,
            reserved_connections: 0,
            shared_buffers_bytes: None,
            page_bytes: PAGE_BYTES,
        };
        let seconds = |servers| thorough_s(&plan, &facts, servers).expect("it can be");
        assert_eq!(seconds(7), 7.0 * seconds(1));
        assert_eq!(thorough_hint(Measuring::Run, Some(601.0)), "thorough = true in [measure] (11 min)");
        assert_eq!(thorough_hint(Measuring::Bench, None), "--thorough");
    }
}
