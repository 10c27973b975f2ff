//! `bench-driver`: pgdyno's driver against pgbench, and the null target against its bar.
//!
//! Single runs on a shared machine scatter by 20 %, more than what is asked. So both programs hold their
//! connections for the whole run, and only one of them is awake at a time: slots in the order ABBA, the first second
//! of each dropped (pgbench's log counts in whole seconds). Neighbouring slots make a pair, and the ratio of every
//! pair is one observation.

mod cpu;
mod null;
mod pairs;
mod pgbench;
mod process;
mod server;
mod slots;

use std::{fmt::Write as _, fs, path::PathBuf};

use pgdyno_core::{
    analysis::compare::{
        bar::{Bar, Ratio, Standing},
        slots::Slots,
    },
    units,
};

use crate::Failure;

/// Flags of `bench-driver`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// pgbench to compare with [default: of --pg-bindir, else of PATH]
    #[arg(long, value_name = "PATH")]
    pgbench: Option<PathBuf>,
    /// Directory of postgres and pgbench, in place of a search
    #[arg(long, value_name = "DIR", conflicts_with = "dsn")]
    pg_bindir: Option<PathBuf>,
    /// A server that is there, loaded by `pgbench -i -s SCALE`, in place of one of its own
    #[arg(long, value_name = "CONNINFO")]
    dsn: Option<String>,
    /// Scale factor of the tables
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    scale: u32,
    /// Numbers of clients
    #[arg(long, value_delimiter = ',', default_value = "2,8,32,128", value_name = "N,…",
          value_parser = clap::value_parser!(u32).range(1..))]
    clients: Vec<u32>,
    /// Slots in all, half of them each program's; a multiple of 2
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(6..))]
    slots: u32,
    /// Length of a slot in whole seconds, the first of which is dropped
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(2..))]
    slot_seconds: u32,
    /// How pgdyno's driver waits for its connections
    #[arg(long, default_value = "io_uring", value_parser = ["io_uring", "epoll"])]
    waiting: String,
    /// Built-in script
    #[arg(long, default_value = "select-only", value_parser = ["tpcb-like", "simple-update", "select-only"])]
    script: String,
    /// Protocol
    #[arg(long, default_value = "prepared", value_parser = ["simple", "extended", "prepared"])]
    protocol: String,
    /// Threads of either program
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    jobs: u32,
    /// Pairs of whole runs of pgbench with and without its log
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(3..))]
    control_pairs: u32,
    /// Write every pair as CSV
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
    /// Runs of the null target of three seconds; 0 leaves it out
    #[arg(long, default_value_t = 5)]
    null_runs: u32,
}

/// What both programs do.
#[derive(Debug, Clone)]
struct Job {
    pgbench: PathBuf,
    drive: PathBuf,
    conninfo: String,
    script: String,
    protocol: String,
    scale: u32,
    clients: u32,
    jobs: u32,
    waiting: String,
}

const TPS_BAR: Bar = Bar::AtLeast(0.95);
const CPU_BAR: Bar = Bar::AtMost(0.8);
/// Fewer clients leave too little to batch: the bar on processor time holds from here on.
const CPU_BAR_FROM_CLIENTS: u32 = 8;
const MEMORY_BAR_BYTES: u64 = 64 << 20;
/// Growth from half time to the end that is still called flat. The first half does not count: a driver that slept for
/// a slot has its intervals to catch up with, and its buffers reach their size over the first of them.
const FLAT_BYTES: u64 = 256 << 10;

