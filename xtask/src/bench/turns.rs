//! Runs programs alternately, slot by slot.

use std::{
    fs,
    path::Path,
    process::Command,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use pgdyno_analysis::compare::{
    bar::{NoRatio, Ratio},
    slots::{self, Count, Grid, Slots, Window, rate_within},
};
use rustix::process::Signal;

use super::{
    cpu, pgbench,
    process::{Program, sleep_until},
};
use crate::Failure;

/// A program of the comparison.
pub struct Arm {
    /// Name in reports.
    pub name: String,
    /// Command line.
    pub command: Command,
    /// Where it reports its counts.
    pub counts: Counts,
}

/// How a program reports its counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// On standard output, ten times a second: the example `drive`.
    Intervals,
    /// On standard error, once a second: pgbench's progress.
    Progress,
}

/// Result of one slot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slot {
    /// Transactions per second.
    pub tps: f64,
    /// CPU time of the program in nanoseconds per transaction.
    pub cpu_ns: f64,
}

/// Result of a run of all arms.
pub struct Race {
    /// Names of the arms.
    pub names: Vec<String>,
    /// Results of every start of all arms.
    pub starts: Vec<Start>,
}

/// Result of one start of all arms.
pub struct Start {
    /// All slots in order, with the index of the arm; a slot without any count has no value.
    pub slots: Vec<(usize, Option<Slot>)>,
    /// Memory of every arm.
    pub memory: Vec<Option<Memory>>,
}

/// Means over the slots of an arm.
#[derive(Debug, Clone, Copy)]
pub struct Level {
    /// Transactions per second.
    pub tps: f64,
    /// CPU time in nanoseconds per transaction.
    pub cpu_ns: f64,
    /// Number of slots.
    pub slots: usize,
}

/// Resident memory of a program in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    /// Peak.
    pub peak_bytes: u64,
    /// At the end of its first slot.
    pub start_bytes: u64,
    /// After half of its slots.
    pub half_bytes: u64,
    /// At the end of its last slot.
    pub end_bytes: u64,
}

impl Counts {
    /// The grid of a kind of counts, before its offset is known.
    pub fn grid(self) -> Grid {
        match self {
            Self::Intervals => Grid::Fine,
            Self::Progress => Grid::Seconds(0),
        }
    }

    fn text(self, program: &Program) -> String {
        let file = match self {
            Self::Intervals => &program.out,
            Self::Progress => &program.err,
        };
        fs::read_to_string(file).unwrap_or_default()
    }

    /// The counts that a program has reported so far.
    pub fn read(self, program: &Program) -> Vec<Count> {
        match self {
            Self::Intervals => intervals(&self.text(program)),
            Self::Progress => pgbench::progress(&self.text(program)),
        }
    }

    /// The grid of a program, as soon as it has reported for the first time: then all its clients are running.
    pub fn begun(self, program: &Program) -> Option<Grid> {
        let text = self.text(program);
        match self {
            Self::Intervals => (!text.is_empty()).then_some(Grid::Fine),
            Self::Progress => pgbench::first_ns(&text).map(Grid::Seconds),
        }
    }
}

/// Parses the output of the example `drive`: `interval UNIX_NS DURATION_NS COMMITTED`.
fn intervals(text: &str) -> Vec<Count> {
    let count = |line: &str| {
        let mut numbers = line.strip_prefix("interval ")?.split(' ').map(|word| word.parse::<u64>().ok());
        let (start, length, committed) = (numbers.next()??, numbers.next()??, numbers.next()??);
        Some(Count { span_ns: start..start + length, committed })
    };
    text.lines().filter_map(count).collect()
}

/// A running program and where it reports its counts.
pub struct Runner {
    program: Program,
    counts: Counts,
    grid: Grid,
}

/// Programs that run alternately, all on one machine.
pub struct Field {
    /// Those of which all but one are stopped.
    pub runners: Vec<Runner>,
    /// Which of them is awake in the slots of an arm, by its index; `None` is none.
    pub awake: Vec<Option<usize>>,
    /// What is measured in the slots of all arms, if it is not the program that is awake.
    pub watched: Option<Watched>,
}

