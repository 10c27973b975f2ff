//! TPC-B's balances: what was added to accounts, tellers and branches is what history holds, key by key.
//!
//! The tables begin with balances of 0 and an empty history. So after any number of whole transactions every
//! `abalance` is the sum of `delta` over its `aid` in history, likewise tellers and branches, and history has as many
//! rows as transactions committed. A transaction that vanished whole leaves the balances true: this check is no proof
//! of durability, but the count of history rows is compared with the commits that the driver saw.

use std::time::Instant;

use pgdyno_core::problem::Problem;
use pgdyno_rows::tpcb;

use pgdyno_wire::{Session, WireError};

/// How many wrong keys are told.
const EXAMPLES: usize = 5;
/// Share of the accounts' pages that `touched` samples beside the keys in history, in per cent.
const SAMPLE_PERCENT: u32 = 1;

/// How much is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BalanceMode {
    /// Every row.
    Full,
    /// Accounts that history names, and a sample of the others; tellers and branches in full.
    Touched,
}

impl BalanceMode {
    /// One word for records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Touched => "touched",
        }
    }
}

/// What the driver knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Scale factor of the tables.
    pub scale: u64,
    /// Commits of transactions that write a row of history.
    pub committed: u64,
    /// Attempts of the same whose commit got no answer.
    pub in_doubt: u64,
    /// Whether all of them write tellers and branches too (`simple-update` does not).
    pub tellers_and_branches: bool,
}

/// What a check found, of every row or of sums.
#[derive(Debug, Clone, PartialEq)]
pub struct BalanceOutcome {
    /// Rows examined over all tables, of history those of all runs. Zero is a failure: nothing was checked.
    pub rows_examined: u64,
    /// Rows that history has, or has had over all runs.
    pub history_rows: u64,
    /// Violations; 0 is good.
    pub violations: u64,
    /// The first violations in words.
    pub examples: Vec<String>,
    /// Seconds it took.
    pub duration_s: f64,
}

/// Checks the balances in one REPEATABLE READ snapshot.
///
/// # Errors
/// Where the check itself could not be carried out. Violations are a result, not an error.
pub fn check_balance(
    session: &mut Session,
    mode: BalanceMode,
    expected: &Expected,
) -> Result<BalanceOutcome, Problem> {
    let start = Instant::now();
    let mut check = Check { session, rows_examined: 0, history_rows: 0, violations: 0, examples: Vec::new() };
    if let Err(error) = check.run(mode, expected) {
        let _ = check.session.execute("ROLLBACK"); // the session stays usable, if it is alive
        return Err(error.into_problem("could not check the balances"));
    }
    let Check { rows_examined, history_rows, violations, examples, .. } = check;
    let duration_s = start.elapsed().as_secs_f64();
    Ok(BalanceOutcome { rows_examined, history_rows, violations, examples, duration_s })
}

/// A table with balances.
struct Table {
    name: &'static str,
    key: &'static str,
    balance: &'static str,
    /// Rows a scale factor of 1 has.
    per_scale: u64,
    /// Rows that were loaded.
    rows: u64,
}

impl Table {
    fn new(
        name: &'static str,
        key: &'static str,
        balance: &'static str,
        per_scale: u64,
        expected: &Expected,
    ) -> Self {
        Self { name, key, balance, per_scale, rows: per_scale * expected.scale }
    }

    /// The condition on a row `t` that its key is one that was loaded, and that it lies in its branch.
    fn in_place(&self) -> String {
        let Self { key, per_scale, rows, .. } = self;
        format!("t.{key} BETWEEN 1 AND {rows} AND t.bid = (t.{key} - 1) / {per_scale} + 1")
    }
}

struct Check<'a> {
    session: &'a mut Session,
    rows_examined: u64,
    history_rows: u64,
    violations: u64,
    examples: Vec<String>,
}

