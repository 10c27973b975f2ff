//! Protocols for sending statements.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Protocol for sending statements (pgbench's `--protocol`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// A Query message with the values in its text.
    Simple,
    /// Parse, Bind and Execute for every statement.
    Extended,
    /// Parse once per session, then Bind and Execute.
    Prepared,
}

impl Protocol {
    /// Name as pgbench spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Extended => "extended",
            Self::Prepared => "prepared",
        }
    }
}
