//! Names of published figures (`reference/README.md`) for what was measured here.

use pgdyno_core::disk::{
    PublishedFigure,
    io::{IoOrder, IoPattern},
    sync::{SyncAction, SyncTest},
};

/// Bytes of a block of the published measurements.
const BLOCK_BYTES: u64 = 8_192;

/// The storages that figures are of, in the order of the file.
pub(super) fn storages(figures: &[PublishedFigure]) -> Vec<&str> {
    let mut storages: Vec<&str> = Vec::new();
    for storage in figures.iter().filter_map(|figure| figure.storage.as_deref()) {
        if !storages.contains(&storage) {
            storages.push(storage);
        }
    }
    storages
}

/// The figure of pg_test_fsync that is the same test; `None` for those that it does not have.
pub(super) fn of_sync(test: &SyncTest) -> Option<String> {
    let of_blocks = test.write_bytes == BLOCK_BYTES;
    let case = match &test.action {
        SyncAction::Method { method, writes: 1 } if of_blocks => format!("one_8kb.{}", method.name()),
        SyncAction::Method { method, writes: 2 } if of_blocks => format!("two_8kb.{}", method.name()),
        SyncAction::Pieces { writes } => format!("open_sync_16kb.{writes}_of_{}kb", test.write_bytes >> 10),
        SyncAction::WriteFsyncClose if of_blocks => "descriptors.write_fsync_close".to_owned(),
        SyncAction::WriteCloseFsync if of_blocks => "descriptors.write_close_fsync".to_owned(),
        SyncAction::Write if of_blocks => "unsynced_8kb.write".to_owned(),
        _ => return None,
    };
    Some(format!("pg_test_fsync.{case}"))
}

/// The IOPS of fio for the same direction and order in blocks of 8 KiB; `None` for mixes and other sizes.
pub(super) fn of_io(pattern: &IoPattern) -> Option<String> {
    let name = match (pattern.order, pattern.read_share) {
        _ if u64::from(pattern.block_bytes) != BLOCK_BYTES => return None,
        (IoOrder::Sequential, share) if share >= 1.0 => "read",
        (IoOrder::Sequential, share) if share <= 0.0 => "write",
        (IoOrder::Random, share) if share >= 1.0 => "randread",
        (IoOrder::Random, share) if share <= 0.0 => "randwrite",
        _ => return None,
    };
    Some(format!("fio.{name}.iops"))
}
