//! Who blocks whom.

use std::collections::{BTreeMap, BTreeSet};

use pgdyno_core::{
    observe::{BlockedSession, BlockingSession, MOST_BLOCKED},
    statement::{SHOWN_CHARS, shown},
};
use pgdyno_wire::{Row, Session, WireError};

use crate::activity::{
    prepared::Prepared,
    sql::{OWN, own_pids},
};

/// Most sessions that are named as blocking one.
const MOST_BLOCKERS: usize = 5;
/// Most locks on one object that are compared with a wanted one (9.5).
const MOST_ON_OBJECT: usize = 50;
/// Version from which on the server says who blocks a session.
const BLOCKERS_SINCE: u32 = 90_600;
/// Characters of a statement that are queried: what is shown is cut after secrets are removed.
const ASKED_CHARS: usize = 1_000;
/// State of a session that the role may not see.
const NOT_SEEN: &str = "not seen";

/// Reads who blocks whom. The server copies its lock table for the answer: ask only if
/// [`WaitTally::locks_suspected`](crate::activity::WaitTally::locks_suspected), and a few times a second at most.
#[derive(Debug, Clone)]
pub struct BlockedReader {
    version_num: u32,
    query: Prepared,
}

impl BlockedReader {
    /// A reader for a server of this version. `except` are the process IDs of pgdyno's own sessions.
    pub fn new(version_num: u32, except: &[i32]) -> Self {
        Self { version_num, query: Prepared::new("pgdyno_blocked", look(version_num, except)) }
    }

    /// The sessions that wait for a heavyweight lock, those that wait longest first, with the sessions that block them.
    ///
    /// # Errors
    /// See [`Session::query`].
    pub fn read(&mut self, session: &mut Session) -> Result<Vec<BlockedSession>, WireError> {
        let rows = self.query.run(session)?;
        let mut blocked = match self.version_num {
            0..BLOCKERS_SINCE => assembled(blocking(&rows).into_iter()),
            _ => assembled(rows.iter()),
        };
        if blocked.iter().any(|one| one.blocked_by.iter().any(|by| by.pid == 0)) {
            name_prepared(session, &mut blocked)?;
        }
        Ok(blocked)
    }
}

/// One row for each pair of a blocked session and one that blocks it. The waiting locks are joined with the activity,
/// not with its wait events: every role may see them.
fn look(version_num: u32, except: &[i32]) -> String {
    let since = if version_num < 140_000 { "NULL::pg_catalog.timestamptz" } else { "waitstart" };
    let blockers = match version_num {
        // Who is before whom in the queue is not known.
        0..BLOCKERS_SINCE => format!(
            "JOIN LATERAL (SELECT x.pid, x.mode, x.granted FROM l x WHERE {} AND x.pid IS DISTINCT FROM w.pid \
             ORDER BY x.granted DESC LIMIT {MOST_ON_OBJECT}) b ON true",
            same_object("x", "w")
        ),
        // In the order in which they came, so that who holds the lock is before those who wait for it.
        _ => format!(
            "LEFT JOIN LATERAL (SELECT x AS pid, NULL::text AS mode, true AS granted \
             FROM pg_catalog.unnest(pg_catalog.pg_blocking_pids(w.pid)) x LIMIT {MOST_BLOCKERS}) b ON true"
        ),
    };
    let relation = "CASE WHEN w.database = (SELECT d.oid FROM pg_catalog.pg_database d \
         WHERE d.datname = pg_catalog.current_database()) OR w.database = 0 \
         THEN w.relation::pg_catalog.regclass::text ELSE w.relation::text END";
    let age = |of: &str| format!("pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() - {of})");
    format!(
        "WITH a AS (SELECT pid, state, query, query_start, xact_start \
         FROM pg_catalog.pg_stat_get_activity(NULL)), l AS (SELECT * FROM pg_catalog.pg_locks), \
         w AS (SELECT l.*, a.query, coalesce({since}, a.query_start) AS since \
         FROM l LEFT JOIN a ON a.pid = l.pid \
         WHERE NOT l.granted AND l.pid IS NOT NULL AND l.pid NOT IN {} \
         ORDER BY coalesce({since}, a.query_start), l.pid LIMIT {MOST_BLOCKED}) \
         SELECT w.pid, w.locktype, w.mode, {relation}, {}, pg_catalog.left(w.query, {ASKED_CHARS}), \
         coalesce(b.pid, 0), a.state, pg_catalog.left(a.query, {ASKED_CHARS}), {}, b.mode, b.granted \
         FROM w {blockers} LEFT JOIN a ON a.pid = b.pid ORDER BY w.since, w.pid, b.granted DESC",
        own_pids(except),
        age("w.since"),
        age("a.xact_start"),
    )
}

