//! `bench-driver`: pgdyno's driver, with each method of waiting, and pgbench alternately; then the null target against
//! its bar.

use std::{ops::RangeInclusive, path::Path, process::Command};

use pgdyno_analysis::compare::{
    bar::{Bar, Ratio},
    slots::DROPPED_MS,
};
use pgdyno_core::units;

use super::{
    CSV_HEADER, SlotArgs, Tally, WorkArgs,
    alone::{Alone, none_or_enough},
    build_example,
    cells::{self, Cell},
    pgbench, print_level,
    server::{ServerArgs, Servers},
    turns::{self, Arm, Counts, Field, Memory, Race},
};
use crate::{Failure, workspace::output};

/// Flags of `bench-driver`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    slots: SlotArgs,
    #[command(flatten)]
    work: WorkArgs,
    /// Client counts
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8,32,128,256", value_name = "N,…",
          value_parser = clap::value_parser!(u32).range(1..))]
    clients: Vec<u32>,
    /// Only these cells, by their numbers in the announcement
    #[arg(long, value_delimiter = ',', value_name = "N|N-N,…", value_parser = cells::numbers)]
    cells: Vec<RangeInclusive<usize>>,
    /// How pgdyno's driver waits for its connections, one arm each; `auto` is pgdyno's default
    #[arg(long, value_delimiter = ',', default_value = "auto", value_name = "NAME,…",
          value_parser = ["auto", "io_uring", "epoll"])]
    waiting: Vec<String>,
    /// Print the cells with their numbers and the estimated duration
    #[arg(long)]
    dry_run: bool,
    /// Add an arm: pgbench with its log (-l)
    #[arg(long)]
    pgbench_log: bool,
    /// Runs of the null target, three seconds each; 0 skips it
    #[arg(long, default_value_t = 5, value_parser = none_or_enough)]
    null_runs: u32,
}

/// Names and additional options of the arms of pgbench.
const PGBENCH: [(&str, &[&str]); 2] = [("pgbench", &[]), ("pgbench -l", &["-l"])];
const TPS_BAR: Bar = Bar::AtLeast(0.98);
/// Goal for the mean over all cells; not counted among the bars.
const TPS_STRETCH: Bar = Bar::AtLeast(1.05);
const MEMORY_BAR_BYTES: u64 = 64 << 20;
/// Growth from half time to the end that still counts as flat. The first half is ignored: after sleeping for a slot, a
/// driver has intervals to catch up with, and its buffers reach their final size in the first slots.
const FLAT_BYTES: u64 = 256 << 10;
/// Seconds to load the tables of one program at scale 1, to connect a client, and between two cells, for the estimate.
const LOAD_S: f64 = 0.15;
const CONNECT_S: f64 = 0.01;
const CELL_S: f64 = 2.0;

/// The null target: how many attempts per second and core the engine records.
const NULL: Alone = Alone {
    what: "null target, 3 s each",
    label: "attempts/s/core over 5 million",
    unit: 5e6,
    bar: Bar::AtLeast(1.0),
    words: |rate| format!("{} attempts/s/core", units::rate(rate)),
};

/// Most CPU time of pgdyno as a share of pgbench's. Fewer clients leave less to batch.
fn cpu_bar(clients: u32) -> Bar {
    Bar::AtMost(match clients {
        ..8 => 1.0,
        8..32 => 0.75,
        32.. => 0.65,
    })
}