/// A program that runs all the time, and what is charged for the alternating programs.
pub struct Watched {
    /// Its transactions are counted.
    pub runner: Runner,
    /// Processes whose CPU time counts; the memory of the first is read.
    pub pids: Vec<u32>,
}

/// A slot before its counts are known.
struct Passed {
    arm: usize,
    window: Window,
    /// CPU use in the window; above 1 for several threads.
    busy: f64,
    /// Memory at its end, with the process that has it.
    memory: Option<(u32, u64)>,
}

/// Runs programs to their end alternately, each `rounds` times, in the order of [`Slots::order`]: their results, in the
/// order of the rounds. `run` gets the round and the index of the program.
///
/// # Errors
/// The first problem.
pub fn alternately<T>(
    programs: usize,
    rounds: u32,
    mut run: impl FnMut(usize, usize) -> Result<T, Failure>,
) -> Result<Vec<Vec<T>>, Failure> {
    let slots = Slots { arms: programs, rounds, dropped_ns: 0, counted_ns: 0 };
    let mut results: Vec<Vec<T>> = (0..programs).map(|_| Vec::new()).collect();
    for (at, program) in slots.order().enumerate() {
        results[program].push(run(at / programs, program)?);
    }
    Ok(results)
}

/// Runs arms in slots, with `starts` new starts of what `start` makes.
///
/// # Errors
/// A program does not start, or ends early.
pub fn run(
    names: &[String],
    plan: Slots,
    starts: u32,
    start: impl Fn() -> Result<Field, Failure>,
) -> Result<Race, Failure> {
    let starts = (0..starts).map(|_| start()?.slots(plan)).collect::<Result<_, _>>()?;
    Ok(Race { names: names.to_vec(), starts })
}

impl Field {
    /// Starts programs of which one is awake at a time.
    ///
    /// # Errors
    /// A program does not start.
    pub fn of(arms: Vec<Arm>, dir: &Path) -> Result<Self, Failure> {
        let awake = (0..arms.len()).map(Some).collect();
        let runners = arms.into_iter().map(|arm| Runner::start(arm, dir)).collect::<Result<_, _>>()?;
        Ok(Self { runners, awake, watched: None })
    }

    fn slots(mut self, plan: Slots) -> Result<Start, Failure> {
        let passed = plan.order().map(|arm| self.slot(arm, plan)).collect::<Result<Vec<_>, _>>()?;
        let last_ns = passed.last().map_or(0, |slot| slot.window.to_ns);
        let counts = match &mut self.watched {
            Some(watched) => vec![watched.runner.end(last_ns)?; self.awake.len()],
            None => self.runners.iter_mut().map(|runner| runner.end(last_ns)).collect::<Result<_, _>>()?,
        };
        let slots = passed.iter().map(|slot| (slot.arm, slot.result(&counts[slot.arm]))).collect();
        let memory = |arm| {
            let of_arm: Vec<_> = passed.iter().filter(|s| s.arm == arm).filter_map(|s| s.memory).collect();
            let readings: Vec<u64> = of_arm.iter().map(|(_, bytes)| *bytes).collect();
            Memory::of(&readings, of_arm.first()?.0)
        };
        Ok(Start { slots, memory: (0..self.awake.len()).map(memory).collect() })
    }

    /// Executes one slot: continues one program, stops the others, and takes readings at both ends of the counted
    /// window.
    fn slot(&mut self, arm: usize, plan: Slots) -> Result<Passed, Failure> {
        let awake = self.awake[arm];
        for (_, asleep) in self.runners.iter().enumerate().filter(|(at, _)| Some(*at) != awake) {
            asleep.program.signal(Signal::STOP)?;
        }
        let wake_ns = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos() as u64;
        let runner = awake.map(|at| &self.runners[at]);
        runner.map_or(Ok(()), |runner| runner.program.signal(Signal::CONT))?;
        let counted = self.watched.as_ref().map(|watched| &watched.runner).or(runner);
        let window = plan.window(wake_ns, counted.map_or(Grid::Fine, |counted| counted.grid));
        let pids = match &self.watched {
            Some(watched) => watched.pids.clone(),
            None => runner.map(|runner| runner.program.pid()).into_iter().collect(),
        };
        sleep_until(window.from_ns)?;
        let (from, before_ns) = (Instant::now(), cpu_ns(&pids)?);
        sleep_until(window.to_ns)?;
        let used_ns = cpu_ns(&pids)?.saturating_sub(before_ns);
        let busy = used_ns as f64 / from.elapsed().as_nanos() as f64;
        let memory = pids.first().and_then(|pid| Some((*pid, cpu::memory_bytes(*pid, "VmRSS")?)));
        let mut all = self.runners.iter_mut().chain(self.watched.as_mut().map(|watched| &mut watched.runner));
        all.try_for_each(|runner| runner.program.check())?;
        Ok(Passed { arm, window, busy, memory })
    }
}

