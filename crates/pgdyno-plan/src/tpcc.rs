//! TPC-C in a plan: its tables, and how they are driven.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use pgdyno_core::tpcc::Shape;

/// Seconds since 1970 of all dates that a plan loads, 2026-01-01: with the same seed the rows are the same.
pub const LOADED_AT_S: i64 = 1_767_225_600;
/// Most tries of a transaction where nothing is said.
const MAX_TRIES: u32 = 10;

/// The nine tables of TPC-C.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TpccPlan {
    /// Warehouses, 1 to 10,000,000, about 100 MB each.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub warehouses: u64,
    /// Whether they are there already, as `pgdyno load tpcc` left them, where the sessions look: nothing is loaded
    /// then, and they stay.
    #[serde(default)]
    pub loaded: bool,
}

/// Isolation level of transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// PostgreSQL's default.
    ReadCommitted,
    /// A snapshot for each transaction.
    RepeatableRead,
    /// As if one after the other.
    Serializable,
}

impl Isolation {
    /// All of them, the least first.
    pub const ALL: [Self; 3] = [Self::ReadCommitted, Self::RepeatableRead, Self::Serializable];

    /// As SQL has it, and `default_transaction_isolation`.
    pub fn sql(self) -> &'static str {
        match self {
            Self::ReadCommitted => "read committed",
            Self::RepeatableRead => "repeatable read",
            Self::Serializable => "serializable",
        }
    }

    /// As plans and flags have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadCommitted => "read-committed",
            Self::RepeatableRead => "repeatable-read",
            Self::Serializable => "serializable",
        }
    }
}

/// How the five transactions of TPC-C are driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TpccWork {
    /// How each is sent.
    pub shape: Shape,
    /// Isolation level; the server's default where it is not said.
    pub isolation: Option<Isolation>,
    /// How often New-Order, Payment, Order-Status, Delivery and Stock-Level come, in per cent.
    pub weights: [u32; 5],
    /// Most tries of a transaction that meets a serialization failure or a deadlock, the first included; 0 is no limit.
    pub max_tries: u32,
    /// Whether ten terminals a warehouse key and think as the specification says; clients are the connections that
    /// carry their transactions out. Without it every client sends one transaction after the other, each of a terminal
    /// chosen at random.
    pub paced: bool,
}

impl Default for TpccWork {
    fn default() -> Self {
        Self {
            shape: Shape::default(),
            isolation: None,
            weights: [45, 43, 4, 4, 4],
            max_tries: MAX_TRIES,
            paced: false,
        }
    }
}
