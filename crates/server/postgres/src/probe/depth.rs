//! Measures the depth of B-trees, with `pageinspect` if available, and computes the expected depth.

use crate::session::open;
use pgdyno_core::{
    probe::{Depth, IndexDepth},
    problem::Problem,
    stop::Stop,
};
use pgdyno_rows::BtreeSize;
use pgdyno_wire::{ConnectOptions, Row, Session, WireError};

use crate::probe::{
    extension, relations,
    server::{FORBIDDEN, asked, literal},
    table::{find_tables, tree_of},
};

/// Examines the B-trees of the named tables, or of all tables of the database if none is named.
///
/// # Errors
/// A query fails, or a table does not exist.
pub fn depth(
    options: &ConnectOptions,
    tables: &[String],
    create_extension: bool,
    stop: &Stop,
) -> Result<Depth, Problem> {
    let mut session = open(options, stop)?;
    let server = asked(&mut session)?;
    let what = "could not examine indexes";
    let oids: Vec<u32> = match tables.is_empty() {
        true => relations::all_tables(&mut session).map_err(|error| error.into_problem(what))?,
        false => find_tables(&mut session, tables)?.iter().map(|table| table.oid).collect(),
    };
    let schema = extension::find_or_create(&mut session, "pageinspect", create_extension)?;
    let mut indexes =
        btrees(&mut session, &oids, server.page_bytes).map_err(|error| error.into_problem(what))?;
    let measured = match schema {
        Some(schema) => {
            measure(&mut session, &schema, &mut indexes).map_err(|error| error.into_problem(what))?
        }
        None => false,
    };
    Ok(Depth { server, measured, indexes })
}

/// The B-trees of tables and their partitions, with their expected sizes.
fn btrees(session: &mut Session, tables: &[u32], page_bytes: u64) -> Result<Vec<IndexDepth>, WireError> {
    let rows = session.query(&format!(
        "WITH RECURSIVE {} SELECT pg_catalog.format('%I.%I', n.nspname, c.relname), \
         pg_catalog.format('%I.%I', tn.nspname, t.relname), t.reltuples::bigint, \
         pg_catalog.pg_relation_size(c.oid) / pg_catalog.current_setting('block_size')::bigint, \
         x.indisunique AND x.indpred IS NULL AND \
         (SELECT pg_catalog.bool_and(a.attlen > 0) FROM pg_catalog.pg_attribute a \
          WHERE a.attrelid = c.oid), \
         (SELECT pg_catalog.sum(a.attlen) FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid) \
         FROM tree JOIN pg_catalog.pg_class t ON t.oid = tree.oid \
         JOIN pg_catalog.pg_namespace tn ON tn.oid = t.relnamespace \
         JOIN pg_catalog.pg_index x ON x.indrelid = t.oid JOIN pg_catalog.pg_class c ON c.oid = x.indexrelid \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace JOIN pg_catalog.pg_am am ON am.oid = c.relam \
         WHERE am.amname = 'btree' AND c.relkind = 'i' ORDER BY t.oid, c.oid",
        tree_of(tables)
    ))?;
    Ok(rows.iter().filter_map(|row| index_depth(row, page_bytes)).collect())
}

fn index_depth(row: &Row, page_bytes: u64) -> Option<IndexDepth> {
    // Before the first ANALYZE the number of rows is unknown: -1, or 0 before PostgreSQL 14.
    let pages: u64 = row.parse(3)?;
    let rows_estimated = row.parse::<i64>(2).filter(|rows| *rows > 0).map(|rows| rows as u64);
    let key_bytes = row.parse(5).filter(|_| row.get(4) == Some("t"));
    let predicted = rows_estimated.zip(key_bytes).map(|(rows, key)| BtreeSize::new(key, rows, page_bytes));
    Some(IndexDepth {
        name: row.get(0)?.to_owned(),
        table: row.get(1)?.to_owned(),
        rows_estimated,
        pages,
        levels: None,
        levels_predicted: predicted.map(|size| size.levels),
        pages_predicted: predicted.map(|size| size.pages),
    })
}

/// Reads the metapage of every index; `false` if the role may not.
fn measure(session: &mut Session, schema: &str, indexes: &mut [IndexDepth]) -> Result<bool, WireError> {
    for index in indexes {
        let sql = format!(
            "SELECT CASE root WHEN 0 THEN 0 ELSE level + 1 END FROM {schema}.bt_metap({})",
            literal(&index.name)
        );
        match session.value(&sql) {
            Ok(levels) => index.levels = levels.and_then(|levels| levels.parse().ok()),
            Err(error) if error.code() == Some(FORBIDDEN) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}
