//! Basic terms used by every part of pgdyno: units, problems, facts of hosts and servers, measurements, and the
//! definitions of TPC-C.
//!
//! Everything here is pure: no I/O, no clock, no sockets (enforced by clippy's `disallowed-methods`). The crate depends
//! on no other crate of the workspace; every other crate may depend on it.

pub mod conf;
pub mod cpus;
pub mod disk;
pub mod facts;
pub mod host;
pub mod margin;
pub mod measure;
pub mod observe;
pub mod probe;
pub mod problem;
pub mod profile;
pub mod random;
pub mod redact;
pub mod results;
pub mod span;
pub mod statement;
pub mod stop;
pub mod tpcc;
pub mod units;
