//! A large amount, written through the page cache and synced once: what a layer that syncs nothing cannot hide.

use std::{io, path::Path, time::Instant};

use pgdyno_core::{disk::sync::BulkSync, stop::Stop};

use super::{
    booked::{Counters, dirty_bytes},
    request::BULK_BYTES,
    scratch::{Block, Scratch},
};

/// Writes 64 MiB to a new file, syncs it, and truncates it. `None` if it was stopped, or if the kernel shows no
/// counters of disks.
///
/// # Errors
/// If the file cannot be made, written or synced.
pub(super) fn run(dir: &Path, named: bool, stop: &Stop) -> io::Result<Option<BulkSync>> {
    let root = Path::new("/");
    let scratch = Scratch::create(dir, named)?;
    let mut chunk = Block::chunk();
    let (counters, dirty, start) = (Counters::read(root), dirty_bytes(root), Instant::now());
    if !scratch.fill(BULK_BYTES, &mut chunk, || !stop.requested())? {
        return Ok(None);
    }
    let written = Instant::now();
    scratch.file.sync_data()?;
    let synced = Instant::now();
    let since = |then: Option<u64>| Some(dirty_bytes(root)?.cast_signed() - then?.cast_signed());
    let dirty_after_sync_bytes = since(dirty);
    let booked = Counters::read(root).zip(counters);
    scratch.file.set_len(0)?;
    let dirty_after_truncation_bytes = since(dirty);
    let booked = booked.and_then(|(now, then)| now.since(&then, 1, BULK_BYTES));
    Ok(booked.map(|booked| BulkSync {
        booked,
        write_ns: (written - start).as_nanos() as u64,
        sync_ns: (synced - written).as_nanos() as u64,
        dirty_after_sync_bytes,
        dirty_after_truncation_bytes,
    }))
}
