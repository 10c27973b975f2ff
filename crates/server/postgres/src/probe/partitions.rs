//! Measures what partitions cost a session: planning, locks, catalogs, memory.

use crate::session::open;
use pgdyno_core::{
    probe::{CatalogShare, PartitionedTable, Partitions, PlanCost, PlanWay},
    problem::Problem,
    stop::Stop,
};
use pgdyno_wire::{ConnectOptions, Row, Session, WireError};

use crate::probe::{
    server::{FORBIDDEN, asked, explained, literal},
    table::{Table, find_tables, shape, tree_of},
};

/// First version with `plan_cache_mode`.
const PLAN_CACHE_MODE_SINCE: u32 = 120_000;
/// First version whose EXPLAIN reports planning time without executing.
const SUMMARY_SINCE: u32 = 100_000;
/// First version that shows the memory of a session.
const MEMORY_SINCE: u32 = 140_000;
/// Later executions in a session. The server itself chooses between plans from the sixth execution on
/// (`choose_custom_plan` of `plancache.c`).
const LATER: u64 = 10;
/// Custom plans before the server chooses.
const CUSTOM_PLANS: u64 = 5;

/// Request for the cost of partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionsRequest {
    /// Tables as named in SQL.
    pub tables: Vec<String>,
    /// Number of sessions for each way of executing.
    pub repeats: u64,
}

/// Looks rows up by primary key in several ways, and plans a query for all rows. `on_progress` receives messages on
/// progress.
///
/// # Errors
/// A query fails, or a table has no primary key or no row.
pub fn partitions(
    options: &ConnectOptions,
    request: &PartitionsRequest,
    stop: &Stop,
    on_progress: &mut dyn FnMut(&str),
) -> Result<Partitions, Problem> {
    let mut session = open(options, stop)?;
    let server = asked(&mut session)?;
    let tables = find_tables(&mut session, &request.tables)?;
    let rows = tables.iter().map(|table| Lookup::find(&mut session, table)).collect::<Result<Vec<_>, _>>()?;
    let mut found = Vec::new();
    for (table, lookup) in tables.iter().zip(rows) {
        let probe = PartitionProbe { options, stop, table, version_num: server.version_num, lookup };
        found.push(probe.table(&mut session, request.repeats, on_progress)?);
    }
    Ok(Partitions { server, tables: found })
}

/// A row of a table, by its primary key.
struct Lookup {
    columns: Vec<String>,
    types: Vec<String>,
    values: Vec<String>,
}

impl Lookup {
    fn find(session: &mut Session, table: &Table) -> Result<Self, Problem> {
        let what = format!("could not examine {}", table.shown());
        let failed = |error: WireError| error.into_problem(&what);
        let columns = session
            .query(&format!(
                "SELECT pg_catalog.quote_ident(a.attname), pg_catalog.format_type(a.atttypid, a.atttypmod) \
                 FROM pg_catalog.pg_index x JOIN pg_catalog.pg_attribute a ON a.attrelid = x.indrelid \
                 AND a.attnum = ANY (x.indkey) WHERE x.indrelid = {} AND x.indisprimary ORDER BY a.attnum",
                table.oid
            ))
            .map_err(failed)?;
        if columns.is_empty() {
            return Err(Problem::wrong_request(format!("{what}: it has no primary key"))
                .hint("name a table with one: rows are looked up by it"));
        }
        let column = |at: usize| move |row: &Row| row.get(at).unwrap_or_default().to_owned();
        let (columns, types): (Vec<_>, Vec<_>) =
            (columns.iter().map(column(0)).collect(), columns.iter().map(column(1)).collect());
        let texts: Vec<_> = columns.iter().map(|name| format!("{name}::text")).collect();
        let row = session.query(&format!("SELECT {} FROM {} LIMIT 1", texts.join(", "), table.name));
        let row = row.map_err(failed)?.into_iter().next().ok_or_else(|| {
            Problem::wrong_request(format!("{what}: it has no row")).hint("load the table first")
        })?;
        let values = (0..columns.len()).map(|at| row.get(at).unwrap_or_default().to_owned()).collect();
        Ok(Self { columns, types, values })
    }

    /// The query, with a value for each column of the key.
    fn query(&self, table: &str, value: impl Fn(usize) -> String) -> String {
        let terms = self.columns.iter().enumerate().map(|(at, name)| format!("{name} = {}", value(at)));
        format!("SELECT * FROM {table} WHERE {}", terms.collect::<Vec<_>>().join(" AND "))
    }

    fn constant(&self, at: usize) -> String {
        format!("{}::{}", literal(&self.values[at]), self.types[at])
    }

    fn constants(&self) -> String {
        (0..self.values.len()).map(|at| self.constant(at)).collect::<Vec<_>>().join(", ")
    }
}

/// A way of executing: its name, the plan cache's mode if it needs one, and whether it is prepared.
struct Way {
    name: &'static str,
    mode: Option<&'static str>,
    prepared: bool,
}

