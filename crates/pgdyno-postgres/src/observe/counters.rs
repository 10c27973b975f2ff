//! Counters at an instant; what matters is their difference.

use pgdyno_wire::{Session, WireError};

/// Counters of a server and its current database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    /// `pg_stat_database.blks_hit`.
    pub blocks_hit: u64,
    /// `pg_stat_database.blks_read`.
    pub blocks_read: u64,
    /// WAL position in bytes.
    pub wal_bytes: Option<u64>,
    /// The last completed checkpoint, as the control file describes it.
    checkpoint: Option<String>,
}

impl Counters {
    /// Reads them. Backends report their blocks at most once a second, so a difference over some seconds is right to
    /// within a second's worth at either end. WAL and checkpoint stay absent where the server does not tell (a
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
        let wal_bytes = session.value(match version_num {
            0..100_000 => {
                "SELECT pg_catalog.pg_xlog_location_diff(pg_catalog.pg_current_xlog_location(), '0/0')"
            }
            _ => "SELECT pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), '0/0')",
        });
        let wal_bytes = wal_bytes.ok().flatten().and_then(|text| text.parse().ok());
        // The statistics of checkpoints come late; the control file is exact, and its columns differ by version.
        let checkpoint =
            session.value("SELECT c::text FROM pg_catalog.pg_control_checkpoint() c").ok().flatten();
        Ok(Self { blocks_hit: column(0), blocks_read: column(1), wal_bytes, checkpoint })
    }

    /// 1 where a checkpoint was completed since `earlier`, 0 where none was; `None` where that cannot be seen.
    pub fn checkpoints_since(&self, earlier: &Self) -> Option<u64> {
        Some(u64::from(self.checkpoint.as_ref()? != earlier.checkpoint.as_ref()?))
    }
}
