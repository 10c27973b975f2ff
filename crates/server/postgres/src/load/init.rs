//! pgbench's initialization (`pgbench -i`), step by step in any order.

use std::time::Instant;

use pgdyno_core::stop::Stop;
use pgdyno_rows::{
    Part, TableRows,
    load::{LoadPlan, PartitionMethod, Partitions, Table},
    rows,
    tpcb::{ACCOUNTS_PER_SCALE, Accounts, BIGINT_SCALE, Branches, TELLERS_PER_SCALE, Tellers},
};
use pgdyno_wire::{Session, WireError};

use super::format::CopyRow;

/// All steps by their letters.
const STEPS: [(char, Step); 7] = [
    ('d', Step::Drop),
    ('t', Step::Tables),
    ('g', Step::ClientSide),
    ('G', Step::ServerSide),
    ('v', Step::Vacuum),
    ('p', Step::PrimaryKeys),
    ('f', Step::ForeignKeys),
];

/// A step of the initialization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// `d`: drop the tables.
    Drop,
    /// `t`: create the empty tables.
    Tables,
    /// `g`: fill the tables by COPY.
    ClientSide,
    /// `G`: fill the tables in the server.
    ServerSide,
    /// `v`: VACUUM and ANALYZE.
    Vacuum,
    /// `p`: create primary keys.
    PrimaryKeys,
    /// `f`: create foreign keys.
    ForeignKeys,
}

impl Step {
    /// Name of the step in pgbench's final line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop tables",
            Self::Tables => "create tables",
            Self::ClientSide => "client-side generate",
            Self::ServerSide => "server-side generate",
            Self::Vacuum => "vacuum",
            Self::PrimaryKeys => "primary keys",
            Self::ForeignKeys => "foreign keys",
        }
    }

    /// pgbench's message when the step begins.
    fn announcement(self) -> &'static str {
        match self {
            Self::Drop => "dropping old tables...",
            Self::Tables => "creating tables...",
            Self::ClientSide => "generating data (client-side)...",
            Self::ServerSide => "generating data (server-side)...",
            Self::Vacuum => "vacuuming...",
            Self::PrimaryKeys => "creating primary keys...",
            Self::ForeignKeys => "creating foreign keys...",
        }
    }
}

/// Checks a text of steps; blanks are ignored.
///
/// # Errors
/// The first letter that is not a step, or `None` for a text without letters.
pub fn check_steps(text: &str) -> Result<(), Option<char>> {
    let known = |c: char| c == ' ' || STEPS.iter().any(|(letter, _)| *letter == c);
    match text.chars().find(|&c| !known(c)) {
        _ if text.is_empty() => Err(None),
        Some(unknown) => Err(Some(unknown)),
        None => Ok(()),
    }
}

/// Steps of a text; other characters are skipped.
pub fn steps(text: &str) -> Vec<Step> {
    text.chars()
        .filter_map(|c| STEPS.iter().find(|(letter, _)| *letter == c).map(|(_, step)| *step))
        .collect()
}

/// Options of an initialization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Initialization {
    /// Steps in order.
    pub steps: Vec<Step>,
    /// Tables that the steps are about.
    pub tables: LoadPlan,
}

/// Progress of an initialization.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum InitEvent {
    /// A step begins; the line is for the user.
    Begins(&'static str),
    /// Partitions are about to be created, this many.
    Partitions(u64),
    /// Rows of a table have been sent. Reported every hundred rows.
    Rows {
        /// Name of the table.
        table: &'static str,
        /// Number of rows sent.
        rows: u64,
        /// Total number of rows of the table.
        total: u64,
        /// Seconds since the first row.
        elapsed_s: f64,
    },
    /// A table has been filled.
    Filled,
}

/// Why the initialization ended.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// A statement failed.
    #[error("{error}")]
    Statement {
        /// Text of the statement.
        sql: String,
        /// Error of the server or the connection.
        error: WireError,
    },
    /// Sending rows failed.
    #[error("{0}")]
    Copy(WireError),
    /// A stop was requested.
    #[error("stopped")]
    Stopped,
}

