//! Linux, as pgdyno uses it: facts, counters, processes and storage.

pub mod disk;
pub mod facts;
pub mod new_file;
pub mod observe;
pub mod page_cache;
pub mod procs;
pub mod terminal;
pub mod users;
