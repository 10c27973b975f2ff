//! What the engine drives at a server.

mod sql;

pub use sql::{SqlClients, SqlTarget, Workers};
