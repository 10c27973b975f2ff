//! The built-in transactions, word for word in meaning those of pgbench 18.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Scripts;

/// A built-in transaction (pgbench's names).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Builtin {
    /// Three updates, a select and an insert in one transaction.
    TpcbLike,
    /// `tpcb-like` without the updates of tellers and branches.
    SimpleUpdate,
    /// The select alone.
    SelectOnly,
}

impl Builtin {
    /// All of them, in pgbench's order.
    pub const ALL: [Self; 3] = [Self::TpcbLike, Self::SimpleUpdate, Self::SelectOnly];

    /// The name as pgbench spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::TpcbLike => "tpcb-like",
            Self::SimpleUpdate => "simple-update",
            Self::SelectOnly => "select-only",
        }
    }

    /// Whether it writes.
    pub fn writes(self) -> bool {
        self != Self::SelectOnly
    }

    /// Whether every transaction updates the row of a branch, of which there are as many as the scale says: fewer
    /// branches than clients make these wait for each other.
    pub fn updates_branches(self) -> bool {
        self == Self::TpcbLike
    }
}

/// Draws the four random values of the two transactions that write.
macro_rules! draws {
    () => {
        "\\set aid random(1, 100000 * :scale)\n\
         \\set bid random(1, 1 * :scale)\n\
         \\set tid random(1, 10 * :scale)\n\
         \\set delta random(-5000, 5000)\n"
    };
}

/// pgbench's `tpcb-like`.
const TPCB_LIKE: &str = concat!(
    draws!(),
    "BEGIN;\n\
     UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n\
     SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n\
     UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;\n\
     UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;\n\
     INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
     VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\n\
     END;\n"
);

/// pgbench's `simple-update`.
const SIMPLE_UPDATE: &str = concat!(
    draws!(),
    "BEGIN;\n\
     UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n\
     SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n\
     INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
     VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\n\
     END;\n"
);

/// pgbench's `select-only`.
const SELECT_ONLY: &str = "\\set aid random(1, 100000 * :scale)\n\
                           SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n";

impl Builtin {
    /// The script's text in pgbench's language.
    pub fn script_text(self) -> &'static str {
        match self {
            Self::TpcbLike => TPCB_LIKE,
            Self::SimpleUpdate => SIMPLE_UPDATE,
            Self::SelectOnly => SELECT_ONLY,
        }
    }

    /// The script, read.
    pub fn scripts(self) -> Scripts {
        Scripts::one(self.name(), self.script_text())
            .expect("the built-in scripts are right, as a test holds")
    }

    /// What pgbench calls it in its summary.
    pub fn description(self) -> &'static str {
        match self {
            Self::TpcbLike => "<builtin: TPC-B (sort of)>",
            Self::SimpleUpdate => "<builtin: simple update>",
            Self::SelectOnly => "<builtin: select only>",
        }
    }

    /// The built-in transaction of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|builtin| builtin.name() == name)
    }
}
