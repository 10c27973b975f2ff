//! Checks TPC-B's balances: for every key of accounts, tellers and branches, the balance equals the sum in history.
//!
//! Balances begin at 0 and history is empty. After any number of complete transactions every `abalance` is the
//! sum of `delta` for its `aid` in history, likewise for tellers and branches, and history has one row per
//! committed transaction. Balances do not reveal a transaction that vanished completely, so this is no proof of
//! durability; but the count of history rows is compared with the commits seen by the driver.

use std::time::Instant;

use pgdyno_core::problem::Problem;
use pgdyno_rows::tpcb;

use pgdyno_wire::{Session, WireError};

/// Most wrong keys reported.
const EXAMPLES: usize = 5;
/// Per cent of the accounts' pages that `touched` samples in addition to the keys in history.
const SAMPLE_PERCENT: u32 = 1;

/// Extent of the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BalanceMode {
    /// Every row.
    Full,
    /// Accounts found in history and a sample of the others; tellers and branches in full.
    Touched,
}

impl BalanceMode {
    /// Name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Touched => "touched",
        }
    }
}

/// Counts of the driver to compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Scale factor of the tables.
    pub scale: u64,
    /// Number of commits of transactions that write to history.
    pub committed: u64,
    /// Number of such attempts whose commit got no reply.
    pub in_doubt: u64,
    /// Whether all of them update tellers and branches too (`simple-update` does not).
    pub tellers_and_branches: bool,
}

/// Result of a check, whether of rows or of sums.
#[derive(Debug, Clone, PartialEq)]
pub struct BalanceOutcome {
    /// Rows examined in all tables; for history, those of all runs. Zero is a failure, since nothing was checked.
    pub rows_examined: u64,
    /// Rows of history, over all runs.
    pub history_rows: u64,
    /// Number of violations; 0 is good.
    pub violations: u64,
    /// The first violations in words.
    pub examples: Vec<String>,
    /// Duration in seconds.
    pub duration_s: f64,
}

/// Checks the balances in one REPEATABLE READ snapshot.
///
/// # Errors
/// The check cannot be executed. Violations are a result, not an error.
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
    /// Number of rows per unit of scale.
    per_scale: u64,
    /// Number of rows loaded.
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

    /// SQL condition that the key of a row `t` is one that was loaded, and belongs to its branch.
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

    /// Counts examined rows of a table; none at all is a violation.
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

    /// Compares the rows of history with the commits, of which those in doubt may be missing.
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

    /// Compares every key of a table with the sum of its deltas; a row missing on either side is a violation.
    /// Keys must be as loaded: 1 to the number of rows, each in its branch.
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

    /// Checks accounts found in history, and a sample of the others.
    fn touched_accounts(&mut self, accounts: &Table, expected: &Expected) -> Result<(), WireError> {
        let placed = accounts.in_place();
        // Both queries sample the same pages, which differ from run to run.
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

    /// Compares rows of key, balance and delta; a balance that is missing or differs from its delta is a violation.
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
