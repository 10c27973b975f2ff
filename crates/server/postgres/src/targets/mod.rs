//! Targets that the engine drives.

mod sql;
mod tls;

pub use sql::{
    ClientBehavior, ErrorHandling, InputCounts, Sessions, SharedScripts, SqlClient, SqlClients, SqlTarget,
    Start, TerminalInput, Workers, run_clients, run_returning_clients,
};
pub use tls::{Link, Reconnects, Redial};
