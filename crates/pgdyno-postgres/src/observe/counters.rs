//! Counters at an instant; what matters is their difference.

use crate::wire::{Session, WireError};

/// Counters of a server and its current database.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// `pg_stat_database.blks_hit`.
    pub blocks_hit: u64,
    /// `pg_stat_database.blks_read`.
    pub blocks_read: u64,
    /// WAL position in bytes.
    pub wal_bytes: Option<u64>,
    /// Checkpoints since the statistics were reset. The checkpointer reports one a moment after it has ended.
    pub checkpoints: Option<u64>,
}

impl Counters {
    /// Reads them. Backends report their blocks at most once a second, so a difference over some seconds is right to
    /// within a second's worth at either end. WAL and checkpoints stay absent where the server does not tell (a
    /// standby, a role without the right).
    ///
    /// # Errors
    /// Where the statistics of the database cannot be read at all.
    pub fn read(session: &mut Session, version_num: u32) -> Result<Self, WireError> {
        let blocks = session.query(
            "SELECT blks_hit, blks_read FROM pg_catalog.pg_stat_database \
             WHERE datname = pg_catalog.current_database()",
        )?;
        let column = |index| blocks.first().and_then(|row| row.parse(index)).unwrap_or(0);
        let mut number = |sql| session.value(sql).ok().flatten().and_then(|text| text.parse().ok());
        let wal_bytes = number(match version_num {
            0..100_000 => {
                "SELECT pg_catalog.pg_xlog_location_diff(pg_catalog.pg_current_xlog_location(), '0/0')"
            }
            _ => "SELECT pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), '0/0')",
        });
        let checkpoints = number(match version_num {
            0..170_000 => "SELECT checkpoints_timed + checkpoints_req FROM pg_catalog.pg_stat_bgwriter",
            _ => "SELECT num_timed + num_requested FROM pg_catalog.pg_stat_checkpointer",
        });
        Ok(Self { blocks_hit: column(0), blocks_read: column(1), wal_bytes, checkpoints })
    }
}