/// Columns that say what a lock is about.
const OBJECT: &str =
    "locktype, database, relation, page, tuple, virtualxid, transactionid, classid, objid, objsubid";

fn same_object(a: &str, b: &str) -> String {
    let same = |column: &str| format!("{a}.{column} IS NOT DISTINCT FROM {b}.{column}");
    OBJECT.split(", ").map(same).collect::<Vec<_>>().join(" AND ")
}

/// The pairs of which one blocks the other: it holds a conflicting lock or, if no session holds one, requests it.
fn blocking(rows: &[Row]) -> Vec<&Row> {
    let conflicts =
        |row: &&Row| row.get(2).zip(row.get(10)).is_some_and(|(wanted, held)| conflict(wanted, held));
    let (held, wanted): (Vec<&Row>, Vec<&Row>) =
        rows.iter().filter(conflicts).partition(|row| row.get(11) == Some("t"));
    let blocked: BTreeSet<_> = held.iter().map(|row| row.get(0)).collect();
    let queued = wanted.into_iter().filter(|row| !blocked.contains(&row.get(0)));
    let pids: BTreeSet<_> = held.iter().copied().chain(queued).map(|row| (row.get(0), row.get(6))).collect();
    rows.iter().filter(conflicts).filter(|row| pids.contains(&(row.get(0), row.get(6)))).collect()
}

/// The modes of table locks that conflict with each, as in the manual's table "Conflicting Lock Modes"; predicate locks
/// (`SIReadLock`) conflict with none.
fn conflict(wanted: &str, held: &str) -> bool {
    const MODES: [(&str, u8); 8] = [
        ("AccessShareLock", 0b1000_0000),
        ("RowShareLock", 0b1100_0000),
        ("RowExclusiveLock", 0b1111_0000),
        ("ShareUpdateExclusiveLock", 0b1111_1000),
        ("ShareLock", 0b1110_1100),
        ("ShareRowExclusiveLock", 0b1111_1100),
        ("ExclusiveLock", 0b1111_1110),
        ("AccessExclusiveLock", 0b1111_1111),
    ];
    let wanted = MODES.iter().find(|(mode, _)| *mode == wanted);
    let held = MODES.iter().position(|(mode, _)| *mode == held);
    wanted.zip(held).is_some_and(|((_, conflicts), held)| conflicts & (1 << held) != 0)
}

/// Puts the pairs together. A session without a blocker got its lock meanwhile, and is left out.
fn assembled<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<BlockedSession> {
    let mut blocked: Vec<BlockedSession> = Vec::new();
    for row in rows {
        let Some(one) = blocked_session(row) else { continue };
        // Behind the last row of a session there is another one.
        if blocked.last().is_none_or(|last| last.pid != one.pid) {
            blocked.push(one);
        }
        let by = blocking_session(row);
        if let Some((last, by)) = blocked.last_mut().zip(by) {
            let known = last.blocked_by.iter().any(|other| other.pid == by.pid);
            if !known && last.blocked_by.len() < MOST_BLOCKERS {
                last.blocked_by.push(by);
            }
        }
    }
    blocked.retain(|one| !one.blocked_by.is_empty());
    blocked
}

