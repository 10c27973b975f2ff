//! Whether the data is what it must be.

mod amcheck;
mod balance;
mod ledger;

pub use amcheck::{Structure, check_structure};
pub use balance::{BalanceMode, BalanceOutcome, Expected, check_balance};
pub use ledger::Ledger;