/// Runs the comparison for every script and client count, then the null target; returns false if a bar is missed.
///
/// # Errors
/// The first problem.
pub fn run(args: &Args) -> Result<bool, Failure> {
    let cells = args.chosen()?;
    println!("{}", args.announcement(&cells));
    if args.dry_run {
        return Ok(true);
    }
    let drive = build_example("pgdyno-postgres", "drive")?;
    let most_clients = cells.iter().map(|cell| cell.clients).max().unwrap_or(1);
    let servers = Servers::of(&args.server, args.arms(), most_clients, &args.work.script)?;
    println!("servers: {}; pgbench: {}", servers.description, servers.pgbench.display());
    let mut tally = Tally::default();
    let mut csv = CSV_HEADER.to_owned();
    let mut means = vec![Vec::new(); args.waiting.len()];
    for cell in &cells {
        servers.checkpoint()?;
        let dir = tempfile::tempdir()?;
        let start = || Field::of(args.start_arms(&drive, &servers, dir.path(), cell), dir.path());
        let race = turns::run(&args.names(), args.slots.slots(args.arms()), args.slots.starts, start)?;
        csv.push_str(&race.csv(&cell.csv()));
        println!("\n{}", cell.title(&args.work.protocol));
        for (ratio, means) in args.judge(&race, cell.clients, &mut tally)?.into_iter().zip(&mut means) {
            means.push(ratio);
        }
        args.slots.write(&csv)?;
    }
    drop(servers);
    args.conclude(cells.len(), &means);
    if args.null_runs > 0 {
        let null = build_example("pgdyno-engine", "null")?;
        let rate = |_| Ok(output(Command::new(&null).arg("3"))?.trim().parse()?);
        NULL.run(args.null_runs, rate, &mut tally)?;
    }
    Ok(tally.conclude())
}

impl Args {
    /// The requested cells.
    fn chosen(&self) -> Result<Vec<Cell>, Failure> {
        let mut cells = self.work.cells(&self.clients)?;
        if let Some(beyond) = self.cells.iter().find(|range| *range.end() > cells.len()) {
            return Err(
                format!("--cells: there are {} cells, no number {}", cells.len(), beyond.end()).into()
            );
        }
        let asked = |cell: &Cell| self.cells.iter().any(|range| range.contains(&cell.number));
        cells.retain(|cell| self.cells.is_empty() || asked(cell));
        Ok(cells)
    }

    /// Number of arms: pgdyno's come first, then pgbench, then pgbench with its log.
    fn arms(&self) -> usize {
        self.waiting.len() + 1 + usize::from(self.pgbench_log)
    }

    fn names(&self) -> Vec<String> {
        let of_pgdyno = self.waiting.iter().map(|waiting| format!("pgdyno {waiting}"));
        of_pgdyno.chain(PGBENCH.map(|(name, _)| name.to_owned())).take(self.arms()).collect()
    }

    /// Index of pgbench among the arms.
    fn pgbench(&self) -> usize {
        self.waiting.len()
    }

    /// Seconds of all slots of one cell.
    fn cell_s(&self) -> f64 {
        let pgdyno = self.waiting.iter().map(|_| Counts::Intervals.grid());
        let pgbench = (self.pgbench()..self.arms()).map(|_| Counts::Progress.grid());
        self.slots.seconds(&pgdyno.chain(pgbench).collect::<Vec<_>>())
    }

    fn announcement(&self, cells: &[Cell]) -> String {
        let arms = self.arms() as f64;
        let connect_s: f64 =
            cells.iter().map(|cell| arms * (1.0 + f64::from(cell.clients) * CONNECT_S)).sum();
        let load_s =
            if self.server.dsn.is_some() { 0.0 } else { LOAD_S * f64::from(self.server.scale) * arms };
        let titles: String =
            cells.iter().map(|cell| format!("  {}\n", cell.title(&self.work.protocol))).collect();
        let count = cells.len() as f64;
        let cells_s = (connect_s + count * self.cell_s()) * f64::from(self.slots.starts);
        let total_s = load_s + cells_s + count * CELL_S + 4.0 * f64::from(self.null_runs);
        format!(
            "{titles}{} of {}; {} of each slot count, at least the first {} ms do not\n\
             scale {}; takes about {:.0} min",
            units::plural(cells.len() as u64, "cell"),
            self.slots.words(self.arms()),
            units::plural(self.slots.slot_seconds.into(), "second"),
            DROPPED_MS,
            self.server.scale,
            (total_s / 60.0).ceil()
        )
    }

