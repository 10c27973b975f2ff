//! `bench-driver`: programs that alternate. `bench-load` and `bench-tpcc`: alternating loads; `bench-tpcc` then also
//! alternates runs. `bench-observe`: a driver with and without observers. `bench-disk`: storage, without a server.
//!
//! Single runs on a shared machine scatter by 20 %, more than the difference in question. So all programs keep their
//! connections for the whole run, and only one of them is awake at a time. Order, windows, pairs and confidence
//! intervals come from `pgdyno_analysis::compare`; this module starts, stops and wakes the programs, which know nothing
//! of it.

mod alone;
mod cells;
mod cpu;
pub mod disk;
pub mod driver;
pub mod load;
mod loading;
pub mod observe;
mod pgbench;
mod process;
mod server;
pub mod tpcc;
mod turns;

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
};

use pgdyno_analysis::compare::{
    bar::{Bar, Ratio, Standing},
    slots::{COUNTED_MS, DROPPED_MS, Grid, Slots},
};
use pgdyno_core::units;

use self::cells::Cell;
use crate::{
    Failure,
    workspace::{cargo, succeed, target_dir},
};

/// How a run is divided into slots.
#[derive(Debug, Clone, clap::Args)]
struct SlotArgs {
    /// Rounds of one slot of every program; balanced for multiples of twice the number of programs
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(3..))]
    rounds: u32,
    /// Starts of all programs, each followed by this number of rounds. With three or more, the confidence interval is
    /// that of their means, and includes the scatter between starts
    #[arg(long, default_value_t = 1, value_parser = starts)]
    starts: u32,
    /// Counted seconds of a slot; at least half a second before them does not count
    #[arg(long, default_value_t = (COUNTED_MS / 1_000) as u32, value_parser = clap::value_parser!(u32).range(1..))]
    slot_seconds: u32,
    /// Write every slot as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// The work of every program.
#[derive(Debug, Clone, clap::Args)]
struct WorkArgs {
    /// Built-in scripts
    #[arg(long, value_delimiter = ',', default_value = "select-only,tpcb-like", value_name = "NAME,…",
          value_parser = ["tpcb-like", "simple-update", "select-only"])]
    script: Vec<String>,
    /// Protocol
    #[arg(long, default_value = "prepared", value_parser = ["simple", "extended", "prepared"])]
    protocol: String,
    /// Threads of every program [default: 1, and the number of CPUs]
    #[arg(long, value_delimiter = ',', value_name = "N,…", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Vec<u32>,
}

impl WorkArgs {
    /// Every script with every number of threads and clients.
    fn cells(&self, clients: &[u32]) -> Result<Vec<Cell>, Failure> {
        let processors = thread::available_parallelism()?.get() as u32;
        let threads = if self.jobs.is_empty() { vec![1, processors] } else { self.jobs.clone() };
        Ok(Cell::all(&self.script, &threads, clients))
    }
}

/// Header line of the CSV with slots.
const CSV_HEADER: &str = "cell,script,threads,clients,slot,arm,tps,cpu_ns_per_transaction\n";

impl SlotArgs {
    /// Writes the slots so far, if requested.
    fn write(&self, csv: &str) -> Result<(), Failure> {
        write_file(self.csv.as_deref(), csv)
    }

    fn slots(&self, arms: usize) -> Slots {
        let counted_ns = u64::from(self.slot_seconds) * 1_000_000_000;
        Slots { arms, rounds: self.rounds, dropped_ns: DROPPED_MS * 1_000_000, counted_ns }
    }

    /// Seconds of all slots of a run of arms with these grids.
    fn seconds(&self, grids: &[Grid]) -> f64 {
        let slots = self.slots(grids.len());
        let round_ns: u64 = grids.iter().map(|grid| slots.mean_slot_ns(*grid)).sum();
        f64::from(self.rounds) * round_ns as f64 / 1e9
    }

    /// The slots of a cell, in words.
    fn words(&self, arms: usize) -> String {
        let starts = if self.starts == 1 { String::new() } else { format!("{} starts of ", self.starts) };
        format!("{starts}{} slots of {arms} arms each", self.rounds as usize * arms)
    }
}

/// Writes text to a file, if one was requested.
fn write_file(file: Option<&Path>, text: &str) -> Result<(), Failure> {
    let Some(file) = file else { return Ok(()) };
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()).into())
}

/// Parses a number of starts.
fn starts(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(2) => Err("two starts give no confidence interval: use 1, or 3 and more".to_owned()),
        Ok(number @ 1..) => Ok(number),
        _ => Err("expected a number from 1".to_owned()),
    }
}

/// Number of bars met, missed, and undecided.
#[derive(Debug, Default)]
struct Tally {
    met: u32,
    missed: u32,
    undecided: u32,
}

impl Tally {
    /// Prints a labelled ratio; if there is a bar, judges and counts it.
    fn judge(&mut self, label: &str, ratio: &Ratio, bar: Option<Bar>) {
        let Some(bar) = bar else { return println!("    {label:36} {ratio}") };
        let standing = ratio.judge(bar);
        println!("    {label:36} {ratio}   bar {bar}: {standing}");
        match standing {
            Standing::Met => self.met += 1,
            Standing::Missed => self.missed += 1,
            Standing::Undecided(_) => self.undecided += 1,
        }
    }

    /// Prints and counts a condition that is met or missed.
    fn say(&mut self, words: &str, met: bool) {
        println!("    {words}: {}", if met { "met" } else { "missed" });
        *if met { &mut self.met } else { &mut self.missed } += 1;
    }

    /// Prints the totals; returns false if a bar was missed.
    fn conclude(&self) -> bool {
        println!("\nbars: {} met, {} missed, {} undecided", self.met, self.missed, self.undecided);
        self.missed == 0
    }
}

/// Prints the mean results of an arm.
fn print_level(race: &turns::Race, arm: usize) {
    let Some(level) = race.level(arm) else { return };
    println!(
        "  {:20} {:>9} TPS   {:>8} of CPU time per transaction   {} slots",
        race.names[arm],
        units::rate(level.tps),
        units::latency(level.cpu_ns),
        level.slots
    );
}

/// Builds `pgdyno` in the release profile and returns its path.
fn build_pgdyno() -> Result<PathBuf, Failure> {
    succeed(cargo().args(["build", "--quiet", "--release", "--package", "pgdyno", "--bins"]))?;
    Ok(target_dir().join("release/pgdyno"))
}

/// Builds an example in the release profile and returns its path.
fn build_example(package: &str, name: &str) -> Result<PathBuf, Failure> {
    let mut command = cargo();
    succeed(command.args(["build", "--quiet", "--release", "--package", package, "--example", name]))?;
    Ok(target_dir().join("release/examples").join(name))
}
