//! pgbench's four tables: made, filled, vacuumed and indexed as `pgbench -i` leaves them (steps `tgvp`).

use std::time::Instant;

use pgdyno_core::{
    problem::Problem,
    rows::{
        Part, TableRows, rows,
        tpcb::{Accounts, BIGINT_SCALE, Branches, Tellers, rows_total},
    },
};
use pgdyno_engine::Stop;

use super::{CopyFormat, format::CopyRow};
use crate::wire::{Session, WireError};

/// Rows between two reports of progress, and two looks at a request to stop.
const ROWS_PER_REPORT: u64 = 100_000;

/// What to load.
#[derive(Debug, Clone, Copy)]
pub struct TpcbLoad {
    /// Scale factor.
    pub scale: u64,
    /// Seed of the plan. TPC-B's rows do not depend on it.
    pub seed: u64,
    /// Format of COPY.
    pub format: CopyFormat,
}

/// A step of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadStep {
    /// COPY.
    Copy,
    /// VACUUM and ANALYZE.
    Vacuum,
    /// Primary keys.
    Index,
}

/// How far the load is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadProgress {
    /// The step under way.
    pub step: LoadStep,
    /// Rows copied so far, over all tables.
    pub rows: u64,
    /// Rows to copy.
    pub rows_total: u64,
}

/// What a load came to.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadOutcome {
    /// Rows over all tables.
    pub rows: u64,
    /// Bytes of COPY data.
    pub copy_bytes: u64,
    /// Seconds of COPY, with the creation of the tables.
    pub copy_s: f64,
    /// Seconds of VACUUM and ANALYZE.
    pub vacuum_s: f64,
    /// Seconds of primary keys.
    pub index_s: f64,
    /// Bytes of tables and indexes afterwards.
    pub size_bytes: u64,
    /// Format of COPY.
    pub format: CopyFormat,
}

/// Loads the four tables into the session's current schema, in which they must not exist yet.
///
/// The tables are created and filled in one transaction, so that rows can be frozen as they are written (every server
/// since 9.3), and a load that fails leaves nothing.
///
/// # Errors
/// What could not be done; a request to stop is one of them.
pub fn load_tpcb(
    session: &mut Session,
    load: &TpcbLoad,
    stop: &Stop,
    progress: &mut dyn FnMut(LoadProgress),
) -> Result<LoadOutcome, Problem> {
    let mut loading = Loading { session, load, stop, progress, rows: 0, copy_bytes: 0 };
    let what = format!("could not load TPC-B at scale {}", load.scale);
    loading.run().map_err(|error| match error {
        LoadError::Stopped { kept: false } => stopped(&what).hint("nothing of it was kept"),
        LoadError::Stopped { kept: true } => stopped(&what).hint(
            "the rows are in, without all primary keys: drop the four tables before they are loaded again",
        ),
        LoadError::Wire(error) => error.into_problem(&what),
    })
}

fn stopped(what: &str) -> Problem {
    Problem::could_not(format!("{what}: stopped"))
}

enum LoadError {
    /// Asked to stop; whether the rows had been committed.
    Stopped {
        kept: bool,
    },
    Wire(WireError),
}

impl From<WireError> for LoadError {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}

struct Loading<'a> {
    session: &'a mut Session,
    load: &'a TpcbLoad,
    stop: &'a Stop,
    progress: &'a mut dyn FnMut(LoadProgress),
    rows: u64,
    copy_bytes: u64,
}

