//! Rules of `postgresql.conf`: for each setting a page, a recommendation and a judgement.
//!
//! ```text
//! facts + major + purpose → recommend → Choice… → render (a file), difference (to a present file)
//! a present configuration → explain → Finding…
//! ```
//! No rule weakens durability: `fsync`, `full_page_writes` and `synchronous_commit` are judged and never set.

mod all;
mod background_writer;
mod catalogue;
mod checkpoints;
mod client;
mod conf;
mod connections;
mod durability;
mod explain;
mod inputs;
mod io;
mod logging;
mod measured;
mod memory;
mod page;
mod parallel;
mod planner;
mod purpose;
mod render;
mod replication;
mod rule;
mod statistics;
#[cfg(test)]
mod tests;
mod timeouts;
mod vacuum;
mod value;
mod wal;

pub use all::{choose, hints, page, pages, recommend, rule, rules, wanted};
pub use catalogue::{ENTRIES, Entry, Kind, NEWEST_MAJOR, Unit, entry, is_known};
pub use conf::{File, Find, Include, Included, Unread, Unreadable, read, read_all};
pub use explain::{explain, explain_file, explain_text};
pub use inputs::{
    DEFAULT_LOCKS, DEFAULT_WORKER_PROCESSES, Inputs, KeyDemand, connections_for, usable_memory_bytes,
    wal_room_bytes, whole_mb,
};
pub use logging::LOGGED;
pub use measured::here;
pub use page::{Gain, Page, Today};
pub use pgdyno_core::host::{Finding, Standing};
pub use purpose::Purpose;
pub use render::{Difference, difference, render, render_hints};
pub use rule::{Given, Rule};
pub use value::{is_same, refusal};
