//! `bench-observe`: what observing costs. A driver runs without a pause on one server; all observers watch it in every
//! second slot, and sleep in the others.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use pgdyno_analysis::compare::{
    bar::{Bar, Ratio},
    slots::{DROPPED_MS, Grid, Window, rate_within},
};
use pgdyno_core::units;
use rustix::process::Signal;

use super::{
    CSV_HEADER, SlotArgs, Tally, WorkArgs, build_example,
    cells::Cell,
    cpu, print_level,
    process::{Program, sleep_until},
    server::{Own, ServerArgs, Servers},
    turns::{Counts, Memory, Race, Slot, Start},
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
    /// Driver threads [default: 1, and the number of CPUs]
    #[arg(long, value_delimiter = ',', value_name = "N,…", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Vec<u32>,
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
    let cells = args.cells()?;
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
        let bench =
            Bench { args, drive: &drive, observe: &observe, server, conninfo: servers.conninfo(0), cell };
        let starts = (0..args.slots.starts).map(|_| bench.start()).collect::<Result<_, _>>()?;
        let race = Race { names: NAMES.map(str::to_owned).to_vec(), starts };
        csv.push_str(&race.csv(&cell.csv()));
        println!("\n{}", cell.title(&args.work.protocol));
        judge(&race, &mut tally)?;
        args.slots.write(&csv)?;
    }
    Ok(tally.conclude())
}

impl Args {
    fn cells(&self) -> Result<Vec<Cell>, Failure> {
        let processors = thread::available_parallelism()?.get() as u32;
        let threads = if self.jobs.is_empty() { vec![1, processors] } else { self.jobs.clone() };
        Ok(self.work.cells(&threads, &self.clients))
    }

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
}

impl Bench<'_> {
    /// Starts driver and observers, and runs all slots.
    fn start(&self) -> Result<Start, Failure> {
        let dir = tempfile::tempdir()?;
        let mut driver = Program::start("drive", &mut self.driver(), dir.path())?;
        driver.wait_until("begin", |driver| Counts::Intervals.begun(driver).is_some())?;
        let lines = dir.path().join("observations.ndjson");
        let mut observers = Program::start("observe", &mut self.observers(&lines), dir.path())?;
        let sees = || fs::read_to_string(&lines).is_ok_and(|text| text.contains("\"of\":\"waits\""));
        observers.wait_until("see what sessions wait for", |_| sees())?;
        let watch = Watch { pids: self.answering()?, observers };
        self.slots(driver, watch)
    }

    fn slots(&self, mut driver: Program, mut watch: Watch) -> Result<Start, Failure> {
        let plan = self.args.slots.slots(NAMES.len());
        let mut watched = Vec::new();
        for arm in plan.order() {
            let signal = if arm == OBSERVED { Signal::CONT } else { Signal::STOP };
            watch.observers.signal(signal)?;
            let now_ns = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos() as u64;
            let window = plan.window(now_ns, Grid::Fine);
            sleep_until(window.from_ns)?;
            let before_ns = watch.cpu_ns()?;
            sleep_until(window.to_ns)?;
            watched.push((arm, window, watch.cpu_ns()?.saturating_sub(before_ns), watch.resident_bytes()));
            driver.check()?;
            watch.observers.check()?;
        }
        let last_ns = watched.last().map_or(0, |(_, window, ..)| window.to_ns);
        let is_told = |driver: &Program| {
            Counts::Intervals.read(driver).last().is_some_and(|count| count.span_ns.end >= last_ns)
        };
        driver.wait_until("report its counts", is_told)?;
        let counts = Counts::Intervals.read(&driver);
        let slot = |(arm, window, cpu_ns, _): &(usize, Window, u64, u64)| {
            let tps = rate_within(&counts, *window).filter(|tps| *tps > 0.0);
            (*arm, tps.map(|tps| Slot::of_share(tps, *cpu_ns, *window)))
        };
        let slots = watched.iter().map(slot).collect();
        let resident: Vec<u64> = watched.iter().map(|(.., bytes)| *bytes).collect();
        Ok(Start { slots, memory: vec![Memory::of(&resident, watch.observers.pid())] })
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

    fn observers(&self, lines: &PathBuf) -> Command {
        let mut command = Command::new(self.observe);
        command.args([&self.conninfo, &self.cell.clients.to_string()]).arg(lines);
        command
    }

    /// The server processes that answer the observers.
    fn answering(&self) -> Result<Vec<u32>, Failure> {
        let sql = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'pgdyno observer%'";
        let rows = self.server.admin()?.query(sql).map_err(|error| error.to_string())?;
        let pids: Vec<u32> = rows.iter().filter_map(|row| row.parse(0)).collect();
        if pids.is_empty() { Err("the observers have no session".into()) } else { Ok(pids) }
    }
}

/// The observers with what they use.
struct Watch {
    observers: Program,
    /// Server processes that answer them.
    pids: Vec<u32>,
}

impl Watch {
    /// CPU time of all of it.
    fn cpu_ns(&self) -> Result<u64, Failure> {
        let of = |pid: &u32| cpu::time_ns(*pid).ok_or("a session of the observers was lost");
        let answering = self.pids.iter().map(of).sum::<Result<u64, _>>()?;
        Ok(self.observers.cpu_ns()? + answering)
    }

    fn resident_bytes(&self) -> u64 {
        cpu::memory_bytes(self.observers.pid(), "VmRSS").unwrap_or(0)
    }
}

impl Slot {
    /// A slot of a program that used this CPU time in the window.
    fn of_share(tps: f64, cpu_ns: u64, window: Window) -> Self {
        let seconds = (window.to_ns - window.from_ns) as f64 / 1e9;
        Self { tps, cpu_ns: cpu_ns as f64 / (tps * seconds) }
    }

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
    let memory = race.memory(0).ok_or("the observers' memory could not be read")?;
    let [peak, half, end] = [memory.peak_bytes, memory.half_bytes, memory.end_bytes].map(units::bytes);
    let words = format!("peak memory {peak}; {half} at half time, {end} at the end, flat");
    tally.say(&words, memory.end_bytes <= memory.half_bytes + FLAT_BYTES);
    Ok(())
}
