//! Whether the data is what it must be.

mod balance;
mod ledger;

pub use balance::{BalanceMode, BalanceOutcome, Expected, check_balance};
pub use ledger::{Ledger, LedgerOutcome};
