//! `bench-observe`: what observing costs. A driver runs without a pause on one server; all observers watch it in every
//! second slot, and sleep in the others.

use std::{fs, path::Path, process::Command};

use pgdyno_analysis::compare::{
    bar::{Bar, Ratio},
    slots::{DROPPED_MS, Grid},
};
use pgdyno_core::units;

use super::{
    CSV_HEADER, SlotArgs, Tally, WorkArgs, build_example,
    cells::Cell,
    print_level,
    process::Program,
    server::{Own, ServerArgs, Servers},
    turns::{self, Arm, Counts, Field, Race, Runner, Slot, Watched},
};
use crate::Failure;

/// Flags of `bench-observe`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    slots: SlotArgs,
    #[command(flatten)]
    work: WorkArgs,
    /// Client counts
    #[arg(long, value_delimiter = ',', default_value = "8,200", value_name = "N,…",
          value_parser = clap::value_parser!(u32).range(1..))]
    clients: Vec<u32>,
}

const NAMES: [&str; 2] = ["observed", "alone"];
const OBSERVED: usize = 0;
const ALONE: usize = 1;
/// Observing costs at most 1 % of the throughput.
const TPS_BAR: Bar = Bar::AtLeast(0.99);
/// CPU time of observers and of the server processes that answer them, as a share of one CPU.
const CPU_BAR: Bar = Bar::AtMost(0.02);
/// Growth of memory from half time to the end that still counts as bounded.
const FLAT_BYTES: u64 = 256 << 10;

/// Runs every cell; returns false if a bar is missed.
///
/// # Errors
/// The first problem.
pub fn run(args: &Args) -> Result<bool, Failure> {
    let cells = args.work.cells(&args.clients)?;
    println!("{}", args.announcement(&cells));
    let drive = build_example("pgdyno-postgres", "drive")?;
    let observe = build_example("pgdyno-observe", "observe")?;
    let most_clients = args.clients.iter().max().copied().unwrap_or(1);
    let servers = Servers::of(&args.server, 1, most_clients, &args.work.script)?;
    println!("server: {}", servers.description);
    let server = servers.own().ok_or("observers watch processes: an own server is needed, no --dsn")?;
    let mut tally = Tally::default();
    let mut csv = CSV_HEADER.to_owned();
    for cell in &cells {
        servers.checkpoint()?;
        let (dir, conninfo) = (tempfile::tempdir()?, servers.conninfo(0));
        let bench = Bench { args, drive: &drive, observe: &observe, server, conninfo, cell, dir: dir.path() };
        let plan = args.slots.slots(NAMES.len());
        let race = turns::run(&NAMES.map(str::to_owned), plan, args.slots.starts, || bench.start())?;
        csv.push_str(&race.csv(&cell.csv()));
        println!("\n{}", cell.title(&args.work.protocol));
        judge(&race, &mut tally)?;
        args.slots.write(&csv)?;
    }
    Ok(tally.conclude())
}

impl Args {
    fn cell_s(&self) -> f64 {
        self.slots.seconds(&[Grid::Fine; NAMES.len()])
    }

    fn announcement(&self, cells: &[Cell]) -> String {
        let total_s = cells.len() as f64 * (self.cell_s() + 3.0) * f64::from(self.slots.starts);
        format!(
            "{} of {}; the first {DROPPED_MS} ms of a slot do not count; takes about {:.0} min",
            units::plural(cells.len() as u64, "cell"),
            self.slots.words(NAMES.len()),
            (total_s / 60.0).ceil()
        )
    }
}

/// What a cell is measured with.
struct Bench<'a> {
    args: &'a Args,
    drive: &'a Path,
    observe: &'a Path,
    server: &'a Own,
    conninfo: String,
    cell: &'a Cell,
    dir: &'a Path,
}

impl Bench<'_> {
    /// Starts the driver, which runs all the time, and the observers, which sleep in every second slot.
    fn start(&self) -> Result<Field, Failure> {
        let dir = self.dir;
        let driver = Arm { name: "drive".into(), command: self.driver(), counts: Counts::Intervals };
        let driver = Runner::start_awake(driver, dir)?;
        let lines = dir.join("observations.ndjson");
        // Those of the start before.
        let _ = fs::remove_file(&lines);
        let mut observers = Program::start("observe", &mut self.observers(&lines), dir)?;
        let sees = || fs::read_to_string(&lines).is_ok_and(|text| text.contains("\"of\":\"waits\""));
        observers.wait_until("see what sessions wait for", |_| sees())?;
        let pids = [vec![observers.pid()], self.answering()?].concat();
        Ok(Field {
            runners: vec![Runner::without_counts(observers)],
            awake: vec![Some(0), None],
            watched: Some(Watched { runner: driver, pids }),
        })
    }

    fn driver(&self) -> Command {
        // A generous limit: it is normally ended after the last slot, and ends itself only if this process dies.
        let seconds = 2 * self.args.cell_s() as u32 + 300;
        let mut command = Command::new(self.drive);
        command.args([&self.conninfo, &self.cell.script, &self.args.work.protocol]);
        let numbers = [self.cell.clients, self.cell.threads, seconds, self.args.server.scale];
        command.args(numbers.map(|number| number.to_string())).arg("auto");
        command
    }

    fn observers(&self, lines: &Path) -> Command {
        let mut command = Command::new(self.observe);
        command.args([&self.conninfo, &self.cell.clients.to_string()]).arg(lines);
        command
    }

    /// The server processes that answer the observers.
    fn answering(&self) -> Result<Vec<u32>, Failure> {
        let sql = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'pgdyno observer%'";
        let rows = self.server.session("postgres")?.query(sql).map_err(|error| error.to_string())?;
        let pids: Vec<u32> = rows.iter().filter_map(|row| row.parse(0)).collect();
        if pids.is_empty() { Err("the observers have no session".into()) } else { Ok(pids) }
    }
}

impl Slot {
    /// CPUs that were used.
    fn cpus(&self) -> f64 {
        self.cpu_ns * self.tps / 1e9
    }
}

/// Prints a cell.
fn judge(race: &Race, tally: &mut Tally) -> Result<(), Failure> {
    [ALONE, OBSERVED].into_iter().for_each(|arm| print_level(race, arm));
    tally.judge("TPS / alone", &race.ratio(OBSERVED, ALONE, |slot| slot.tps)?, Some(TPS_BAR));
    let observed = race.starts.iter().flat_map(|start| &start.slots);
    let observed = observed.filter(|(arm, _)| *arm == OBSERVED).filter_map(|(_, slot)| *slot);
    let cpus = Ratio::from_pairs(observed.map(|slot| (slot.cpus(), 1.0)))?;
    tally.judge("CPUs of observers and their sessions", &cpus, Some(CPU_BAR));
    let memory = race.memory(OBSERVED).ok_or("the observers' memory could not be read")?;
    let [peak, half, end] = [memory.peak_bytes, memory.half_bytes, memory.end_bytes].map(units::bytes);
    let words = format!("peak memory {peak}; {half} at half time, {end} at the end, flat");
    tally.say(&words, memory.end_bytes <= memory.half_bytes + FLAT_BYTES);
    Ok(())
}
