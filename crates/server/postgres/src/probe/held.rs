//! Sizes of the measured tables, and their share in shared buffers, by three queries.

use crate::load::{TableScope, is_found};
use pgdyno_core::probe::{Held, HeldList, HeldRelation};
use pgdyno_wire::{Row, Session, WireError};

use crate::probe::{extension, server::FORBIDDEN, sizes};

/// Whether to create `pg_buffercache`, which is right only in a database that belongs to pgdyno.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffercache {
    /// Create it if possible.
    Make,
    /// Never create it.
    AsItIs,
}

/// Reads sizes of all measured relations. Buffers are absent if the role may not see them.
///
/// # Errors
/// A query fails.
pub fn held(session: &mut Session, place: &TableScope, buffers: Buffercache) -> Result<Held, WireError> {
    let schema = buffercache(session, buffers)?;
    let seen = match session.query(&sql(place, schema.as_ref())) {
        Err(error) if schema.is_some() && error.code() == Some(FORBIDDEN) => {
            session.query(&sql(place, None))?
        }
        seen => seen?,
    };
    let of = |wanted: &str| {
        let rows = seen.iter().filter(|row| row.get(0) == Some(wanted));
        HeldList::of(rows.filter_map(relation).collect())
    };
    Ok(Held {
        tables: of("t"),
        indexes: of("i"),
        database: sizes::of_database(session)?,
        tablespaces: sizes::of_tablespaces(session, &within(place))?,
    })
}

fn buffercache(session: &mut Session, buffers: Buffercache) -> Result<Option<String>, WireError> {
    if buffers == Buffercache::Make {
        match session.execute("CREATE EXTENSION IF NOT EXISTS pg_buffercache") {
            Ok(()) | Err(WireError::Server(_)) => {}
            Err(error) => return Err(error),
        }
    }
    extension::find(session, "pg_buffercache")
}

/// SQL condition for relation `c` and its namespace `n`.
fn within(place: &TableScope) -> String {
    match place {
        TableScope::Database => "n.nspname !~ '^(pg_|information_schema$|pgdyno_load$)'".to_owned(),
        TableScope::Schema(name) => format!("n.nspname = '{name}'"),
        TableScope::Found(names) => format!(
            "coalesce((SELECT x.indrelid FROM pg_catalog.pg_index x WHERE x.indexrelid = c.oid), c.oid) \
             IN (SELECT c.oid FROM pg_catalog.pg_class c WHERE {})",
            is_found(names)
        ),
    }
}

/// Query for tables and indexes with their parts. Buffers are counted by file once, before the join with relations.
fn sql(place: &TableScope, schema: Option<&String>) -> String {
    let (buffers, resident) = match schema {
        Some(schema) => (
            format!(
                "SELECT reltablespace AS space, relfilenode AS file, pg_catalog.count(*) AS pages \
                 FROM {schema}.pg_buffercache, d WHERE relforknumber = 0 AND reldatabase = d.oid GROUP BY 1, 2"
            ),
            "coalesce(pg_catalog.sum(b.pages), 0)",
        ),
        None => ("SELECT 0::pg_catalog.oid AS space, 0::pg_catalog.oid AS file".to_owned(), "NULL"),
    };
    let within = format!("{} AND {}", within(place), sizes::NO_PARTS);
    format!(
        "WITH RECURSIVE {}, d AS (SELECT oid, dattablespace FROM pg_catalog.pg_database \
         WHERE datname = pg_catalog.current_database()), b AS ({buffers}) \
         SELECT CASE WHEN r.relkind IN ('i', 'I') THEN 'i' ELSE 't' END, \
         pg_catalog.format('%I.%I', n.nspname, r.relname), \
         pg_catalog.count(*) FILTER (WHERE p.oid <> r.oid AND p.relkind NOT IN ('p', 'I')), \
         pg_catalog.sum(pg_catalog.pg_table_size(p.oid)), \
         pg_catalog.sum(pg_catalog.pg_relation_size(p.oid) / pg_catalog.current_setting('block_size')::bigint), \
         {resident} FROM tree \
         JOIN pg_catalog.pg_class r ON r.oid = tree.root JOIN pg_catalog.pg_class p ON p.oid = tree.oid \
         JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace CROSS JOIN d \
         LEFT JOIN b ON b.file = pg_catalog.pg_relation_filenode(p.oid) \
         AND b.space = CASE p.reltablespace WHEN 0 THEN d.dattablespace ELSE p.reltablespace END \
         GROUP BY r.relkind, n.nspname, r.relname",
        sizes::trees("'r', 'p', 'm', 'i', 'I'", "", &within)
    )
}

/// The relation of a row; `None` if it was dropped meanwhile and has no size.
fn relation(row: &Row) -> Option<HeldRelation> {
    Some(HeldRelation {
        name: row.get(1)?.to_owned(),
        partitions: row.parse(2)?,
        bytes: row.parse(3)?,
        pages: row.parse(4)?,
        resident_pages: row.parse(5),
    })
}
