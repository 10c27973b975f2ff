//! The words that every part of pgdyno says: units, problems, facts of hosts and servers, what was measured, TPC-C by
//! its text.
//!
//! Everything here is pure: no I/O, no clock, no sockets (clippy's `disallowed-methods` keeps it so). It uses no other
//! crate of ours, and every other one may use it.

pub mod cpus;
pub mod facts;
pub mod measure;
pub mod probe;
pub mod problem;
pub mod random;
pub mod results;
pub mod span;
pub mod stop;
pub mod tpcc;
pub mod units;
