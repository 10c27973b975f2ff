//! Checks TPC-B's balances by sums instead of keys, for runs between which history is emptied.
//!
//! Runs to be compared must start from the same state, so history is emptied before each. Its sums are
//! accumulated first; at the end the sum of all balances must equal that of all deltas, and the rows of history
//! must match the commits.

use std::time::Instant;

use pgdyno_core::problem::Problem;
use pgdyno_wire::{Session, WireError};

use super::{BalanceOutcome, Expected};

/// Accumulated contents of history up to the last time it was emptied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ledger {
    rows: u64,
    delta: i128,
}

impl Ledger {
    /// Restores the state that runs start from: empties history, and vacuums the two small tables, which would
    /// otherwise grow with every run (pgbench does the same at its start).
    ///
    /// # Errors
    /// A statement fails.
    pub fn reset(&mut self, session: &mut Session) -> Result<(), WireError> {
        self.add(session)?;
        session.execute("TRUNCATE pgbench_history")?;
        session.execute("VACUUM pgbench_branches")?;
        session.execute("VACUUM pgbench_tellers")
    }

    fn add(&mut self, session: &mut Session) -> Result<(), WireError> {
        let (rows, delta) = rows_and_sum(session, "delta", "history")?;
        self.rows += rows;
        self.delta += delta;
        Ok(())
    }

    /// Compares balances, history and the driver's counts.
    ///
    /// # Errors
    /// The check cannot be executed. Violations are a result, not an error.
    pub fn check(mut self, session: &mut Session, expected: &Expected) -> Result<BalanceOutcome, Problem> {
        let start = Instant::now();
        let failed = |error: WireError| error.into_problem("could not check the balances");
        self.add(session).map_err(failed)?;
        let mut examples = self.history(expected);
        let mut rows_examined = self.rows;
        let tables = [("abalance", "accounts"), ("tbalance", "tellers"), ("bbalance", "branches")];
        for (column, table) in &tables[..if expected.tellers_and_branches { 3 } else { 1 }] {
            let (rows, sum) = rows_and_sum(session, column, table).map_err(failed)?;
            rows_examined += rows;
            examples.extend(self.sum(table, rows, sum));
        }
        Ok(BalanceOutcome {
            rows_examined,
            history_rows: self.rows,
            violations: examples.len() as u64,
            examples,
            duration_s: start.elapsed().as_secs_f64(),
        })
    }

    /// Compares the rows of history with the commits, of which those in doubt may be missing.
    fn history(&self, expected: &Expected) -> Vec<String> {
        let Expected { committed, in_doubt, .. } = *expected;
        let (rows, allowed) = (self.rows, committed..=committed + in_doubt);
        let wrong = !allowed.contains(&rows);
        let text = format!("history had {rows} rows for {committed} commits and {in_doubt} in doubt");
        wrong.then_some(text).into_iter().collect()
    }

    fn sum(&self, table: &str, rows: u64, sum: i128) -> Option<String> {
        match rows {
            0 => Some(format!("{table}: no row was examined")),
            _ if sum == self.delta => None,
            _ => Some(format!("{table}: the balances sum to {sum}, history says {}", self.delta)),
        }
    }
}

/// Number of rows of one of pgbench's tables, and the sum of a column.
fn rows_and_sum(session: &mut Session, column: &str, table: &str) -> Result<(u64, i128), WireError> {
    let rows = session
        .query(&format!("SELECT count(*), coalesce(sum({column}::numeric), 0) FROM pgbench_{table}"))?;
    let first = rows.first();
    Ok((first.and_then(|row| row.parse(0)).unwrap_or(0), first.and_then(|row| row.parse(1)).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPECTED: Expected = Expected { scale: 1, committed: 10, in_doubt: 2, tellers_and_branches: true };

    #[test]
    fn commits_in_doubt_may_be_there_or_not() {
        for (rows, faults) in [(9, 1), (10, 0), (12, 0), (13, 1)] {
            assert_eq!(Ledger { rows, delta: 0 }.history(&EXPECTED).len(), faults, "{rows}");
        }
    }

    #[test]
    fn a_sum_that_history_does_not_explain_is_told() {
        let ledger = Ledger { rows: 10, delta: -7 };
        assert_eq!(ledger.sum("accounts", 5, -7), None);
        let told = ledger.sum("accounts", 5, -8).expect("it differs");
        assert_eq!(told, "accounts: the balances sum to -8, history says -7");
        assert!(ledger.sum("tellers", 0, -7).is_some());
    }
}
