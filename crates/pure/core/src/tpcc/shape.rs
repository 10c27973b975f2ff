//! How the statements of a transaction are sent: three shapes of the same five transactions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the statements of a transaction are sent. The effect is the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// One round trip per statement.
    #[default]
    Statements,
    /// Statements are pipelined as far as they do not depend on answers: one to three round trips.
    Pipelined,
    /// One PL/pgSQL function per transaction: one round trip.
    Functions,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 3] = [Self::Statements, Self::Pipelined, Self::Functions];

    /// Name in plans and flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Statements => "statements",
            Self::Pipelined => "pipelined",
            Self::Functions => "functions",
        }
    }
}
