//! What a run came to: of one worker, of one interval, of all.

use pgdyno_core::measure::{CommandTally, Counts, Latency, Outage, Outcome, Precision, Slowest, Tally};

use crate::{ErrorTally, Phase, StepRecord, StepReport, probe::Note};

/// One interval of one worker.
#[derive(Debug)]
pub struct IntervalReport {
    /// Number of the interval, from 0, the same for all workers.
    pub index: u32,
    /// Its phase.
    pub phase: Phase,
    /// Start in nanoseconds of the engine's clock.
    pub start_ns: u64,
    /// Length in nanoseconds.
    pub duration_ns: u64,
    /// Attempts.
    pub counts: Counts,
    /// Latency of the attempts that committed within the interval.
    pub latency: Latency,
    /// The slowest of them, instants on the engine's clock.
    pub slowest: Slowest,
    /// Attempts in pgbench's terms.
    pub tally: Tally,
    /// Processor time of the worker within the interval, in nanoseconds.
    pub cpu_ns: u64,
    /// Whether it is the worker's last.
    pub last: bool,
}

/// What one worker measured over its whole run.
#[derive(Debug)]
pub struct WorkerReport {
    /// Latency (end − scheduled) of the committed attempts that were under way in the measured interval: those that
    /// ended in it or, in flight at its end, in the drain. The slowest are not cut off.
    pub latency: Latency,
    /// Lag (begin − scheduled) of the same attempts; empty in a closed loop.
    pub lag: Latency,
    /// Latency of every statement of the script from the start of the measured interval on.
    pub statements: Vec<Latency>,
    /// Errors of the whole run.
    pub errors: ErrorTally,
    /// Clients whose connection was lost or given up.
    pub clients_lost: u32,
    /// Attempts of every script from the start of the measured interval on.
    pub scripts: Vec<Tally>,
    /// The same with a histogram, where that was asked for.
    pub by_script: Vec<ScriptReport>,
    /// Commands over all scripts from the start of the measured interval on.
    pub commands: Vec<CommandTally>,
    /// Connections made from the start of the measured interval on, and the nanoseconds that they took.
    pub connects: (u64, u64),
    /// Attempts by the step in which they fell due.
    pub steps: Vec<StepRecord>,
    /// When the worker had nothing left to do, in nanoseconds of the engine's clock.
    pub end_ns: u64,
}

/// The attempts of one script.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptReport {
    /// Those that ran to their end within the measured interval.
    pub committed: u64,
    /// Those of them that their script rolled back.
    pub rolled_back: u64,
    /// Those that failed within it.
    pub failed: u64,
    /// Tries beyond the first of all of these.
    pub retries: u64,
    /// Latency of those that ran to their end from the start of the measured interval on, the drain included.
    pub latency: Latency,
}

impl Default for ScriptReport {
    fn default() -> Self {
        let latency = Latency::new(Precision::Run);
        Self { committed: 0, rolled_back: 0, failed: 0, retries: 0, latency }
    }
}

impl ScriptReport {
    pub(crate) fn ended(&mut self, outcome: Outcome, note: &Note) {
        match outcome {
            Outcome::Committed => {
                self.committed += 1;
                self.rolled_back += u64::from(note.rolled_back);
            }
            Outcome::Failed => self.failed += 1,
            Outcome::Skipped | Outcome::TimedOut | Outcome::InDoubt | Outcome::NeverStarted => {}
        }
        self.retries += u64::from(note.retries);
    }

    /// Adds what another worker counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.failed += other.failed;
        self.retries += other.retries;
        self.latency.add(&other.latency);
    }
}

/// One interval over all workers.
#[derive(Debug)]
pub struct MergedInterval {
    /// Its phase.
    pub phase: Phase,
    /// Start in nanoseconds since the first attempts were due.
    pub start_ns: u64,
    /// The same instant on the engine's clock.
    pub clock_ns: u64,
    /// Length in nanoseconds (of the longest worker's, in the drain).
    pub duration_ns: u64,
    /// Attempts.
    pub counts: Counts,
    /// Latency of the attempts that committed within the interval.
    pub latency: Latency,
    /// The slowest of them, instants on the engine's clock.
    pub slowest: Slowest,
    /// Attempts in pgbench's terms.
    pub tally: Tally,
    /// Processor time of all workers in nanoseconds.
    pub cpu_ns: u64,
}

/// What a run came to.
#[derive(Debug)]
pub struct Report {
    /// Length of the measured interval as it was, in nanoseconds: shorter than planned after a stop.
    pub duration_ns: u64,
    /// Attempts of the measured interval.
    pub counts: Counts,
    /// Attempts of the whole run, with warm-up and drain: nothing is in flight at either end.
    pub counts_whole: Counts,
    /// Latency of the committed attempts that were under way in the measured interval, also of those that ended in
    /// the drain.
    pub latency: Latency,
    /// Their lag; empty in a closed loop.
    pub lag: Latency,
    /// Latency of every statement of the script.
    pub statements: Vec<Latency>,
    /// Errors.
    pub errors: ErrorTally,
    /// Clients lost for good.
    pub clients_lost: u32,
    /// Connections lost and made again over the whole run.
    pub outage: Outage,
    /// Processor time of all workers in the measured interval, in nanoseconds.
    pub cpu_ns: u64,
    /// Share of the measured interval that the busiest worker was on a processor.
    pub busiest_worker: f64,
    /// Commits of every measured interval per second, for the steady-state verdict.
    pub rates_per_s: Vec<f64>,
    /// Why the run stopped early.
    pub stopped: Option<String>,
    /// From the start of the measured interval until the last worker had nothing left to do, in nanoseconds.
    pub elapsed_ns: u64,
    /// Attempts in pgbench's terms, from the start of the measured interval to the end of the drain.
    pub tally: Tally,
    /// The same for every script of [`Bookkeeping::mix`]; empty where there is one script.
    pub scripts: Vec<Tally>,
    /// The same with a histogram, where [`Bookkeeping::by_script`] asks for it.
    pub by_script: Vec<ScriptReport>,
    /// The same for every command ([`Bookkeeping::commands`]).
    pub commands: Vec<CommandTally>,
    /// Connections made within the same time, and the nanoseconds that they took.
    pub connects: (u64, u64),
    /// The steps of [`Bookkeeping::steps`] as they were.
    pub steps: Vec<StepReport>,
}
