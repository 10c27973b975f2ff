//! Measures the cost of changing a table: times statements one by one, and rolls them back, unless their commits are
//! to be timed on tables that pgdyno made.

use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

use crate::{
    observe::wal_written,
    session::{SessionPool, open},
    settings::set_if_known,
};
use pgdyno_core::{
    probe::{Ddl, DdlStatement, DdlTable, Shape},
    problem::Problem,
    stop::Stop,
    units,
};
use pgdyno_wire::{Address, ConnectOptions, Row, Session, WireError};

use crate::probe::{
    server::{asked, checkpoint, literal},
    table::{Table, find_tables, shape, tree_of},
};

/// Name of the added column, which no user's table has.
const COLUMN: &str = "pgdyno_probe";
/// SQLSTATE of a lock timeout.
const LOCK_NOT_AVAILABLE: &str = "55P03";
/// First version that stores a constant default in the catalog instead of rewriting the table.
const DEFAULTS_IN_CATALOGUE_SINCE: u32 = 110_000;
/// First version in which VACUUM of a partitioned table vacuums its partitions.
const VACUUM_OF_PARTITIONED_SINCE: u32 = 110_000;

/// Request for a probe of DDL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DdlRequest {
    /// Tables as named in SQL.
    pub tables: Vec<String>,
    /// Whether tables not loaded by pgdyno may be changed temporarily.
    pub may_change: bool,
    /// Whether the caller made the tables, so that no record of their load is needed.
    pub are_ours: bool,
    /// Whether changes are committed, and undone by further statements. Only on tables that pgdyno made.
    pub commit: bool,
    /// Sessions that vacuum the partitions of a table at the same time; 1 for one statement about the whole table.
    pub sessions: u64,
    /// Whether to include statements that rewrite the whole table.
    pub rewrite: bool,
    /// Number of repetitions of each statement.
    pub repeats: u64,
    /// Lock timeout in milliseconds.
    pub lock_timeout_ms: u64,
}

/// A statement to time.
#[derive(Debug, Clone, Copy)]
struct Statement {
    name: &'static str,
    /// Text after `ALTER TABLE name`, or before the name.
    sql: &'static str,
    way: Way,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Runs in a transaction that is rolled back.
    Added,
    /// Runs in a transaction that is rolled back, after adding a column.
    Dropped,
    /// Runs without a transaction, since it changes no contents of the table.
    Alone,
}

const CONSTANT: &str = "ADD COLUMN … DEFAULT constant";
const VOLATILE: &str = "ADD COLUMN … DEFAULT volatile";

/// The timed statements, in this order.
const STATEMENTS: [Statement; 7] = [
    Statement { name: "ADD COLUMN", sql: "ADD COLUMN pgdyno_probe text", way: Way::Added },
    Statement { name: CONSTANT, sql: "ADD COLUMN pgdyno_probe text DEFAULT 'pgdyno'", way: Way::Added },
    Statement {
        name: VOLATILE,
        sql: "ADD COLUMN pgdyno_probe double precision DEFAULT pg_catalog.random()",
        way: Way::Added,
    },
    Statement { name: "DROP COLUMN", sql: "DROP COLUMN pgdyno_probe", way: Way::Dropped },
    Statement { name: "ANALYZE", sql: "ANALYZE", way: Way::Alone },
    Statement { name: "VACUUM", sql: "VACUUM", way: Way::Alone },
    Statement { name: "VACUUM (FREEZE)", sql: "VACUUM (FREEZE)", way: Way::Alone },
];

