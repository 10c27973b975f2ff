//! Locks: those of SQL, and those inside the server.

use pgdyno_core::results::{Bottleneck, BottleneckKind};

use super::about::About;
use crate::diagnosis::cell::Cell;

/// Internal locks that have a rule of their own, or belong to one about storage.
const NAMED: &[&str] = &[
    "walwrite",
    "walinsert",
    "procarray",
    "buffercontent",
    "buffermapping",
    "lockmanager",
    "lockfastpath",
    "fastpath",
    "subtrans",
    "xact",
    "clog",
    "commitslru",
    "multixact",
];

/// Transactions wait for rows.
pub fn rows(cell: &Cell<'_>) -> Option<Bottleneck> {
    let about = About {
        kind: BottleneckKind::RowLock,
        next: "Spread the updates over more rows (a larger scale), hold the row for a shorter time, or use fewer \
               clients.",
        refuted_by: "use rows that no two clients share",
    };
    let sessions = cell.sessions.as_ref()?;
    about.waited(&sessions.waits("lock", &["transactionid", "tuple", "spectoken"]), None)
}

/// Statements wait for tables.
pub fn tables(cell: &Cell<'_>) -> Option<Bottleneck> {
    let about = About {
        kind: BottleneckKind::TableLock,
        next: "Find who holds the table: LOCK, ALTER, TRUNCATE, VACUUM FULL, or a session that is idle in a \
               transaction.",
        refuted_by: "run without those statements",
    };
    about.waited(&cell.sessions.as_ref()?.waits("lock", &["relation", "page", "object", "virtualxid"]), None)
}

/// Sessions wait to make a table larger.
pub fn extension(cell: &Cell<'_>) -> Option<Bottleneck> {
    let about = About {
        kind: BottleneckKind::RelationExtension,
        next: "Insert into several tables or partitions; since 16 the server extends by more pages at a time.",
        refuted_by: "insert into a table for each client",
    };
    let sessions = cell.sessions.as_ref()?;
    about.waited(&sessions.waits("lock", &["extend"]).and(sessions.waits("io", &["datafileextend"])), None)
}

/// Sessions wait to insert WAL.
pub fn wal_insertion(cell: &Cell<'_>) -> Option<Bottleneck> {
    let about = About {
        kind: BottleneckKind::WalInsertion,
        next: "Write less WAL: fewer full-page images (longer checkpoints), fewer indexes, wal_compression.",
        refuted_by: "use unlogged tables",
    };
    lwlock(cell, &about, &["walinsert"])
}

/// Sessions wait for snapshots.
pub fn snapshots(cell: &Cell<'_>) -> Option<Bottleneck> {
    let about = About {
        kind: BottleneckKind::Snapshots,
        next: "Use fewer connections (a pooler), or 14 and later, whose snapshots do not depend on idle connections.",
        refuted_by: "close the idle connections",
    };
    lwlock(cell, &about, &["procarray"])
}

/// Sessions wait for single pages.
pub fn buffer_content(cell: &Cell<'_>) -> Option<Bottleneck> {
    let about = About {
        kind: BottleneckKind::BufferContent,
        next: "Spread the work over more pages: more rows, a lower fillfactor, hash partitions, fewer indexes on \
               ascending keys.",
        refuted_by: "use pages that no two clients share",
    };
    lwlock(cell, &about, &["buffercontent"])
}

/// Sessions wait for the table of buffers.
pub fn buffer_mapping(cell: &Cell<'_>) -> Option<Bottleneck> {
    let about = About {
        kind: BottleneckKind::BufferMapping,
        next: "More shared_buffers, so that fewer pages are replaced.",
        refuted_by: "make shared_buffers large enough for all data",
    };
    lwlock(cell, &about, &["buffermapping"])
}

/// Sessions wait for the table of locks.
pub fn lock_manager(cell: &Cell<'_>) -> Option<Bottleneck> {
    let about = About {
        kind: BottleneckKind::LockManager,
        next: "Lock fewer relations a statement: partitions that plans can exclude, fewer indexes, prepared \
               statements; since 18 more locks take the fast path.",
        refuted_by: "use a single table without partitions",
    };
    lwlock(cell, &about, &["lockmanager", "lockfastpath", "fastpath"])
}

/// Sessions wait to learn which transactions committed.
pub fn transaction_status(cell: &Cell<'_>) -> Option<Bottleneck> {
    let about = About {
        kind: BottleneckKind::TransactionStatus,
        next: "Fewer subtransactions (savepoints, EXCEPTION blocks), no long transactions at the same time; since 17 \
               larger caches by setting.",
        refuted_by: "run without subtransactions",
    };
    lwlock(cell, &about, &["subtrans", "xact", "clog", "commitslru", "multixact"])
}

/// Sessions wait for pins.
pub fn buffer_pin(cell: &Cell<'_>) -> Option<Bottleneck> {
    let about = About {
        kind: BottleneckKind::BufferPin,
        next: "Find the cursor or the VACUUM that keeps the page.",
        refuted_by: "run without it",
    };
    let sessions = cell.sessions.as_ref()?;
    about.waited(&sessions.waits("bufferpin", &[""]).and(sessions.waits("buffer", &[""])), None)
}

/// Sessions wait for an internal lock without a rule of its own.
pub fn other_lwlocks(cell: &Cell<'_>) -> Option<Bottleneck> {
    let about = About {
        kind: BottleneckKind::OtherLwLock,
        next: "Look the lock up in the manual's table of wait events.",
        refuted_by: "halve the clients",
    };
    about.waited(&cell.sessions.as_ref()?.other_waits("lwlock", NAMED), None)
}

/// Sessions wait for standbys, parallel workers or other processes.
pub fn other_processes(cell: &Cell<'_>) -> Option<Bottleneck> {
    let about = About {
        kind: BottleneckKind::OtherProcesses,
        next: "Look the wait up in the manual's table of wait events: a synchronous standby, a parallel query, an \
               archive or a checkpoint.",
        refuted_by: "run without the process that is waited for",
    };
    about.waited(&cell.sessions.as_ref()?.waits("ipc", &[""]), None)
}

fn lwlock(cell: &Cell<'_>, about: &About, beginnings: &[&str]) -> Option<Bottleneck> {
    about.waited(&cell.sessions.as_ref()?.waits("lwlock", beginnings), None)
}
