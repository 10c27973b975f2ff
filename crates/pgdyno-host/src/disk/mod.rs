//! What storage can do, measured through the engine.

mod sync;

pub use sync::{SyncTarget, check_sync_writes};
