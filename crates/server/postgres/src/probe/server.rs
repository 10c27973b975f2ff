//! What every probe asks a server, and how its names and values are written in SQL.

use crate::settings::size_bytes;
use pgdyno_core::{
    probe::{Asked, ExecutionTimes},
    problem::Problem,
};
use pgdyno_wire::{Row, Session, WireError};

/// SQLSTATE of missing privileges.
pub const FORBIDDEN: &str = "42501";

/// The server that a session is connected to.
pub fn asked(session: &mut Session) -> Result<Asked, Problem> {
    let sql = "SELECT pg_catalog.current_setting('server_version_num'), pg_catalog.current_database(), \
               pg_catalog.current_setting('block_size')";
    let what = "could not read the server's settings";
    let rows = session.query(sql).map_err(|error| error.into_problem(what))?;
    let shared_buffers_bytes =
        size_bytes(session, "shared_buffers").map_err(|error| error.into_problem(what))?;
    let read = |row: &Row| {
        Some(Asked {
            version: session.parameter("server_version").unwrap_or_default().to_owned(),
            version_num: row.parse(0)?,
            database: row.get(1)?.to_owned(),
            page_bytes: row.parse(2)?,
            shared_buffers_bytes,
        })
    };
    rows.first().and_then(read).ok_or_else(|| Problem::could_not(what))
}

/// Times of a statement by EXPLAIN with these options.
pub fn explained(session: &mut Session, options: &str, sql: &str) -> Result<ExecutionTimes, WireError> {
    let answer = session.query(&format!("EXPLAIN ({options}, FORMAT JSON) {sql}"))?;
    let answer: String = answer.iter().filter_map(|row| row.get(0)).collect();
    ExecutionTimes::read(&answer)
        .ok_or_else(|| WireError::Protocol("EXPLAIN did not answer with a plan".to_owned()))
}

/// Writes out dirty buffers, so that later probes do not pay for earlier ones; `false` if the role may not.
pub fn checkpoint(session: &mut Session) -> Result<bool, Problem> {
    match session.execute("CHECKPOINT") {
        Ok(()) => Ok(true),
        Err(error) if error.code() == Some(FORBIDDEN) => Ok(false),
        Err(error) => Err(error.into_problem("could not make a checkpoint")),
    }
}

/// OIDs as an SQL array.
pub fn array(oids: &[u32]) -> String {
    let oids: Vec<_> = oids.iter().map(u32::to_string).collect();
    format!("'{{{}}}'::pg_catalog.oid[]", oids.join(","))
}

/// A text as an SQL literal, for sessions with standard_conforming_strings.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_takes_any_name() {
        assert_eq!(literal(r"it's \ one"), r"'it''s \ one'");
        assert_eq!(array(&[1, 4_294_967_295]), "'{1,4294967295}'::pg_catalog.oid[]");
    }
}
