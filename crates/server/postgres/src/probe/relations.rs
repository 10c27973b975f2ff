//! Relations with pages: tables, TOAST tables, and indexes.

use pgdyno_core::{
    probe::{Explained, RelationKind},
    problem::Problem,
};
use pgdyno_wire::{Row, Session, WireError};

use crate::probe::{
    server::{FORBIDDEN, array},
    table::tree_of,
};

/// A relation with pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    pub oid: u32,
    /// Schema and name, quoted for SQL.
    pub name: String,
    /// Name without schema and quotes.
    pub plain_name: String,
    pub kind: RelationKind,
    pub pages: u64,
    /// Whether the role has the rights of the owner.
    pub owned: bool,
    /// Whether the relation is a B-tree.
    pub btree: bool,
}

impl Relation {
    /// Whether EXPLAIN refers to this index by this name, which servers before 13 quote.
    fn is_called(&self, index: &str) -> bool {
        self.plain_name == index || self.name.ends_with(&format!(".{index}"))
    }
}

/// All tables of a database except system tables and the ledger of loads.
///
/// # Errors
/// The query fails.
pub fn all_tables(session: &mut Session) -> Result<Vec<u32>, WireError> {
    let rows = session.query(
        "SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'm') AND c.relpersistence <> 't' \
         AND n.nspname !~ '^(pg_|information_schema$|pgdyno_load$)' ORDER BY 1",
    )?;
    Ok(rows.iter().filter_map(|row| row.parse(0)).collect())
}

/// The relations of tables: the tables themselves, their partitions, and the TOAST tables and indexes of each.
/// Every table is followed by its own relations.
///
/// # Errors
/// The query fails.
pub fn of_tables(session: &mut Session, oids: &[u32]) -> Result<Vec<Relation>, WireError> {
    let rows = session.query(&format!(
        "WITH RECURSIVE {}, \
         heaps AS (SELECT c.oid AS home, c.oid, 1 AS place FROM tree JOIN pg_catalog.pg_class c ON c.oid = tree.oid \
          WHERE c.relkind IN ('r', 'm') UNION ALL SELECT c.oid, c.reltoastrelid, 2 FROM tree \
          JOIN pg_catalog.pg_class c ON c.oid = tree.oid WHERE c.relkind IN ('r', 'm') AND c.reltoastrelid <> 0), \
         stores AS (SELECT home, oid, place FROM heaps UNION ALL \
          SELECT h.home, x.indexrelid, 2 + h.place FROM heaps h JOIN pg_catalog.pg_index x ON x.indrelid = h.oid) \
         SELECT c.oid, pg_catalog.format('%I.%I', n.nspname, c.relname), c.relkind, \
         pg_catalog.pg_relation_size(c.oid) / pg_catalog.current_setting('block_size')::bigint, \
         pg_catalog.pg_has_role(c.relowner, 'USAGE'), c.relname, \
         EXISTS (SELECT FROM pg_catalog.pg_am a WHERE a.oid = c.relam AND a.amname = 'btree') \
         FROM stores s JOIN pg_catalog.pg_class c ON c.oid = s.oid \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace ORDER BY s.home, s.place, c.relname",
        tree_of(oids)
    ))?;
    Ok(rows.iter().filter_map(relation).collect())
}

fn relation(row: &Row) -> Option<Relation> {
    let kind = match row.get(2)? {
        "t" => RelationKind::Toast,
        "i" => RelationKind::Index,
        _ => RelationKind::Table,
    };
    // A relation dropped meanwhile has no size, and is left out.
    Some(Relation {
        oid: row.parse(0)?,
        name: row.get(1)?.to_owned(),
        kind,
        pages: row.parse(3)?,
        owned: row.get(4)? == "t",
        plain_name: row.get(5)?.to_owned(),
        btree: row.get(6)? == "t",
    })
}

