//! Whether the data is what it must be.

mod balance;

pub use balance::{BalanceMode, BalanceOutcome, Expected, check_balance};
