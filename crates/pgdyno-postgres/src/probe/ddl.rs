//! Measures the cost of changing a table: times statements one by one, and rolls them back.

use std::time::Instant;

use pgdyno_core::{
    probe::{Ddl, DdlStatement, DdlTable, Shape},
    problem::Problem,
    stop::Stop,
    units,
};
use pgdyno_wire::{Address, ConnectOptions, Row, Session, WireError};

use super::{Table, asked, checkpoint, find_tables, literal, open, shape, tree_of};
use crate::{observe::wal_written, settings::set_if_known};

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

/// Times statements that change tables, table by table. `tell` receives progress messages.
///
/// # Errors
/// A statement fails, or a table may not be changed. Tables are unchanged except by ANALYZE and VACUUM.
pub fn ddl(
    options: &ConnectOptions,
    request: &DdlRequest,
    stop: &Stop,
    tell: &mut dyn FnMut(&str),
) -> Result<Ddl, Problem> {
    let mut session = open(options, stop)?;
    let server = asked(&mut session)?;
    let tables = find_tables(&mut session, &request.tables)?;
    for table in &tables {
        check_consent(&mut session, table, request.may_change)?;
    }
    session
        .execute(&format!(
            "SET lock_timeout = {}; {}; {ENDS_WITH_ITS_CLIENT}",
            request.lock_timeout_ms,
            set_if_known("idle_in_transaction_session_timeout", "10s", false)
        ))
        .map_err(|error| error.into_problem("could not prepare a session"))?;
    let mut probe = DdlProbe { session, version_num: server.version_num, request, checkpoints: true, tell };
    let tables = tables.iter().map(|table| probe.table(table)).collect::<Result<_, _>>()?;
    Ok(Ddl::new(server, probe.checkpoints, tables))
}

/// A changed table is locked until the rollback, which the server does itself if the client's host is gone, and from
/// 9.6 on if the client hangs (`idle_in_transaction_session_timeout`).
const ENDS_WITH_ITS_CLIENT: &str =
    "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3";

/// Refuses to change tables that pgdyno did not load, unless the user allows it.
fn check_consent(session: &mut Session, table: &Table, may_change: bool) -> Result<(), Problem> {
    if may_change || made_by_us(session, table)? {
        return Ok(());
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
    checkpoints: bool,
    tell: &'a mut dyn FnMut(&str),
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

    /// Files and columns of a table, its partitions and their indexes: everything that a change would alter.
    fn fingerprint(&mut self, table: &Table) -> Result<Vec<Row>, WireError> {
        self.session.query(&format!(
            "WITH RECURSIVE {}, stores AS (SELECT oid FROM tree UNION ALL SELECT x.indexrelid FROM tree \
             JOIN pg_catalog.pg_index x ON x.indrelid = tree.oid) \
             SELECT c.oid, pg_catalog.pg_relation_filenode(c.oid), c.relnatts FROM stores \
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
            wal_bytes: None,
            rewritten: None,
            times_of_first: None,
            left_out: self.left_out(table, shape, statement.name)?,
        };
        if timed.left_out.is_some() {
            return Ok(timed);
        }
        (self.tell)(&format!("{}: {}", table.name, statement.name));
        self.checkpoints &= checkpoint(&mut self.session)?;
        for repeat in 0..statement.repeats(self.request.repeats) {
            let once = self.once(table, statement).map_err(|error| self.failed(error, table, statement))?;
            timed.seconds.push(once.seconds);
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
        if name.starts_with("VACUUM") && table.partitioned && self.version_num < VACUUM_OF_PARTITIONED_SINCE {
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
        Ok(Once { seconds, wal_bytes, rewritten: None })
    }

    fn failed(&self, error: WireError, table: &Table, statement: Statement) -> Problem {
        if error.code() == Some(LOCK_NOT_AVAILABLE) {
            let waited = units::duration(self.request.lock_timeout_ms as f64 / 1e3);
            let what = format!("could not lock {} within {waited}: it is in use", table.shown());
            return Problem::could_not(what).detail(format!("for {}", statement.name)).hint(
                "try again when no session uses it, or wait longer with --lock-timeout. Nothing was changed.",
            );
        }
        error.into_problem(&format!("could not carry out {} on {}", statement.name, table.shown()))
    }
}

/// Result of one execution.
struct Once {
    seconds: f64,
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
