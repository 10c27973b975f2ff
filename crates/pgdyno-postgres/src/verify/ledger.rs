//! TPC-B's balances where history is emptied between runs: sums instead of keys.
//!
//! Runs that are compared must start from the same state, so history is emptied before each of them. What it held is
//! added up here before it goes, and at the end the sum of all balances has to be that of all deltas, and history has
//! to have had a row for every commit.

use std::time::Instant;

use pgdyno_core::problem::Problem;
use pgdyno_wire::{Session, WireError};

use super::{BalanceOutcome, Expected};

/// What history has held until it was last emptied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ledger {
    rows: u64,
    delta: i128,
}

impl Ledger {
    /// Puts the tables back into the state that a run starts from: history empty, and no dead rows in the two small
    /// tables, whose few pages would grow longer with every run (pgbench does the same at its start).
    ///
    /// # Errors
    /// What the server refused.
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

    /// Holds balances and history to each other and to the driver's counts.
    ///
    /// # Errors
    /// Where the check itself could not be carried out. Violations are a result, not an error.
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

    /// A row for each commit; those in doubt may be there or not.
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

/// The number of rows of one of pgbench's tables and the sum of a column.
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
