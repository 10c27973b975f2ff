//! A value that a rule chose.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value chosen from facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// Name of the value, for example `shared_buffers` or `scale`.
    pub name: String,
    /// The chosen value.
    pub value: String,
    /// The reason for the choice.
    pub reason: String,
}
