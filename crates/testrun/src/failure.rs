//! Why tests cannot be run.

use std::error::Error;

/// Anything that keeps tests from being run.
pub type Failure = Box<dyn Error + Send + Sync>;
