//! The error type of chores.

use std::error::Error;

/// An error with a message for the user of the chore.
pub type Failure = Box<dyn Error>;
