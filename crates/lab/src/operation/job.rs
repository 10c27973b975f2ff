//! The request of a command that operates on tables, or measures storage.

use std::path::Path;

use pgdyno_core::{observe::ObserveLevel, profile::Profiling};
use pgdyno_wire::ConnectOptions;

/// What operations work on.
#[derive(Debug, Clone, Copy)]
pub enum On<'a> {
    /// A server.
    Server(&'a ConnectOptions),
    /// The storage below these files or directories, without a server.
    Storage(&'a [&'a Path]),
}

/// A command that operates on tables, or measures storage.
#[derive(Debug)]
pub struct OperationJob<'a> {
    /// Name of its runs, such as `load` or `probe-sizes`.
    pub name: &'a str,
    /// What it does, in one sentence without a full stop.
    pub description: String,
    /// The command line, without secrets.
    pub command: String,
    /// What it works on.
    pub on: On<'a>,
    /// Connections or threads that work at the same time.
    pub connections: u64,
    /// Databases that are made from that of the server, in which nobody may have a session meanwhile.
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
