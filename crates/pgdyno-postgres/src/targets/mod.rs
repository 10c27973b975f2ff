//! Targets that the engine drives.

mod sql;
mod tls;

pub use sql::{
    Conduct, Counted, Manner, Play, Sessions, SqlClients, SqlTarget, Start, TerminalInput, Workers,
};
pub use tls::{Link, Reconnects, Redial};
