//! WAL on its way to the disk beside the streams.
//!
//! COPY goes round a ring of 16 MiB of buffers. Before a page leaves it, the page's WAL must be on the disk, and the
//! server process that copies waits for that, every 16 MiB, with its processor idle; the server's own writer of WAL
//! comes five times a second, which is too seldom. A session that commits now and then waits in its place.

use std::time::{Duration, Instant};

use pgdyno_wire::Session;

/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(20);
/// Bytes of WAL that are worth a wait for the disk.
const LEAST_BYTES: u64 = 1 << 20;

/// Looks after WAL.
pub(super) struct Flusher {
    /// What it asks for; `None` where the server does not let it.
    sql: Option<String>,
    next: Instant,
}

impl Flusher {
    /// For the server of a session.
    pub fn new(session: &Session) -> Self {
        Self { sql: session.major().map(flush), next: Instant::now() }
    }

    /// Has WAL flushed, where enough has been written since it last was.
    pub fn tend(&mut self, session: &mut Session) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        self.next = now + PAUSE;
        if let Some(sql) = &self.sql
            && session.execute(sql).is_err()
        {
            self.sql = None; // the load is as right without
        }
    }
}

/// A transaction that wrote WAL waits until all WAL up to its end is on the disk, here and not at a standby. One that
/// only took a number would commit without waiting, and VACUUM would not mark pages whose rows have a number near it.
fn flush(major: u32) -> String {
    let (diff, wal) =
        if major >= 10 { ("pg_wal_lsn_diff", "wal") } else { ("pg_xlog_location_diff", "xlog") };
    let at = |which: &str| {
        let place = if major >= 10 { "lsn" } else { "location" };
        format!("pg_catalog.pg_current_{wal}_{which}_{place}()")
    };
    format!(
        "SELECT CASE WHEN pg_catalog.{diff}({}, {}) >= {LEAST_BYTES} \
         THEN pg_catalog.set_config('synchronous_commit', 'local', true) \
         || pg_catalog.pg_logical_emit_message(true, 'pgdyno'::text, ''::text) END",
        at("insert"),
        at("flush")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_is_asked_in_its_own_words() {
        assert!(flush(9).contains("pg_xlog_location_diff(pg_catalog.pg_current_xlog_insert_location(), "));
        assert!(flush(9).contains("pg_current_xlog_flush_location()"));
        assert!(flush(18).contains("pg_wal_lsn_diff(pg_catalog.pg_current_wal_insert_lsn(), "));
        assert!(flush(18).contains("pg_current_wal_flush_lsn()"));
        assert!([9, 18].map(flush).iter().all(|sql| sql.contains("pg_logical_emit_message(true, ")));
    }
}
