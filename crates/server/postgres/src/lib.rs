//! Loads, drives, observes and checks PostgreSQL servers.

pub mod driving;
pub mod gauge;
pub mod load;
pub mod observe;
pub mod probe;
pub mod session;
pub mod settings;
pub mod targets;
pub mod verify;