    fn start_arms(&self, drive: &Path, servers: &Servers, dir: &Path, cell: &Cell) -> Vec<Arm> {
        // A generous limit: a program is normally ended after its last slot, and ends itself only if this process dies.
        let seconds = 2 * self.cell_s() as u32 + 300;
        let names = self.names();
        let of_pgdyno = self.waiting.iter().enumerate().map(|(at, waiting)| {
            let mut command = Command::new(drive);
            command.args([&servers.conninfo(at), &cell.script, &self.work.protocol]);
            let numbers = [cell.clients, cell.threads, seconds, self.server.scale];
            command.args(numbers.map(|number| number.to_string())).arg(waiting);
            Arm { name: names[at].clone(), command, counts: Counts::Intervals }
        });
        let of_pgbench = (self.pgbench()..self.arms()).zip(PGBENCH).map(|(at, (_, more))| {
            let mut command = pgbench::command(&servers.pgbench, cell, &self.work.protocol, seconds);
            command.args(more).arg(servers.conninfo(at)).current_dir(dir);
            Arm { name: names[at].clone(), command, counts: Counts::Progress }
        });
        of_pgdyno.chain(of_pgbench).collect()
    }

    /// Prints a cell; returns the TPS ratio of each of pgdyno's arms to pgbench.
    fn judge(&self, race: &Race, clients: u32, tally: &mut Tally) -> Result<Vec<Ratio>, Failure> {
        let pgbench = self.pgbench();
        let mut ratios = Vec::new();
        (pgbench..self.arms()).for_each(|arm| print_level(race, arm));
        for arm in (pgbench + 1)..self.arms() {
            tally.judge("TPS / pgbench", &race.ratio(arm, pgbench, |slot| slot.tps)?, None);
            tally.judge("CPU time / pgbench", &race.ratio(arm, pgbench, |slot| slot.cpu_ns)?, None);
        }
        let best = cheapest(race, pgbench);
        for arm in 0..pgbench {
            print_level(race, arm);
            // Only the cheapest arm is judged by the bars; the others are printed for information.
            let bar = |bar| (Some(arm) == best).then_some(bar);
            let tps = race.ratio(arm, pgbench, |slot| slot.tps)?;
            tally.judge("TPS / pgbench", &tps, bar(TPS_BAR));
            ratios.push(tps);
            let cpu = race.ratio(arm, pgbench, |slot| slot.cpu_ns)?;
            tally.judge("CPU time / pgbench", &cpu, bar(cpu_bar(clients)));
            for log in (pgbench + 1)..self.arms() {
                tally.judge("TPS / pgbench -l", &race.ratio(arm, log, |slot| slot.tps)?, None);
                tally.judge("CPU time / pgbench -l", &race.ratio(arm, log, |slot| slot.cpu_ns)?, None);
            }
            judge_memory(&race.memory(arm).ok_or("the driver's memory could not be read")?, tally);
        }
        Ok(ratios)
    }

    /// Prints the means over all cells.
    fn conclude(&self, cells: usize, means: &[Vec<Ratio>]) {
        println!("\nTPS / pgbench, geometric mean over {}", units::plural(cells as u64, "cell"));
        for (waiting, ratios) in self.waiting.iter().zip(means) {
            let Some(mean) = Ratio::mean_of(ratios) else { continue };
            println!("    pgdyno {waiting:29} {mean}   stretch {TPS_STRETCH}: {}", mean.judge(TPS_STRETCH));
        }
    }
}

/// The arm with the lowest CPU time per transaction, among the first `arms`.
fn cheapest(race: &Race, arms: usize) -> Option<usize> {
    let cost = |arm: &usize| race.level(*arm).map_or(f64::INFINITY, |level| level.cpu_ns);
    (0..arms).min_by(|one, other| cost(one).total_cmp(&cost(other)))
}

fn judge_memory(memory: &Memory, tally: &mut Tally) {
    let small = memory.peak_bytes < MEMORY_BAR_BYTES;
    let flat = memory.end_bytes <= memory.half_bytes + FLAT_BYTES;
    let [peak, bar, start, half, end] =
        [memory.peak_bytes, MEMORY_BAR_BYTES, memory.start_bytes, memory.half_bytes, memory.end_bytes]
            .map(units::bytes);
    tally.say(&format!("peak memory {peak}, bar < {bar}"), small);
    let words = format!("memory {start} after the first slot, {half} at half time, {end} at the end, flat");
    tally.say(&words, flat);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_clients_have_a_stricter_cpu_bar() {
        let bars = [1, 7, 8, 31, 32, 256].map(|clients| cpu_bar(clients).to_string());
        assert_eq!(bars, ["≤ 1", "≤ 1", "≤ 0.75", "≤ 0.75", "≤ 0.65", "≤ 0.65"]);
    }
}
