//! The request of a command that operates on tables.

use pgdyno_wire::ConnectOptions;

/// A command that operates on tables.
#[derive(Debug)]
pub struct OperationJob<'a> {
    /// Name of its runs, such as `load` or `probe-sizes`.
    pub name: &'a str,
    /// What it does, in one sentence without a full stop.
    pub description: String,
    /// The command line, without secrets.
    pub command: String,
    /// The server.
    pub options: &'a ConnectOptions,
    /// Connections that work at the same time.
    pub connections: u64,
}
