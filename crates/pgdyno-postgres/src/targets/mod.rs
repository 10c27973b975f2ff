//! What the engine drives at a server.

mod sql;

pub use sql::{Conduct, Manner, Play, SqlClients, SqlTarget, Start, Workers};
