//! Targets that the engine drives.

mod sql;
mod tls;

pub use sql::{
    ClientBehavior, ErrorHandling, InputCounts, Sessions, SharedScripts, SqlClients, SqlTarget, Start,
    TerminalInput, Workers,
};
pub use tls::{Link, Reconnects, Redial};
