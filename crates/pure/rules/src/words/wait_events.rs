//! What wait events mean: the words of `pgdyno explain` and of `docs/wait-events.md`.

/// A wait event, or a type of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitEvent {
    /// Type and name in PostgreSQL 17, such as `LWLock:WALWrite`.
    pub name: &'static str,
    /// What the session waits for, in Markdown without links.
    pub waits_for: &'static str,
    /// What older majors call it, without the type where that is the same.
    pub older: &'static [&'static str],
}

impl WaitEvent {
    /// Whether it has this name, now or in an older major; the type may be left out.
    pub fn is_of(&self, name: &str) -> bool {
        let mut names = [self.name].into_iter().chain(self.older.iter().copied());
        names.any(|own| {
            own.eq_ignore_ascii_case(name) || own.split_once(':').is_some_and(|(_, own)| own == name)
        })
    }
}

/// The events by which bottlenecks are found, in the order of the alphabet.
pub static WAIT_EVENTS: &[WaitEvent] = &[
    event("Activity", "nothing: a process of the server that has no work", &[]),
    event(
        "BufferPin",
        "another session to unpin a page that VACUUM or a replay needs for itself",
        &["BufferPin:BufferPin"],
    ),
    event("Client:ClientRead", "the next message of its client: the network, the driver, or think time", &[]),
    event("Client:ClientWrite", "its client to take what it sends: a slow reader, or a full network", &[]),
    event(
        "IO:BuffileRead",
        "a read of a temporary file: `work_mem` was too small for a sort or a hash",
        &["BufFileRead"],
    ),
    event("IO:BuffileWrite", "a write of a temporary file", &["BufFileWrite"]),
    event("IO:DataFileExtend", "the kernel to extend a file of a table or an index", &[]),
    event(
        "IO:DataFileFlush",
        "the kernel to begin to write pages (`backend_flush_after`, `checkpoint_flush_after`)",
        &[],
    ),
    event("IO:DataFileRead", "a page from the page cache or the device: it was not in shared buffers", &[]),
    event("IO:DataFileSync", "a data file to be durable, which is the work of checkpoints", &[]),
    event("IO:DataFileWrite", "the kernel to accept a page that was replaced in shared buffers", &[]),
    event(
        "IO:SlruRead",
        "a page of transaction status, subtransactions or multixacts from its file",
        &["SLRURead"],
    ),
    event("IO:WalSync", "WAL to be durable: a flush of the device, once per group of commits", &["WALSync"]),
    event("IO:WalWrite", "the kernel to accept written WAL", &["IO:WALWrite"]),
    event("IPC:BgWorkerShutdown", "a parallel worker to end", &[]),
    event("IPC:ExecuteGather", "parallel workers to deliver rows", &[]),
    event(
        "IPC:ProcarrayGroupUpdate",
        "the leader of a group to end its transaction, too",
        &["ProcArrayGroupUpdate"],
    ),
    event("IPC:SyncRep", "a synchronous standby to confirm", &[]),
    event(
        "IPC:XactGroupUpdate",
        "the leader of a group to write its transaction's status, too",
        &["ClogGroupUpdate"],
    ),
    event("Lock:advisory", "an advisory lock of the application", &[]),
    event("Lock:extend", "its turn to extend a table; since 16 by many pages at a time", &[]),
    event("Lock:object", "an object other than a table, such as a database or a type, under DDL", &[]),
    event("Lock:page", "a page of an index that needs it, such as GIN's list of pending entries", &[]),
    event("Lock:relation", "a table that another session locks: LOCK, ALTER, TRUNCATE, VACUUM FULL", &[]),
    event("Lock:spectoken", "another session's INSERT … ON CONFLICT of the same key", &["speculative token"]),
    event("Lock:transactionid", "another transaction to end, because it changed the same row", &[]),
    event("Lock:tuple", "its turn behind others that wait for the same row", &[]),
    event("Lock:virtualxid", "older transactions to end: CREATE INDEX CONCURRENTLY and the like", &[]),
    event(
        "LWLock:BufferContent",
        "a page that another session changes or reads at this moment: a hot page",
        &["buffer_content"],
    ),
    event(
        "LWLock:BufferMapping",
        "the table of which page is in which buffer: pages are replaced all the time",
        &["buffer_mapping"],
    ),
    event(
        "LWLock:LockManager",
        "the table of locks: many locks a statement, such as those of many partitions",
        &["lock_manager"],
    ),
    event(
        "LWLock:MultiXactOffsetBuffer",
        "pages of multixacts: many sessions share locks of the same rows",
        &["MultiXactOffsetSLRU"],
    ),
    event(
        "LWLock:ProcArray",
        "the list of running transactions, from which snapshots are taken: many connections before 14",
        &["ProcArrayLock"],
    ),
    event(
        "LWLock:SubtransBuffer",
        "pages of subtransactions: more than 64 savepoints in a transaction, and long ones at the same time",
        &["SubtransSLRU", "subtrans"],
    ),
    event("LWLock:WALInsert", "one of eight places to copy WAL to", &["wal_insert"]),
    event(
        "LWLock:WALWrite",
        "its turn to write and flush WAL: the flush of another commit includes its own",
        &["WALWriteLock"],
    ),
    event("LWLock:XactBuffer", "pages of transaction status", &["XactSLRU", "clog"]),
    event("Timeout:SpinDelay", "a spinlock that others hold: contention that no other event shows", &[]),
    event("Timeout:VacuumDelay", "nothing: VACUUM pauses as its cost limit says", &[]),
];

const fn event(name: &'static str, waits_for: &'static str, older: &'static [&'static str]) -> WaitEvent {
    WaitEvent { name, waits_for, older }
}

/// `docs/wait-events.md`.
pub fn wait_events_page() -> String {
    let head = "# Wait events\n\n\
                Written by `cargo xtask wait-events` from \
                [the words of wait events](../crates/pure/rules/src/words/wait_events.rs).\n\n\
                What the wait events mean that [bottlenecks](bottlenecks.md) are found by. Names are those of \
                PostgreSQL 17; older majors write some of them otherwise (third column), and pgdyno takes them for the \
                same. `pgdyno explain NAME` prints a line.\n\n\
                | wait event | what the session waits for | older names |\n|---|---|---|\n";
    let row = |event: &WaitEvent| {
        let older: Vec<String> = event.older.iter().map(|name| format!("`{name}`")).collect();
        let older = if older.is_empty() { String::new() } else { older.join(", ") + " " };
        format!("| `{}` | {} | {older}|\n", event.name, event.waits_for)
    };
    [head.to_owned()].into_iter().chain(WAIT_EVENTS.iter().map(row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_event_has_two_meanings() {
        for event in WAIT_EVENTS {
            for name in [event.name].into_iter().chain(event.older.iter().copied()) {
                let owners: Vec<&str> =
                    WAIT_EVENTS.iter().filter(|of| of.is_of(name)).map(|of| of.name).collect();
                assert_eq!(owners, [event.name], "{name}");
            }
        }
    }

    #[test]
    fn events_are_sorted_and_known_by_every_name() {
        assert!(WAIT_EVENTS.is_sorted_by_key(|event| event.name.to_lowercase()));
        let walwrite = WAIT_EVENTS.iter().find(|event| event.is_of("WALWriteLock")).expect("it is known");
        assert_eq!(walwrite.name, "LWLock:WALWrite");
        assert!(walwrite.is_of("WALWrite") && walwrite.is_of("lwlock:walwrite"));
    }
}
