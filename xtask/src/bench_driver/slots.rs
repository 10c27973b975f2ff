//! Both programs through their slots.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use pgdyno_core::{
    analysis::compare::slots::{Count, Slots, Turn, rate_within},
    measure::Arm,
};
use rustix::process::Signal;

use super::{
    Job, cpu,
    pairs::{Slot, of_drive, of_pgbench},
    pgbench,
    process::{Program, sleep_until},
};
use crate::{
    Failure,
    workspace::{cargo, succeed, target_dir},
};

/// What a run came to.
pub struct Turns {
    /// Its slots, in order.
    pub slots: Vec<Slot>,
    /// Memory of pgdyno's driver.
    pub memory: Memory,
}

/// Resident memory of pgdyno's driver in bytes.
pub struct Memory {
    /// The most there was.
    pub peak_bytes: u64,
    /// When its first slot ended.
    pub start_bytes: u64,
    /// When half of its slots had ended.
    pub half_bytes: u64,
    /// When its last slot ended.
    pub end_bytes: u64,
}

/// A turn, and the share of it that the program was on a processor.
struct Watched {
    turn: Turn,
    busy: f64,
    memory_bytes: Option<u64>,
}

/// Builds an example in the release profile and gives its path.
pub fn build_example(package: &str, name: &str) -> Result<PathBuf, Failure> {
    let mut command = cargo();
    succeed(command.args(["build", "--quiet", "--release", "--package", package, "--example", name]))?;
    Ok(target_dir().join("release/examples").join(name))
}

/// Runs both programs in turns.
pub fn run(job: &Job, plan: Slots) -> Result<Turns, Failure> {
    let dir = tempfile::tempdir()?;
    let mut drive = start_drive(job, dir.path(), plan)?;
    drive.signal(Signal::STOP)?;
    let mut pgbench = pgbench::start(job, dir.path(), true, plan.seconds())?;
    pgbench.signal(Signal::STOP)?;
    let start_s = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() + 1;
    let turns = plan.turns(start_s);
    let watched = turns.map(|turn| watch(turn, &mut drive, &mut pgbench)).collect::<Result<Vec<_>, _>>()?;
    pgbench::end(pgbench)?;
    let of_pgbench = of_pgbench(&pgbench::logs(dir.path())?);
    let (of_drive, peak_bytes) = end_drive(drive, &watched)?;
    let counts = |arm| if arm == Arm::A { &of_drive } else { &of_pgbench };
    let slots = watched.iter().map(|watched| slot(watched, counts(watched.turn.arm)));
    let memory: Vec<u64> = watched.iter().filter_map(|watched| watched.memory_bytes).collect();
    let memory = Memory::of(&memory, peak_bytes).ok_or("the driver's memory could not be read")?;
    Ok(Turns { slots: slots.collect::<Result<_, _>>()?, memory })
}

impl Memory {
    /// From a reading at the end of every slot.
    fn of(readings: &[u64], peak_bytes: u64) -> Option<Self> {
        let (&start_bytes, &end_bytes) = (readings.first()?, readings.last()?);
        Some(Self { peak_bytes, start_bytes, half_bytes: readings[readings.len() / 2], end_bytes })
    }
}

fn start_drive(job: &Job, dir: &Path, plan: Slots) -> Result<Program, Failure> {
    const SPARE_S: u32 = 300;
    let numbers =
        [job.clients, job.jobs, plan.seconds() + SPARE_S, job.scale].map(|number| number.to_string());
    let mut command = Command::new(&job.drive);
    command.args([&job.conninfo, &job.script, &job.protocol]).args(numbers).arg(&job.waiting);
    let mut drive = Program::start("drive", &mut command, dir)?;
    // Its first line tells that every client is connected and works.
    drive.wait_until("begin", |drive| fs::metadata(&drive.out).is_ok_and(|file| file.len() > 0))?;
    Ok(drive)
}

/// One turn: wakes the one, puts the other to sleep, and looks at the beginning and the end of what counts.
fn watch(turn: Turn, drive: &mut Program, pgbench: &mut Program) -> Result<Watched, Failure> {
    let (awake, asleep) = if turn.arm == Arm::A { (drive, pgbench) } else { (pgbench, drive) };
    sleep_until(turn.wake_s)?;
    asleep.signal(Signal::STOP)?;
    awake.signal(Signal::CONT)?;
    sleep_until(turn.from_s)?;
    let (from, cpu_ns) = (Instant::now(), awake.cpu_ns()?);
    sleep_until(turn.to_s)?;
    let used_ns = awake.cpu_ns()?.saturating_sub(cpu_ns);
    let busy = used_ns as f64 / from.elapsed().as_nanos() as f64;
    awake.check()?;
    asleep.check()?;
    let memory = || cpu::memory_bytes(awake.pid(), "VmRSS");
    Ok(Watched { turn, busy, memory_bytes: if turn.arm == Arm::A { memory() } else { None } })
}

/// Lets the driver write what it counted in its last slot, and ends it: its counts and its peak of memory in bytes.
fn end_drive(mut drive: Program, watched: &[Watched]) -> Result<(Vec<Count>, u64), Failure> {
    drive.signal(Signal::CONT)?;
    let last_ns = watched.iter().map(|watched| watched.turn.to_s).max().unwrap_or(0) * 1_000_000_000;
    let counts = |drive: &Program| of_drive(&fs::read_to_string(&drive.out).unwrap_or_default());
    drive.wait_until("count", |drive| counts(drive).last().is_some_and(|c| c.span_ns.start >= last_ns))?;
    let peak_bytes =
        cpu::memory_bytes(drive.pid(), "VmHWM").ok_or("the driver's memory could not be read")?;
    Ok((counts(&drive), peak_bytes))
}

fn slot(watched: &Watched, counts: &[Count]) -> Result<Slot, Failure> {
    let Watched { turn, busy, .. } = watched;
    let tps = rate_within(counts, turn).ok_or_else(|| format!("nothing was counted in {turn:?}"))?;
    Ok(Slot { arm: turn.arm, tps, busy: *busy })
}
