//! The request of a command that operates on tables.

use pgdyno_core::{observe::ObserveLevel, profile::Profiling};
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
    /// Databases that are made from that of `options`, in which nobody may have a session meanwhile.
    pub copies: Vec<String>,
}

/// What is seen of the server meanwhile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// What is observed.
    pub observe: ObserveLevel,
    /// Whether its processes are profiled.
    pub profile: Profiling,
}
