//! A value that a rule chose.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value chosen from facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// What was chosen, for example `shared_buffers` or `scale`.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Why.
    pub reason: String,
}
