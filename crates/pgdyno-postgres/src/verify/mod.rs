//! Checks data for correctness.

mod amcheck;
mod balance;
mod ledger;
mod tpcc;

pub use amcheck::{Structure, check_structure};
pub use balance::{BalanceMode, BalanceOutcome, Expected, check_balance};
pub use ledger::Ledger;
pub use tpcc::{CONDITIONS, Condition, Consistency, Violation, check_tpcc};
