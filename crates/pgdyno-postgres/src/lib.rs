//! The server as pgdyno sees it: provisioning, wire protocol, loading, targets, observation and verification.

pub mod provision;
