//! TPC-C in a plan: its tables and its workload.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use pgdyno_core::tpcc::{Mix, Shape};

/// Timestamp for all date columns that a plan loads, in Unix seconds (2026-01-01). Fixed, so that the same seed
/// gives the same rows.
pub const LOADED_AT_S: i64 = 1_767_225_600;
/// Default of `max_tries`.
const MAX_TRIES: u32 = 10;

/// The nine tables of TPC-C.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-expects" = "a table of warehouses, such as { warehouses = 10 }"))]
pub struct TpccPlan {
    /// Number of warehouses, 1 to 10,000,000, about 100 MB each.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub warehouses: u64,
}

/// Transaction isolation level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// READ COMMITTED, PostgreSQL's default.
    ReadCommitted,
    /// REPEATABLE READ: one snapshot for each transaction.
    RepeatableRead,
    /// SERIALIZABLE: as if transactions ran one after the other.
    Serializable,
}

impl Isolation {
    /// All levels, the weakest first.
    pub const ALL: [Self; 3] = [Self::ReadCommitted, Self::RepeatableRead, Self::Serializable];

    /// Name in SQL and in `default_transaction_isolation`.
    pub fn sql(self) -> &'static str {
        match self {
            Self::ReadCommitted => "read committed",
            Self::RepeatableRead => "repeatable read",
            Self::Serializable => "serializable",
        }
    }

    /// Name in plans and flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadCommitted => "read-committed",
            Self::RepeatableRead => "repeatable-read",
            Self::Serializable => "serializable",
        }
    }
}

/// How the five transactions of TPC-C run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-expects" = "a table, such as { shape = \"functions\" }"))]
pub struct TpccWork {
    /// How the statements of a transaction are sent.
    pub shape: Shape,
    /// Isolation level; default: the server's default.
    pub isolation: Option<Isolation>,
    /// Shares of New-Order, Payment, Order-Status, Delivery and Stock-Level: in per cent, adding up to 100, or in
    /// hundredths of one, adding up to 10,000. The default keeps each above the minimum of the specification.
    #[schemars(extend(
        "x-expects" = "a list of five whole numbers that add up to 100, such as [45, 43, 4, 4, 4], or to 10000"
    ))]
    pub weights: [u32; 5],
    /// Most tries of a transaction that fails with a serialization error or a deadlock, including the first; 0
    /// means no limit.
    pub max_tries: u32,
    /// Whether ten terminals per warehouse observe the keying and think times of the specification; clients are
    /// then the connections that execute their transactions. Otherwise every client sends one transaction after
    /// the other, each for a random terminal.
    pub paced: bool,
}

impl Default for TpccWork {
    fn default() -> Self {
        Self {
            shape: Shape::default(),
            isolation: None,
            weights: Mix::DEFAULT_WEIGHTS,
            max_tries: MAX_TRIES,
            paced: false,
        }
    }
}
