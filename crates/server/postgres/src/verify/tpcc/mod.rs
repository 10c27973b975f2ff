//! Checks TPC-C's consistency conditions (clause 3.3.2) and some more, over all rows, in one snapshot.
//!
//! The conditions reveal partial, repeated or misdirected transactions. They do not reveal a transaction that
//! vanished completely, so they are no proof of durability.

mod conditions;

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use pgdyno_core::{problem::Problem, stop::Stop, tpcc::ITEMS};
use pgdyno_wire::{ConnectOptions, Row, Session, WireError};

pub use conditions::{CONDITIONS, Condition};

use crate::session::{SessionPool, open};

/// Most violating places reported per condition, for each range of warehouses.
const EXAMPLES: usize = 100;
/// Warehouses in a range, and most ranges: each range reads history, which has no index.
const STRETCH: u64 = 64;
const MOST_STRETCHES: u64 = 64;
/// Warehouses in a range for conditions on stock, each of which reads all order lines.
const STOCK_STRETCH: u64 = 1_000;
/// `work_mem`, beyond which a range spills to files.
const WORK_MEMORY: &str = "64MB";
/// First version whose hash aggregates spill; older ones use any amount of memory.
const SPILLING_HASHES_SINCE: u32 = 13;

/// Number of the condition about missing or surplus rows.
const ROWS: usize = 17;

/// Result of a check.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Consistency {
    /// Number of warehouses.
    pub warehouses: u64,
    /// Rows examined in all tables; none proves nothing.
    pub rows_examined: u64,
    /// Violated conditions.
    pub violations: Vec<Violation>,
    /// Duration in seconds.
    pub duration_s: f64,
}

/// A violated condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The condition.
    pub condition: Condition,
    /// Number of places that violate it.
    pub count: u64,
    /// Some of the places in words.
    pub places: Vec<String>,
}

/// A query over a range of warehouses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Task {
    sql: &'static str,
    first: i64,
    last: i64,
}

impl Task {
    fn sql(&self) -> String {
        let numbers = [(":first", self.first), (":last", self.last), (":examples", EXAMPLES as i64)];
        numbers.iter().fold(self.sql.to_owned(), |sql, (name, value)| sql.replace(name, &value.to_string()))
    }
}

/// Checks all rows of the tables in a session's search path, with several sessions that share a snapshot.
/// `on_progress` receives the number of completed queries and their total.
///
/// # Errors
/// The check cannot be executed. Violations are a result, not an error.
pub fn check_tpcc(
    options: &ConnectOptions,
    sessions: u64,
    stop: &Stop,
    on_progress: &mut dyn FnMut(u64, u64),
) -> Result<Consistency, Problem> {
    let start = Instant::now();
    let mut leader = open(options, stop)?;
    let (warehouses, missing, snapshot) = begin(&mut leader, sessions).map_err(unreadable)?;
    if warehouses == 0 {
        let problem = Problem::wrong_request("could not check TPC-C's tables: there is no warehouse");
        return Err(problem.hint("load them by `pgdyno load tpcc`"));
    }
    let tasks = tasks(warehouses, sessions);
    let rows = Mutex::new(missing);
    let done = AtomicU64::new(0);
    let work = |session: &mut Session, number: usize| {
        let found = session.query(&tasks[number].sql()).and_then(|rows| read(&rows)).map_err(unreadable)?;
        rows.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
        done.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    let settings = settings(&leader, snapshot.as_deref());
    let mut tick = || on_progress(done.load(Ordering::Relaxed), tasks.len() as u64);
    SessionPool { options, sessions, settings: &settings, stop }.work(tasks.len(), &work, &mut tick)?;
    let rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Consistency { warehouses, duration_s: start.elapsed().as_secs_f64(), ..consistency(rows) })
}

fn unreadable(error: WireError) -> Problem {
    let missing =
        matches!(&error, WireError::Server(error) if ["42P01", "42703"].contains(&error.code.as_str()));
    let problem = error.into_problem("could not check TPC-C's tables");
    if missing {
        Problem::wrong_request(problem.what)
            .hint("names must be those of the specification, as created by `pgdyno load tpcc`")
    } else {
        problem
    }
}

/// Begins the transaction whose snapshot all sessions share: returns the number of warehouses, violations found
/// in them and in items, and the snapshot's name if there are other sessions.
fn begin(session: &mut Session, sessions: u64) -> Result<(u64, Vec<Found>, Option<String>), WireError> {
    session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
    let counts = "SELECT count(*), min(w_id), max(w_id), (SELECT count(*) FROM item) FROM warehouse";
    let counts = session.query(counts)?;
    let number = |column| counts.first().and_then(|row| row.parse::<i64>(column)).unwrap_or(0);
    let (warehouses, items) = (number(0), number(3));
    let mut found = vec![Found::rows(items as u64)];
    if (number(1), number(2)) != (1, warehouses) || items != ITEMS as i64 {
        found.push(Found { condition: ROWS, count: 1, ..Found::default() });
    }
    // A standby of version 9.6 exports no snapshots, so one session does everything.
    let snapshot = match session.value("SELECT pg_catalog.pg_export_snapshot()") {
        Err(WireError::Server(_)) if sessions == 1 => None,
        exported => exported?,
    };
    Ok((warehouses as u64, found, snapshot))
}

