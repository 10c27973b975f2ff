//! How the transactions are sent: three shapes of the same five.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a transaction is sent. The effect is the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// A round trip for each statement.
    #[default]
    Statements,
    /// What needs no answer goes together: one to three round trips.
    Pipelined,
    /// A PL/pgSQL function for each transaction: one round trip.
    Functions,
}

impl Shape {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Statements, Self::Pipelined, Self::Functions];

    /// Its name in plans and flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Statements => "statements",
            Self::Pipelined => "pipelined",
            Self::Functions => "functions",
        }
    }
}
