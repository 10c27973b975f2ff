//! The nine TPC-C tables, and positions of rows in them.

use pgdyno_core::tpcc::DISTRICTS;

use super::row::Row;

/// A table of TPC-C. The discriminants number random streams, so they never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Table {
    /// `warehouse`.
    Warehouse = 1,
    /// `district`.
    District = 2,
    /// `customer`.
    Customer = 3,
    /// `history`.
    History = 4,
    /// `new_order`.
    NewOrder = 5,
    /// `orders`.
    Orders = 6,
    /// `order_line`.
    OrderLine = 7,
    /// `item`.
    Item = 8,
    /// `stock`.
    Stock = 9,
}

impl Table {
    /// All tables in the order of the specification.
    pub const ALL: [Self; 9] = [
        Self::Warehouse,
        Self::District,
        Self::Customer,
        Self::History,
        Self::NewOrder,
        Self::Orders,
        Self::OrderLine,
        Self::Item,
        Self::Stock,
    ];

    /// Name of the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warehouse => "warehouse",
            Self::District => "district",
            Self::Customer => "customer",
            Self::History => "history",
            Self::NewOrder => "new_order",
            Self::Orders => "orders",
            Self::OrderLine => "order_line",
            Self::Item => "item",
            Self::Stock => "stock",
        }
    }

    /// Columns of the primary key (clause 1.3), the warehouse's first; `None` for history, which has none.
    pub fn key(self) -> Option<&'static str> {
        Some(match self {
            Self::Warehouse => "w_id",
            Self::District => "d_w_id, d_id",
            Self::Customer => "c_w_id, c_d_id, c_id",
            Self::History => return None,
            Self::NewOrder => "no_w_id, no_d_id, no_o_id",
            Self::Orders => "o_w_id, o_d_id, o_id",
            Self::OrderLine => "ol_w_id, ol_d_id, ol_o_id, ol_number",
            Self::Item => "i_id",
            Self::Stock => "s_w_id, s_i_id",
        })
    }

    /// Columns of the secondary index for finding customers by name (clause 2.5.2.2) and a customer's last
    /// order (clause 2.6.2.2).
    pub fn index(self) -> Option<&'static str> {
        match self {
            Self::Customer => Some("c_w_id, c_d_id, c_last, c_first"),
            Self::Orders => Some("o_w_id, o_d_id, o_c_id, o_id"),
            _ => None,
        }
    }

    /// Column of the warehouse that a row belongs to; `None` for items, which belong to all.
    pub fn warehouse(self) -> Option<&'static str> {
        match self {
            Self::History => Some("h_w_id"),
            Self::Item => None,
            _ => self.key()?.split(',').next(),
        }
    }
}

/// Receives a row's key and the row.
pub(super) type RowSink<'a> = dyn FnMut(u64, &mut Row) + 'a;

/// Warehouse, district and number within the district, each from 1, of a unit, given the number of units per district.
pub(super) fn place(number: u64, of_district: u64) -> (u64, u64, u64) {
    let district = number / of_district;
    (district / DISTRICTS + 1, district % DISTRICTS + 1, number % of_district + 1)
}
