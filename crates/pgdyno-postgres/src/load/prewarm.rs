//! Tables into shared buffers, so that every run starts from the same cache.

use std::time::Instant;

use crate::wire::{Session, WireError};

/// How the pages were fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrewarmMethod {
    /// The extension `pg_prewarm`.
    Extension,
    /// Scans of every table and every primary key: where the extension is not there or not allowed.
    Scans,
}

impl PrewarmMethod {
    /// One word for records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Extension => "pg_prewarm",
            Self::Scans => "scans",
        }
    }
}

/// What a prewarm came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrewarmOutcome {
    /// How.
    pub method: PrewarmMethod,
    /// Seconds it took.
    pub duration_s: f64,
}

/// Everything a transaction touches.
const RELATIONS: [&str; 6] = [
    "pgbench_branches",
    "pgbench_branches_pkey",
    "pgbench_tellers",
    "pgbench_tellers_pkey",
    "pgbench_accounts",
    "pgbench_accounts_pkey",
];

/// Reads pgbench's tables and primary keys into shared buffers. COPY leaves most of a table outside of them, because
/// bulk writes go round in a small ring. Use it only for tables that fit: for larger ones it would throw out at the
/// end what it read at the start.
///
/// # Errors
/// Where the tables cannot be read.
pub fn prewarm(session: &mut Session) -> Result<PrewarmOutcome, WireError> {
    let start = Instant::now();
    let method = match by_extension(session) {
        Ok(()) => PrewarmMethod::Extension,
        Err(WireError::Server(_)) => {
            scan_all(session)?;
            PrewarmMethod::Scans
        }
        Err(error) => return Err(error),
    };
    Ok(PrewarmOutcome { method, duration_s: start.elapsed().as_secs_f64() })
}

/// By `pg_prewarm`. The server may not have it, the role may not make it, or it is there in a schema that the session
/// does not look into.
fn by_extension(session: &mut Session) -> Result<(), WireError> {
    session.execute("CREATE EXTENSION IF NOT EXISTS pg_prewarm")?;
    RELATIONS.iter().try_for_each(|relation| session.execute(&format!("SELECT pg_prewarm('{relation}')")))
}

/// A sequential scan of every table, and an ordered one of every primary key. A table over a quarter of shared buffers
/// goes round in a ring when it is scanned sequentially; the ordered scan fetches its pages all the same.
fn scan_all(session: &mut Session) -> Result<(), WireError> {
    for (table, key, balance) in [
        ("pgbench_branches", "bid", "bbalance"),
        ("pgbench_tellers", "tid", "tbalance"),
        ("pgbench_accounts", "aid", "abalance"),
    ] {
        session.execute(&format!(
            "BEGIN; SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off; \
             SELECT sum({balance}) FROM {table}; \
             SET LOCAL enable_indexscan = on; SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; \
             SELECT sum({balance}) FROM (SELECT {balance} FROM {table} ORDER BY {key} OFFSET 0) t; COMMIT"
        ))?;
    }
    Ok(())
}
