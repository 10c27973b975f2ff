//! How far a server is in its write-ahead log.

use pgdyno_core::observe::WalPosition;
use pgdyno_wire::{Session, WireError};

use crate::activity::prepared::Prepared;

/// Reads the position of the log and the age of the last checkpoint, meant for once a second. No rights are needed.
#[derive(Debug, Clone)]
pub struct PositionReader(Prepared);

impl PositionReader {
    /// A reader for a server of this version.
    pub fn new(version_num: u32) -> Self {
        Self(Prepared::new("pgdyno_position", look(version_num)))
    }

    /// Reads the position.
    ///
    /// # Errors
    /// See [`Session::query`].
    pub fn read(&mut self, session: &mut Session) -> Result<WalPosition, WireError> {
        let rows = self.0.run(session)?;
        let row = rows.first();
        let seconds = |column| row.and_then(|row| row.parse::<f64>(column)).map(|age| age.max(0.0));
        // A standby may have replayed less than its control file says.
        let bytes = |column| row.and_then(|row| row.parse::<i128>(column)).map(|bytes| bytes.max(0) as u64);
        Ok(WalPosition {
            in_recovery: row.and_then(|row| row.get(0)) == Some("t"),
            position_bytes: bytes(1),
            up_s: seconds(2),
            checkpoint_age_s: seconds(3),
            since_checkpoint_bytes: bytes(4),
        })
    }
}

fn look(version_num: u32) -> String {
    let old = version_num < 100_000;
    let (difference, replayed, current, redo) = match old {
        true => (
            "pg_xlog_location_diff",
            "pg_last_xlog_replay_location",
            "pg_current_xlog_location",
            "redo_location",
        ),
        false => ("pg_wal_lsn_diff", "pg_last_wal_replay_lsn", "pg_current_wal_lsn", "redo_lsn"),
    };
    let (checkpoint, from) = match version_num {
        0..90_600 => ("NULL::float8, NULL::pg_catalog.numeric".to_owned(), ""),
        _ => (
            format!(
                "pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() - c.checkpoint_time), \
                 pg_catalog.{difference}(p.at, c.{redo})"
            ),
            ", pg_catalog.pg_control_checkpoint() c",
        ),
    };
    format!(
        "SELECT p.recovers, pg_catalog.{difference}(p.at, '0/0'), \
         pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() - pg_catalog.pg_postmaster_start_time()), \
         {checkpoint} FROM (SELECT r.recovers, CASE WHEN r.recovers THEN pg_catalog.{replayed}() \
         ELSE pg_catalog.{current}() END AS at FROM (SELECT pg_catalog.pg_is_in_recovery() AS recovers) r) p{from}"
    )
}
