//! What sessions and background processes are doing at an instant.

mod tally;

pub use tally::WaitTally;

use pgdyno_core::observe::{SessionSample, WaitSample};
use pgdyno_wire::{Row, Session, WireError};

use crate::{
    prepared::Prepared,
    sql::{databases, own_pids},
};

/// Most sessions of a sample that are named: those that have been in their transaction for the longest time.
const MOST_NAMED: usize = 50;
/// Most activities of a sample with their query ids; of the rarer ones only event and backend type are told.
const MOST_WITH_ID: usize = 100;
/// Transactions younger than this are not named.
const LEAST_AGE_MS: u64 = 10;

/// Samples the activity of sessions, meant for ten times a second or more. The server counts, so the answer is short
/// however many sessions there are: some hundred rows at most.
#[derive(Debug, Clone)]
pub struct WaitReader(Prepared);

/// What sessions and background processes were doing at one instant.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ActivitySample {
    /// How many processes were in each activity.
    pub seen: Vec<WaitSample>,
    /// Client sessions that were in a transaction; 0 if none of them is in `oldest`.
    pub in_transaction: u64,
    /// Those that had been in it for the longest time, at most 50, and none for less than 10 ms; the oldest first.
    pub oldest: Vec<SessionSample>,
}

impl WaitReader {
    /// Samples the sessions of these databases, or of the current one if none is named, and from version 10 on the
    /// processes that belong to no database. `except` are the process IDs of pgdyno's own sessions; the asking one is
    /// always left out.
    pub fn new(version_num: u32, of: &[String], except: &[i32]) -> Self {
        Self(Prepared::new("pgdyno_waits", look(version_num, of, except)))
    }

    /// Takes a sample.
    ///
    /// # Errors
    /// See [`Session::query`].
    pub fn read(&mut self, session: &mut Session) -> Result<ActivitySample, WireError> {
        let mut sample = ActivitySample::default();
        for row in self.0.run(session)? {
            if row.get(PID).is_none() {
                sample.seen.extend(activity(&row));
            } else if let Some((one, in_transaction)) = session_in_transaction(&row).zip(row.parse(COUNT)) {
                sample.in_transaction = in_transaction;
                sample.oldest.push(one);
            }
        }
        Ok(sample)
    }
}

/// Columns of the answer: event, backend type, query id, then these.
const COUNT: usize = 3;
const PID: usize = 4;

fn activity(row: &Row) -> Option<WaitSample> {
    Some(WaitSample {
        event: row.get(0)?.to_owned(),
        backend: row.get(1)?.to_owned(),
        query_id: row.parse(2),
        count: row.parse(COUNT)?,
    })
}

fn session_in_transaction(row: &Row) -> Option<SessionSample> {
    Some(SessionSample {
        pid: row.parse(PID)?,
        event: row.get(0)?.to_owned(),
        query_id: row.parse(2),
        transaction_age_s: row.parse(5)?,
        statement_age_s: row.parse(6),
    })
}

/// One scan of the function below `pg_stat_activity` (the view looks up the names of databases and roles besides): the
/// server keeps the result of `a`, because it is used twice.
fn look(version_num: u32, of: &[String], except: &[i32]) -> String {
    let client = if version_num < 100_000 { "session" } else { "client backend" };
    let age = |of: &str| format!("pg_catalog.date_part('epoch', o.now - o.{of})");
    format!(
        "WITH a AS ({}), g AS (SELECT event, backend, query_id, pg_catalog.count(*) AS many FROM a GROUP BY 1, 2, 3) \
         SELECT event, backend, CASE WHEN place <= {MOST_WITH_ID} THEN query_id END, pg_catalog.sum(many), \
         NULL::pg_catalog.int4, NULL::pg_catalog.float8, NULL::pg_catalog.float8 \
         FROM (SELECT g.*, pg_catalog.row_number() OVER (ORDER BY many DESC) AS place FROM g) r GROUP BY 1, 2, 3 \
         UNION ALL (SELECT event, NULL, query_id, all_of_them, pid, {}, {} \
         FROM (SELECT a.*, pg_catalog.count(*) OVER () AS all_of_them, pg_catalog.clock_timestamp() AS now FROM a \
         WHERE backend = '{client}' AND xact_start IS NOT NULL ORDER BY xact_start LIMIT {MOST_NAMED}) o \
         WHERE o.now - o.xact_start >= '{LEAST_AGE_MS} ms'::pg_catalog.interval ORDER BY o.xact_start)",
        activities(version_num, of, except),
        age("xact_start"),
        age("query_start"),
    )
}

/// The activity of every process.
fn activities(version_num: u32, of: &[String], except: &[i32]) -> String {
    let autovacuum = "query LIKE 'autovacuum: %'";
    let backend = match version_num {
        0..100_000 => format!("CASE WHEN {autovacuum} THEN 'autovacuum worker' ELSE 'session' END"),
        _ => "coalesce(backend_type, 'not seen')".to_owned(),
    };
    // Background processes have no state, but a type.
    let hidden = match version_num {
        0..100_000 => "state IS NULL OR state = 'disabled'",
        _ => "backend_type IS NULL OR state = 'disabled'",
    };
    let event = match version_num {
        0..90_600 => "CASE WHEN waiting THEN 'Lock' END",
        _ => "wait_event_type || ':' || wait_event",
    };
    let query_id = if version_num < 140_000 { "NULL::pg_catalog.int8" } else { "query_id" };
    let no_database = if version_num < 100_000 { "" } else { " OR datid IS NULL OR datid = 0" };
    format!(
        "SELECT pid, CASE WHEN {hidden} THEN 'not seen' \
         WHEN state NOT IN ('active', 'fastpath function call') THEN 'client' \
         ELSE coalesce({event}, 'running') END AS event, {backend} AS backend, {query_id} AS query_id, \
         xact_start, query_start \
         FROM pg_catalog.pg_stat_get_activity(NULL) WHERE pid NOT IN {} AND (datid = ANY (ARRAY(\
         SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = ANY ({}))){no_database})",
        own_pids(except),
        databases(of),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_is_asked_for_what_it_has() {
        let look = |version_num| look(version_num, &[], &[]);
        assert!(
            look(90_503).contains("CASE WHEN waiting THEN 'Lock' END")
                && !look(90_503).contains("wait_event")
        );
        assert!(!look(90_624).contains("waiting THEN") && !look(90_624).contains("backend_type"));
        assert!(look(90_624).contains("backend = 'session'"));
        assert!(
            look(100_000).contains("backend_type") && look(100_000).contains("backend = 'client backend'")
        );
        assert!(look(130_000).contains("NULL::pg_catalog.int8 AS query_id"));
        assert!(look(140_000).contains(", query_id AS query_id"));
    }
}
