//! Loads, drives, observes and checks PostgreSQL servers.

pub mod gauge;
pub mod load;
pub mod observe;
pub mod session;
pub mod settings;
pub mod targets;
pub mod verify;
