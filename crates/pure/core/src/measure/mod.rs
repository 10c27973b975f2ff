//! Results of attempts, intervals and runs.

mod coarsen;
mod counts;
mod estimate;
mod histograms;
mod host_shares;
mod latency;
mod moments;
mod outage;
mod outcome;
mod run;
mod slowest;
mod sync;
mod tally;
mod tpcc;

pub use coarsen::{Coarsener, MAX_INTERVALS, Merger, Slice};
pub use counts::{Counts, Imbalance};
pub use estimate::Estimate;
pub use histograms::Histograms;
pub use host_shares::HostShares;
pub use latency::{BlockRange, Latency, LatencyRanges, LatencySummary, MAX_NS, MIN_NS, Precision, is_known};
pub use moments::Moments;
pub use outage::Outage;
pub use outcome::Outcome;
pub use run::{
    Arm, CellRun, CellSummary, CpuUse, DataState, ErrorCount, IdleServers, Interval, IoUse,
    MovedPerTransaction, Retries, ScriptRun, ServedFrom, SetRun, StatementSummary, SteadyVerdict, WaitCount,
    Waits, Workload, runs_by_cell,
};
pub use slowest::{
    Part, SLOWEST, SLOWEST_OF_RUN, Slow, SlowAttempt, SlowInterval, Slowest, Work, slowest_of,
};
pub use sync::SyncCheck;
pub use tally::{CommandTally, Ended, Ending, Failure, Tally};
pub use tpcc::{Judged, SetCell, TpccCell, TpccRun};
