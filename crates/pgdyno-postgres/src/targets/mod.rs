//! What the engine drives at a server.

mod sql;
mod tls;

pub use sql::{Conduct, Counted, Desk, Manner, Play, Sessions, SqlClients, SqlTarget, Start, Workers};
pub use tls::{Link, Reconnects, Redial};
