//! Counts of inputs for which TPC-C prescribes a share of the transactions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Customer, DISTRICTS, Input, Line, Terminal, UNUSED_ITEM};

/// Counts over executed transactions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shares {
    /// New-Orders.
    pub orders: u64,
    /// New-Orders with an unused item, which were rolled back for it.
    pub unused_items: u64,
    /// Lines of all New-Orders.
    pub lines: u64,
    /// Lines supplied by another warehouse.
    pub remote_lines: u64,
    /// Payments.
    pub payments: u64,
    /// Payments by customers of another warehouse.
    pub remote_payments: u64,
    /// Customers in Payments and Order-Statuses.
    pub customers: u64,
    /// Customers selected by last name.
    pub named: u64,
    /// Deliveries.
    pub deliveries: u64,
    /// Deliveries that found a district without an order.
    pub skipped_deliveries: u64,
}

impl Shares {
    /// Counts one transaction; for a Delivery with the number of delivered orders, if known.
    pub fn count(&mut self, terminal: &Terminal, input: &Input, delivered: Option<u64>) {
        match *input {
            Input::NewOrder { lines, count, .. } => self.order(terminal, &lines[..count]),
            Input::Payment { customer_warehouse, customer, .. } => {
                self.payments += 1;
                self.remote_payments += u64::from(customer_warehouse != terminal.warehouse);
                self.customer(customer);
            }
            Input::OrderStatus { customer, .. } => self.customer(customer),
            Input::Delivery { .. } => {
                self.deliveries += 1;
                self.skipped_deliveries +=
                    u64::from(delivered.is_some_and(|delivered| delivered < DISTRICTS));
            }
            Input::StockLevel { .. } => {}
        }
    }

    fn order(&mut self, terminal: &Terminal, lines: &[Line]) {
        self.orders += 1;
        self.lines += lines.len() as u64;
        self.unused_items += u64::from(lines.iter().any(|line| u64::from(line.item) == UNUSED_ITEM));
        let remote = lines.iter().filter(|line| u64::from(line.supply_warehouse) != terminal.warehouse);
        self.remote_lines += remote.count() as u64;
    }

    fn customer(&mut self, customer: Customer) {
        self.customers += 1;
        self.named += u64::from(matches!(customer, Customer::LastName(_)));
    }

    /// Adds the counts of another client.
    pub fn merge(&mut self, other: &Self) {
        self.orders += other.orders;
        self.unused_items += other.unused_items;
        self.lines += other.lines;
        self.remote_lines += other.remote_lines;
        self.payments += other.payments;
        self.remote_payments += other.remote_payments;
        self.customers += other.customers;
        self.named += other.named;
        self.deliveries += other.deliveries;
        self.skipped_deliveries += other.skipped_deliveries;
    }
}
