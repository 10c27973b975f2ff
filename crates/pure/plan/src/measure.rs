//! How a plan measures, and what it checks after the runs.

use pgdyno_core::{margin::Margin, observe::ObserveLevel, profile::Profiling, span::Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Auto, auto::Whole};

/// How the driver waits for its connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// io_uring if the kernel supports (Linux 6.1) and allows it, else epoll.
    #[default]
    Auto,
    /// io_uring: one system call sends and receives for all connections of a thread.
    IoUring,
    /// epoll: one system call for every message, and one for every wait.
    Epoll,
}

/// When the servers of several subjects are restarted. What a start decides (where memory lies, what a cache keeps)
/// is in all runs until the next one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Restart {
    /// As `always` if pgdyno starts all servers and the tables fit into shared buffers, else as `never`.
    #[default]
    Auto,
    /// Before every block; in `ab` before every second.
    Always,
    /// Never: the results are those of one start of each server.
    Never,
}

/// The order of the runs of a plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The levels of a workload take turns within every block, backwards in every second one, so that a drift of the
    /// machine affects all alike.
    #[default]
    Balanced,
    /// As written: a workload's blocks follow those of the one before it, and client counts have the order of the
    /// list. What a run leaves behind, such as pages in caches, is then the same as in the plan's own order, and drift
    /// is part of the differences.
    Given,
}

/// Most clients of a run.
pub(super) const MAX_CLIENTS: u64 = 100_000;

/// Most client counts of a plan.
pub(super) const MAX_CLIENT_COUNTS: usize = 64;

/// Highest rate in transactions per second.
pub const MAX_RATE_PER_S: f64 = 1e12;

/// How to measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MeasurePlan {
    /// Client counts from 1 to 100,000, such as [1, 8, 32]; every workload runs with each. `auto`: one, twice
    /// and eight times the number of CPUs.
    #[schemars(with = "Auto<Vec<Whole<1, MAX_CLIENTS>>>", extend("examples" = [[1, 8, 32]]))]
    pub clients: Auto<Vec<u32>>,
    /// Driver threads, 1 to 1,024. `auto`: one for each CPU of the driver, at most one for
    /// each client.
    #[schemars(with = "Auto<Whole<1, 1024>>")]
    pub jobs: Auto<u32>,
    /// Length of the measured interval of a run.
    pub duration: Span,
    /// Length of the warm-up before the measured interval.
    pub warmup: Span,
    /// Number of interleaved blocks: 3 for a first look, 5 or more for publication, at most 1,000. Every workload runs
    /// once in each with every client count.
    #[schemars(range(min = 1, max = 1000))]
    pub blocks: u32,
    /// Rate of an open loop in transactions per second, above 0; absent means a closed loop.
    #[schemars(range(max = MAX_RATE_PER_S))]
    #[schemars(extend("x-expects" = "a number of transactions per second above 0, at most 1e12"))]
    pub rate: Option<f64>,
    /// Processors for the driver, for example `0`.
    #[schemars(extend("examples" = ["0-3,8"]))]
    pub driver_cpus: Option<String>,
    /// How workers with more than one client wait for their connections.
    pub waiting: Waiting,
    /// When the servers of several subjects are restarted; a single subject has one start.
    pub restart: Restart,
    /// In which order the levels run.
    pub order: Order,
    /// Equivalence margin of several subjects: a difference within ± this share does not matter.
    pub margin: Margin,
    /// What is observed during the run. `host`: CPUs, memory, devices, network, the server's processes. `all`: also the
    /// server, over a session of its own.
    pub observe: ObserveLevel,
    /// Whether the servers' processes are profiled with perf in every measured interval. `auto`: call stacks by frame
    /// pointers if the server's program keeps them, else by DWARF.
    pub profile: Profiling,
    /// Marks a plan as meant for publication: no doubt about screening, stricter checks.
    pub thorough: bool,
}

impl Default for MeasurePlan {
    fn default() -> Self {
        Self {
            clients: Auto::Auto,
            jobs: Auto::Auto,
            duration: Span::from_millis(5_000),
            warmup: Span::from_millis(1_500),
            blocks: 3,
            rate: None,
            driver_cpus: None,
            waiting: Waiting::Auto,
            restart: Restart::Auto,
            order: Order::Balanced,
            margin: Margin::default(),
            observe: ObserveLevel::All,
            profile: Profiling::None,
            thorough: false,
        }
    }
}

/// How balances are checked after runs that write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BalanceCheckMode {
    /// `full` while the accounts fit in memory, else `touched`.
    Auto,
    /// Checks every account, teller and branch.
    Full,
    /// Checks the keys found in history and a sample of the others.
    Touched,
    /// No check.
    Off,
}

/// Checks after the runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CheckPlan {
    /// Mode of the balance check.
    pub balance: BalanceCheckMode,
    /// Whether to check TPC-C's consistency conditions after all runs.
    pub consistency: bool,
}

impl Default for CheckPlan {
    fn default() -> Self {
        Self { balance: BalanceCheckMode::Auto, consistency: true }
    }
}
