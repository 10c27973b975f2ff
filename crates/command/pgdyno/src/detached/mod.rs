//! Runs that outlive their terminal.
//!
//! `--detach` starts this program once more, in a session of its own; that process carries the whole command out. What
//! others need to know about it is its *entry*, a directory in pgdyno's state directory: who it is, where its run
//! directory is, how far it is, what it printed, and how it ended.

/// The commands that have the flag.
pub const COMMANDS: &str = "load, prewarm, probe, bench, ab, run, tpcc run and resume";

pub mod entry;
pub mod inside;
pub mod names;
pub mod passwords;
