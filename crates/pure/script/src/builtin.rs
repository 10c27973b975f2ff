//! The built-in transactions, equivalent to those of pgbench 18.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Scripts;

/// A built-in transaction, under pgbench's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Builtin {
    /// Three updates, a select and an insert in one transaction.
    TpcbLike,
    /// `tpcb-like` without the updates of tellers and branches.
    SimpleUpdate,
    /// Only the select.
    SelectOnly,
}

impl Builtin {
    /// All built-in transactions, in pgbench's order.
    pub const ALL: [Self; 3] = [Self::TpcbLike, Self::SimpleUpdate, Self::SelectOnly];

    /// Name as pgbench spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::TpcbLike => "tpcb-like",
            Self::SimpleUpdate => "simple-update",
            Self::SelectOnly => "select-only",
        }
    }

    /// Whether the transaction writes.
    pub fn writes(self) -> bool {
        self != Self::SelectOnly
    }

    /// Whether every transaction updates a row of branches. There are as many branches as the scale factor, and
    /// with more clients than branches the updates block each other.
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

const SIMPLE_UPDATE: &str = concat!(
    draws!(),
    "BEGIN;\n\
     UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n\
     SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n\
     INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
     VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\n\
     END;\n"
);

const SELECT_ONLY: &str = "\\set aid random(1, 100000 * :scale)\n\
                           SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n";

impl Builtin {
    /// Text of the script in pgbench's language.
    pub fn script_text(self) -> &'static str {
        match self {
            Self::TpcbLike => TPCB_LIKE,
            Self::SimpleUpdate => SIMPLE_UPDATE,
            Self::SelectOnly => SELECT_ONLY,
        }
    }

    /// The parsed script.
    pub fn scripts(self) -> Scripts {
        Scripts::one(self.name(), self.script_text())
            .expect("the built-in scripts are right, as a test holds")
    }

    /// Description that pgbench prints in its summary.
    pub fn description(self) -> &'static str {
        match self {
            Self::TpcbLike => "<builtin: TPC-B (sort of)>",
            Self::SimpleUpdate => "<builtin: simple update>",
            Self::SelectOnly => "<builtin: select only>",
        }
    }

    /// The built-in transaction with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|builtin| builtin.name() == name)
    }
}
