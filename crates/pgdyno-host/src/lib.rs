//! The kernel as pgdyno sees it: facts, observations and storage.

pub mod facts;
pub mod procs;
