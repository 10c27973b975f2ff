//! `bench-driver` and `bench-keeping`: programs that take turns at one server; `bench-load` and `bench-tpcc`: loads in
//! turns; `bench-tpcc` then drives both in turns.
//!
//! Single runs on a shared machine scatter by 20 %, more than what is asked. So all programs hold their connections
//! for the whole run, and only one of them is awake at a time. Order, windows, pairs and intervals are those of
//! `pgdyno_analysis::compare`; what is here starts, stops and wakes programs that know nothing of it.

mod cells;
mod cpu;
pub mod driver;
pub mod keeping;
pub mod load;
mod loading;
mod null;
mod pgbench;
mod process;
mod server;
pub mod tpcc;
mod tpcc_run;
mod turns;

use std::{fs, path::PathBuf, time::Duration};

use pgdyno_analysis::compare::{
    bar::{Bar, Ratio, Standing},
    slots::{Grid, Slots},
};
use pgdyno_core::units;

use self::cells::Cell;
use crate::{
    Failure,
    workspace::{cargo, succeed, target_dir},
};

/// Nothing counts in a slot before this.
const DROPPED: Duration = Duration::from_millis(500);

/// How a run is cut into slots.
#[derive(Debug, Clone, clap::Args)]
struct SlotArgs {
    /// Rounds of one slot of every program; twice as many as there are programs, or a multiple of it, are in balance
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(3..))]
    rounds: u32,
    /// Starts of all programs, each of as many rounds. An interval over three and more is that of their means, and so
    /// holds what differs from start to start
    #[arg(long, default_value_t = 1, value_parser = starts)]
    starts: u32,
    /// Seconds of a slot that count; half a second and more is dropped before
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    slot_seconds: u32,
    /// Write every slot as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// What every program runs.
#[derive(Debug, Clone, clap::Args)]
struct WorkArgs {
    /// Built-in scripts
    #[arg(long, value_delimiter = ',', default_value = "select-only,tpcb-like", value_name = "NAME,…",
          value_parser = ["tpcb-like", "simple-update", "select-only"])]
    script: Vec<String>,
    /// Protocol
    #[arg(long, default_value = "prepared", value_parser = ["simple", "extended", "prepared"])]
    protocol: String,
}

impl WorkArgs {
    /// Every script with every number of threads and clients.
    fn cells(&self, threads: &[u32], clients: &[u32]) -> Vec<Cell> {
        Cell::all(&self.script, threads, clients)
    }

    /// A cell as a program of pgbench's kind is asked for it.
    fn of_pgbench(&self, conninfo: String, cell: &Cell, seconds: u32) -> pgbench::Work {
        let (script, protocol) = (cell.script.clone(), self.protocol.clone());
        pgbench::Work { conninfo, script, protocol, clients: cell.clients, jobs: cell.threads, seconds }
    }
}

/// First line of the slots as CSV.
const CSV_HEADER: &str = "cell,script,threads,clients,slot,arm,tps,cpu_ns_per_transaction\n";

impl SlotArgs {
    /// Writes the slots that were made until now, where that is wanted.
    fn write(&self, csv: &str) -> Result<(), Failure> {
        let Some(file) = &self.csv else { return Ok(()) };
        fs::write(file, csv).map_err(|error| format!("{}: {error}", file.display()).into())
    }

    fn slots(&self, arms: usize) -> Slots {
        let counted_ns = u64::from(self.slot_seconds) * 1_000_000_000;
        Slots { arms, rounds: self.rounds, dropped_ns: DROPPED.as_nanos() as u64, counted_ns }
    }

    /// Seconds of all slots of a run of arms that are counted like this.
    fn seconds(&self, grids: &[Grid]) -> f64 {
        let slots = self.slots(grids.len());
        let round_ns: u64 = grids.iter().map(|grid| slots.mean_slot_ns(*grid)).sum();
        f64::from(self.rounds) * round_ns as f64 / 1e9
    }

    /// How a cell is cut, in words.
    fn words(&self, arms: usize) -> String {
        let starts = if self.starts == 1 { String::new() } else { format!("{} starts of ", self.starts) };
        format!("{starts}{} slots of {arms} arms each", self.rounds as usize * arms)
    }
}

/// Reads a number of starts.
fn starts(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(2) => Err("two have no interval: use 1, or 3 and more".to_owned()),
        Ok(number @ 1..) => Ok(number),
        _ => Err("a number from 1 on is wanted".to_owned()),
    }
}

/// How many bars were met, missed, and left undecided.
#[derive(Debug, Default)]
struct Tally {
    met: u32,
    missed: u32,
    undecided: u32,
}

impl Tally {
    /// Prints a ratio behind a label, and how it stands to a bar, which counts.
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

    /// The same of what is so or is not.
    fn say(&mut self, words: &str, met: bool) {
        println!("    {words}: {}", if met { "met" } else { "missed" });
        *if met { &mut self.met } else { &mut self.missed } += 1;
    }

    /// Prints the sum; false where a bar was missed.
    fn conclude(&self) -> bool {
        println!("\nbars: {} met, {} missed, {} undecided", self.met, self.missed, self.undecided);
        self.missed == 0
    }
}

/// One line of what an arm came to.
fn print_level(race: &turns::Race, arm: usize) {
    let Some(level) = race.level(arm) else { return };
    println!(
        "  {:20} {:>9} TPS   {:>8} of processor time a transaction   {} slots",
        race.names[arm],
        units::rate(level.tps),
        units::latency(level.cpu_ns),
        level.slots
    );
}

/// Builds `pgdyno` in the release profile and gives its path.
fn build_pgdyno() -> Result<PathBuf, Failure> {
    succeed(cargo().args(["build", "--quiet", "--release", "--package", "pgdyno", "--bins"]))?;
    Ok(target_dir().join("release/pgdyno"))
}

/// Builds an example in the release profile and gives its path.
fn build_example(package: &str, name: &str) -> Result<PathBuf, Failure> {
    let mut command = cargo();
    succeed(command.args(["build", "--quiet", "--release", "--package", package, "--example", name]))?;
    Ok(target_dir().join("release/examples").join(name))
}