/// Query that touches pages of a relation. For tables it visits every page in a range by TID, which caches them
/// however large the table is, unlike a sequential scan; for B-trees it visits all leaves in order. `None` if
/// no query would read the relation.
///
/// # Errors
/// The query for the columns fails.
pub fn touching(
    session: &mut Session,
    relation: &Relation,
    first: u64,
    last: u64,
) -> Result<Option<String>, WireError> {
    if relation.name.starts_with("pg_toast.") && !may_read_toast(session)? {
        return Ok(None);
    }
    if relation.kind != RelationKind::Index {
        return Ok(Some(format!(
            "SELECT pg_catalog.count(*) FROM ONLY {} WHERE ctid = ANY (ARRAY(\
             SELECT ('(' || n || ',1)')::pg_catalog.tid \
             FROM pg_catalog.generate_series({first}::bigint, {last}::bigint) n))",
            relation.name
        )));
    }
    let Some(sql) = in_order(session, relation.oid)? else { return Ok(None) };
    let plan = session.query(&format!("EXPLAIN (FORMAT JSON) {sql}"))?;
    let plan: String = plan.iter().filter_map(|row| row.get(0)).collect();
    let plan = Explained::read(&plan).unwrap_or_default();
    Ok(plan.indexes.iter().any(|index| relation.is_called(index)).then_some(sql))
}

/// Whether the role can access TOAST tables by name, as superusers can.
fn may_read_toast(session: &mut Session) -> Result<bool, WireError> {
    let sql = "SELECT pg_catalog.has_schema_privilege('pg_toast', 'USAGE')";
    Ok(session.value(sql)?.as_deref() == Some("t"))
}

/// Query for all keys of a B-tree in order; `None` if the index is not a B-tree or not usable.
fn in_order(session: &mut Session, oid: u32) -> Result<Option<String>, WireError> {
    let rows = session.query(&format!(
        "SELECT pg_catalog.string_agg(pg_catalog.pg_get_indexdef(x.indexrelid, k + 1, false) \
         || CASE WHEN x.indoption[k] & 1 = 1 THEN ' DESC' ELSE ' ASC' END \
         || CASE WHEN x.indoption[k] & 2 = 2 THEN ' NULLS FIRST' ELSE ' NULLS LAST' END, ', ' ORDER BY k), \
         pg_catalog.format('%I.%I', n.nspname, t.relname), pg_catalog.pg_get_expr(x.indpred, x.indrelid) \
         FROM pg_catalog.pg_index x JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid \
         JOIN pg_catalog.pg_am a ON a.oid = i.relam JOIN pg_catalog.pg_class t ON t.oid = x.indrelid \
         JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace \
         CROSS JOIN LATERAL pg_catalog.generate_subscripts(x.indoption, 1) k \
         WHERE x.indexrelid = {oid} AND a.amname = 'btree' AND x.indisvalid \
         GROUP BY n.nspname, t.relname, x.indpred, x.indrelid"
    ))?;
    let Some(row) = rows.first() else { return Ok(None) };
    let (Some(keys), Some(table)) = (row.get(0), row.get(1)) else { return Ok(None) };
    let within = row.get(2).map(|predicate| format!(" WHERE {predicate}")).unwrap_or_default();
    Ok(Some(format!(
        "SELECT pg_catalog.count(*) FROM (SELECT 1 FROM ONLY {table}{within} ORDER BY {keys} OFFSET 0) t"
    )))
}

/// Counts the buffers of these relations with `pg_buffercache` in a schema; returns OIDs and pages, or `None`
/// if the role may not.
///
/// # Errors
/// The query fails.
pub fn buffered(
    session: &mut Session,
    schema: &str,
    oids: &[u32],
) -> Result<Option<Vec<(u32, u64)>>, Problem> {
    let sql = format!(
        "SELECT c.oid, pg_catalog.count(b.bufferid) FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_database d ON d.datname = pg_catalog.current_database() \
         LEFT JOIN {schema}.pg_buffercache b ON b.reldatabase = d.oid AND b.relforknumber = 0 \
         AND b.relfilenode = pg_catalog.pg_relation_filenode(c.oid) \
         AND b.reltablespace = CASE c.reltablespace WHEN 0 THEN d.dattablespace ELSE c.reltablespace END \
         WHERE c.oid = ANY ({}) GROUP BY 1",
        array(oids)
    );
    match session.query(&sql) {
        Ok(rows) => Ok(Some(rows.iter().filter_map(|row| Some((row.parse(0)?, row.parse(1)?))).collect())),
        Err(error) if error.code() == Some(FORBIDDEN) => Ok(None),
        Err(error) => Err(error.into_problem("could not query pg_buffercache")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_known_however_explain_writes_it() {
        let index = Relation {
            oid: 1,
            name: "public.\"My key\"".to_owned(),
            plain_name: "My key".to_owned(),
            kind: RelationKind::Index,
            pages: 2,
            owned: true,
            btree: true,
        };
        let known = ["My key", "\"My key\"", "key", "key\"", ""].map(|name| index.is_called(name));
        assert_eq!(known, [true, true, false, false, false]);
    }
}
