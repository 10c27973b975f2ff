//! Sets of tables that are loaded together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    RowGenerator,
    scaleup::{Log, Test},
    tpcb::{Accounts, Branches, Histories, Tellers},
    tpcc,
};

/// A set of tables that are loaded together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Set {
    /// The tables of TPC-B, as created by `pgbench -i`.
    #[default]
    Tpcb,
    /// The tables `test` and `log` of the article on PostgreSQL 9.6 and 9.5.
    Scaleup,
    /// The tables of TPC-C.
    Tpcc,
}

impl Set {
    /// Name of the set as users write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tpcb => "tpcb",
            Self::Scaleup => "scaleup",
            Self::Tpcc => "tpcc",
        }
    }

    /// Name of the flag that gives the scale, without dashes.
    pub fn scale_word(self) -> &'static str {
        match self {
            Self::Tpcb => "scale",
            Self::Scaleup => "rows",
            Self::Tpcc => "warehouses",
        }
    }

    /// Tables of the set.
    pub fn tables(self) -> &'static [Table] {
        match self {
            Self::Tpcb => &[Table::Branches, Table::Tellers, Table::Accounts, Table::History],
            Self::Scaleup => &[Table::Test, Table::Log],
            Self::Tpcc => {
                const { &[ITEM, STOCK, ORDER_LINE, CUSTOMER, HISTORY, ORDERS, NEW_ORDER, DISTRICT, WAREHOUSE] }
            }
        }
    }

    /// The table with the most rows.
    pub fn main(self) -> Table {
        match self {
            Self::Tpcb => Table::Accounts,
            Self::Scaleup => Table::Test,
            Self::Tpcc => ORDER_LINE,
        }
    }

    /// Tables that can be partitioned, the slowest to fill first.
    pub fn spread(self) -> &'static [Table] {
        match self {
            Self::Tpcb => &[Table::Accounts],
            Self::Scaleup => &[Table::Test],
            Self::Tpcc => {
                const { &[STOCK, ORDER_LINE, CUSTOMER, HISTORY, ORDERS, NEW_ORDER, DISTRICT, WAREHOUSE] }
            }
        }
    }

    /// Other tables, except those that begin empty.
    pub fn single(self) -> &'static [Table] {
        match self {
            Self::Tpcb => &[Table::Tellers, Table::Branches],
            Self::Scaleup => &[Table::Log],
            Self::Tpcc => const { &[ITEM] },
        }
    }

    /// Number of foreign keys that the tables can have.
    pub fn foreign_keys(self) -> usize {
        match self {
            Self::Tpcb => 5,
            Self::Scaleup => 0,
            Self::Tpcc => 10,
        }
    }

    /// PostgreSQL regular expression for the names of the tables, their partitions, and dependent objects.
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

/// A table of any set.
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
    /// A TPC-C table.
    Tpcc(tpcc::Table),
}

impl Table {
    /// Generator of the table's rows.
    pub fn generator(self) -> &'static dyn RowGenerator {
        match self {
            Self::Branches => &Branches,
            Self::Tellers => &Tellers,
            Self::Accounts => &Accounts,
            Self::History => &Histories,
            Self::Test => &Test,
            Self::Log => &Log,
            Self::Tpcc(table) => {
                // The discriminants begin with 1.
                const { &tpcc::Table::ALL }.get(table as usize - 1).expect("every table is one of all")
            }
        }
    }

    /// Columns of the primary key; `None` if there is none.
    pub fn key(self) -> Option<&'static str> {
        match self {
            Self::History | Self::Log => None,
            Self::Tpcc(table) => table.key(),
            _ => Some(self.generator().columns()[0].name),
        }
    }

    /// Columns of the secondary index; `None` if there is none.
    pub fn index(self) -> Option<&'static str> {
        if let Self::Tpcc(table) = self { table.index() } else { None }
    }

    /// Number of rows in this many units; for TPC-C's `order_line` an average.
    pub fn rows_of(self, units: u64) -> u64 {
        if let Self::Tpcc(table) = self { table.rows_of(units) } else { units }
    }

    /// Number of units between which parts may be cut: for TPC-C those of a warehouse.
    pub fn grain(self) -> u64 {
        match self {
            Self::Tpcc(table) if table.warehouse().is_some() => table.units(1),
            _ => 1,
        }
    }
}
