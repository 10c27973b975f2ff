//! Checks data for correctness.

mod balance;
mod ledger;
mod tpcc;

pub use balance::{BalanceMode, BalanceOutcome, Expected, check_balance};
pub use ledger::Ledger;
pub use tpcc::{CONDITIONS, Condition, Consistency, Violation, check_tpcc};