fn cpu_ns(pids: &[u32]) -> Result<u64, Failure> {
    pids.iter().map(|pid| cpu::time_ns(*pid).ok_or_else(|| format!("process {pid} is gone").into())).sum()
}

impl Runner {
    /// Starts it, waits until all its clients are running, and stops it.
    fn start(arm: Arm, dir: &Path) -> Result<Self, Failure> {
        let runner = Self::start_awake(arm, dir)?;
        runner.program.signal(Signal::STOP)?;
        Ok(runner)
    }

    /// Starts it and waits until all its clients are running.
    ///
    /// # Errors
    /// It does not start.
    pub fn start_awake(mut arm: Arm, dir: &Path) -> Result<Self, Failure> {
        let mut program = Program::start(&arm.name, &mut arm.command, dir)?;
        program.wait_until("begin", |program| arm.counts.begun(program).is_some())?;
        let grid = arm.counts.begun(&program).unwrap_or(Grid::Fine);
        Ok(Self { program, counts: arm.counts, grid })
    }

    /// A program that counts nothing.
    pub fn without_counts(program: Program) -> Self {
        Self { program, counts: Counts::Intervals, grid: Grid::Fine }
    }

    /// Continues it until it has reported its counts up to `last_ns`, and returns them.
    fn end(&mut self, last_ns: u64) -> Result<Vec<Count>, Failure> {
        self.program.signal(Signal::CONT)?;
        let counts = self.counts;
        let is_complete =
            |program: &Program| counts.read(program).last().is_some_and(|c| c.span_ns.end >= last_ns);
        self.program.wait_until("report its counts", is_complete)?;
        self.program.signal(Signal::STOP)?;
        Ok(counts.read(&self.program))
    }
}

impl Passed {
    fn result(&self, counts: &[Count]) -> Option<Slot> {
        let tps = rate_within(counts, self.window).filter(|tps| *tps > 0.0)?;
        Some(Slot { tps, cpu_ns: self.busy * 1e9 / tps })
    }
}

impl Memory {
    /// From the readings at the end of every slot.
    fn of(readings: &[u64], pid: u32) -> Option<Self> {
        let (&start_bytes, &end_bytes) = (readings.first()?, readings.last()?);
        let peak_bytes = cpu::memory_bytes(pid, "VmHWM")?;
        Some(Self { peak_bytes, start_bytes, half_bytes: readings[readings.len() / 2], end_bytes })
    }
}

impl Race {
    /// The ratio of one arm to another, for a value of their slots: over the rounds of one start, or over the means of
    /// several starts.
    ///
    /// # Errors
    /// Fewer than three rounds have a slot of both, or fewer than three of several starts do.
    pub fn ratio(&self, one: usize, other: usize, what: impl Fn(&Slot) -> f64) -> Result<Ratio, NoRatio> {
        let pairs = |start: &Start| {
            let pairs = slots::pairs(&start.slots, self.names.len(), one, other);
            pairs.iter().map(|(one, other)| (what(one), what(other))).collect::<Vec<_>>()
        };
        match self.starts.as_slice() {
            [start] => Ratio::from_pairs(pairs(start).into_iter()),
            starts => Ratio::from_starts(starts.iter().map(pairs)),
        }
    }

