//! Facts, choices, and what the user is told before anything is done.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use pgdyno_core::{
    advice::bench::{BenchFacts, BenchPlan, Level, resolve},
    facts::{HostFacts, Instrument, ServerFacts, ServerSource, StorageFacts},
    plan::{Plan, Waiting},
    problem::Problem,
    rows::PAGE_BYTES,
    units,
};
use pgdyno_engine::{SocketDriver, UringDriver};
use pgdyno_postgres::{
    observe::{check_version, postmaster_of, server_facts},
    wire::{Address, ConnectOptions, connect},
};

use super::{Job, Wanted};
use crate::{context::Context, instrument, servers};

/// What is known and decided before the first byte is written.
#[derive(Debug)]
pub struct Prepared {
    /// The plan with its seed.
    pub plan: Plan,
    /// The seed.
    pub seed: u64,
    /// Everything that was left to facts.
    pub bench: BenchPlan,
    /// The machine.
    pub host: HostFacts,
    /// What `pgdyno selftest` found out about this program on this machine, if it was run.
    pub instrument: Option<Instrument>,
    /// How the driver waits for its connections.
    pub waiting: SocketDriver,
    /// Storage under the data directory, where it is on this machine.
    pub storage: Option<StorageFacts>,
    /// Command and time of a thorough run, for the advice.
    pub thorough_hint: String,
}

/// Reads facts and resolves the plan.
///
/// # Errors
/// What this machine, or the server that is there, cannot do.
pub fn prepare(job: &Job) -> Result<Prepared, Problem> {
    let host = pgdyno_host::facts::host()
        .map_err(|error| Problem::could_not(format!("could not read the facts of this machine: {error}")))?;
    let external = match &job.server {
        Wanted::External(options) => Some(external_facts(options)?),
        Wanted::Own(_) => None,
    };
    let place =
        own_data_place(job)?.or_else(|| external.as_ref()?.0.data_directory.clone().map(PathBuf::from));
    let storage = place.and_then(|dir| pgdyno_host::facts::storage(&dir).ok());
    let facts = BenchFacts {
        host: &host,
        disk_available_bytes: storage.as_ref().map(|storage| storage.available_bytes),
        own_server: external.is_none(),
        server_local: external.as_ref().is_none_or(|(_, local)| *local),
        max_connections: external.as_ref().map(|(facts, _)| facts.max_connections),
        shared_buffers_bytes: external.as_ref().map(|(facts, _)| facts.shared_buffers_bytes),
        page_bytes: external.as_ref().map_or(PAGE_BYTES, |(facts, _)| u64::from(facts.block_bytes)),
    };
    let bench = resolve(&job.plan, job.level, &facts)?;
    let thorough_hint = thorough_hint(&job.plan, &facts);
    let waiting = waiting(job.plan.measure.waiting)?;
    let seed = job.plan.seed.unwrap_or_else(draw_seed);
    let instrument = instrument::kept(&host);
    let plan = job.plan.clone();
    Ok(Prepared { plan, seed, bench, host, instrument, waiting, storage, thorough_hint })
}

/// Facts of a server that is there, and whether it is on this machine.
fn external_facts(options: &ConnectOptions) -> Result<(ServerFacts, bool), Problem> {
    let mut session = connect(options)?;
    check_version(&session)?;
    let facts = server_facts(&mut session, ServerSource::External, None)
        .map_err(|error| error.into_problem("could not read the server's facts"))?;
    let local = postmaster_of(&session, &options.address).is_some();
    let facts = if local { facts } else { ServerFacts { data_directory: None, ..facts } };
    Ok((facts, local || matches!(options.address, Address::Unix(..))))
}

/// Where the data of an own server will be: the directory itself, or the nearest one above it that is there.
fn own_data_place(job: &Job) -> Result<Option<PathBuf>, Problem> {
    let Wanted::Own(request) = &job.server else { return Ok(None) };
    let wanted = match &request.data {
        Some(data) => data.clone(),
        None => servers::dirs()?.servers(),
    };
    let absolute = std::path::absolute(&wanted).unwrap_or(wanted);
    Ok(absolute.ancestors().find(|dir| dir.is_dir()).map(Path::to_path_buf))
}

