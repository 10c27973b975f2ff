//! Which tables are loaded together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Maker,
    scaleup::{Log, Test},
    tpcb::{Accounts, Branches, Histories, Tellers},
    tpcc,
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
    /// TPC-C's.
    Tpcc,
}

impl Set {
    /// What a user calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tpcb => "tpcb",
            Self::Scaleup => "scaleup",
            Self::Tpcc => "tpcc",
        }
    }

    /// What its scale is: the flag that says it is this, behind two dashes.
    pub fn scale_word(self) -> &'static str {
        match self {
            Self::Tpcb => "scale",
            Self::Scaleup => "rows",
            Self::Tpcc => "warehouses",
        }
    }

    /// Its tables.
    pub fn tables(self) -> &'static [Table] {
        match self {
            Self::Tpcb => &[Table::Branches, Table::Tellers, Table::Accounts, Table::History],
            Self::Scaleup => &[Table::Test, Table::Log],
            Self::Tpcc => {
                const { &[ITEM, STOCK, ORDER_LINE, CUSTOMER, HISTORY, ORDERS, NEW_ORDER, DISTRICT, WAREHOUSE] }
            }
        }
    }

    /// The one that has most rows.
    pub fn main(self) -> Table {
        match self {
            Self::Tpcb => Table::Accounts,
            Self::Scaleup => Table::Test,
            Self::Tpcc => ORDER_LINE,
        }
    }

    /// Those that can have partitions; the one that takes longest to fill first.
    pub fn spread(self) -> &'static [Table] {
        match self {
            Self::Tpcb => &[Table::Accounts],
            Self::Scaleup => &[Table::Test],
            Self::Tpcc => {
                const { &[STOCK, ORDER_LINE, CUSTOMER, HISTORY, ORDERS, NEW_ORDER, DISTRICT, WAREHOUSE] }
            }
        }
    }

    /// The others, but for those that begin empty.
    pub fn single(self) -> &'static [Table] {
        match self {
            Self::Tpcb => &[Table::Tellers, Table::Branches],
            Self::Scaleup => &[Table::Log],
            Self::Tpcc => const { &[ITEM] },
        }
    }

    /// Number of foreign keys that its tables can have.
    pub fn foreign_keys(self) -> usize {
        match self {
            Self::Tpcb => 5,
            Self::Scaleup => 0,
            Self::Tpcc => 10,
        }
    }

    /// The names of its tables and partitions, and of what they bring along: a regular expression, for PostgreSQL.
    pub fn names(self) -> &'static str {
        match self {
            Self::Tpcb => "^pgbench_(branches|tellers|history|accounts(_[0-9]+)?)$",
            Self::Scaleup => "^(test(_[0-9]+)?|log(_id_seq)?)$",
            Self::Tpcc => {
                "^(item|(warehouse|district|customer|history|new_order|orders|order_line|stock)(_[0-9]+)?)$"
            }
        }
    }
}

const WAREHOUSE: Table = Table::Tpcc(tpcc::Table::Warehouse);
const DISTRICT: Table = Table::Tpcc(tpcc::Table::District);
const CUSTOMER: Table = Table::Tpcc(tpcc::Table::Customer);
const HISTORY: Table = Table::Tpcc(tpcc::Table::History);
const NEW_ORDER: Table = Table::Tpcc(tpcc::Table::NewOrder);
const ORDERS: Table = Table::Tpcc(tpcc::Table::Orders);
const ORDER_LINE: Table = Table::Tpcc(tpcc::Table::OrderLine);
const ITEM: Table = Table::Tpcc(tpcc::Table::Item);
const STOCK: Table = Table::Tpcc(tpcc::Table::Stock);

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
    /// One of TPC-C's.
    Tpcc(tpcc::Table),
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
            Self::Tpcc(table) => {
                // Their numbers begin with 1.
                const { &tpcc::Table::ALL }.get(table as usize - 1).expect("every table is one of all")
            }
        }
    }

    /// The columns of its primary key; `None` where it has none.
    pub fn key(self) -> Option<&'static str> {
        match self {
            Self::History | Self::Log => None,
            Self::Tpcc(table) => table.key(),
            _ => Some(self.maker().columns()[0].name),
        }
    }

    /// The columns of its other index, if it has one beside its primary key.
    pub fn index(self) -> Option<&'static str> {
        if let Self::Tpcc(table) = self { table.index() } else { None }
    }

    /// Rows of so many units; of TPC-C's `order_line` on average.
    pub fn rows_of(self, units: u64) -> u64 {
        if let Self::Tpcc(table) = self { table.rows_of(units) } else { units }
    }

    /// Units that parts are cut between: TPC-C's tables are cut between warehouses.
    pub fn grain(self) -> u64 {
        match self {
            Self::Tpcc(table) if table.warehouse().is_some() => table.units(1),
            _ => 1,
        }
    }
}
