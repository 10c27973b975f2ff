//! Storage.

use pgdyno_core::results::{Bottleneck, BottleneckKind};

use super::about::{About, percent};
use crate::diagnosis::{
    cell::{Cell, Files},
    sessions::{Sessions, Waiting},
};

/// Waits for pages of tables and indexes to be read; `aio` is 18's.
const READS: &[&str] = &["datafileread", "datafileprefetch", "aio", "slruread", "copyfileread"];
/// Waits for pages of tables and indexes to be written. Those to extend a file are in `locks`.
const WRITES: &[&str] =
    &["datafilewrite", "datafileflush", "datafilesync", "datafileimmediatesync", "slruwrite"];
/// Waits for WAL to be written and flushed.
const WAL: &[&str] = &["walsync", "walwrite", "walinit"];
/// Waits for temporary files.
const TEMPORARY: &[&str] = &["buffile"];

/// Reads in flight in the devices, as a share of the sessions that wait for reads, below which the devices are not what
/// they wait for.
const LEAST_IN_DEVICE: f64 = 0.1;

/// Pages are read from below shared buffers.
pub fn reads(cell: &Cell<'_>) -> Option<Bottleneck> {
    let about = About {
        kind: BottleneckKind::ReadIo,
        next: "More shared_buffers or memory, a smaller working set, or a faster device; on 18 check io_method.",
        refuted_by: "make shared_buffers large enough for all data",
    };
    let sessions = cell.sessions.as_ref()?;
    let waiting = sessions.waits("io", READS);
    let served = served_reads(cell);
    if !is_above_devices(cell, waiting.share() * sessions.present) {
        return about.waited(&waiting, served);
    }
    let mut found = about.waited(&waiting, None)?;
    found.evidence.extend(served.map(|served| {
        format!("yet {served}: most of the time passes above it, as in the page cache, a file system or I/O workers")
    }));
    Some(found)
}

/// What the device with tables says of reads, if there are any.
fn served_reads(cell: &Cell<'_>) -> Option<String> {
    let reads =
        cell.device(Files::Tables, |device| Some(device.mean.reads_per_s)).filter(|reads| *reads >= 1.0)?;
    let words = format!("the device served {reads:.0} reads per second");
    let await_ms = cell.device(Files::Tables, |device| device.mean.read_await_ms);
    Some(await_ms.map_or(words.clone(), |ms| format!("{words} in {ms:.2} ms each")))
}

/// Whether this number of sessions cannot have waited for the devices with tables: they had hardly a read in flight,
/// by Little's law.
fn is_above_devices(cell: &Cell<'_>, waiting: f64) -> bool {
    let in_flight = cell
        .devices(Files::Tables, |device| Some(device.mean.reads_per_s * device.mean.read_await_ms? / 1e3));
    in_flight.is_some_and(|in_flight| in_flight < LEAST_IN_DEVICE * waiting)
}

/// Sessions write pages themselves.
pub fn writes(cell: &Cell<'_>) -> Option<Bottleneck> {
    let about = About {
        kind: BottleneckKind::WriteIo,
        next: "More shared_buffers, a background writer that keeps up (bgwriter_lru_maxpages), a faster device, and \
               smaller vm.dirty_bytes where the kernel makes writers wait.",
        refuted_by: "use tables that fit into shared buffers",
    };
    let busy = cell.device(Files::Tables, |device| Some(device.mean.utilisation));
    let second = busy.map(|busy| format!("the device was busy {} of the time", percent(busy)));
    about.waited(&cell.sessions.as_ref()?.waits("io", WRITES), second)
}

/// The kernel makes sessions that write wait until dirty pages are written.
pub fn dirty_pages(cell: &Cell<'_>) -> Option<Bottleneck> {
    let throttled = cell.clients(|role| role.mean.throttled)?;
    let about = About {
        kind: BottleneckKind::DirtyPages,
        next: "Smaller vm.dirty_background_bytes, so that the kernel begins earlier, smaller *_flush_after settings, \
               and a device with more bandwidth.",
        refuted_by: "raise vm.dirty_bytes",
    };
    let clients = f64::from(cell.workload.clients).max(1.0);
    let first =
        format!("{throttled:.1} of {clients} sessions slept in the kernel until dirty pages were written");
    let dirty = cell.host(|host| host.peak_dirty_bytes.map(|bytes| bytes as f64));
    let second = dirty.map(|bytes| format!("at the most {:.0} MiB were dirty", bytes / f64::from(1 << 20)));
    about.explains((throttled / clients).min(1.0), first, second)
}

/// Commits wait for the device itself.
pub fn wal_flush(cell: &Cell<'_>) -> Option<Bottleneck> {
    let sessions = cell.sessions.as_ref()?;
    let (flush, queue) = (flushing(sessions), queueing(sessions));
    if flush.share() < queue.share() {
        return None;
    }
    let about = About {
        kind: BottleneckKind::WalFlush,
        next: "A device with faster flushes for pg_wal, another wal_sync_method, or more clients, whose commits share \
               a flush.",
        refuted_by: "set synchronous_commit = off, which is not durable",
    };
    about.waited(&flush.and(queue), flushes(cell))
}

/// Commits wait for the flush of another session.
pub fn group_commit(cell: &Cell<'_>) -> Option<Bottleneck> {
    let sessions = cell.sessions.as_ref()?;
    let (flush, queue) = (flushing(sessions), queueing(sessions));
    if flush.share() >= queue.share() {
        return None;
    }
    let about = About {
        kind: BottleneckKind::GroupCommit,
        next: "Commits already share flushes: a device with faster flushes for pg_wal, fewer and larger transactions, \
               or commit_delay.",
        refuted_by: "set synchronous_commit = off, which is not durable",
    };
    about.waited(&queue.and(flush), flushes(cell))
}

fn flushing<'a>(sessions: &'a Sessions) -> Waiting<'a> {
    sessions.waits("io", WAL)
}

fn queueing<'a>(sessions: &'a Sessions) -> Waiting<'a> {
    sessions.waits("lwlock", &["walwrite"])
}

fn flushes(cell: &Cell<'_>) -> Option<String> {
    let flushes =
        cell.device(Files::Wal, |device| device.mean.flushes_per_s).filter(|flushes| *flushes >= 1.0);
    let await_ms = cell.device(Files::Wal, |device| device.mean.flush_await_ms);
    let writes = cell.device(Files::Wal, |device| Some(device.mean.writes_per_s));
    let write_ms = cell.device(Files::Wal, |device| device.mean.write_await_ms);
    let in_time = |ms: Option<f64>| ms.map_or(String::new(), |ms| format!(" in {ms:.2} ms each"));
    Some(format!(
        "the device with WAL served {:.0} flushes per second{} and {:.0} writes{}",
        flushes?,
        in_time(await_ms),
        writes?,
        in_time(write_ms)
    ))
}

/// Sorts and hashes do not fit into memory.
pub fn temporary_files(cell: &Cell<'_>) -> Option<Bottleneck> {
    let about = About {
        kind: BottleneckKind::TemporaryFiles,
        next: "More work_mem (or maintenance_work_mem), or a plan that sorts and hashes less.",
        refuted_by: "raise work_mem until there are no temporary files",
    };
    about.waited(&cell.sessions.as_ref()?.waits("io", TEMPORARY), None)
}
