//! Choices made from facts by pure rules, each with its reason: the size of a configuration, the scale, the
//! clients.

pub mod alike;
pub mod bench;
pub mod config;
pub mod preflight;
pub mod program;
pub mod size;

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