impl Check<'_> {
    fn run(&mut self, mode: BalanceMode, expected: &Expected) -> Result<(), WireError> {
        self.session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        self.history(expected)?;
        let accounts = Table::new("accounts", "aid", "abalance", tpcb::ACCOUNTS_PER_SCALE, expected);
        match mode {
            BalanceMode::Full => self.whole_table(&accounts)?,
            BalanceMode::Touched => self.touched_accounts(&accounts, expected)?,
        }
        if expected.tellers_and_branches {
            self.whole_table(&Table::new("tellers", "tid", "tbalance", tpcb::TELLERS_PER_SCALE, expected))?;
            self.whole_table(&Table::new("branches", "bid", "bbalance", tpcb::BRANCHES_PER_SCALE, expected))?;
        }
        self.session.execute("COMMIT")
    }

    /// Counts rows of a table that were looked at; none at all proves nothing.
    fn examined(&mut self, table: &str, rows: u64) {
        self.rows_examined += rows;
        self.violation(u64::from(rows == 0), || format!("{table}: no row was examined"));
    }

    fn violation(&mut self, count: u64, text: impl FnOnce() -> String) {
        self.violations += count;
        if count > 0 && self.examples.len() < EXAMPLES {
            self.examples.push(text());
        }
    }

    /// As many rows of history as commits; those in doubt may be there or not.
    fn history(&mut self, expected: &Expected) -> Result<(), WireError> {
        let rows = self.number("SELECT count(*) FROM pgbench_history")?;
        self.history_rows = rows;
        self.rows_examined += rows;
        let Expected { committed, in_doubt, .. } = *expected;
        let missing = committed.saturating_sub(rows);
        self.violation(missing, || {
            format!("history has {rows} rows, {committed} transactions were acknowledged")
        });
        let extra = rows.saturating_sub(committed + in_doubt);
        self.violation(extra, || {
            format!("history has {rows} rows, at most {committed} + {in_doubt} in doubt could have committed")
        });
        Ok(())
    }

    /// Every key of a table against the sum of its deltas; a missing row on either side is a violation. Keys are those
    /// that were loaded: 1 to the number of rows, each in its branch.
    fn whole_table(&mut self, table: &Table) -> Result<(), WireError> {
        let &Table { name, key, balance, rows, .. } = table;
        let counts = self.session.query(&format!(
            "SELECT count(*), count(*) FILTER (WHERE ({}) IS NOT TRUE) FROM pgbench_{name} t",
            table.in_place()
        ))?;
        let count = |column| counts.first().and_then(|row| row.parse::<u64>(column)).unwrap_or(0);
        let (counted, displaced) = (count(0), count(1));
        self.examined(name, counted);
        self.violation(counted.abs_diff(rows), || format!("{name} has {counted} rows, {rows} were loaded"));
        self.violation(displaced, || {
            format!("{name} has {displaced} rows whose {key} or bid was not loaded so")
        });
        self.compare(
            name,
            key,
            &format!(
                "SELECT {key} AS key, t.{balance} AS balance, coalesce(h.delta, 0) AS delta FROM pgbench_{name} t \
                 FULL JOIN (SELECT {key}, sum(delta) AS delta FROM pgbench_history GROUP BY {key}) h USING ({key})"
            ),
        )
    }

    /// Accounts that history names, and a sample of those that it does not.
    fn touched_accounts(&mut self, accounts: &Table, expected: &Expected) -> Result<(), WireError> {
        let placed = accounts.in_place();
        // Both looks at the sample take the same pages; which ones, differs from run to run.
        let (sample, seed) = (SAMPLE_PERCENT, expected.committed % 1_000_000);
        let named = format!(
            "SELECT h.aid AS key, CASE WHEN {placed} THEN t.abalance END AS balance, h.delta AS delta \
             FROM (SELECT aid, sum(delta) AS delta FROM pgbench_history GROUP BY aid) h \
             LEFT JOIN pgbench_accounts t ON t.aid = h.aid"
        );
        let sampled = format!(
            "SELECT t.aid AS key, CASE WHEN {placed} THEN abalance END AS balance, 0 AS delta \
             FROM pgbench_accounts t TABLESAMPLE SYSTEM ({sample}) REPEATABLE ({seed}) \
             WHERE NOT EXISTS (SELECT FROM pgbench_history h WHERE h.aid = t.aid)"
        );
        let mut rows_examined = 0;
        for rows in [named, sampled] {
            rows_examined += self.number(&format!("SELECT count(*) FROM ({rows}) r"))?;
            self.compare("accounts", "aid", &rows)?;
        }
        self.examined("accounts", rows_examined);
        Ok(())
    }

    /// `rows` gives key, balance and delta; a balance that is not its delta, or is missing, is a violation.
    fn compare(&mut self, table: &str, key: &str, rows: &str) -> Result<(), WireError> {
        let wrong = self.session.query(&format!(
            "SELECT key, balance, delta, count(*) OVER () FROM ({rows}) r \
             WHERE balance IS DISTINCT FROM delta ORDER BY key LIMIT {EXAMPLES}"
        ))?;
        for (index, row) in wrong.iter().enumerate() {
            let count = if index == 0 { row.parse(3).unwrap_or(1) } else { 0 };
            let text = |column| row.get(column).unwrap_or("missing");
            let example =
                format!("{table}: {key} {} has balance {}, history sums to {}", text(0), text(1), text(2));
            self.violations += count;
            if self.examples.len() < EXAMPLES {
                self.examples.push(example);
            }
        }
        Ok(())
    }

    fn number(&mut self, sql: &str) -> Result<u64, WireError> {
        let text = self.session.value(sql)?;
        let number = text.as_deref().and_then(|text| text.parse().ok());
        number.ok_or_else(|| WireError::Protocol(format!("{text:?} is not a number")))
    }
}
