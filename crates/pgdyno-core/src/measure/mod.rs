//! What one attempt, one interval and one run came to.

mod counts;
mod estimate;
mod latency;
mod outcome;
mod run;

pub use counts::{Counts, Imbalance};
pub use estimate::Estimate;
pub use latency::{Latency, LatencySummary, MAX_NS, MIN_NS, Precision};
pub use outcome::Outcome;
pub use run::{
    CellRun, CellSummary, CpuUse, ErrorCount, Interval, IoUse, ServedFrom, StatementSummary, SteadyVerdict,
    Workload,
};