/// Times statements that change tables, table by table. `on_progress` receives progress messages.
///
/// # Errors
/// A statement fails, or a table may not be changed. Tables are unchanged except by ANALYZE and VACUUM.
pub fn ddl(
    options: &ConnectOptions,
    request: &DdlRequest,
    stop: &Stop,
    on_progress: &mut dyn FnMut(&str),
) -> Result<Ddl, Problem> {
    let mut session = open(options, stop)?;
    let server = asked(&mut session)?;
    let tables = find_tables(&mut session, &request.tables)?;
    for table in &tables {
        check_consent(&mut session, table, request)?;
    }
    let settings = format!(
        "SET lock_timeout = {}; {}; {ENDS_WITH_ITS_CLIENT}",
        request.lock_timeout_ms,
        set_if_known("idle_in_transaction_session_timeout", "10s", false)
    );
    session.execute(&settings).map_err(|error| error.into_problem("could not prepare a session"))?;
    let version_num = server.version_num;
    let mut probe =
        DdlProbe { session, version_num, request, options, stop, settings, checkpoints: true, on_progress };
    let tables = tables.iter().map(|table| probe.table(table)).collect::<Result<_, _>>()?;
    Ok(Ddl { committed: request.commit, ..Ddl::new(server, probe.checkpoints, tables) })
}

/// A changed table is locked until the rollback, which the server does itself if the client's host is gone, and from
/// 9.6 on if the client hangs (`idle_in_transaction_session_timeout`).
const ENDS_WITH_ITS_CLIENT: &str =
    "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3";

/// Refuses to change tables that pgdyno did not load, unless the user allows it; to commit changes of them even then.
fn check_consent(session: &mut Session, table: &Table, request: &DdlRequest) -> Result<(), Problem> {
    let is_allowed = request.are_ours || request.may_change && !request.commit;
    if is_allowed || made_by_us(session, table)? {
        return Ok(());
    }
    if request.commit {
        let what = format!("could not commit changes of {}: pgdyno did not load it", table.shown());
        return Err(Problem::wrong_request(what)
            .detail("a column that was added and dropped stays in the catalog and in new rows for ever")
            .hint(
                "probe what `pgdyno load` or `pgdyno load copy` made, or leave --commit out: changes are then \
                 rolled back. Nothing was changed.",
            ));
    }
    Err(Problem::wrong_request(format!("could not change {}: pgdyno did not load it", table.shown()))
        .detail("the timed statements would lock it briefly against all other sessions, and be rolled back")
        .hint("add --may-change if that is acceptable"))
}

fn made_by_us(session: &mut Session, table: &Table) -> Result<bool, Problem> {
    let look = |session: &mut Session| -> Result<bool, WireError> {
        if session.value("SELECT pg_catalog.to_regclass('pgdyno_load.job')")?.is_none() {
            return Ok(false);
        }
        // The ledger lists tables of a load as `name=oid`, separated by commas.
        let sql = format!(
            "SELECT 1 FROM pgdyno_load.job WHERE target = {} AND finished IS NOT NULL \
             AND pg_catalog.strpos(relations || ',', '={},') > 0",
            literal(&table.schema),
            table.oid
        );
        Ok(session.value(&sql)?.is_some())
    };
    look(session).map_err(|error| error.into_problem("could not find out whether pgdyno loaded the table"))
}

struct DdlProbe<'a> {
    session: Session,
    version_num: u32,
    request: &'a DdlRequest,
    options: &'a ConnectOptions,
    stop: &'a Stop,
    /// Statements that a session runs first.
    settings: String,
    checkpoints: bool,
    on_progress: &'a mut dyn FnMut(&str),
}

impl Statement {
    /// Number of repetitions. A second VACUUM has nothing left to do, so only the first one shows the cost.
    fn repeats(&self, wanted: u64) -> u64 {
        if self.sql.starts_with("VACUUM") { 1 } else { wanted }
    }
}

