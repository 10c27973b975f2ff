//! TPC-C by its text, revision 5.11: what its rows draw, and what its terminals enter.
//!
//! Who says "clause" here means the TPC Benchmark C Standard Specification. pgdyno's runs are derived from it and are
//! no TPC results.

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

/// What every output of ours says: the TPC has rules for who may speak of a result.
pub const DERIVED: &str = "Derived from TPC-C; this is not a TPC result, and cannot be compared with one.";
/// Districts of a warehouse (clause 1.2.1).
pub const DISTRICTS: u64 = 10;
/// Customers of a district (clause 1.2.1).
pub const CUSTOMERS: u64 = 3_000;
/// Orders that a district begins with (clause 4.3.3.1).
pub const ORDERS: u64 = 3_000;
/// First of them that is not delivered yet: 900 are open (clause 4.3.3.1).
pub const FIRST_OPEN_ORDER: u64 = 2_101;
/// Items, and stock of each warehouse (clause 1.2.1).
pub const ITEMS: u64 = 100_000;
