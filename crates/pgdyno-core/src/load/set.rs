//! Which tables are loaded together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LoadPlan;
use crate::rows::{
    Maker,
    scaleup::{Log, Test},
    tpcb::{Accounts, Branches, Histories, Tellers},
};

/// Tables that belong together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Set {
    /// TPC-B's, as `pgbench -i` makes them.
    #[default]
    Tpcb,
    /// `test` and `log`, of the article about 9.6 and 9.5.
    Scaleup,
}

impl Set {
    /// What a user calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tpcb => "tpcb",
            Self::Scaleup => "scaleup",
        }
    }

    /// What its scale is: the flag that says it is this, behind two dashes.
    pub fn scale_word(self) -> &'static str {
        match self {
            Self::Tpcb => "scale",
            Self::Scaleup => "rows",
        }
    }

    /// Its tables.
    pub fn tables(self) -> &'static [Table] {
        match self {
            Self::Tpcb => &[Table::Branches, Table::Tellers, Table::Accounts, Table::History],
            Self::Scaleup => &[Table::Test, Table::Log],
        }
    }

    /// The one that has most rows and can have partitions.
    pub fn main(self) -> Table {
        match self {
            Self::Tpcb => Table::Accounts,
            Self::Scaleup => Table::Test,
        }
    }

    /// The names of its tables and partitions, and of what they bring along: a regular expression, for PostgreSQL.
    pub fn names(self) -> &'static str {
        match self {
            Self::Tpcb => "^pgbench_(branches|tellers|history|accounts(_[0-9]+)?)$",
            Self::Scaleup => "^(test(_[0-9]+)?|log(_id_seq)?)$",
        }
    }
}

/// A table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// `pgbench_branches`.
    Branches,
    /// `pgbench_tellers`.
    Tellers,
    /// `pgbench_accounts`.
    Accounts,
    /// `pgbench_history`.
    History,
    /// `test`.
    Test,
    /// `log`.
    Log,
}

impl Table {
    /// What makes its rows.
    pub fn maker(self) -> &'static dyn Maker {
        match self {
            Self::Branches => &Branches,
            Self::Tellers => &Tellers,
            Self::Accounts => &Accounts,
            Self::History => &Histories,
            Self::Test => &Test,
            Self::Log => &Log,
        }
    }

    /// The column of its primary key; `None` where it has none.
    pub fn key(self) -> Option<&'static str> {
        let keyed = !matches!(self, Self::History | Self::Log);
        keyed.then(|| self.maker().columns()[0].name)
    }

    /// Rows of a plan's table.
    pub fn rows(self, plan: &LoadPlan) -> u64 {
        self.maker().rows_at(if self == Self::Log { plan.log_rows } else { plan.scale })
    }
}
