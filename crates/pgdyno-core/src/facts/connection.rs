//! Facts about the way from the driver to the server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A pooler between driver and server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PoolerFacts {
    /// Name and version as it tells them, for example `PgBouncer 1.18.0`; absent where it is not one of those known.
    pub name: Option<String>,
    /// When server connections change hands: `session`, `transaction`, `statement` or `unknown`.
    pub mode: String,
    /// Whether every client has prepared statements of its own.
    pub keeps_prepared: bool,
}

/// How the driver's connections reached a server that was already there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionFacts {
    /// Version and cipher of TLS; absent where nothing was encrypted.
    pub encryption: Option<String>,
    /// The pooler in front of the server, where there is one.
    pub pooler: Option<PoolerFacts>,
    /// Whether the server is a standby.
    pub standby: bool,
    /// Whether another address prepared and checked than the one that was driven.
    pub separate_admin: bool,
}