/// Executes the steps; returns the seconds of each.
///
/// # Errors
/// A statement fails, sending rows fails, or a stop is requested. Completed steps remain done.
pub fn initialize(
    session: &mut Session,
    wanted: &Initialization,
    stop: &Stop,
    on_event: &mut dyn FnMut(InitEvent),
) -> Result<Vec<(Step, f64)>, InitError> {
    let mut work = Work { session, wanted, stop, on_event };
    let mut done = Vec::new();
    for &step in &wanted.steps {
        let start = Instant::now();
        (work.on_event)(InitEvent::Begins(step.announcement()));
        work.step(step)?;
        done.push((step, start.elapsed().as_secs_f64()));
    }
    Ok(done)
}

struct Work<'a> {
    session: &'a mut Session,
    wanted: &'a Initialization,
    stop: &'a Stop,
    on_event: &'a mut dyn FnMut(InitEvent),
}

const TABLES: &str = "pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers";

impl Work<'_> {
    fn step(&mut self, step: Step) -> Result<(), InitError> {
        match step {
            Step::Drop => self.execute(&format!("DROP TABLE IF EXISTS {TABLES}")),
            Step::Tables => self.create_tables(),
            Step::ClientSide => self.fill_by_copy(),
            Step::ServerSide => self.fill_by_server(),
            Step::Vacuum => self.each(
                ["branches", "tellers", "accounts", "history"].map(|t| format!("VACUUM ANALYZE pgbench_{t}")),
            ),
            Step::PrimaryKeys => self.each(primary_keys(&self.wanted.tables)),
            Step::ForeignKeys => self.each(foreign_keys()),
        }
    }

    fn execute(&mut self, sql: &str) -> Result<(), InitError> {
        if self.stop.requested() {
            return Err(InitError::Stopped);
        }
        self.session.execute(sql).map_err(|error| failed(sql, error))
    }

    fn each(&mut self, statements: impl IntoIterator<Item = String>) -> Result<(), InitError> {
        statements.into_iter().try_for_each(|sql| self.execute(&sql))
    }

    fn create_tables(&mut self) -> Result<(), InitError> {
        let wanted = &self.wanted.tables;
        self.each(tables(wanted))?;
        if let Some(partitions) = wanted.partitions {
            (self.on_event)(InitEvent::Partitions(partitions.count));
            for number in 1..=partitions.count {
                self.execute(&partition(wanted, partitions, number))?;
            }
        }
        Ok(())
    }

    /// In one transaction, so that the server may skip WAL for the truncated table.
    fn fill_by_copy(&mut self) -> Result<(), InitError> {
        self.execute("BEGIN")?;
        self.execute(&format!("TRUNCATE TABLE {TABLES}"))?;
        self.copy::<Branches>()?;
        self.copy::<Tellers>()?;
        self.copy::<Accounts>()?;
        self.execute("COMMIT")
    }

    fn copy<T: TableRows<Row: CopyRow>>(&mut self) -> Result<(), InitError> {
        let freeze = if self.may_freeze(T::NAME)? { " WITH (FREEZE ON)" } else { "" };
        let columns = <T::Row as CopyRow>::COLUMNS;
        let sql = format!("COPY {} ({columns}) FROM STDIN{freeze}", T::NAME);
        let (scale, total) = (self.wanted.tables.scale, T::total(self.wanted.tables.scale));
        let start = Instant::now();
        let mut copy = self.session.copy_in(&sql).map_err(|error| failed(&sql, error))?;
        for (index, row) in rows::<T>(scale, Part { first: 0, end: total }).enumerate() {
            copy.row(|out| row.write(out)).map_err(InitError::Copy)?;
            let rows = index as u64 + 1;
            if rows.is_multiple_of(100) {
                if self.stop.requested() {
                    return Err(InitError::Stopped);
                }
                let elapsed_s = start.elapsed().as_secs_f64();
                (self.on_event)(InitEvent::Rows { table: T::NAME, rows, total, elapsed_s });
            }
        }
        (self.on_event)(InitEvent::Filled);
        copy.finish().map(drop).map_err(InitError::Copy)
    }

    /// As in pgbench, rows are frozen from PostgreSQL 14 on, in ordinary tables.
    fn may_freeze(&mut self, table: &str) -> Result<bool, InitError> {
        if self.session.major().unwrap_or(0) < 14 {
            return Ok(false);
        }
        let sql =
            format!("SELECT relkind FROM pg_catalog.pg_class WHERE oid = '{table}'::pg_catalog.regclass");
        let kind = self.session.value(&sql).map_err(|error| failed(&sql, error))?;
        Ok(kind.as_deref() == Some("r"))
    }

    fn fill_by_server(&mut self) -> Result<(), InitError> {
        self.execute("BEGIN")?;
        self.execute(&format!("TRUNCATE TABLE {TABLES}"))?;
        let scale = self.wanted.tables.scale;
        let (tellers, accounts) = (TELLERS_PER_SCALE * scale, ACCOUNTS_PER_SCALE * scale);
        self.each([
            format!(
                "INSERT INTO pgbench_branches (bid, bbalance) SELECT n, 0 FROM generate_series(1, {scale}) AS n"
            ),
            format!(
                "INSERT INTO pgbench_tellers (tid, bid, tbalance) \
                 SELECT n, (n - 1) / {TELLERS_PER_SCALE} + 1, 0 FROM generate_series(1, {tellers}) AS n"
            ),
            format!(
                "INSERT INTO pgbench_accounts (aid, bid, abalance, filler) \
                 SELECT n, (n - 1) / {ACCOUNTS_PER_SCALE} + 1, 0, '' FROM generate_series(1, {accounts}) AS n"
            ),
        ])?;
        self.execute("COMMIT")
    }
}