impl DdlProbe<'_> {
    fn table(&mut self, table: &Table) -> Result<DdlTable, Problem> {
        let what = format!("could not examine {}", table.shown());
        let shape = shape(&mut self.session, table).map_err(|error| error.into_problem(&what))?;
        if self.request.commit {
            // A probe that was killed may have left it.
            let sql = format!("ALTER TABLE {} DROP COLUMN IF EXISTS {COLUMN}", table.name);
            self.session.execute(&sql).map_err(|error| error.into_problem(&what))?;
        }
        let before = self.fingerprint(table).map_err(|error| error.into_problem(&what))?;
        let mut statements = Vec::new();
        for statement in STATEMENTS {
            statements.push(self.statement(table, &shape, statement)?);
        }
        let after = self.fingerprint(table).map_err(|error| error.into_problem(&what))?;
        if before != after {
            let what = format!("{} has changed: another session altered it meanwhile", table.shown());
            return Err(Problem::could_not(what).hint("try again when no other session changes tables"));
        }
        Ok(DdlTable { table: shape, statements })
    }

    /// Files and columns of a table, its partitions and their indexes: everything that a change would alter. Committed
    /// changes leave other files and dropped columns; then the columns that can be seen must be the same.
    fn fingerprint(&mut self, table: &Table) -> Result<Vec<Row>, WireError> {
        let traces = match self.request.commit {
            false => "pg_catalog.pg_relation_filenode(c.oid), c.relnatts",
            true => {
                "(SELECT pg_catalog.string_agg(a.attname, ',' ORDER BY a.attnum) FROM pg_catalog.pg_attribute a \
                 WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)"
            }
        };
        self.session.query(&format!(
            "WITH RECURSIVE {}, stores AS (SELECT oid FROM tree UNION ALL SELECT x.indexrelid FROM tree \
             JOIN pg_catalog.pg_index x ON x.indrelid = tree.oid) \
             SELECT c.oid, {traces} FROM stores \
             JOIN pg_catalog.pg_class c ON c.oid = stores.oid ORDER BY 1",
            tree_of(&[table.oid])
        ))
    }

    fn statement(
        &mut self,
        table: &Table,
        shape: &Shape,
        statement: Statement,
    ) -> Result<DdlStatement, Problem> {
        let mut timed = DdlStatement {
            statement: statement.name.to_owned(),
            seconds: Vec::new(),
            commit_seconds: Vec::new(),
            sessions: self.is_shared(table, statement).then_some(self.request.sessions),
            wal_bytes: None,
            rewritten: None,
            times_of_first: None,
            left_out: self.left_out(table, shape, statement.name)?,
        };
        if timed.left_out.is_some() {
            return Ok(timed);
        }
        (self.on_progress)(&format!("{}: {}", table.name, statement.name));
        self.checkpoints &= checkpoint(&mut self.session)?;
        for repeat in 0..statement.repeats(self.request.repeats) {
            let once = match self.is_shared(table, statement) {
                true => self.shared(table, statement)?,
                false => self.once(table, statement).map_err(|error| self.failed(error, table, statement))?,
            };
            timed.seconds.push(once.seconds);
            timed.commit_seconds.extend(once.commit_s);
            if repeat == 0 {
                (timed.wal_bytes, timed.rewritten) = (once.wal_bytes, once.rewritten);
            }
        }
        Ok(timed)
    }

    /// The reason why a statement is skipped, if it is.
    fn left_out(
        &mut self,
        table: &Table,
        shape: &Shape,
        name: &'static str,
    ) -> Result<Option<String>, Problem> {
        let skips = table.partitioned && self.version_num < VACUUM_OF_PARTITIONED_SINCE;
        if name.starts_with("VACUUM") && skips && self.request.sessions == 1 {
            return Ok(Some("before PostgreSQL 11 it skips partitions".to_owned()));
        }
        let rewrites = name == VOLATILE || name == CONSTANT && self.version_num < DEFAULTS_IN_CATALOGUE_SINCE;
        if !rewrites {
            return Ok(None);
        }
        let bytes = shape.table_bytes + shape.index_bytes;
        if !self.request.rewrite {
            return Ok(Some(format!("it would rewrite {}: add --rewrite", units::bytes(bytes))));
        }
        let free = self.free_bytes(table).map_err(|error| {
            error.into_problem(&format!("could not determine the free space for {}", table.shown()))
        })?;
        let short = free.filter(|free| *free < bytes + bytes / 4);
        Ok(short.map(|free| {
            format!("it would rewrite {}, and {} are free", units::bytes(bytes), units::bytes(free))
        }))
    }

    /// Free bytes on the fullest file system with a part of the table, if it is on this machine.
    fn free_bytes(&mut self, table: &Table) -> Result<Option<u64>, WireError> {
        if !matches!(self.session.address(), Address::Unix(..)) {
            return Ok(None);
        }
        let dirs = self.session.query(&format!(
            "WITH RECURSIVE {} SELECT DISTINCT coalesce(nullif(pg_catalog.pg_tablespace_location(t.oid), ''), \
             (SELECT setting FROM pg_catalog.pg_settings WHERE name = 'data_directory')) \
             FROM tree JOIN pg_catalog.pg_class c ON c.oid = tree.oid \
             JOIN pg_catalog.pg_database d ON d.datname = pg_catalog.current_database() \
             JOIN pg_catalog.pg_tablespace t ON t.oid = coalesce(nullif(c.reltablespace, 0), d.dattablespace)",
            tree_of(&[table.oid])
        ))?;
        let free = |row: &Row| pgdyno_host::facts::storage(row.get(0)?.as_ref()).ok();
        Ok(dirs.iter().filter_map(free).map(|storage| storage.available_bytes).min())
    }

    fn once(&mut self, table: &Table, statement: Statement) -> Result<Once, WireError> {
        let name = &table.name;
        if self.request.commit && statement.way != Way::Alone {
            return self.committed(table, statement);
        }
        let done = match statement.way {
            Way::Alone => return self.timed(&format!("{} {name}", statement.sql)),
            Way::Added => {
                let sql = format!("ALTER TABLE {name} {}", statement.sql);
                self.session.execute("BEGIN").and_then(|()| self.changed(table, &sql))
            }
            Way::Dropped => {
                let add = format!("BEGIN; ALTER TABLE {name} ADD COLUMN {COLUMN} text");
                let sql = format!("ALTER TABLE {name} {}", statement.sql);
                self.session.execute(&add).and_then(|()| self.changed(table, &sql))
            }
        };
        let over = self.session.execute("ROLLBACK");
        let done = done?;
        over.map(|()| done)
    }

    /// Executes a change and commits it, then restores the columns by another change, which is not timed.
    fn committed(&mut self, table: &Table, statement: Statement) -> Result<Once, WireError> {
        let name = &table.name;
        if statement.way == Way::Dropped {
            self.session.execute(&format!("ALTER TABLE {name} ADD COLUMN {COLUMN} text"))?;
        }
        self.session.execute("BEGIN")?;
        let changed = self.changed(table, &format!("ALTER TABLE {name} {}", statement.sql));
        if changed.is_err() {
            let _ = self.session.execute("ROLLBACK"); // the error of the change is the one to report
        }
        let changed = changed?;
        let start = Instant::now();
        self.session.execute("COMMIT")?;
        let commit_s = Some(start.elapsed().as_secs_f64());
        if statement.way == Way::Added {
            self.session.execute(&format!("ALTER TABLE {name} DROP COLUMN {COLUMN}"))?;
        }
        Ok(Once { commit_s, ..changed })
    }

    /// Whether several sessions vacuum the partitions of a table.
    fn is_shared(&self, table: &Table, statement: Statement) -> bool {
        table.partitioned && self.request.sessions > 1 && statement.sql.starts_with("VACUUM")
    }

    /// Executes a statement on each partition, by several sessions. The time is that from the first begin to the last
    /// end, without opening sessions.
    fn shared(&mut self, table: &Table, statement: Statement) -> Result<Once, Problem> {
        let failed = |error: WireError| {
            error.into_problem(&format!("could not execute {} on {}", statement.name, table.shown()))
        };
        let parts = self.session.query(&format!(
            "WITH RECURSIVE {} SELECT pg_catalog.format('%I.%I', n.nspname, c.relname) FROM tree \
             JOIN pg_catalog.pg_class c ON c.oid = tree.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE c.relkind = 'r' ORDER BY c.oid",
            tree_of(&[table.oid])
        ));
        let parts = parts.map_err(failed)?;
        let times: Mutex<Vec<(Instant, Instant)>> = Mutex::default();
        let work = |session: &mut Session, number: usize| {
            let start = Instant::now();
            let name = parts[number].get(0).unwrap_or_default();
            session.execute(&format!("{} {name}", statement.sql)).map_err(failed)?;
            times.lock().unwrap_or_else(PoisonError::into_inner).push((start, Instant::now()));
            Ok(())
        };
        let (options, stop, settings) = (self.options, self.stop, self.settings.as_str());
        let pool = SessionPool { options, sessions: self.request.sessions, settings, stop };
        let before = wal_written(&mut self.session);
        pool.work(parts.len(), &work, &mut || {})?;
        let after = wal_written(&mut self.session);
        let times = times.into_inner().unwrap_or_else(PoisonError::into_inner);
        let begin = times.iter().map(|(begin, _)| *begin).min();
        let end = times.iter().map(|(_, end)| *end).max();
        let seconds = begin.zip(end).map_or(0.0, |(begin, end)| end.duration_since(begin).as_secs_f64());
        let wal_bytes = after.zip(before).map(|(after, before)| after.saturating_sub(before));
        Ok(Once { seconds, commit_s: None, wal_bytes, rewritten: None })
    }

    /// Executes a change, and checks whether the table has new files.
    fn changed(&mut self, table: &Table, sql: &str) -> Result<Once, WireError> {
        let before = self.files(table)?;
        let once = self.timed(sql)?;
        Ok(Once { rewritten: Some(before != self.files(table)?), ..once })
    }

    fn files(&mut self, table: &Table) -> Result<Vec<Row>, WireError> {
        self.session.query(&format!(
            "WITH RECURSIVE {} SELECT pg_catalog.pg_relation_filenode(oid) FROM tree ORDER BY oid",
            tree_of(&[table.oid])
        ))
    }

    fn timed(&mut self, sql: &str) -> Result<Once, WireError> {
        let before = wal_written(&mut self.session);
        let start = Instant::now();
        self.session.execute(sql)?;
        let seconds = start.elapsed().as_secs_f64();
        let after = wal_written(&mut self.session);
        let wal_bytes = after.zip(before).map(|(after, before)| after.saturating_sub(before));
        Ok(Once { seconds, commit_s: None, wal_bytes, rewritten: None })
    }

    fn failed(&self, error: WireError, table: &Table, statement: Statement) -> Problem {
        if error.code() == Some(LOCK_NOT_AVAILABLE) {
            let waited = units::duration(self.request.lock_timeout_ms as f64 / 1e3);
            let what = format!("could not lock {} within {waited}: it is in use", table.shown());
            let left = if self.request.commit { MAY_BE_LEFT } else { "Nothing was changed." };
            let hint = "try again when no session uses it, or wait longer with --lock-timeout";
            return Problem::could_not(what)
                .detail(format!("for {}", statement.name))
                .hint(format!("{hint}. {left}"));
        }
        let what = format!("could not execute {} on {}", statement.name, table.shown());
        let problem = error.into_problem(&what);
        if self.request.commit && problem.hint.is_none() { problem.hint(MAY_BE_LEFT) } else { problem }
    }
}

/// What a failed probe with commits may leave.
const MAY_BE_LEFT: &str =
    "The column pgdyno_probe may be left; the next `pgdyno probe ddl --commit` drops it.";

/// Result of one execution.
struct Once {
    seconds: f64,
    /// Seconds of its commit, if it had one.
    commit_s: Option<f64>,
    wal_bytes: Option<u64>,
    rewritten: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_is_about_the_one_column() {
        for statement in STATEMENTS {
            assert_eq!(statement.sql.contains(COLUMN), statement.way != Way::Alone, "{}", statement.name);
        }
    }
}
