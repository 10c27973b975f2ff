//! Storage measurements, driven by the engine.

mod sync;

pub use sync::{SyncTarget, check_sync_writes};
