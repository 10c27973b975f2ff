//! Addresses of servers.

use std::{fmt, path::PathBuf};

use serde::{Deserialize, Serialize};

/// Address that a server listens on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Address {
    /// Unix-domain socket: directory and port. A directory that begins with `@` is in the abstract namespace.
    Unix(PathBuf, u16),
    /// Host name or address, and port.
    Tcp(String, u16),
}

impl Address {
    /// Path of the socket, for a Unix-domain address.
    pub fn socket_path(&self) -> Option<PathBuf> {
        match self {
            Self::Unix(dir, port) => Some(dir.join(format!(".s.PGSQL.{port}"))),
            Self::Tcp(..) => None,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(dir, port) => write!(f, "socket {}/.s.PGSQL.{port}", dir.display()),
            Self::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
        }
    }
}
