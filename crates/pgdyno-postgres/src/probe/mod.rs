//! Probes existing tables without changing their contents: caching, DDL, counts, depths and sizes.

mod count;
mod ddl;
mod depth;
pub(crate) mod extension;
mod first_touch;
mod held;
mod partitions;
pub(crate) mod reading;
pub(crate) mod relations;
mod residency;
pub(crate) mod session_pool;
mod sizes;
mod warm;

use std::borrow::Cow;

use pgdyno_core::{
    probe::{Asked, ExecutionTimes, Shape},
    problem::Problem,
    stop::Stop,
    units,
};
use pgdyno_wire::{ConnectOptions, Row, Session, WireError, connect_unless};

use crate::settings::size_bytes;

pub use count::{CountRequest, count};
pub use ddl::{DdlRequest, ddl};
pub use depth::depth;
pub use first_touch::{TouchRequest, first_touch};
pub use held::{Buffercache, held};
pub use partitions::{PartitionsRequest, partitions};
pub use sizes::sizes;
pub use warm::{PrewarmProgress, PrewarmRequest, prewarm};

/// Opens a session for probes, which settings of roles and databases cannot end early. From PostgreSQL 14 on
/// the server abandons a query when its client is gone.
///
/// # Errors
/// The server cannot be reached.
pub fn open(options: &ConnectOptions, stop: &Stop) -> Result<Session, Problem> {
    let mut session = connect_unless(stop, options)?;
    session.heed(stop);
    settle(&mut session).map_err(|error| error.into_problem("could not prepare a session"))?;
    Ok(session)
}

/// Overrides settings of roles and databases that could end a session's work, and makes the server check
/// regularly whether its client still exists.
///
/// # Errors
/// A statement fails.
pub(crate) fn settle(session: &mut Session) -> Result<(), WireError> {
    session.execute(
        "SET standard_conforming_strings = on; SET client_min_messages = warning; SET row_security = off; \
         SELECT pg_catalog.set_config(name, '0', false) FROM pg_catalog.pg_settings WHERE name IN \
         ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout', \
         'transaction_timeout')",
    )?;
    let watched = session.execute(
        "SELECT pg_catalog.set_config(name, '10s', false) FROM pg_catalog.pg_settings \
         WHERE name = 'client_connection_check_interval'",
    );
    match watched {
        // Some platforms accept the setting's name but not a value; queries run to their end there.
        Err(WireError::Server(_)) => Ok(()),
        watched => watched,
    }
}

/// The server that a session is connected to.
fn asked(session: &mut Session) -> Result<Asked, Problem> {
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
fn explained(session: &mut Session, options: &str, sql: &str) -> Result<ExecutionTimes, WireError> {
    let answer = session.query(&format!("EXPLAIN ({options}, FORMAT JSON) {sql}"))?;
    let answer: String = answer.iter().filter_map(|row| row.get(0)).collect();
    ExecutionTimes::read(&answer)
        .ok_or_else(|| WireError::Protocol("EXPLAIN did not answer with a plan".to_owned()))
}

/// Writes out dirty buffers, so that later probes do not pay for earlier ones; `false` if the role may not.
fn checkpoint(session: &mut Session) -> Result<bool, Problem> {
    match session.execute("CHECKPOINT") {
        Ok(()) => Ok(true),
        Err(error) if error.code() == Some(FORBIDDEN) => Ok(false),
        Err(error) => Err(error.into_problem("could not make a checkpoint")),
    }
}

/// SQLSTATE of missing privileges.
const FORBIDDEN: &str = "42501";

/// A table named by the user.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Table {
    oid: u32,
    /// Schema and name, quoted for SQL.
    name: String,
    schema: String,
    partitioned: bool,
}

impl Table {
    /// Name for messages; control characters are replaced, since its creator may have chosen any name.
    fn shown(&self) -> Cow<'_, str> {
        units::printable(&self.name)
    }
}

/// Resolves names to tables, in the given order.
fn find_tables(session: &mut Session, names: &[String]) -> Result<Vec<Table>, Problem> {
    names.iter().map(|name| find_table(session, name)).collect()
}

fn find_table(session: &mut Session, name: &str) -> Result<Table, Problem> {
    let what = format!("could not find the table {}", units::printable(name));
    let sql = format!(
        "SELECT c.oid, pg_catalog.format('%I.%I', n.nspname, c.relname), n.nspname, c.relkind \
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.oid = pg_catalog.to_regclass({})",
        literal(name)
    );
    let rows = session.query(&sql).map_err(|error| error.into_problem(&what))?;
    let Some(row) = rows.first() else {
        return Err(Problem::wrong_request(format!("{what}: it does not exist"))
            .hint("write it as in SQL, or SCHEMA.TABLE if its schema is not in the search path"));
    };
    let text = |column| row.get(column).unwrap_or_default().to_owned();
    match (row.parse(0), row.get(3)) {
        (Some(oid), Some("r" | "p" | "m")) => {
            Ok(Table { oid, name: text(1), schema: text(2), partitioned: row.get(3) == Some("p") })
        }
        _ => Err(Problem::wrong_request(format!("{what}: {} is not a table", units::printable(&text(1))))
            .hint("name a table, a partition or a materialized view")),
    }
}

/// A table with its partitions and inheritance children on all levels: a query named `tree`, with column `oid`,
/// for `WITH RECURSIVE`.
fn tree_of(oids: &[u32]) -> String {
    format!(
        "tree(oid) AS (SELECT pg_catalog.unnest({}) UNION \
         SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN tree ON i.inhparent = tree.oid)",
        array(oids)
    )
}

fn shape(session: &mut Session, table: &Table) -> Result<Shape, WireError> {
    let rows = session.query(&format!(
        "WITH RECURSIVE {} SELECT pg_catalog.count(*) FILTER (WHERE c.oid <> {} AND c.relkind <> 'p'), \
         pg_catalog.sum(pg_catalog.pg_table_size(c.oid)), pg_catalog.sum(pg_catalog.pg_indexes_size(c.oid)) \
         FROM tree JOIN pg_catalog.pg_class c ON c.oid = tree.oid",
        tree_of(&[table.oid]),
        table.oid
    ))?;
    let number = |column| rows.first().and_then(|row| row.parse(column)).unwrap_or(0);
    Ok(Shape {
        name: table.name.clone(),
        partitions: number(0),
        table_bytes: number(1),
        index_bytes: number(2),
    })
}

/// OIDs as an SQL array.
fn array(oids: &[u32]) -> String {
    let oids: Vec<_> = oids.iter().map(u32::to_string).collect();
    format!("'{{{}}}'::pg_catalog.oid[]", oids.join(","))
}

/// A text as an SQL literal, for sessions with standard_conforming_strings.
fn literal(text: &str) -> String {
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
