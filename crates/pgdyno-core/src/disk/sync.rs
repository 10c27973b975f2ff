//! Synchronous writes.
