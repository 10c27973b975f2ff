//! The kernel as pgdyno sees it: facts, observations and storage.

pub mod disk;
pub mod facts;
pub mod observe;
pub mod procs;
pub mod terminal;
pub mod users;
