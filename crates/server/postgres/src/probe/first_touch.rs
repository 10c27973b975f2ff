//! Measures what the first rows of a table cost in new sessions, which know neither the table nor its statistics.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use crate::session::open;
use pgdyno_core::{
    probe::{ExecutionTimes, FirstTouch, Touch, TouchedTable},
    problem::Problem,
    stop::Stop,
};
use pgdyno_host::page_cache;
use pgdyno_wire::{Address, ConnectOptions, Session, WireError};

use crate::probe::{
    server::{asked, checkpoint, explained},
    table::{Table, find_tables, shape, tree_of},
};

/// Request for the first rows of tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TouchRequest {
    /// Tables as named in SQL.
    pub tables: Vec<String>,
    /// Rows to read.
    pub limit: u64,
    /// Number of sessions of each kind.
    pub repeats: u64,
    /// Whether to drop the tables' files from the page cache before each session.
    pub cold: bool,
}

/// Reads the first rows of tables in new sessions. `on_progress` receives progress messages.
///
/// # Errors
/// A query fails, or the page cache cannot be dropped.
pub fn first_touch(
    options: &ConnectOptions,
    request: &TouchRequest,
    stop: &Stop,
    on_progress: &mut dyn FnMut(&str),
) -> Result<FirstTouch, Problem> {
    let mut session = open(options, stop)?;
    let server = asked(&mut session)?;
    let tables = find_tables(&mut session, &request.tables)?;
    let mut touched = Vec::new();
    for table in &tables {
        on_progress(&format!("{}: first rows", table.name));
        touched.push(Toucher { options, request, stop, table }.touch(&mut session)?);
    }
    Ok(FirstTouch { server, limit: request.limit, cold: request.cold, tables: touched })
}

struct Toucher<'a> {
    options: &'a ConnectOptions,
    request: &'a TouchRequest,
    stop: &'a Stop,
    table: &'a Table,
}

impl Toucher<'_> {
    fn touch(&self, session: &mut Session) -> Result<TouchedTable, Problem> {
        let what = format!("could not read from {}", self.table.shown());
        let failed = |error: WireError| error.into_problem(&what);
        let shape = shape(session, self.table).map_err(failed)?;
        let analyzed = self.analyzed(session).map_err(failed)?;
        let files = if self.request.cold { self.files(session)? } else { Vec::new() };
        let sql = format!("SELECT * FROM {} LIMIT {}", self.table.name, self.request.limit);
        let (mut statement_seconds, mut first, mut second) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.request.repeats {
            let mut fresh = self.fresh(session, &files)?;
            for times in [&mut first, &mut second] {
                times.push(explained(&mut fresh, "ANALYZE, BUFFERS", &sql).map_err(failed)?);
            }
            let mut fresh = self.fresh(session, &files)?;
            let start = Instant::now();
            fresh.execute(&sql).map_err(failed)?;
            statement_seconds.push(start.elapsed().as_secs_f64());
        }
        let rows_estimated = first.first().and_then(|times: &ExecutionTimes| times.rows_estimated);
        let executions = vec![Touch::new("first", &first), Touch::new("second", &second)];
        Ok(TouchedTable { table: shape, rows_estimated, analyzed, statement_seconds, executions })
    }

    /// A new session, for which the table's files are out of the page cache if that was requested.
    fn fresh(&self, session: &mut Session, files: &[PathBuf]) -> Result<Session, Problem> {
        if !files.is_empty() {
            // Dirty pages cannot be dropped.
            checkpoint(session)?;
            files.iter().try_for_each(|file| drop_file(file))?;
        }
        open(self.options, self.stop)
    }

    fn analyzed(&self, session: &mut Session) -> Result<bool, WireError> {
        // Without statistics there are no rows in pg_stats; a role sees those of tables that it may read.
        let sql = format!(
            "WITH RECURSIVE {} SELECT 1 FROM tree JOIN pg_catalog.pg_class c ON c.oid = tree.oid \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace JOIN pg_catalog.pg_stats s \
             ON s.schemaname = n.nspname AND s.tablename = c.relname LIMIT 1",
            tree_of(&[self.table.oid])
        );
        Ok(session.value(&sql)?.is_some())
    }

    /// Files of the table, its partitions and their indexes, on the server's machine.
    fn files(&self, session: &mut Session) -> Result<Vec<PathBuf>, Problem> {
        let what = "could not drop the table from the page cache";
        if !matches!(session.address(), Address::Unix(..)) {
            return Err(Problem::wrong_request(format!("{what}: the server may be on another machine"))
                .hint("connect by its Unix-domain socket on its machine, or leave --cold out"));
        }
        let sql = format!(
            "WITH RECURSIVE {}, stores AS (SELECT oid FROM tree UNION ALL SELECT x.indexrelid FROM tree \
             JOIN pg_catalog.pg_index x ON x.indrelid = tree.oid) SELECT (SELECT setting \
             FROM pg_catalog.pg_settings WHERE name = 'data_directory'), pg_catalog.pg_relation_filepath(oid) \
             FROM stores WHERE pg_catalog.pg_relation_filepath(oid) IS NOT NULL",
            tree_of(&[self.table.oid])
        );
        let rows = session.query(&sql).map_err(|error| error.into_problem(what))?;
        let paths: Option<Vec<_>> =
            rows.iter().map(|row| Some(Path::new(row.get(0)?).join(row.get(1)?))).collect();
        paths.ok_or_else(|| {
            Problem::wrong_request(format!("{what}: the role may not see the data directory"))
                .hint("use a superuser or a member of pg_read_all_settings, or leave --cold out")
        })
    }
}

/// Drops a relation's file with its further segments and maps.
fn drop_file(file: &Path) -> Result<(), Problem> {
    page_cache::drop_relation(file).map_err(|error| {
        let what = format!("could not drop {} from the page cache: {error}", file.display());
        Problem::could_not(what).hint("run pgdyno as the server's user or root, or leave --cold out")
    })
}