const WAYS: [Way; 4] = [
    Way { name: "not prepared", mode: None, prepared: false },
    Way { name: "custom plans", mode: Some("force_custom_plan"), prepared: true },
    Way { name: "generic plan", mode: Some("force_generic_plan"), prepared: true },
    Way { name: "server chooses", mode: None, prepared: true },
];
const ALL_ROWS: &str = "all rows";

struct PartitionProbe<'a> {
    options: &'a ConnectOptions,
    stop: &'a Stop,
    table: &'a Table,
    version_num: u32,
    lookup: Lookup,
}

impl PartitionProbe<'_> {
    fn table(
        &self,
        session: &mut Session,
        repeats: u64,
        on_progress: &mut dyn FnMut(&str),
    ) -> Result<PartitionedTable, Problem> {
        let what = format!("could not examine {}", self.table.shown());
        let failed = |error: WireError| error.into_problem(&what);
        let shape = shape(session, self.table).map_err(failed)?;
        let mut ways = Vec::new();
        for way in WAYS {
            on_progress(&format!("{}: {}", self.table.name, way.name));
            ways.push(self.way(&way, repeats)?);
        }
        on_progress(&format!("{}: {ALL_ROWS}", self.table.name));
        let (all, cache_bytes) = self.all_rows(repeats)?;
        ways.push(all);
        let catalogs = self.catalogs(session).map_err(failed)?;
        let key = self.lookup.columns.clone();
        Ok(PartitionedTable { table: shape, key, ways, catalogs, cache_bytes })
    }

    fn way(&self, way: &Way, repeats: u64) -> Result<PlanWay, Problem> {
        if way.mode.is_some() && self.version_num < PLAN_CACHE_MODE_SINCE {
            return Ok(left_out(way.name, "before PostgreSQL 12 it cannot be requested"));
        }
        let what = format!("could not look up a row of {}", self.table.shown());
        let failed = |error: WireError| error.into_problem(&what);
        let sql = match way.prepared {
            true => format!("EXECUTE pgdyno_probe({})", self.lookup.constants()),
            false => self.lookup.query(&self.table.name, |at| self.lookup.constant(at)),
        };
        let (mut first, mut later) = (PlanCost::default(), PlanCost::default());
        for _ in 0..repeats {
            let mut session = open(self.options, self.stop)?;
            self.prepare(&mut session, way).map_err(failed)?;
            self.execute(&mut session, "ANALYZE", &sql, &mut first).map_err(failed)?;
            // Where the server chooses, executions count from its choice on.
            let chooses = way.prepared && way.mode.is_none();
            let skipped = &mut PlanCost::default();
            for _ in 0..if chooses { CUSTOM_PLANS } else { 0 } {
                self.execute(&mut session, "ANALYZE", &sql, skipped).map_err(failed)?;
            }
            for _ in 0..LATER {
                self.execute(&mut session, "ANALYZE", &sql, &mut later).map_err(failed)?;
            }
        }
        Ok(PlanWay { way: way.name.to_owned(), first: Some(first), later: Some(later), left_out: None })
    }

    fn prepare(&self, session: &mut Session, way: &Way) -> Result<(), WireError> {
        if let Some(mode) = way.mode {
            session.execute(&format!("SET plan_cache_mode = {mode}"))?;
        }
        if !way.prepared {
            return Ok(());
        }
        let query = self.lookup.query(&self.table.name, |at| format!("${}", at + 1));
        session.execute(&format!("PREPARE pgdyno_probe({}) AS {query}", self.lookup.types.join(", ")))
    }

    /// One execution in a transaction, which holds its locks until they are counted.
    fn execute(
        &self,
        session: &mut Session,
        options: &str,
        sql: &str,
        cost: &mut PlanCost,
    ) -> Result<(), WireError> {
        session.execute("BEGIN")?;
        let times = explained(session, options, sql)?;
        let locks = self.locks(session)?;
        session.execute("COMMIT")?;
        cost.add(&times, locks);
        Ok(())
    }

    /// Locks on the table's relations that this session holds, and those of them by the fast path.
    fn locks(&self, session: &mut Session) -> Result<(u64, u64), WireError> {
        let sql = format!(
            "WITH RECURSIVE {} SELECT pg_catalog.count(*), pg_catalog.count(*) FILTER (WHERE l.fastpath) \
             FROM pg_catalog.pg_locks l WHERE l.pid = pg_catalog.pg_backend_pid() AND l.locktype = 'relation' \
             AND l.relation IN (SELECT oid FROM stores)",
            self.stores()
        );
        let row = session.query(&sql)?.into_iter().next();
        let number = |column| row.as_ref().and_then(|row: &Row| row.parse(column)).unwrap_or(0);
        Ok((number(0), number(1)))
    }

    /// A query named `stores` for the table, its partitions and their indexes.
    fn stores(&self) -> String {
        format!(
            "{}, stores AS (SELECT oid FROM tree UNION ALL SELECT x.indexrelid FROM tree \
             JOIN pg_catalog.pg_index x ON x.indrelid = tree.oid)",
            tree_of(&[self.table.oid])
        )
    }

    /// Planning a query for all rows, and the memory that this takes in a session.
    fn all_rows(&self, repeats: u64) -> Result<(PlanWay, Option<u64>), Problem> {
        if self.version_num < SUMMARY_SINCE {
            let why = "before PostgreSQL 10 EXPLAIN reports planning time only with ANALYZE";
            return Ok((left_out(ALL_ROWS, why), None));
        }
        let what = format!("could not plan a query of {}", self.table.shown());
        let failed = |error: WireError| error.into_problem(&what);
        let sql = format!("SELECT * FROM {}", self.table.name);
        let (mut first, mut later) = (PlanCost::default(), PlanCost::default());
        let mut cache_bytes = None;
        for _ in 0..repeats {
            let mut session = open(self.options, self.stop)?;
            let before = self.memory(&mut session).map_err(failed)?;
            self.execute(&mut session, "SUMMARY", &sql, &mut first).map_err(failed)?;
            let after = self.memory(&mut session).map_err(failed)?;
            cache_bytes =
                cache_bytes.or(after.zip(before).map(|(after, before)| after.saturating_sub(before)));
            for _ in 0..LATER {
                self.execute(&mut session, "SUMMARY", &sql, &mut later).map_err(failed)?;
            }
        }
        let way =
            PlanWay { way: ALL_ROWS.to_owned(), first: Some(first), later: Some(later), left_out: None };
        Ok((way, cache_bytes))
    }

    /// Bytes of the caches of a session; `None` if it does not show them.
    fn memory(&self, session: &mut Session) -> Result<Option<u64>, WireError> {
        if self.version_num < MEMORY_SINCE {
            return Ok(None);
        }
        let sql = "SELECT pg_catalog.sum(total_bytes) FROM pg_catalog.pg_backend_memory_contexts \
                   WHERE 'CacheMemoryContext' IN (name, parent)";
        // Since 18 contexts have a path instead of the name of their parent.
        let path = "WITH m AS (SELECT * FROM pg_catalog.pg_backend_memory_contexts) \
                    SELECT pg_catalog.sum(m.total_bytes) FROM m WHERE (SELECT path[level] FROM m c \
                    WHERE c.name = 'CacheMemoryContext' LIMIT 1) = ANY (m.path)";
        let sql = if self.version_num >= 180_000 { path } else { sql };
        match session.value(sql) {
            Ok(bytes) => Ok(bytes.and_then(|bytes| bytes.parse().ok())),
            Err(error) if error.code() == Some(FORBIDDEN) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn catalogs(&self, session: &mut Session) -> Result<Vec<CatalogShare>, WireError> {
        let columns = [
            ("pg_class", "oid"),
            ("pg_attribute", "attrelid"),
            ("pg_index", "indexrelid"),
            ("pg_inherits", "inhrelid"),
            ("pg_constraint", "conrelid"),
            ("pg_statistic", "starelid"),
        ];
        columns.iter().map(|(catalog, column)| self.catalog(session, catalog, column)).collect()
    }

    fn catalog(&self, session: &mut Session, name: &str, column: &str) -> Result<CatalogShare, WireError> {
        let size =
            format!("SELECT pg_catalog.pg_total_relation_size('pg_catalog.{name}'::pg_catalog.regclass)");
        let size_bytes = session.value(&size)?.and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
        let sql = format!(
            "WITH RECURSIVE {} SELECT pg_catalog.count(*), coalesce(pg_catalog.sum(pg_catalog.pg_column_size(c.*)), 0) \
             FROM pg_catalog.{name} c WHERE c.{column} IN (SELECT oid FROM stores)",
            self.stores()
        );
        let row = match session.query(&sql) {
            Ok(rows) => rows.into_iter().next(),
            Err(error) if error.code() == Some(FORBIDDEN) => None,
            Err(error) => return Err(error),
        };
        let number = |at| row.as_ref().and_then(|row: &Row| row.parse(at));
        Ok(CatalogShare { catalog: name.to_owned(), rows: number(0), row_bytes: number(1), size_bytes })
    }
}

fn left_out(name: &str, why: &str) -> PlanWay {
    PlanWay { way: name.to_owned(), first: None, later: None, left_out: Some(why.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_several_columns_is_looked_up_by_all_of_them() {
        let lookup = Lookup {
            columns: vec!["\"W Id\"".to_owned(), "d_id".to_owned()],
            types: vec!["integer".to_owned(), "character varying(9)".to_owned()],
            values: vec!["7".to_owned(), "it's".to_owned()],
        };
        let query = lookup.query("s.t", |at| format!("${}", at + 1));
        assert_eq!(query, "SELECT * FROM s.t WHERE \"W Id\" = $1 AND d_id = $2");
        assert_eq!(lookup.constants(), "'7'::integer, 'it''s'::character varying(9)");
    }
}