fn failed(sql: &str, error: WireError) -> InitError {
    match error {
        WireError::Stopped => InitError::Stopped,
        error => InitError::Statement { sql: sql.to_owned(), error },
    }
}

/// A quoted identifier.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Statements for the four tables, in the order in which pgbench creates them.
pub(super) fn tables(wanted: &LoadPlan) -> [String; 4] {
    let aid = if wanted.scale >= BIGINT_SCALE { "bigint" } else { "int" };
    let accounts = match wanted.partitions {
        Some(partitions) => format!(" PARTITION BY {} (aid)", partitions.method.name()),
        None => with(wanted, Table::Accounts),
    };
    let [history, tellers, branches] =
        [Table::History, Table::Tellers, Table::Branches].map(|table| with(wanted, table));
    let unlogged = if wanted.unlogged && wanted.partitions.is_none() { " UNLOGGED" } else { "" };
    let space = tablespace(wanted);
    [
        (
            "history",
            format!("tid int, bid int, aid {aid}, delta int, mtime timestamp, filler char(22)"),
            &*history,
        ),
        ("tellers", "tid int NOT NULL, bid int, tbalance int, filler char(84)".to_owned(), &*tellers),
        ("accounts", format!("aid {aid} NOT NULL, bid int, abalance int, filler char(84)"), &*accounts),
        ("branches", "bid int NOT NULL, bbalance int, filler char(88)".to_owned(), &*branches),
    ]
    .map(|(name, columns, with)| format!("CREATE{unlogged} TABLE pgbench_{name} ({columns}){with}{space}"))
}

/// Statement for one partition of accounts, as in pgbench: before version 12 it does not inherit its table's
/// tablespace. The outer ranges are unbounded, so that every key has a partition.
pub(super) fn partition(wanted: &LoadPlan, partitions: Partitions, number: u64) -> String {
    let Partitions { method, count } = partitions;
    let unlogged = if wanted.unlogged { " UNLOGGED" } else { "" };
    let values = match method {
        PartitionMethod::Range => {
            let size = (ACCOUNTS_PER_SCALE * wanted.scale).div_ceil(count);
            let from =
                if number == 1 { "MINVALUE".to_owned() } else { ((number - 1) * size + 1).to_string() };
            let to = if number == count { "MAXVALUE".to_owned() } else { (number * size + 1).to_string() };
            format!("FROM ({from}) TO ({to})")
        }
        PartitionMethod::Hash => format!("WITH (MODULUS {count}, REMAINDER {})", number - 1),
    };
    format!(
        "CREATE{unlogged} TABLE pgbench_accounts_{number} PARTITION OF pgbench_accounts \
         FOR VALUES {values}{}",
        with(wanted, Table::Accounts)
    )
}

/// Storage options of a table of pgbench, each as `name=value`, separated by commas; history has none by default.
pub(super) fn options(wanted: &LoadPlan, table: Table) -> String {
    let fill = [("fillfactor", wanted.fillfactor.to_string())];
    let usual = if table == Table::History { &[][..] } else { &fill };
    joined(&wanted.options_of(table, usual))
}

/// The WITH clause of a table.
fn with(wanted: &LoadPlan, table: Table) -> String {
    let options = options(wanted, table);
    if options.is_empty() { options } else { format!(" WITH ({options})") }
}

/// Storage options as `name=value`, separated by commas.
pub(super) fn joined(options: &[(String, String)]) -> String {
    options.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
}

