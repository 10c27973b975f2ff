//! How a plan measures, and what it checks afterwards.

use pgdyno_core::span::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Auto;

/// How the driver waits for its connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// By io_uring where this kernel has what that needs (Linux 6.1) and allows it, else by epoll.
    #[default]
    Auto,
    /// By io_uring: one system call sends and receives for all connections of a thread.
    IoUring,
    /// By epoll: a system call for every message, and one for every wait.
    Epoll,
}

/// How to measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MeasurePlan {
    /// Client counts from 1 to 100,000, each a cell of every workload. `auto`: one, twice and eight times the
    /// processors.
    pub clients: Auto<Vec<u32>>,
    /// Worker threads of the driver, 1 to 1,024. `auto`: one for each of its processors, never more than
    /// clients.
    pub jobs: Auto<u32>,
    /// Measured interval of a run.
    pub duration: Span,
    /// Warm-up before it, not measured.
    pub warmup: Span,
    /// How often every cell runs, in interleaved blocks: 1 to 1,000.
    #[schemars(range(min = 1, max = 1000))]
    pub blocks: u32,
    /// Rate in transactions per second for an open loop, above 0; absent is a closed loop.
    #[schemars(range(max = 1e12))]
    pub rate: Option<f64>,
    /// Processors for the driver, for example `0`.
    pub driver_cpus: Option<String>,
    /// How workers with more than one client wait for them.
    pub waiting: Waiting,
    /// Marks a plan as meant for publication: no screening doubt, stricter looks.
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
            thorough: false,
        }
    }
}

/// How the balances are checked after runs that write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BalanceCheckMode {
    /// Full while the accounts fit in memory, else touched.
    Auto,
    /// Every account, teller and branch.
    Full,
    /// The keys found in history and a sample of the others.
    Touched,
    /// Not at all.
    Off,
}

/// What to check afterwards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CheckPlan {
    /// The balance check.
    pub balance: BalanceCheckMode,
    /// Whether TPC-C's conditions of consistency are looked at after all runs.
    pub consistency: bool,
}

impl Default for CheckPlan {
    fn default() -> Self {
        Self { balance: BalanceCheckMode::Auto, consistency: true }
    }
}
