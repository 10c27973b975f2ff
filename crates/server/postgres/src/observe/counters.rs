//! Cumulative counters of a server, meant for differences.

use pgdyno_wire::{Session, WireError};

/// First version with functions that read the control file.
pub(super) const CONTROL_SINCE: u32 = 90_600;

/// Cumulative counters of a server and of databases.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    /// `pg_stat_database.blks_hit`.
    pub blocks_hit: u64,
    /// `pg_stat_database.blks_read`.
    pub blocks_read: u64,
    /// WAL position in bytes; `None` if the role or the server does not allow reading it.
    pub wal_bytes: Option<u64>,
    /// The last completed checkpoint in the control file.
    checkpoint: Option<String>,
}

impl Counters {
    /// Reads the counters, those of blocks of all these databases, or of the current one if none is named. Backends
    /// report blocks at most once a second, so a difference is exact to within a second's worth at either end. WAL and
    /// checkpoint are absent if they cannot be read (on a standby, or without the privilege; the checkpoint of 9.5).
    ///
    /// # Errors
    /// The statistics of the database cannot be read.
    pub fn read(session: &mut Session, version_num: u32, databases: &[String]) -> Result<Self, WireError> {
        let of_databases = match databases {
            [] => "pg_catalog.current_database()".to_owned(),
            names => {
                let names: Vec<_> =
                    names.iter().map(|name| format!("'{}'", name.replace('\'', "''"))).collect();
                format!("ANY (ARRAY[{}]::name[])", names.join(", "))
            }
        };
        let blocks = session.query(&format!(
            "SELECT pg_catalog.sum(blks_hit), pg_catalog.sum(blks_read) FROM pg_catalog.pg_stat_database \
             WHERE datname = {of_databases}"
        ))?;
        let column = |index| blocks.first().and_then(|row| row.parse(index)).unwrap_or(0);
        let wal_bytes = session.value(match version_num {
            0..100_000 => {
                "SELECT pg_catalog.pg_xlog_location_diff(pg_catalog.pg_current_xlog_location(), '0/0')"
            }
            _ => "SELECT pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), '0/0')",
        });
        let wal_bytes = wal_bytes.ok().flatten().and_then(|text| text.parse().ok());
        // Statistics of checkpoints are delayed; the control file is exact, but its columns differ by version.
        let checkpoint = (version_num >= CONTROL_SINCE).then(|| {
            session.value("SELECT c::text FROM pg_catalog.pg_control_checkpoint() c").ok().flatten()
        });
        Ok(Self {
            blocks_hit: column(0),
            blocks_read: column(1),
            wal_bytes,
            checkpoint: checkpoint.flatten(),
        })
    }

    /// 1 if a checkpoint completed since `earlier`, 0 if none did; `None` if that is unknown.
    pub fn checkpoints_since(&self, earlier: &Self) -> Option<u64> {
        Some(u64::from(self.checkpoint.as_ref()? != earlier.checkpoint.as_ref()?))
    }
}
