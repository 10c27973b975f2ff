//! Loads, drives, observes, probes and checks PostgreSQL servers.

pub mod gauge;
pub mod load;
pub mod observe;
pub mod probe;
pub mod targets;
pub mod verify;