impl Loading<'_> {
    fn run(&mut self) -> Result<LoadOutcome, LoadError> {
        let copied = timed(|| self.copy_all());
        if copied.is_err() {
            let _ = self.session.execute("ROLLBACK"); // the session stays usable, if it is alive
        }
        let copy_s = copied?.1;
        self.report(LoadStep::Vacuum);
        let vacuum_s = timed(|| self.each("VACUUM ANALYZE {}", &TABLES))?.1;
        self.report(LoadStep::Index);
        let index_s = timed(|| self.add_keys())?.1;
        let size = "SELECT sum(pg_catalog.pg_total_relation_size(c.oid)) FROM pg_catalog.pg_class c \
                    WHERE c.oid IN ('pgbench_branches'::regclass, 'pgbench_tellers'::regclass, \
                    'pgbench_accounts'::regclass, 'pgbench_history'::regclass)";
        let size_bytes = self.session.value(size)?.and_then(|text| text.parse().ok()).unwrap_or(0);
        let (rows, copy_bytes, format) = (self.rows, self.copy_bytes, self.load.format);
        Ok(LoadOutcome { rows, copy_bytes, copy_s, vacuum_s, index_s, size_bytes, format })
    }

    fn copy_all(&mut self) -> Result<(), LoadError> {
        self.session.execute("BEGIN")?;
        self.session.execute(&tpcb_tables(self.load.scale))?;
        self.copy::<Branches>()?;
        self.copy::<Tellers>()?;
        self.copy::<Accounts>()?;
        Ok(self.session.execute("COMMIT")?)
    }

    fn copy<T: TableRows<Row: CopyRow>>(&mut self) -> Result<(), LoadError> {
        let TpcbLoad { scale, seed, format } = *self.load;
        let sql = format!(
            "COPY {} ({}) FROM STDIN WITH (FORMAT {}, FREEZE)",
            T::NAME,
            <T::Row as CopyRow>::COLUMNS,
            format.name()
        );
        let wide_key = scale >= BIGINT_SCALE;
        let total = T::total(scale);
        let mut copy = self.session.copy_in(&sql)?;
        copy.row(|out| format.header(out))?;
        for first in (0..total).step_by(ROWS_PER_REPORT as usize) {
            if self.stop.requested() {
                return Err(LoadError::Stopped { kept: false });
            }
            let part = Part { first, end: total.min(first + ROWS_PER_REPORT) };
            for row in rows::<T>(scale, seed, part) {
                copy.row(|out| row.write(format, wide_key, out))?;
            }
            self.rows += part.rows();
            (self.progress)(LoadProgress {
                step: LoadStep::Copy,
                rows: self.rows,
                rows_total: rows_total(scale),
            });
        }
        copy.row(|out| format.trailer(out))?;
        self.copy_bytes += copy.finish()?;
        Ok(())
    }

    fn add_keys(&mut self) -> Result<(), LoadError> {
        for (table, key) in KEYS {
            self.stop_here()?;
            self.session.execute(&format!("ALTER TABLE {table} ADD PRIMARY KEY ({key})"))?;
        }
        Ok(())
    }

    fn each(&mut self, template: &str, tables: &[&str]) -> Result<(), LoadError> {
        for table in tables {
            self.stop_here()?;
            self.session.execute(&template.replace("{}", table))?;
        }
        Ok(())
    }

    fn stop_here(&self) -> Result<(), LoadError> {
        if self.stop.requested() { Err(LoadError::Stopped { kept: true }) } else { Ok(()) }
    }

    fn report(&mut self, step: LoadStep) {
        (self.progress)(LoadProgress { step, rows: self.rows, rows_total: rows_total(self.load.scale) });
    }
}

const TABLES: [&str; 4] = ["pgbench_branches", "pgbench_tellers", "pgbench_accounts", "pgbench_history"];
const KEYS: [(&str, &str); 3] =
    [("pgbench_branches", "bid"), ("pgbench_tellers", "tid"), ("pgbench_accounts", "aid")];

/// The tables at a scale factor as pgbench 18 makes them, with its fill factor: SQL without keys.
pub fn tpcb_tables(scale: u64) -> String {
    let aid = if scale >= BIGINT_SCALE { "bigint" } else { "int" };
    format!(
        "CREATE TABLE pgbench_history(tid int, bid int, aid {aid}, delta int, mtime timestamp, filler char(22));
         CREATE TABLE pgbench_tellers(tid int NOT NULL, bid int, tbalance int, filler char(84)) WITH (fillfactor=100);
         CREATE TABLE pgbench_accounts(aid {aid} NOT NULL, bid int, abalance int, filler char(84))
             WITH (fillfactor=100);
         CREATE TABLE pgbench_branches(bid int NOT NULL, bbalance int, filler char(88)) WITH (fillfactor=100);"
    )
}

fn timed<R>(work: impl FnOnce() -> Result<R, LoadError>) -> Result<(R, f64), LoadError> {
    let start = Instant::now();
    work().map(|result| (result, start.elapsed().as_secs_f64()))
}
