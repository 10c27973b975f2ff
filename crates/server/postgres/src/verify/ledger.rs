//! Checks TPC-B's balances by sums instead of keys, for runs between which history is emptied.
//!
//! Runs to be compared must start from the same state, so history is emptied before each. Its sums are
//! accumulated first; at the end the sum of all balances must equal that of all deltas, and the rows of history
//! must match the commits. Tables that were there before the run have an opening balance, from which both count.

use std::time::Instant;

use pgdyno_core::problem::Problem;
use pgdyno_wire::{Session, WireError};

use super::{BalanceOutcome, Expected};

/// Tables with balances, and their columns.
const TABLES: [(&str, &str); 3] =
    [("abalance", "accounts"), ("tbalance", "tellers"), ("bbalance", "branches")];

/// Accumulated contents of history up to the last time it was emptied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ledger {
    rows: u64,
    delta: i128,
    opening: Opening,
}

/// The state from which changes count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Opening {
    rows: u64,
    delta: i128,
    /// Sums of the balances of [`TABLES`]; `None` for a table that is not examined.
    sums: [Option<i128>; 3],
}

/// Of tables as they are loaded: all balances are 0, and history is empty.
impl Default for Opening {
    fn default() -> Self {
        Self { rows: 0, delta: 0, sums: [Some(0); 3] }
    }
}

impl Ledger {
    /// The ledger of tables that were there before: changes count from their state now. Without `accounts`, which may
    /// be large, only tellers and branches are summed.
    ///
    /// # Errors
    /// A sum cannot be read.
    pub fn opened(session: &mut Session, accounts: bool) -> Result<Self, Problem> {
        let failed =
            |error: WireError| error.into_problem("could not read the balances that tables begin with");
        let (rows, delta) = rows_and_sum(session, "delta", "history").map_err(failed)?;
        let mut sums = [None; 3];
        for (sum, (column, table)) in sums.iter_mut().zip(TABLES) {
            if accounts || table != "accounts" {
                *sum = Some(rows_and_sum(session, column, table).map_err(failed)?.1);
            }
        }
        Ok(Self { opening: Opening { rows, delta, sums }, ..Self::default() })
    }

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
        let tables = &TABLES[..if expected.tellers_and_branches { 3 } else { 1 }];
        for ((column, table), opening) in tables.iter().zip(self.opening.sums) {
            let Some(opening) = opening else { continue };
            let (rows, sum) = rows_and_sum(session, column, table).map_err(failed)?;
            rows_examined += rows;
            examples.extend(self.sum(table, rows, sum - opening));
        }
        Ok(BalanceOutcome {
            rows_examined,
            history_rows: self.written(),
            violations: examples.len() as u64,
            examples,
            duration_s: start.elapsed().as_secs_f64(),
        })
    }

    /// Rows that were added to history.
    fn written(&self) -> u64 {
        self.rows.saturating_sub(self.opening.rows)
    }

    /// Compares the rows of history with the commits, of which those in doubt may be missing.
    fn history(&self, expected: &Expected) -> Vec<String> {
        let Expected { committed, in_doubt, .. } = *expected;
        let (rows, allowed) = (self.written(), committed..=committed + in_doubt);
        let wrong = !allowed.contains(&rows);
        let text = match self.opening.rows {
            0 => format!("history had {rows} rows for {committed} commits and {in_doubt} in doubt"),
            _ => format!(
                "history had {rows} rows more than before, for {committed} commits and {in_doubt} in doubt"
            ),
        };
        wrong.then_some(text).into_iter().collect()
    }

    /// Compares the sum of a table's balances, without that of its opening, with history.
    fn sum(&self, table: &str, rows: u64, sum: i128) -> Option<String> {
        let delta = self.delta - self.opening.delta;
        let since = if self.opening == Opening::default() { "sum to" } else { "changed by" };
        match rows {
            0 => Some(format!("{table}: no row was examined")),
            _ if sum == delta => None,
            _ => Some(format!("{table}: the balances {since} {sum}, history says {delta}")),
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
            assert_eq!(Ledger { rows, ..Ledger::default() }.history(&EXPECTED).len(), faults, "{rows}");
        }
    }

    #[test]
    fn a_sum_that_history_does_not_explain_is_reported() {
        let ledger = Ledger { rows: 10, delta: -7, ..Ledger::default() };
        assert_eq!(ledger.sum("accounts", 5, -7), None);
        let difference = ledger.sum("accounts", 5, -8).expect("it differs");
        assert_eq!(difference, "accounts: the balances sum to -8, history says -7");
        assert!(ledger.sum("tellers", 0, -7).is_some());
    }

    #[test]
    fn changes_of_tables_that_were_there_count_from_their_opening() {
        let opening = Opening { rows: 100, delta: 40, sums: [None, Some(3), Some(3)] };
        let ledger = Ledger { rows: 110, delta: 33, opening };
        assert_eq!(ledger.history(&EXPECTED), Vec::<String>::new());
        assert_eq!((ledger.sum("tellers", 10, -7), ledger.written()), (None, 10));
        let difference = ledger.sum("tellers", 10, -6).expect("it differs");
        assert_eq!(difference, "tellers: the balances changed by -6, history says -7");
        let fewer = Ledger { rows: 90, ..ledger };
        assert!(fewer.history(&EXPECTED)[0].contains("0 rows more than before"), "somebody emptied it");
    }
}
