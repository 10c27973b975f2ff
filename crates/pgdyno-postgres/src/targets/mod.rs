//! What the engine drives at a server.

mod sql;
mod tls;

pub use sql::{SqlClients, SqlTarget, Workers};
pub use tls::{Link, Reconnects};
