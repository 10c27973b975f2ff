//! Tables into shared buffers, so that every run starts from the same cache.

use std::time::Instant;

use pgdyno_wire::{Row, Session, WireError};

pub use pgdyno_core::probe::ReadMethod as PrewarmMethod;

use crate::probe::{extension, reading::Reading};

/// What a prewarm came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrewarmOutcome {
    /// How.
    pub method: PrewarmMethod,
    /// Seconds it took.
    pub duration_s: f64,
}

/// The tables that transactions read; nobody reads history.
const TABLES: &str = "SELECT n::pg_catalog.regclass::pg_catalog.oid FROM pg_catalog.unnest(\
                      '{pgbench_branches, pgbench_tellers, pgbench_accounts}'::text[]) n";

/// Reads pgbench's tables and their indexes into shared buffers. COPY leaves most of a table outside of them, because
/// bulk writes go round in a small ring. Use it only for tables that fit: for larger ones it would throw out at the
/// end what it read at the start. `pg_prewarm` is created in the session's schema where the role may do that.
///
/// # Errors
/// Where the tables cannot be read.
pub fn prewarm(session: &mut Session) -> Result<PrewarmOutcome, WireError> {
    let start = Instant::now();
    let tables = session.query(TABLES)?;
    let schema = made(session)?;
    let method = read(session, &tables, schema)?;
    Ok(PrewarmOutcome { method, duration_s: start.elapsed().as_secs_f64() })
}

/// The schema of `pg_prewarm`, which is made where it is not there and can be.
pub(super) fn made(session: &mut Session) -> Result<Option<String>, WireError> {
    match session.execute("CREATE EXTENSION IF NOT EXISTS pg_prewarm") {
        Ok(()) | Err(WireError::Server(_)) => extension::find(session, "pg_prewarm"),
        Err(error) => Err(error),
    }
}

/// Reads tables, given by their OIDs.
pub(super) fn read(
    session: &mut Session,
    tables: &[Row],
    schema: Option<String>,
) -> Result<PrewarmMethod, WireError> {
    let tables: Vec<u32> = tables.iter().filter_map(|row| row.parse(0)).collect();
    let reading = Reading::of(session, &tables, schema)?;
    reading.read_here(session)?;
    Ok(reading.method())
}
