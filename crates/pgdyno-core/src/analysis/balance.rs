//! The balance check as arithmetic: what was added to accounts, tellers and branches is what history holds.
//!
//! It shows that what is there fits together. It cannot show that an acknowledged transaction is missing as
//! a whole, except through the number of rows in history, which is compared with the commits that pgdyno
//! counted.

/// Sums over the tables of one database at one instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Sum of `abalance`.
    pub accounts: i128,
    /// Sum of `tbalance`.
    pub tellers: i128,
    /// Sum of `bbalance`.
    pub branches: i128,
    /// Sum of `delta`.
    pub history: i128,
    /// Rows of history.
    pub history_rows: u64,
}

/// What the driver knows about the transactions that write history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Expected {
    /// Commits acknowledged since the baseline.
    pub committed: u64,
    /// Attempts whose commit got no answer: each may have left a row or not.
    pub in_doubt: u64,
    /// Whether every one of them also changed a teller and a branch (`simple-update` does not).
    pub tellers_and_branches: bool,
}

/// Violations in words, none where everything fits: totals since `before`, and the rows of history.
pub fn violations(before: &Totals, after: &Totals, expected: &Expected) -> Vec<String> {
    let mut found = Vec::new();
    let history = after.history - before.history;
    let mut compare = |table: &str, sum: i128| {
        if sum != history {
            found.push(format!("{table} changed by {sum} in all, history holds {history}"));
        }
    };
    compare("pgbench_accounts", after.accounts - before.accounts);
    if expected.tellers_and_branches {
        compare("pgbench_tellers", after.tellers - before.tellers);
        compare("pgbench_branches", after.branches - before.branches);
    }
    let rows = i128::from(after.history_rows) - i128::from(before.history_rows);
    let (least, most) = (expected.committed, expected.committed.saturating_add(expected.in_doubt));
    if rows < i128::from(least) || rows > i128::from(most) {
        let doubtful = if expected.in_doubt > 0 { format!(" to {most}") } else { String::new() };
        found.push(format!("history grew by {rows} rows, {least}{doubtful} commits were counted"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: Totals = Totals { accounts: 5, tellers: 5, branches: 5, history: 5, history_rows: 2 };
    const AFTER: Totals = Totals { accounts: 12, tellers: 12, branches: 12, history: 12, history_rows: 12 };
    const EXPECTED: Expected = Expected { committed: 10, in_doubt: 0, tellers_and_branches: true };

    #[test]
    fn sums_that_fit_are_no_violation() {
        assert_eq!(violations(&BEFORE, &AFTER, &EXPECTED), Vec::<String>::new());
        let in_doubt = Expected { committed: 8, in_doubt: 2, ..EXPECTED };
        assert_eq!(violations(&BEFORE, &AFTER, &in_doubt), Vec::<String>::new());
        let simple = Expected { tellers_and_branches: false, ..EXPECTED };
        assert_eq!(
            violations(&BEFORE, &Totals { tellers: 5, branches: 5, ..AFTER }, &simple),
            Vec::<String>::new()
        );
    }

    #[test]
    fn every_sum_that_does_not_fit_is_one() {
        for (after, violation) in [
            (Totals { accounts: 13, ..AFTER }, "pgbench_accounts changed by 8 in all, history holds 7"),
            (Totals { tellers: 11, ..AFTER }, "pgbench_tellers changed by 6 in all, history holds 7"),
            (Totals { branches: 5, ..AFTER }, "pgbench_branches changed by 0 in all, history holds 7"),
            (Totals { history_rows: 11, ..AFTER }, "history grew by 9 rows, 10 commits were counted"),
            (Totals { history_rows: 13, ..AFTER }, "history grew by 11 rows, 10 commits were counted"),
        ] {
            assert_eq!(violations(&BEFORE, &after, &EXPECTED), [violation]);
        }
        let lost = Expected { committed: 8, in_doubt: 1, ..EXPECTED };
        assert_eq!(
            violations(&BEFORE, &AFTER, &lost),
            ["history grew by 10 rows, 8 to 9 commits were counted"]
        );
    }
}