/// Statements that a session runs first.
fn settings(leader: &Session, snapshot: Option<&str>) -> String {
    let mut sql = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY".to_owned();
    if let Some(snapshot) = snapshot {
        sql += &format!("; SET TRANSACTION SNAPSHOT '{snapshot}'");
    }
    sql += &format!("; SET LOCAL work_mem = '{WORK_MEMORY}'");
    if leader.major().is_some_and(|major| major < SPILLING_HASHES_SINCE) {
        sql += "; SET LOCAL enable_hashagg = off";
    }
    sql
}

/// All queries, the longest first.
fn tasks(warehouses: u64, sessions: u64) -> Vec<Task> {
    let of = |sql, pieces: u64| {
        let pieces = pieces.clamp(1, warehouses);
        let cut = move |piece: u64| (warehouses as u128 * u128::from(piece) / u128::from(pieces)) as i64;
        (0..pieces).map(move |piece| Task {
            sql,
            // Rows beyond the warehouses are violations, too.
            first: if piece == 0 { i32::MIN.into() } else { cut(piece) + 1 },
            last: if piece + 1 == pieces { i32::MAX.into() } else { cut(piece + 1) },
        })
    };
    let stretches = warehouses.div_ceil(STRETCH).min(MOST_STRETCHES).max(sessions);
    let stock = of(include_str!("stock.sql"), warehouses.div_ceil(STOCK_STRETCH).min(MOST_STRETCHES));
    stock.chain(of(include_str!("conditions.sql"), stretches)).collect()
}

/// A row of a query's result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Found {
    condition: usize,
    warehouse: Option<i64>,
    district: Option<i64>,
    what: Option<String>,
    number: Option<i64>,
    count: u64,
}

impl Found {
    fn rows(count: u64) -> Self {
        Self { count, ..Self::default() }
    }

    /// `None` for an unexpected row, so that no finding is ignored.
    fn read(row: &Row) -> Option<Self> {
        Some(Self {
            condition: row.parse(0).filter(|number| *number <= CONDITIONS.len())?,
            warehouse: row.parse(1),
            district: row.parse(2),
            what: row.get(3).map(str::to_owned),
            number: row.parse(4),
            count: row.parse(5)?,
        })
    }

    fn place(&self) -> String {
        let named = |name: &str, number: Option<i64>| number.map(|number| format!("{name} {number}"));
        let parts = [
            named("warehouse", self.warehouse),
            named("district", self.district),
            named(self.what.as_deref().unwrap_or_default(), self.number),
        ];
        let place = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        if place.is_empty() { "warehouses from 1 on, or items".to_owned() } else { place }
    }
}

fn read(rows: &[Row]) -> Result<Vec<Found>, WireError> {
    let found = rows.iter().map(Found::read).collect::<Option<_>>();
    found.ok_or_else(|| WireError::Protocol("a row without a known condition".to_owned()))
}

fn consistency(rows: Vec<Found>) -> Consistency {
    let mut violations: BTreeMap<usize, (u64, Vec<String>)> = BTreeMap::new();
    let mut rows_examined = 0;
    for found in rows {
        if found.condition == 0 {
            rows_examined += found.count;
            continue;
        }
        let (count, places) = violations.entry(found.condition).or_default();
        *count += found.count;
        places.push(found.place());
    }
    let violations = violations.into_iter().filter_map(|(number, (count, mut places))| {
        places.sort_unstable();
        Some(Violation { condition: *CONDITIONS.get(number - 1)?, count, places })
    });
    Consistency { rows_examined, violations: violations.collect(), ..Consistency::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_warehouse_is_in_one_stretch() {
        for (warehouses, sessions) in [(1, 8), (3, 2), (1_000, 4), (1_000_000, 16)] {
            for sql in [include_str!("stock.sql"), include_str!("conditions.sql")] {
                let of: Vec<_> =
                    tasks(warehouses, sessions).into_iter().filter(|task| task.sql == sql).collect();
                assert!(of.windows(2).all(|pair| pair[0].last + 1 == pair[1].first), "{of:?}");
                let (first, last) = (of[0].first, of[of.len() - 1].last);
                assert_eq!((first, last), (i32::MIN.into(), i32::MAX.into()));
                assert!(of.len() as u64 <= warehouses.min(64.max(sessions)));
            }
        }
    }

    #[test]
    fn violations_are_reported_by_condition() {
        let found = |condition, number, count| Found {
            condition,
            warehouse: Some(2),
            district: Some(7),
            what: Some("order".to_owned()),
            number: Some(number),
            count,
        };
        let rows = vec![Found::rows(40), found(6, 9, 1), found(5, 9, 1), Found::rows(2), found(6, 8, 3)];
        let checked = consistency(rows);
        let names: Vec<_> = checked.violations.iter().map(|one| (one.condition.name, one.count)).collect();
        assert_eq!((checked.rows_examined, names), (42, vec![("3.3.2.5", 1), ("3.3.2.6", 4)]));
        assert_eq!(checked.violations[1].places[0], "warehouse 2, district 7, order 8");
    }

    #[test]
    fn queries_have_all_their_numbers() {
        for task in tasks(100, 2) {
            let sql = task.sql();
            assert!(!sql.contains(":first") && !sql.contains(":last") && !sql.contains(":examples"));
        }
    }
}
