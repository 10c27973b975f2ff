//! Reasons to distrust a result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reasons to distrust a result (invariant 11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DoubtKind {
    /// The run was meant for a first look.
    ScreeningRun,
    /// The run did not complete.
    Partial,
    /// The run was resumed: its blocks come from several starts.
    Resumed,
    /// Too few blocks for a meaningful confidence interval.
    TooFewBlocks,
    /// Throughput had a trend, or the warm-up was too short.
    NotSteady,
    /// Blocks of one cell scatter by more than 10 % (half-width over mean).
    Noisy,
    /// Throughput jumped or drifted between blocks.
    UnsteadyBlocks,
    /// All cells together became faster or slower from block to block, or wrote more or less WAL per transaction.
    TrendOverBlocks,
    /// More clients than branches; every `tpcb-like` transaction updates one branch.
    FewBranches,
    /// The driver was the bottleneck.
    DriverSaturated,
    /// The driver's threads were close to the ceiling measured by `pgdyno selftest`.
    NearCeiling,
    /// Driver and server shared CPUs.
    CoresShared,
    /// The hypervisor gave CPU time to other guests (steal).
    CpuSteal,
    /// Other programs on the machine used CPU time.
    OtherLoad,
    /// Idle servers of other subjects were busy during a run.
    IdleServersBusy,
    /// A checkpoint fell into some blocks of a cell and not into others.
    UnevenCheckpoints,
    /// The server was compiled without optimisation for speed, or with assertions.
    BuildNotOptimised,
    /// Nobody knows with which flags the server's bundle was compiled.
    BuildUnknown,
    /// Pages of different blocks of one cell came from different sources.
    MixedCache,
    /// Durability is less than full.
    WeakDurability,
    /// Throughput, clients and latency of a closed loop contradict each other (Little's law).
    Implausible,
    /// Attempts failed, were skipped, timed out or never started.
    Misses,
    /// Connections were lost and re-established during the run.
    ConnectionsLost,
    /// The balance check found a violation.
    BalanceViolated,
    /// TPC-C's tables violate a consistency condition.
    Inconsistent,
    /// Nothing was checked after runs that write.
    NotChecked,
    /// The server's CPU time could not be observed.
    ServerNotObserved,
    /// The server's program is not among those tested with this version of pgdyno.
    UnpinnedBundle,
    /// A and B come from different compilers or flags.
    BuildDiffers,
    /// The confidence interval of a comparison contradicts the distribution-free tests.
    TestsDisagree,
    /// Runs committed too few transactions per client.
    FewCommits,
    /// The blocks of a comparison depend on each other.
    DependentBlocks,
    /// All other subjects differ from the baseline in the same way: it may be the odd one.
    BaselineAlone,
    /// Servers that are compared were started once each.
    OneStart,
    /// The tables were there before the run, and `pgdyno load` did not load them.
    ForeignTables,
    /// A disk was measured with figures that may be those of memory.
    DiskFromMemory,
    /// Keys were built by fewer parallel workers than were requested.
    FewKeyWorkers,
    /// The record was changed after it was written.
    Edited,
}

/// A reason to distrust a result, with the affected cells and advice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Doubt {
    /// Kind of doubt.
    pub kind: DoubtKind,
    /// The finding, in one sentence with its figures.
    pub detail: String,
    /// Advice, in one sentence.
    pub advice: String,
    /// The affected cells, as `script/clients`, or `script (protocol)/clients` if the protocol is not `prepared`; empty
    /// for the whole run.
    pub cells: Vec<String>,
}

impl Doubt {
    /// Whether the doubt concerns the record as a file rather than its contents.
    pub fn is_of_reader(&self) -> bool {
        self.kind == DoubtKind::Edited
    }
}
