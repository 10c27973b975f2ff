//! Flushes WAL while streams load.
//!
//! COPY writes through a 16 MiB ring of buffers. Before a page is evicted from it, its WAL must be flushed, and
//! the backend waits for that every 16 MiB, leaving its processor idle; the WAL writer runs only five times a
//! second, too seldom. A session that commits regularly waits in the backend's place.

use std::time::{Duration, Instant};

use pgdyno_wire::Session;

/// Pause between two flushes.
const PAUSE: Duration = Duration::from_millis(20);
/// Bytes of WAL that are worth a flush.
const LEAST_BYTES: u64 = 1 << 20;
/// First version with `pg_logical_emit_message` and `pg_current_xlog_flush_location`.
const MESSAGES_SINCE: u32 = 90_600;

/// Flushes WAL through a session of its own.
pub(super) struct Flusher {
    /// Statement that flushes; `None` if the server does not permit it.
    sql: Option<String>,
    next: Instant,
}

impl Flusher {
    /// A flusher for a server of this version. 9.5 lacks the functions.
    pub fn new(version_num: u32) -> Self {
        Self { sql: (version_num >= MESSAGES_SINCE).then(|| flush(version_num)), next: Instant::now() }
    }

    /// Flushes WAL if enough has been written since the last flush.
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

/// A transaction that writes WAL and so waits for all WAL up to its end to be flushed locally, but not for
/// standbys. One that only has a transaction ID would commit without waiting, and VACUUM would not mark pages
/// all-visible whose rows have nearby IDs.
fn flush(version_num: u32) -> String {
    let (diff, wal) =
        if version_num >= 100_000 { ("pg_wal_lsn_diff", "wal") } else { ("pg_xlog_location_diff", "xlog") };
    let at = |which: &str| {
        let place = if version_num >= 100_000 { "lsn" } else { "location" };
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
        assert!(
            flush(90_624).contains("pg_xlog_location_diff(pg_catalog.pg_current_xlog_insert_location(), ")
        );
        assert!(flush(90_624).contains("pg_current_xlog_flush_location()"));
        assert!(flush(180_006).contains("pg_wal_lsn_diff(pg_catalog.pg_current_wal_insert_lsn(), "));
        assert!(flush(180_006).contains("pg_current_wal_flush_lsn()"));
        assert!(
            [90_624, 180_006].map(flush).iter().all(|sql| sql.contains("pg_logical_emit_message(true, "))
        );
    }
}
