//! Amount of WAL and of temporary files written.

use pgdyno_wire::Session;

/// Bytes of WAL that a server has written since initdb; `None` if it cannot be read, as in recovery.
pub fn wal_written(session: &mut Session) -> Option<u64> {
    let sql = match session.major()? {
        0..10 => {
            "SELECT pg_catalog.pg_xlog_location_diff(pg_catalog.pg_current_xlog_insert_location(), '0/0')"
        }
        _ => "SELECT pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_insert_lsn(), '0/0')",
    };
    session.value(sql).ok().flatten()?.parse().ok()
}

/// Bytes of temporary files that backends have written for the session's database, as far as they reported them; `None`
/// if it cannot be read.
pub fn temp_written(session: &mut Session) -> Option<u64> {
    let sql =
        "SELECT temp_bytes FROM pg_catalog.pg_stat_database WHERE datname = pg_catalog.current_database()";
    session.value(sql).ok().flatten()?.parse().ok()
}
