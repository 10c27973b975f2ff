//! Reads sizes as psql's `\dt+`, `\di+`, `\l+` and `\db+` compute them.

use crate::session::open;
use pgdyno_core::{
    probe::{Size, Sizes},
    problem::Problem,
    stop::Stop,
};
use pgdyno_wire::{ConnectOptions, Row, Session, WireError};

use crate::probe::{
    server::{array, asked},
    table::find_tables,
};

/// Reads the sizes of the named tables, or of all tables of the database, of databases and of tablespaces.
///
/// # Errors
/// A query fails, or a table does not exist.
pub fn sizes(options: &ConnectOptions, tables: &[String], stop: &Stop) -> Result<Sizes, Problem> {
    let mut session = open(options, stop)?;
    let server = asked(&mut session)?;
    let named: Vec<u32> = find_tables(&mut session, tables)?.iter().map(|table| table.oid).collect();
    let within = match tables.is_empty() {
        true => format!("n.nspname !~ '^(pg_|information_schema$)' AND {NO_PARTS}"),
        false => format!("{{}} = ANY ({})", array(&named)),
    };
    let mut ask = |sql: &str| {
        asked_sizes(&mut session, sql).map_err(|error| error.into_problem("could not read sizes"))
    };
    Ok(Sizes {
        tables: ask(&relations("'r', 'p', 'm'", "", &within.replace("{}", "c.oid")))?,
        indexes: ask(&relations(
            "'i', 'I'",
            "JOIN pg_catalog.pg_index x ON x.indexrelid = c.oid",
            &within.replace("{}", "x.indrelid"),
        ))?,
        databases: ask(DATABASES)?,
        tablespaces: ask(TABLESPACES)?,
        server,
    })
}

/// SQL condition that relation `c` is neither a partition, nor otherwise a part of another, nor temporary.
pub(super) const NO_PARTS: &str = "c.relpersistence <> 't' \
                                   AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhrelid = c.oid)";

/// Relations of some kinds, each with its partitions: a query named `tree`, with columns `root` and `oid`, for
/// `WITH RECURSIVE`.
pub(super) fn trees(kinds: &str, with: &str, within: &str) -> String {
    format!(
        "tree(root, oid) AS (SELECT c.oid, c.oid FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace {with} WHERE c.relkind IN ({kinds}) AND {within} \
         UNION SELECT tree.root, i.inhrelid FROM pg_catalog.pg_inherits i JOIN tree ON i.inhparent = tree.oid)"
    )
}

fn relations(kinds: &str, with: &str, within: &str) -> String {
    format!(
        "WITH RECURSIVE {} SELECT pg_catalog.format('%I.%I', n.nspname, r.relname), \
         pg_catalog.count(*) FILTER (WHERE p.oid <> r.oid AND p.relkind NOT IN ('p', 'I')), \
         pg_catalog.sum(pg_catalog.pg_table_size(p.oid)) FROM tree \
         JOIN pg_catalog.pg_class r ON r.oid = tree.root JOIN pg_catalog.pg_class p ON p.oid = tree.oid \
         JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace GROUP BY n.nspname, r.relname ORDER BY 3 DESC, 1",
        trees(kinds, with, within)
    )
}

/// Size of the session's database.
pub(super) fn of_database(session: &mut Session) -> Result<Option<Size>, WireError> {
    let sql = "SELECT datname, 0, pg_catalog.pg_database_size(oid) FROM pg_catalog.pg_database \
               WHERE datname = pg_catalog.current_database()";
    Ok(asked_sizes(session, sql)?.pop())
}

/// Sizes of the tablespaces with relations in namespace `n`, including the database's default tablespace.
pub(super) fn of_tablespaces(session: &mut Session, within: &str) -> Result<Vec<Size>, WireError> {
    let sql = format!(
        "SELECT t.spcname, 0, CASE WHEN t.oid = d.dattablespace \
         OR pg_catalog.has_tablespace_privilege(t.oid, 'CREATE') THEN pg_catalog.pg_tablespace_size(t.oid) END \
         FROM pg_catalog.pg_tablespace t, pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database() \
         AND (t.oid = d.dattablespace OR t.oid IN (SELECT c.reltablespace FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE {within})) ORDER BY 1"
    );
    asked_sizes(session, &sql)
}

const DATABASES: &str = "SELECT datname, 0, CASE WHEN pg_catalog.has_database_privilege(oid, 'CONNECT') \
                         THEN pg_catalog.pg_database_size(oid) END FROM pg_catalog.pg_database ORDER BY 1";

const TABLESPACES: &str = "SELECT spcname, 0, CASE WHEN pg_catalog.has_tablespace_privilege(oid, 'CREATE') \
                           THEN pg_catalog.pg_tablespace_size(oid) END FROM pg_catalog.pg_tablespace ORDER BY 1";

fn asked_sizes(session: &mut Session, sql: &str) -> Result<Vec<Size>, WireError> {
    let size = |row: &Row| {
        Some(Size { name: row.get(0)?.to_owned(), partitions: row.parse(1)?, bytes: row.parse(2) })
    };
    Ok(session.query(sql)?.iter().filter_map(size).collect())
}
