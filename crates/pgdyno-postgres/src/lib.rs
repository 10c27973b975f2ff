//! Loads, drives, observes, probes and checks PostgreSQL servers.

pub mod gauge;
pub mod load;
pub mod observe;
pub mod probe;
mod settings;
pub mod targets;
pub mod verify;