fn blocked_session(row: &Row) -> Option<BlockedSession> {
    Some(BlockedSession {
        pid: row.parse(0)?,
        lock: row.get(1)?.to_owned(),
        mode: row.get(2)?.to_owned(),
        relation: row.get(3).map(str::to_owned),
        waited_s: row.parse(4),
        statement: shown(row.get(5).unwrap_or_default(), SHOWN_CHARS),
        blocked_by: Vec::new(),
    })
}

/// The other side of a pair; `None` if no session blocks any more.
fn blocking_session(row: &Row) -> Option<BlockingSession> {
    row.get(11)?;
    let pid = row.parse(6)?;
    let state = if pid == 0 { "prepared transaction" } else { row.get(7).unwrap_or(NOT_SEEN) };
    Some(BlockingSession {
        pid,
        state: state.to_owned(),
        statement: shown(row.get(8).unwrap_or_default(), SHOWN_CHARS),
        transaction_age_s: row.parse(9),
    })
}

/// Names the prepared transactions in the way: they have no process, but each holds the lock of its own number.
fn name_prepared(session: &mut Session, blocked: &mut [BlockedSession]) -> Result<(), WireError> {
    let pids: Vec<_> = blocked.iter().map(|one| one.pid.to_string()).collect();
    let rows = session.query(&format!(
        "{OWN} SELECT w.pid, p.gid, pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() - p.prepared), \
         w.mode, g.mode \
         FROM pg_catalog.pg_locks w JOIN pg_catalog.pg_locks g ON g.granted AND g.pid IS NULL AND {} \
         JOIN pg_catalog.pg_locks x ON x.pid IS NULL AND x.locktype = 'transactionid' \
         AND x.virtualtransaction = g.virtualtransaction \
         JOIN pg_catalog.pg_prepared_xacts p ON p.transaction = x.transactionid \
         WHERE NOT w.granted AND w.pid IN ({}) ORDER BY p.prepared",
        same_object("g", "w"),
        pids.join(", ")
    ))?;
    let mut of: BTreeMap<i32, &Row> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.get(3).zip(row.get(4)).is_some_and(|(w, g)| conflict(w, g))) {
        if let Some(pid) = row.parse(0) {
            of.entry(pid).or_insert(row);
        }
    }
    for one in blocked {
        let prepared = one.blocked_by.iter_mut().find(|by| by.pid == 0);
        if let Some((by, row)) = prepared.zip(of.get(&one.pid)) {
            by.statement = shown(row.get(1).unwrap_or_default(), SHOWN_CHARS);
            by.transaction_age_s = row.parse(2);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_conflict_as_in_the_manual() {
        assert!(conflict("ShareLock", "ExclusiveLock") && conflict("ExclusiveLock", "ShareLock"));
        assert!(conflict("AccessShareLock", "AccessExclusiveLock"));
        assert!(!conflict("AccessShareLock", "ExclusiveLock") && !conflict("ShareLock", "ShareLock"));
        assert!(
            !conflict("RowExclusiveLock", "RowExclusiveLock") && conflict("RowExclusiveLock", "ShareLock")
        );
        assert!(conflict("ShareUpdateExclusiveLock", "ShareUpdateExclusiveLock"));
        assert!(!conflict("ShareLock", "SIReadLock") && !conflict("SIReadLock", "ExclusiveLock"));
        let modes = [
            "AccessShareLock",
            "RowShareLock",
            "RowExclusiveLock",
            "ShareUpdateExclusiveLock",
            "ShareLock",
            "ShareRowExclusiveLock",
            "ExclusiveLock",
            "AccessExclusiveLock",
        ];
        for a in modes {
            assert!(modes.iter().all(|b| conflict(a, b) == conflict(b, a)), "conflicts are mutual: {a}");
        }
    }

    #[test]
    fn a_major_is_asked_for_what_it_has() {
        assert!(
            !look(90_503, &[]).contains("pg_blocking_pids") && look(90_624, &[]).contains("pg_blocking_pids")
        );
        assert!(!look(130_000, &[]).contains("waitstart") && look(140_000, &[]).contains("waitstart"));
    }
}
