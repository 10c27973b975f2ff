//! The failure of a chore.

use std::error::Error;

/// What went wrong, in words for whoever ran the chore.
pub type Failure = Box<dyn Error>;
