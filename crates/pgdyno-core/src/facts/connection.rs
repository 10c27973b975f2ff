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

/// What carries a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// A Unix-domain socket, on one machine.
    UnixSocket,
    /// TCP, to the same machine or to another one.
    Tcp,
}

/// How the driver's connections reached a server that was already there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionFacts {
    /// What carried them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// Version and cipher of TLS; absent where nothing was encrypted.
    pub encryption: Option<String>,
    /// The pooler in front of the server, where there is one.
    pub pooler: Option<PoolerFacts>,
    /// Whether the server is a standby.
    pub standby: bool,
    /// Whether another address prepared and checked than the one that was driven.
    pub separate_admin: bool,
}

impl ConnectionFacts {
    /// The way to a server that pgdyno made for itself.
    pub fn of_own_server() -> Self {
        Self {
            transport: Some(Transport::UnixSocket),
            encryption: None,
            pooler: None,
            standby: false,
            separate_admin: false,
        }
    }
}
