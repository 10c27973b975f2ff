//! Facts about the connection from the driver to the server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A pooler between driver and server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PoolerFacts {
    /// Name and version as the pooler reports them, for example `PgBouncer 1.18.0`; absent for an unknown pooler.
    pub name: Option<String>,
    /// When the pooler reassigns server connections: `session`, `transaction`, `statement` or `unknown`.
    pub mode: String,
    /// Whether prepared statements are kept per client.
    pub keeps_prepared: bool,
}

/// The transport of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// A Unix-domain socket on the same machine.
    UnixSocket,
    /// TCP, to the same machine or to another one.
    Tcp,
}

/// How the driver's connections reached an existing server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionFacts {
    /// Transport.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// TLS version and cipher; absent for unencrypted connections.
    pub encryption: Option<String>,
    /// The pooler in front of the server, if any.
    pub pooler: Option<PoolerFacts>,
    /// Whether the server is a standby.
    pub standby: bool,
    /// Whether preparation and checks used another address than the driver.
    pub separate_admin: bool,
}

impl ConnectionFacts {
    /// The connection to pgdyno's own server.
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
