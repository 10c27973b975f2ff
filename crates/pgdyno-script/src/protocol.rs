//! How statements reach the server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How statements are sent (pgbench's `--protocol`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// One Query message with the values in its text.
    Simple,
    /// Parse, Bind and Execute for every statement.
    Extended,
    /// Parse once a session, then Bind and Execute.
    Prepared,
}

impl Protocol {
    /// The name as pgbench spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Extended => "extended",
            Self::Prepared => "prepared",
        }
    }
}
