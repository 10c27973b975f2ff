//! Results of a run: of one worker, of one interval, of the whole.

use pgdyno_core::measure::{CommandTally, Counts, Latency, Outage, Outcome, Precision, Slowest, Tally};
use serde::{Deserialize, Serialize};

use crate::{Client, ErrorTally, Phase, Probe, StepRecord, StepReport, probe::Note};

/// One interval of one worker.
#[derive(Debug)]
pub(crate) struct IntervalReport {
    /// Number of the interval, from 0, the same for all workers.
    pub(crate) index: u32,
    /// Whether this is the worker's last interval.
    pub(crate) last: bool,
    pub(crate) interval: MergedInterval,
}

/// What is left of a worker after its run: its report, and the clients that can begin another run at once, if they
/// are to come back ([`Bookkeeping::returns_clients`](crate::Bookkeeping::returns_clients)).
pub(crate) type Ended<T> = (WorkerReport, Vec<Client<T>>);

/// Measurements of one worker over its whole run.
#[derive(Debug)]
pub(crate) struct WorkerReport {
    pub(crate) recorded: Recorded,
    /// With what the targets reported.
    pub(crate) probe: Probe,
    /// Clients whose connection was lost or given up.
    pub(crate) clients_lost: u32,
    /// When the worker had nothing left to do, in nanoseconds of the engine's clock.
    pub(crate) end_ns: u64,
}

/// Measurements of a worker's attempts.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// Latency (end − scheduled) of the committed attempts that fell due in the measured interval, whether they ended
    /// in it or in the drain. The slowest are not cut off.
    pub(crate) latency: Latency,
    /// Lag (begin − scheduled) of the attempts in `latency`; empty in a closed loop.
    pub(crate) lag: Latency,
    /// Tally of every script from the start of the measured interval on.
    pub(crate) scripts: Vec<Tally>,
    /// Counts and histogram of every script, if requested ([`Bookkeeping::by_script`](crate::Bookkeeping::by_script)).
    pub(crate) by_script: Vec<ScriptReport>,
    /// The longest times between two commits within the measured interval, on the engine's clock in nanoseconds.
    pub(crate) silences: Vec<(u64, u64)>,
    /// Attempts by the step in which they fell due.
    pub(crate) steps: Vec<StepRecord>,
}

/// Attempts of one script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScriptReport {
    /// Attempts that ran to their end within the measured interval.
    pub committed: u64,
    /// Attempts among `committed` that their script rolled back.
    pub rolled_back: u64,
    /// Attempts that failed within the measured interval.
    pub failed: u64,
    /// Number of retries of all these attempts.
    pub retries: u64,
    /// Latency of the attempts that fell due in the measured interval and ran to their end, in it or in the drain.
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

    /// Adds the counts of another worker.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.failed += other.failed;
        self.retries += other.retries;
        self.latency.add(&other.latency);
    }
}

/// One interval, over all workers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MergedInterval {
    /// Phase that the interval belongs to.
    pub phase: Phase,
    /// Start of the interval in nanoseconds since the start of the schedule.
    pub start_ns: u64,
    /// Start of the interval on the engine's clock, in nanoseconds.
    pub clock_ns: u64,
    /// Length of the interval in nanoseconds (in the drain, that of the longest worker).
    pub duration_ns: u64,
    /// Attempts within the interval.
    pub counts: Counts,
    /// Latency of the attempts that committed within the interval.
    pub latency: Latency,
    /// Slowest committed attempts, with instants of the engine's clock.
    pub slowest: Slowest,
    /// Attempts in pgbench's terms.
    pub tally: Tally,
    /// CPU time of all workers within the interval, in nanoseconds.
    pub cpu_ns: u64,
    /// Time for which workers were ready to run and waited for a CPU, in nanoseconds, summed over them; `None` if the
    /// kernel does not report it.
    pub waited_ns: Option<u64>,
}

/// Results of a whole run.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report {
    /// Actual length of the measured interval in nanoseconds: shorter than planned after a stop.
    pub duration_ns: u64,
    /// Attempts of the measured interval.
    pub counts: Counts,
    /// Attempts of the whole run, with warm-up and drain: nothing is in flight at either end.
    pub counts_whole: Counts,
    /// Latency of the committed attempts that fell due in the measured interval, including those that ended in the
    /// drain after it. In a closed loop an attempt is due when it begins.
    pub latency: Latency,
    /// Lag of the attempts in `latency`; empty in a closed loop.
    pub lag: Latency,
    /// Latency of every statement of the script.
    pub statements: Vec<Latency>,
    /// Errors of the whole run.
    pub errors: ErrorTally,
    /// Clients lost for good.
    pub clients_lost: u32,
    /// Outages over the whole run: connections lost and made again.
    pub outage: Outage,
    /// CPU time of all workers in the measured interval, in nanoseconds.
    pub cpu_ns: u64,
    /// Time for which workers were ready to run and waited for a CPU in the measured interval, in nanoseconds, summed
    /// over them; `None` if the kernel does not report it.
    pub waited_ns: Option<u64>,
    /// CPU time of the busiest worker as a share of the measured interval.
    pub busiest_worker: f64,
    /// Commits per second of every measured interval, for the steady-state verdict.
    pub rates_per_s: Vec<f64>,
    /// Longest time within the measured interval in which no client committed, in nanoseconds.
    pub longest_silence_ns: u64,
    /// The longest times within the measured interval in which no client committed: begin and end of each, in
    /// nanoseconds of the engine's clock.
    pub silences: Vec<(u64, u64)>,
    /// Why the run stopped early.
    pub stopped: Option<String>,
    /// Time from the start of the measured interval until the last worker had nothing left to do, in nanoseconds.
    pub elapsed_ns: u64,
    /// Attempts in pgbench's terms, from the start of the measured interval to the end of the drain.
    pub tally: Tally,
    /// Tally of every script of [`Bookkeeping::mix`](crate::Bookkeeping::mix), over the same time; empty for one
    /// script.
    pub scripts: Vec<Tally>,
    /// Counts and histogram of every script, if requested ([`Bookkeeping::by_script`](crate::Bookkeeping::by_script)).
    pub by_script: Vec<ScriptReport>,
    /// Tally of every command ([`Bookkeeping::commands`](crate::Bookkeeping::commands)), over the same time.
    pub commands: Vec<CommandTally>,
    /// Number of connections made over the same time, and their total time in nanoseconds.
    pub connects: (u64, u64),
    /// Results of the steps of [`Bookkeeping::steps`](crate::Bookkeeping::steps).
    #[serde(skip)]
    pub steps: Vec<StepReport>,
}
