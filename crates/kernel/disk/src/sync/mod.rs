//! Synchronous writes by every method that PostgreSQL has, as pg_test_fsync measures them, and whether the storage
//! below keeps what it acknowledged. See `docs/disk-sync.md` for the rules and their thresholds.

mod actions;
mod bench;
mod booked;
mod bulk;
mod choose;
mod descriptors;
mod judge;
mod measure;
mod next_blocks;
mod place;
mod request;
mod scratch;
mod tally;
mod timing;
mod writers;

#[cfg(test)]
mod on_this_machine;

pub use choose::choose;
pub use judge::{Findings, judge};
pub use measure::{SyncProgress, measure};
pub use request::{MAX_BLOCK_BYTES, MAX_WRITERS, MIN_BLOCK_BYTES, SyncRequest};
