//! TPC-C according to its specification, revision 5.11: random data of its rows, and input data of its terminals.
//!
//! "Clause" always refers to the TPC Benchmark C Standard Specification. pgdyno's runs are derived from it and are not
//! TPC results.

mod draws;
mod input;
mod names;
mod nurand;
mod shape;
mod shares;
mod transaction;

pub use draws::Draws;
pub use input::{Customer, Input, Line, MOST_LINES, RunConstants, Terminal, UNUSED_ITEM};
pub use names::last_name;
pub use nurand::NuRand;
pub use shape::Shape;
pub use shares::Shares;
pub use transaction::{Mix, Terms, Transaction};

/// Disclaimer in every output: the TPC restricts who may publish a result.
pub const DERIVED: &str = "Derived from TPC-C; this is not a TPC result, and cannot be compared with one.";
/// Districts per warehouse (clause 1.2.1).
pub const DISTRICTS: u64 = 10;
/// Customers per district (clause 1.2.1).
pub const CUSTOMERS: u64 = 3_000;
/// Initial orders per district (clause 4.3.3.1).
pub const ORDERS: u64 = 3_000;
/// First undelivered order; 900 are open (clause 4.3.3.1).
pub const FIRST_OPEN_ORDER: u64 = 2_101;
/// Number of items, and of stock rows per warehouse (clause 1.2.1).
pub const ITEMS: u64 = 100_000;