/// Runs the comparison for every number of clients, then the null target; false where a bar is missed.
pub fn run(args: &Args) -> Result<bool, Failure> {
    let drive = slots::build_example("pgdyno-postgres", "drive")?;
    let server = server::Server::of(args)?;
    println!(
        "{} {}, {} job(s), scale {}, pgdyno waiting by {}",
        args.script, args.protocol, args.jobs, args.scale, args.waiting
    );
    println!(
        "{} slots of {} s, the first second of each dropped; {}",
        args.slots, args.slot_seconds, server.description
    );
    let mut met = true;
    let mut csv = String::from("clients,pair,what,pgdyno,pgbench\n");
    for &clients in &args.clients {
        let job = Job {
            pgbench: server.pgbench.clone(),
            drive: drive.clone(),
            conninfo: server.conninfo.clone(),
            script: args.script.clone(),
            protocol: args.protocol.clone(),
            scale: args.scale,
            clients,
            jobs: args.jobs.min(clients),
            waiting: args.waiting.clone(),
        };
        met &= compare(&job, args, &mut csv)?;
    }
    if let Some(file) = &args.pairs {
        fs::write(file, csv).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    drop(server);
    Ok(met & (args.null_runs == 0 || null::run(args.null_runs)?))
}

/// One number of clients.
fn compare(job: &Job, args: &Args, csv: &mut String) -> Result<bool, Failure> {
    println!("\n{} clients", job.clients);
    let plan = Slots { count: args.slots, length_s: args.slot_seconds };
    let turns = slots::run(job, plan)?;
    let pairs = pairs::of(&turns.slots)?;
    for (at, pair) in pairs.iter().enumerate() {
        writeln!(csv, "{},{at},tps,{},{}", job.clients, pair.tps.0, pair.tps.1)?;
        writeln!(csv, "{},{at},cpu_ns_per_transaction,{},{}", job.clients, pair.cpu_ns.0, pair.cpu_ns.1)?;
    }
    let tps = Ratio::of(pairs.iter().map(|pair| pair.tps))?;
    let cpu = Ratio::of(pairs.iter().map(|pair| pair.cpu_ns))?;
    let log = pgbench::cost_of_log(job, args.control_pairs, args.slot_seconds)?;
    let bar = (job.clients >= CPU_BAR_FROM_CLIENTS).then_some(CPU_BAR);
    println!("  transactions per second  {}", levels(pairs.iter().map(|pair| pair.tps), units::rate));
    let met = print(&tps, "  pgdyno / pgbench", Some(TPS_BAR));
    println!("  CPU per transaction      {}", levels(pairs.iter().map(|pair| pair.cpu_ns), units::latency));
    print(&cpu, "  pgdyno / pgbench, which logs", bar);
    println!("  pgbench's log (-l), {} pairs of whole runs with it over without it:", args.control_pairs);
    print(&log.cpu, "    CPU per transaction", None);
    print(&log.tps, "    transactions per second", None);
    let met = print(&cpu.times(&log.cpu), "  CPU, pgdyno / pgbench without its log", bar) & met;
    Ok(memory(&turns.memory) & met)
}

/// Prints a ratio below a label and how it stands to a bar; false where the bar is missed.
fn print(ratio: &Ratio, label: &str, bar: Option<Bar>) -> bool {
    let standing = bar.map(|bar| (bar, ratio.judge(bar)));
    match standing {
        Some((bar, standing)) => println!("{label:40} {ratio}   bar {bar}: {standing}"),
        None => println!("{label:40} {ratio}"),
    }
    !matches!(standing, Some((_, Standing::Missed)))
}

/// The mean of either program, pgdyno's first.
fn levels(pairs: impl Iterator<Item = (f64, f64)> + Clone, write: impl Fn(f64) -> String) -> String {
    let count = pairs.clone().count() as f64;
    let (a, b) = pairs.fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    format!("pgdyno {}, pgbench {}", write(a / count), write(b / count))
}

fn memory(memory: &slots::Memory) -> bool {
    let small = memory.peak_bytes < MEMORY_BAR_BYTES;
    let flat = memory.end_bytes <= memory.half_bytes + FLAT_BYTES;
    let verdict = |met| if met { "met" } else { "missed" };
    let [peak, bar, start, half, end] =
        [memory.peak_bytes, MEMORY_BAR_BYTES, memory.start_bytes, memory.half_bytes, memory.end_bytes]
            .map(units::bytes);
    println!("  memory of the driver: peak {peak}, bar < {bar}: {}", verdict(small));
    println!(
        "    {start} after its first slot, {half} at half time, {end} at the end; flat: {}",
        verdict(flat)
    );
    small && flat
}
