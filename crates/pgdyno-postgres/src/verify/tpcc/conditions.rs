//! Consistency conditions of the TPC-C tables.

/// A consistency condition, numbered from 1 in the queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition {
    /// Number of the clause, or a keyword.
    pub name: &'static str,
    /// The condition in words.
    pub words: &'static str,
}

const fn condition(name: &'static str, words: &'static str) -> Condition {
    Condition { name, words }
}

/// Conditions 1 to 12 of clause 3.3.2, followed by our own.
pub const CONDITIONS: [Condition; 17] = [
    condition("3.3.2.1", "a warehouse took in what its districts took in"),
    condition("3.3.2.2", "a district's next order follows the last one, and the last one that waits"),
    condition("3.3.2.3", "the orders of a district that wait are numbered without a gap"),
    condition("3.3.2.4", "a district's orders announce as many lines as there are"),
    condition("3.3.2.5", "an order has no carrier as long as it waits, and only then"),
    condition("3.3.2.6", "an order has as many lines as it announces"),
    condition("3.3.2.7", "a line has no date as long as its order has no carrier, and only then"),
    condition("3.3.2.8", "a warehouse took in what was paid to it"),
    condition("3.3.2.9", "a district took in what was paid to it"),
    condition("3.3.2.10", "a customer's balance is what was delivered less what was paid"),
    condition("3.3.2.11", "orders that do not wait are those that were delivered"),
    condition("3.3.2.12", "a customer's balance and payments are what was delivered"),
    condition("orders", "the orders of a district are numbered from 1 without a gap"),
    condition("lines", "the lines of an order are numbered from 1 without a gap"),
    condition("payments", "a customer counts the payments that history holds, and their sum"),
    condition("stock", "stock counts the lines that it was supplied to, and their quantity"),
    condition("rows", "of districts, customers, stock and items there are as many as must be"),
];
