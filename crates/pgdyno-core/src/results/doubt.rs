//! Reasons to distrust a result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Every reason to distrust a result that pgdyno knows (invariant 11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DoubtKind {
    /// The run was meant for a first look.
    ScreeningRun,
    /// The run did not reach its end.
    Partial,
    /// The run was resumed: its blocks come from several starts.
    Resumed,
    /// Too few blocks for an interval that means something.
    TooFewBlocks,
    /// Throughput had a trend, or the warm-up was too short.
    NotSteady,
    /// Blocks of one cell scatter more than 10 % (half-width over mean).
    Noisy,
    /// Throughput jumped or drifted from block to block.
    UnsteadyBlocks,
    /// More clients than branches, each of which every transaction of `tpcb-like` updates one of.
    FewBranches,
    /// The driver was the limit.
    DriverSaturated,
    /// The driver's threads did almost as much as they can at most, as `pgdyno selftest` found.
    NearCeiling,
    /// Driver and server shared processors.
    CoresShared,
    /// The hypervisor took processor time.
    CpuSteal,
    /// Other programs on the machine used its processors.
    OtherLoad,
    /// Servers of other subjects worked while one was measured.
    IdleServersBusy,
    /// A checkpoint fell into some blocks of a cell and not into others.
    UnevenCheckpoints,
    /// The server was compiled without optimisation for speed, or with assertions.
    BuildNotOptimised,
    /// Blocks of one cell were served from different places.
    MixedCache,
    /// The server promises less than full durability.
    WeakDurability,
    /// Throughput, clients and latency of a closed loop contradict each other (Little's law).
    Implausible,
    /// Attempts failed, were skipped, timed out or never started.
    Misses,
    /// Connections were lost in mid-run and made again.
    ConnectionsLost,
    /// The balance check found a violation.
    BalanceViolated,
    /// TPC-C's tables break a condition of consistency.
    Inconsistent,
    /// Nothing was checked after runs that write.
    NotChecked,
    /// The server's processor time could not be seen.
    ServerNotObserved,
    /// The server's program is not among those tested with this version of pgdyno.
    UnpinnedBundle,
    /// A and B come from different compilers or flags.
    BuildDiffers,
    /// The interval of a comparison and the tests that assume no distribution say different things.
    TestsDisagree,
    /// Blocks of A against A found a difference.
    SameDiffers,
    /// The record is not as it was written.
    Edited,
}

/// One reason to distrust a result, with what it concerns and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Doubt {
    /// Which reason.
    pub kind: DoubtKind,
    /// What was seen, in one sentence with its figures.
    pub detail: String,
    /// What to do about it, in one sentence.
    pub advice: String,
    /// The cells concerned, as `script/clients`, or `script (protocol)/clients` where that is not `prepared`; empty
    /// means the whole run.
    pub cells: Vec<String>,
}

impl Doubt {
    /// Whether it comes from reading the record, and not from judging what it holds.
    pub fn is_of_reader(&self) -> bool {
        self.kind == DoubtKind::Edited
    }
}