/// The TABLESPACE clause of a CREATE TABLE.
pub(super) fn tablespace(wanted: &LoadPlan) -> String {
    wanted.tablespace.as_ref().map_or_else(String::new, |name| format!(" TABLESPACE {}", quoted(name)))
}

pub(super) fn primary_keys(wanted: &LoadPlan) -> [String; 3] {
    let space =
        wanted.index_tablespace.as_ref().map(|name| format!(" USING INDEX TABLESPACE {}", quoted(name)));
    let space = space.unwrap_or_default();
    [("branches", "bid"), ("tellers", "tid"), ("accounts", "aid")]
        .map(|(table, key)| format!("ALTER TABLE pgbench_{table} ADD PRIMARY KEY ({key}){space}"))
}

/// Foreign keys: table, column, and referenced table.
const FOREIGN_KEYS: [(&str, &str, &str); 5] = [
    ("pgbench_tellers", "bid", "pgbench_branches"),
    ("pgbench_accounts", "bid", "pgbench_branches"),
    ("pgbench_history", "bid", "pgbench_branches"),
    ("pgbench_history", "tid", "pgbench_tellers"),
    ("pgbench_history", "aid", "pgbench_accounts"),
];

pub(super) fn foreign_keys() -> [String; 5] {
    FOREIGN_KEYS.map(|(table, key, to)| {
        format!(
            "ALTER TABLE {table} ADD CONSTRAINT {} FOREIGN KEY ({key}) REFERENCES {to}",
            foreign_key_name(table, key)
        )
    })
}

fn foreign_key_name(table: &str, key: &str) -> String {
    format!("{table}_{key}_fkey")
}

/// Names of the foreign keys of a table.
pub(super) fn foreign_key_names(table: &str) -> Vec<String> {
    let of_table = FOREIGN_KEYS.iter().filter(|(referring, ..)| *referring == table);
    of_table.map(|(table, key, _)| foreign_key_name(table, key)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> LoadPlan {
        LoadPlan {
            scale: 1,
            fillfactor: 90,
            unlogged: true,
            tablespace: Some("my \"space".to_owned()),
            ..LoadPlan::default()
        }
    }

    #[test]
    fn steps_are_checked_before_anything_is_done() {
        assert_eq!(check_steps("dt gGvpf"), Ok(()));
        assert_eq!(
            (check_steps(""), check_steps("dta"), check_steps(" ")),
            (Err(None), Err(Some('a')), Ok(()))
        );
        assert_eq!(steps("v d"), [Step::Vacuum, Step::Drop]);
    }

    #[test]
    fn tables_are_made_as_wanted() {
        let [history, tellers, accounts, branches] = tables(&wanted());
        assert!(history.starts_with("CREATE UNLOGGED TABLE pgbench_history (tid int, bid int, aid int,"));
        assert!(history.ends_with("char(22)) TABLESPACE \"my \"\"space\""), "{history}");
        for table in [tellers, accounts, branches] {
            assert!(table.ends_with(" WITH (fillfactor=90) TABLESPACE \"my \"\"space\""), "{table}");
        }
        let [history, _, accounts, _] = tables(&LoadPlan { scale: BIGINT_SCALE, ..wanted() });
        assert!(history.contains("aid bigint,") && accounts.contains("aid bigint NOT NULL"));
    }

    #[test]
    fn partitions_leave_no_key_without_a_place() {
        let ranges = Partitions { method: PartitionMethod::Range, count: 3 };
        let wanted = LoadPlan { partitions: Some(ranges), ..wanted() };
        assert!(tables(&wanted)[2].contains("PARTITION BY range (aid) TABLESPACE"));
        assert!(!tables(&wanted)[2].contains("UNLOGGED"), "the partitions are");
        let values: Vec<_> = (1..=3).map(|number| partition(&wanted, ranges, number)).collect();
        for (values, bounds) in values.iter().zip([
            "FROM (MINVALUE) TO (33335)",
            "FROM (33335) TO (66669)",
            "FROM (66669) TO (MAXVALUE)",
        ]) {
            assert!(values.contains(bounds) && values.contains("UNLOGGED"), "{values}");
        }
        let hash = partition(&wanted, Partitions { method: PartitionMethod::Hash, count: 4 }, 4);
        let end = "WITH (MODULUS 4, REMAINDER 3) WITH (fillfactor=90)";
        assert!(hash.ends_with(end), "{hash}");
    }
}
