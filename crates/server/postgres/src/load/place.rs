//! Where a table is, whose it is, and which load left it.

use pgdyno_core::problem::Problem;
use pgdyno_rows::load::Set;
use pgdyno_wire::{Session, WireError};

use super::bulk::{find, is_done};

/// Schema and owner of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub schema: String,
    pub owner: String,
}

/// The table that a name means to a session; `None` if there is none.
pub(super) fn place_of(session: &mut Session, table: &str) -> Result<Option<Place>, WireError> {
    let rows = session.query(&format!(
        "SELECT n.nspname, pg_catalog.pg_get_userbyid(c.relowner) FROM pg_catalog.pg_class AS c \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
         WHERE c.relname = '{table}' AND c.relkind IN ('r', 'p') AND pg_catalog.pg_table_is_visible(c.oid)"
    ))?;
    let text = |row: &pgdyno_wire::Row, column| row.get(column).unwrap_or_default().to_owned();
    Ok(rows.first().map(|row| Place { schema: text(row, 0), owner: text(row, 1) }))
}

/// The load of a set into a schema that left its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KnownLoad {
    pub seed: u64,
    /// Whether all of it is done.
    pub whole: bool,
}

/// The load that left its record; `None` without one, and for a role that may not read it.
pub(super) fn load_of(session: &mut Session, schema: &str, set: Set) -> Result<Option<KnownLoad>, Problem> {
    let job = match find(session, schema) {
        Ok(Some(job)) if job.plan.set == set => job,
        Ok(_) => return Ok(None),
        Err(problem) if problem.what.contains("(SQLSTATE 42501)") => return Ok(None),
        Err(problem) => return Err(problem),
    };
    let whole = job.finished
        || is_done(session, &job)
            .map_err(|error| error.into_problem("could not read the record of loads"))?;
    Ok(Some(KnownLoad { seed: job.plan.seed, whole }))
}