    /// The memory of an arm in the start with the largest growth; `None` if it could not be read.
    pub fn memory(&self, arm: usize) -> Option<Memory> {
        let memory = |start: &Start| start.memory.get(arm).copied().flatten();
        self.starts
            .iter()
            .filter_map(memory)
            .max_by_key(|memory| memory.end_bytes.saturating_sub(memory.half_bytes))
    }

    fn slots(&self) -> impl Iterator<Item = &(usize, Option<Slot>)> {
        self.starts.iter().flat_map(|start| &start.slots)
    }

    /// Means over the slots of an arm that have a value; `None` if none has.
    pub fn level(&self, arm: usize) -> Option<Level> {
        let slots: Vec<Slot> = self.slots().filter(|slot| slot.0 == arm).filter_map(|slot| slot.1).collect();
        let count = slots.len();
        let mean = |what: fn(&Slot) -> f64| slots.iter().map(what).sum::<f64>() / count as f64;
        (count > 0).then(|| Level {
            tps: mean(|slot| slot.tps),
            cpu_ns: mean(|slot| slot.cpu_ns),
            slots: count,
        })
    }

    /// Every slot as CSV, with `of_run` at the start of each line; an absent value is empty.
    pub fn csv(&self, of_run: &str) -> String {
        let line = |(at, (arm, slot)): (usize, &(usize, Option<Slot>))| {
            let values = slot.map_or(",".to_owned(), |slot| format!("{:.1},{:.1}", slot.tps, slot.cpu_ns));
            format!("{of_run},{at},{},{values}\n", self.names[*arm])
        };
        self.slots().enumerate().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn race() -> Race {
        let slot = |tps, cpu_ns| Some(Slot { tps, cpu_ns });
        let slots = [(0, slot(20.0, 1.0)), (1, slot(10.0, 4.0)), (1, slot(30.0, 2.0)), (0, None)];
        let more = [(0, slot(20.0, 1.0)), (1, slot(10.0, 4.0))].repeat(2);
        let slots = slots.into_iter().chain(more).collect();
        Race { names: vec!["x".into(), "y".into()], starts: vec![Start { slots, memory: Vec::new() }] }
    }

    #[test]
    fn the_first_of_a_round_changes() {
        let mut order = String::new();
        let results = alternately(2, 3, |round, program| {
            order.push(['p', 'f'][program]);
            Ok(10 * program + round)
        });
        assert_eq!(results.expect("both work"), [[0, 1, 2], [10, 11, 12]]);
        assert_eq!(order, "pffpfp");
    }

    #[test]
    fn a_ratio_is_of_rounds_in_which_both_have_a_value() {
        let ratio = race().ratio(0, 1, |slot| slot.tps).expect("three rounds");
        assert_eq!(ratio.to_string(), "2.000 [2.000, 2.000]");
        let level = race().level(1).expect("slots");
        assert_eq!((level.tps, level.slots), (15.0, 4));
    }

    #[test]
    fn each_of_several_starts_counts_once() {
        let mut race = race();
        let (again, more) = (self::race(), self::race());
        race.starts.extend(again.starts.into_iter().chain(more.starts));
        assert_eq!(race.level(1).map(|level| level.slots), Some(12));
        race.starts[2].slots.truncate(2);
        let ratio = race.ratio(0, 1, |slot| slot.tps).expect("three starts");
        assert_eq!(ratio.to_string(), "2.000 [2.000, 2.000]");
        race.starts.pop();
        assert!(race.ratio(0, 1, |slot| slot.tps).is_err());
    }

    #[test]
    fn an_empty_slot_stays_empty() {
        let csv = race().csv("select-only,8");
        assert!(csv.starts_with("select-only,8,0,x,20.0,1.0\n"), "{csv}");
        assert!(csv.contains("select-only,8,3,x,,\n"), "{csv}");
    }

    #[test]
    fn an_incomplete_line_is_ignored() {
        let text = "interval 9950000000 100000000 50\ninterval 10050000000 1000";
        assert_eq!(intervals(text), [Count { span_ns: 9_950_000_000..10_050_000_000, committed: 50 }]);
        assert_eq!(intervals("total 180 0 5\n"), []);
    }
}