/// The way of waiting that was asked for, or the cheapest that works here.
fn waiting(wanted: Waiting) -> Result<SocketDriver, Problem> {
    match wanted {
        Waiting::Auto => Ok(SocketDriver::best()),
        Waiting::Epoll => Ok(SocketDriver::Epoll),
        Waiting::IoUring => UringDriver::check().map(|()| SocketDriver::IoUring).map_err(|error| {
            Problem::could_not(format!("could not wait by io_uring: {error}"))
                .detail(
                    "it needs Linux 6.1, and kernel.io_uring_disabled = 0 outside of a container's filter",
                )
                .hint("leave measure.waiting out of the plan: epoll works everywhere")
        }),
    }
}

fn thorough_hint(plan: &Plan, facts: &BenchFacts<'_>) -> String {
    let mut thorough = plan.clone();
    Level::Thorough.apply(&mut thorough);
    match resolve(&thorough, Level::Thorough, facts) {
        Ok(resolved) => format!("--thorough ({:.0} min)", (resolved.cost.seconds / 60.0).ceil()),
        Err(_) => "--thorough".to_owned(),
    }
}

/// A seed that one can read out, from the randomness that the standard library seeds its hash maps with.
fn draw_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one("seed") % 1_000_000_000
}

/// Length of the check of synchronous writes.
pub fn storage_check_time(level: Level) -> Duration {
    match level {
        Level::Quick => Duration::from_millis(500),
        Level::Screening | Level::Thorough => Duration::from_secs(2),
    }
}

/// Says on stderr what will be done, where, and what it costs.
pub fn announce(job: &Job, prepared: &Prepared, context: &Context) {
    let bench = &prepared.bench;
    let clients: Vec<_> = bench.clients.iter().map(u32::to_string).collect();
    let workloads: Vec<_> = prepared.plan.workload.iter().map(|workload| workload.script.name()).collect();
    let measure = &prepared.plan.measure;
    eprintln!("pgdyno {}: {} at scale {}", prepared.plan.name, workloads.join(", "), bench.scale);
    eprintln!(
        "  runs    {} of {} after {} of warm-up: clients {}, blocks {}",
        bench.cost.runs,
        measure.duration,
        measure.warmup,
        clients.join("/"),
        measure.blocks
    );
    eprintln!("  server  {}", server_words(job));
    eprintln!("  writes  about {} {}", units::bytes(bench.cost.written_bytes), written_where(job));
    eprintln!("  record  in {}", context.runs.display());
    eprintln!("  takes   about {}", minutes(bench.cost.seconds));
    eprintln!("  seed    {}", prepared.seed);
}

fn server_words(job: &Job) -> String {
    match &job.server {
        Wanted::External(options) => format!("{} (database {})", options.address, options.database),
        Wanted::Own(request) => match (&request.bindir, &request.pg) {
            (Some(bindir), _) => format!("made for this run, with the programs in {}", bindir.display()),
            (None, Some(pg)) => format!("made for this run: PostgreSQL {pg}"),
            (None, None) => "made for this run: the newest PostgreSQL installed, else the bundle".to_owned(),
        },
    }
}

fn written_where(job: &Job) -> String {
    let stays = if job.keep { "kept" } else { "removed at the end" };
    match &job.server {
        Wanted::External(_) => format!("in schema pgdyno, {stays}"),
        Wanted::Own(request) => {
            let dir =
                request.data.clone().or_else(|| Some(servers::dirs().ok()?.servers().join(&request.name)));
            format!("in {}, {stays}", dir.unwrap_or_default().display())
        }
    }
}

fn minutes(seconds: f64) -> String {
    if seconds < 100.0 { format!("{seconds:.0} s") } else { format!("{:.1} min", seconds / 60.0) }
}
