//! Tables that the user names, with their partitions.

use std::borrow::Cow;

use pgdyno_core::{probe::Shape, problem::Problem, units};
use pgdyno_wire::{Session, WireError};

use crate::probe::server::{array, literal};

/// A table named by the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub oid: u32,
    /// Schema and name, quoted for SQL.
    pub name: String,
    pub schema: String,
    pub partitioned: bool,
}

impl Table {
    /// Name for messages; control characters are replaced, since its creator may have chosen any name.
    pub fn shown(&self) -> Cow<'_, str> {
        units::printable(&self.name)
    }
}

/// Resolves names to tables, in the given order.
pub fn find_tables(session: &mut Session, names: &[String]) -> Result<Vec<Table>, Problem> {
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
pub fn tree_of(oids: &[u32]) -> String {
    format!(
        "tree(oid) AS (SELECT pg_catalog.unnest({}) UNION \
         SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN tree ON i.inhparent = tree.oid)",
        array(oids)
    )
}

pub fn shape(session: &mut Session, table: &Table) -> Result<Shape, WireError> {
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
