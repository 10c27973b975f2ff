//! TPC-C in a plan: its tables and its workload.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use pgdyno_core::tpcc::{Mix, Shape};

/// Timestamp for all date columns that a plan loads, in Unix seconds (2026-01-01). Fixed, so that the same seed
/// gives the same rows.
pub const LOADED_AT_S: i64 = 1_767_225_600;
/// Default of `max_tries`.
const MAX_TRIES: u32 = 10;

/// Most sets of tables that are driven at one time.
pub const MAX_SETS: u32 = 256;
/// How the schemas of several sets are named by default, before a number from 1: as `pgdyno load tpcc --schemas` does.
const SCHEMA: &str = "tpcc_";

/// Where a set of tables is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetPlace {
    /// Where sessions find it: the only set.
    Found,
    /// In this schema.
    Schema(String),
    /// In this database.
    Database(String),
}

impl SetPlace {
    /// Name of the schema or the database; `None` for the only set.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Found => None,
            Self::Schema(name) | Self::Database(name) => Some(name),
        }
    }
}

/// The nine tables of TPC-C, once or several times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-expects" = "a table of warehouses, such as { warehouses = 10 }"))]
pub struct TpccPlan {
    /// Number of warehouses of each set, 1 to 10,000,000, about 100 MB each.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub warehouses: u64,
    /// Number of sets of tables, 1 to 256, each with its own warehouses. All are driven at one time, by the clients
    /// divided evenly among them, and their rates are added up. Default: the number of names, or 1.
    #[schemars(range(min = 1, max = MAX_SETS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sets: Option<u32>,
    /// Schemas of several sets. Default: `tpcc_1` and so on, as `pgdyno load tpcc --schemas` names them.
    #[schemars(extend("examples" = [["tpcc_1", "tpcc_2"]]))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schemas: Vec<String>,
    /// Databases of several sets, each with tables where its sessions find them, instead of schemas.
    #[schemars(extend("examples" = [["test01", "test02"]]))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub databases: Vec<String>,
}

impl TpccPlan {
    /// One set with this many warehouses.
    pub fn of(warehouses: u64) -> Self {
        Self { warehouses, sets: None, schemas: Vec::new(), databases: Vec::new() }
    }

    /// Number of sets.
    pub fn count(&self) -> u32 {
        let named = self.schemas.len().max(self.databases.len()).max(1) as u32;
        self.sets.unwrap_or(named)
    }

    /// Where each set is.
    pub fn places(&self) -> Vec<SetPlace> {
        let all =
            |names: &[String], place: fn(String) -> SetPlace| names.iter().cloned().map(place).collect();
        match (self.databases.is_empty(), self.schemas.is_empty(), self.count()) {
            (false, ..) => all(&self.databases, SetPlace::Database),
            (_, false, _) => all(&self.schemas, SetPlace::Schema),
            (true, true, 1) => vec![SetPlace::Found],
            (true, true, count) => {
                (1..=count).map(|number| SetPlace::Schema(format!("{SCHEMA}{number}"))).collect()
            }
        }
    }

    /// Warehouses of all sets.
    pub fn all_warehouses(&self) -> u64 {
        self.warehouses.saturating_mul(self.count().into())
    }
}

/// How many of `clients` clients each of so many sets gets: as evenly as possible, the first sets one more.
pub fn divided(clients: u32, sets: u32) -> Vec<u32> {
    (0..sets).map(|set| clients / sets + u32::from(set < clients % sets)).collect()
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
    /// Number of processes that drive the sets of tables, at most one for each set; 0: threads of pgdyno itself.
    #[schemars(range(max = MAX_SETS))]
    #[serde(skip_serializing_if = "is_zero")]
    pub drivers: u32,
    /// Transactions of each client, after which it ends: instead of `duration`, and without a warm-up.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transactions: Option<u64>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Default for TpccWork {
    fn default() -> Self {
        Self {
            shape: Shape::default(),
            isolation: None,
            weights: Mix::DEFAULT_WEIGHTS,
            max_tries: MAX_TRIES,
            paced: false,
            drivers: 0,
            transactions: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_divided_evenly() {
        assert_eq!(divided(96, 4), [24; 4]);
        assert_eq!(divided(7, 3), [3, 2, 2]);
        for (clients, sets) in [(1, 1), (5, 4), (1_000, 7), (10_000, 256)] {
            let each = divided(clients, sets);
            assert_eq!((each.len() as u32, each.iter().sum::<u32>()), (sets, clients));
            assert!(each[0] - each[each.len() - 1] <= 1);
        }
    }

    #[test]
    fn sets_are_where_their_names_say() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let one = TpccPlan::of(5);
        assert_eq!((one.places(), one.all_warehouses()), (vec![SetPlace::Found], 5));
        let numbered = TpccPlan { sets: Some(2), ..one.clone() };
        let schemas = ["tpcc_1", "tpcc_2"].map(|name| SetPlace::Schema(name.into()));
        assert_eq!((numbered.places(), numbered.all_warehouses()), (schemas.to_vec(), 10));
        let named = TpccPlan { schemas: names(&["a"]), ..one.clone() };
        assert_eq!((named.count(), named.places()), (1, vec![SetPlace::Schema("a".into())]));
        let databases = TpccPlan { databases: names(&["x", "y", "z"]), ..one };
        assert_eq!((databases.count(), databases.places()[2].name()), (3, Some("z")));
    }
}
