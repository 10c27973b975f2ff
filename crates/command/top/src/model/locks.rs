//! Who blocks whom, as a tree.

use std::collections::BTreeSet;

use pgdyno_core::{
    observe::{BlockedSession, BlockingSession},
    units::{duration, printable},
};

use super::table::{Cell, Column, Mark, Row, Table, number, text};

const COLUMNS: [Column; 4] =
    [text("PID", 24), number("FOR"), text("WAITS FOR, OR STATE", 31), text("STATEMENT", 200)];
/// Deepest level that is indented further.
const DEEPEST: usize = 6;

/// A process, or a prepared transaction by its identifier.
type Who<'a> = (i32, &'a str);

/// The tree: at its roots the sessions that wait for no other, below each those that it blocks.
pub(super) fn tree(blocked: &[BlockedSession]) -> Table {
    let mut rows = Rows { blocked, rows: Vec::new(), seen: BTreeSet::new(), group: 0 };
    let waits = |who: Who<'_>| blocked.iter().any(|one| (one.pid, "") == who);
    for head in blocked.iter().filter_map(|one| one.blocked_by.first()).filter(|by| !waits(who(by))) {
        rows.head(head);
    }
    // What is left is a circle.
    for one in blocked {
        rows.blocked(one, 0, " (a deadlock, not resolved yet)");
    }
    let mut table = Table::new("", COLUMNS, rows.rows);
    table.is_tree = true;
    table
}

fn who(by: &BlockingSession) -> Who<'_> {
    (by.pid, if by.pid == 0 { &by.statement } else { "" })
}

struct Rows<'a> {
    blocked: &'a [BlockedSession],
    rows: Vec<Row>,
    seen: BTreeSet<Who<'a>>,
    group: usize,
}

impl<'a> Rows<'a> {
    /// A session that waits for no other, with all that wait for it.
    fn head(&mut self, head: &'a BlockingSession) {
        if !self.seen.insert(who(head)) {
            return;
        }
        self.group += 1;
        let name = if head.pid == 0 { "prepared".to_owned() } else { head.pid.to_string() };
        let state = if head.pid == 0 { "transaction".to_owned() } else { head.state.clone() };
        self.add(name, head.transaction_age_s, state, &head.statement, Mark::Warning);
        self.below(who(head), 1);
    }

    fn below(&mut self, head: Who<'a>, depth: usize) {
        let blocked = self.blocked;
        let is_first = |one: &&BlockedSession| one.blocked_by.first().is_some_and(|by| who(by) == head);
        for one in blocked.iter().filter(is_first) {
            self.blocked(one, depth, "");
        }
    }

    fn blocked(&mut self, one: &'a BlockedSession, depth: usize, suffix: &str) {
        if !self.seen.insert((one.pid, "")) {
            return;
        }
        if depth == 0 {
            self.group += 1;
        }
        let indent = "  ".repeat(depth.min(DEEPEST).saturating_sub(1));
        let branch = if depth == 0 { "" } else { "└ " };
        let others: Vec<_> = one.blocked_by.iter().skip(1).map(|by| by.pid.to_string()).collect();
        let others =
            if others.is_empty() { String::new() } else { format!(", also behind {}", others.join(" ")) };
        let on = one.relation.as_deref().unwrap_or(&one.lock);
        let lock = format!("{} {}{suffix}{others}", one.mode, printable(on));
        self.add(format!("{indent}{branch}{}", one.pid), one.waited_s, lock, &one.statement, Mark::Plain);
        self.below((one.pid, ""), depth + 1);
    }

    fn add(&mut self, name: String, age_s: Option<f64>, state: String, statement: &str, mark: Mark) {
        let cells = [
            Cell::text(name),
            Cell::number(age_s, duration),
            Cell::text(state),
            Cell::text(printable(statement)),
        ];
        self.rows.push(Row { cells: cells.into(), mark, group: self.group });
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A session that waits behind others.
    pub(in crate::model) fn waits(pid: i32, by: &[i32]) -> BlockedSession {
        let behind = |pid: &i32| BlockingSession {
            pid: *pid,
            state: "idle in transaction".to_owned(),
            statement: format!("UPDATE of {pid}"),
            transaction_age_s: Some(75.0),
        };
        BlockedSession {
            pid,
            lock: "transactionid".to_owned(),
            mode: "ShareLock".to_owned(),
            relation: (pid % 2 == 1).then(|| "pgbench_branches".to_owned()),
            waited_s: Some(8.25),
            statement: format!("UPDATE of {pid}"),
            blocked_by: by.iter().map(behind).collect(),
        }
    }

    fn shown(blocked: &[BlockedSession]) -> Vec<String> {
        tree(blocked).lines(80, None).into_iter().skip(1).map(|line| line.text).collect()
    }

    #[test]
    fn a_queue_hangs_below_its_head() {
        let lines = shown(&[waits(12, &[11]), waits(13, &[12]), waits(14, &[11, 12]), waits(21, &[20])]);
        assert_eq!(
            lines,
            [
                "11     1 min 15 s idle in transaction             UPDATE of 11",
                "└ 12       8.25 s ShareLock transactionid         UPDATE of 12",
                "  └ 13     8.25 s ShareLock pgbench_branches      UPDATE of 13",
                "└ 14       8.25 s ShareLock transactionid, also … UPDATE of 14",
                "20     1 min 15 s idle in transaction             UPDATE of 20",
                "└ 21       8.25 s ShareLock pgbench_branches      UPDATE of 21",
            ]
        );
    }

    #[test]
    fn a_circle_is_said_to_be_one_and_every_session_is_there_once() {
        let lines = shown(&[waits(2, &[4]), waits(4, &[2]), waits(6, &[2])]);
        assert_eq!(lines.len(), 3, "{lines:?}");
        let table = tree(&[waits(2, &[4]), waits(4, &[2])]);
        let wide = table.lines(200, None);
        assert!(wide[1].text.contains("a deadlock, not resolved yet"), "{wide:?}");
    }

    #[test]
    fn prepared_transactions_are_distinguished_by_their_identifiers() {
        let mut first = waits(2, &[0]);
        let mut second = waits(4, &[0]);
        first.blocked_by[0].statement = "one".to_owned();
        second.blocked_by[0].statement = "two".to_owned();
        let lines = shown(&[first, second]);
        assert!(lines[0].starts_with("prepared ") && lines[0].ends_with(" one"), "{lines:?}");
        assert!(lines[2].ends_with(" two") && lines.len() == 4, "{lines:?}");
    }
}
