//! Reads tables that were just loaded or set up into shared buffers, so that every run starts with the same cache.

use std::time::Instant;

use crate::load::{TableScope, is_own};
use pgdyno_wire::{Row, Session, WireError};

pub use pgdyno_core::probe::ReadMethod as PrewarmMethod;

use crate::probe::{extension, reading::Reading};

/// Result of prewarming.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrewarmOutcome {
    /// Method that was used.
    pub method: PrewarmMethod,
    /// Duration in seconds.
    pub duration_s: f64,
}

/// Tables read by transactions; none reads history.
const TABLES: &str = "SELECT n::pg_catalog.regclass::pg_catalog.oid FROM pg_catalog.unnest(\
                      '{pgbench_branches, pgbench_tellers, pgbench_accounts}'::text[]) n";

/// Reads pgbench's tables and their indexes into shared buffers, as COPY leaves most of a table outside of
/// them: bulk writes use a small ring. Only for tables that fit; larger ones would evict at the end what was
/// read at the start. Creates the extension `pg_prewarm` in the session's schema if the role may do so.
///
/// # Errors
/// The tables cannot be read.
pub fn prewarm(session: &mut Session) -> Result<PrewarmOutcome, WireError> {
    let start = Instant::now();
    let tables = session.query(TABLES)?;
    let schema = made(session)?;
    let method = read(session, &tables, schema)?;
    Ok(PrewarmOutcome { method, duration_s: start.elapsed().as_secs_f64() })
}

/// Reads the plan's own tables and their indexes into shared buffers; `None` if the server lacks `pg_prewarm`,
/// the role may not create it, or the tables cannot be read.
///
/// # Errors
/// The connection fails.
pub fn prewarm_own(session: &mut Session, scope: &TableScope) -> Result<Option<PrewarmOutcome>, WireError> {
    let start = Instant::now();
    let Some(schema) = made(session)? else { return Ok(None) };
    let tables = session.query(&format!(
        "SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'm') AND {}",
        is_own(scope)
    ))?;
    match read(session, &tables, Some(schema)) {
        Ok(method) => Ok(Some(PrewarmOutcome { method, duration_s: start.elapsed().as_secs_f64() })),
        Err(WireError::Server(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The schema of `pg_prewarm`, which is created if it is missing and the role may do so.
fn made(session: &mut Session) -> Result<Option<String>, WireError> {
    match session.execute("CREATE EXTENSION IF NOT EXISTS pg_prewarm") {
        Ok(()) | Err(WireError::Server(_)) => extension::find(session, "pg_prewarm"),
        Err(error) => Err(error),
    }
}

/// Reads tables, given by their OIDs.
fn read(session: &mut Session, tables: &[Row], schema: Option<String>) -> Result<PrewarmMethod, WireError> {
    let tables: Vec<u32> = tables.iter().filter_map(|row| row.parse(0)).collect();
    let reading = Reading::new(session, &tables, schema)?;
    reading.read_here(session)?;
    Ok(reading.method())
}
