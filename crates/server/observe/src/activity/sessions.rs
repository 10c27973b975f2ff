//! Sessions by their state, and those that have been active for the longest time.

use pgdyno_core::{
    observe::{BusySession, SessionsSeen},
    statement::{SHOWN_CHARS, shown},
};
use pgdyno_wire::{Row, Session, WireError};

use crate::activity::{prepared::Prepared, sql::own_pids};

/// Most sessions that are listed one by one.
pub const MOST_BUSY: usize = 200;
/// Characters of a statement that are queried: what is shown is cut after secrets are removed.
const ASKED_CHARS: usize = 1_000;

/// Reads the client sessions of all databases, meant for once a second.
#[derive(Debug, Clone)]
pub struct SessionReader(Prepared);

impl SessionReader {
    /// A reader for a server of this version. `except` are the process IDs of pgdyno's own sessions; the asking one is
    /// always left out.
    pub fn new(version_num: u32, except: &[i32]) -> Self {
        Self(Prepared::new("pgdyno_sessions", look(version_num, except)))
    }

    /// Reads the sessions.
    ///
    /// # Errors
    /// See [`Session::query`].
    pub fn read(&mut self, session: &mut Session) -> Result<SessionsSeen, WireError> {
        let mut seen = SessionsSeen::default();
        for row in self.0.run(session)? {
            if let Some(count) = row.parse::<u64>(10) {
                seen.by_state.insert(row.get(5).unwrap_or_default().to_owned(), count);
            } else {
                seen.busy.extend(busy(&row));
            }
        }
        Ok(seen)
    }
}

fn busy(row: &Row) -> Option<BusySession> {
    let text = |column| row.get(column).filter(|text| !text.is_empty()).map(str::to_owned);
    Some(BusySession {
        pid: row.parse(0)?,
        database: text(1),
        role: text(2),
        application: text(3),
        backend: text(4).unwrap_or_default(),
        state: text(5).unwrap_or_default(),
        event: text(6),
        state_age_s: row.parse::<f64>(7).map(|age| age.max(0.0)),
        transaction_age_s: row.parse::<f64>(8).map(|age| age.max(0.0)),
        statement: shown(row.get(9).unwrap_or_default(), SHOWN_CHARS),
    })
}

/// One row for each state with its count, then one for each session. Only clients are counted; active background
/// processes are listed with their backend type.
fn look(version_num: u32, except: &[i32]) -> String {
    let autovacuum = "query LIKE 'autovacuum: %'";
    let (backend, is_client) = match version_num {
        0..100_000 => (
            format!("CASE WHEN {autovacuum} THEN 'autovacuum worker' ELSE 'session' END"),
            format!("coalesce(NOT {autovacuum}, true)"),
        ),
        // Of a session that may not be seen the database is known, but not the type.
        _ => (
            "coalesce(backend_type, 'not seen')".to_owned(),
            "coalesce(backend_type = 'client backend', coalesce(datid, 0) <> 0)".to_owned(),
        ),
    };
    let event = match version_num {
        0..90_600 => "CASE WHEN waiting THEN 'Lock' END",
        _ => "wait_event_type || ':' || wait_event",
    };
    let age = |of: &str| format!("pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() - {of})");
    let since =
        "CASE WHEN state IN ('active', 'fastpath function call') THEN query_start ELSE state_change END";
    format!(
        "WITH a AS (SELECT pid, datid, usesysid, application_name, {backend} AS backend, {is_client} AS is_client, \
         CASE WHEN state IS NULL OR state = 'disabled' THEN 'not seen' ELSE state END AS state, \
         {event} AS event, {since} AS since, xact_start, query \
         FROM pg_catalog.pg_stat_get_activity(NULL) WHERE pid NOT IN {own}) \
         SELECT NULL::int4, NULL::text, NULL::text, NULL::text, NULL::text, state, NULL::text, NULL::float8, \
         NULL::float8, NULL::text, pg_catalog.count(*) FROM a WHERE is_client GROUP BY state \
         UNION ALL (SELECT pid, (SELECT d.datname::text FROM pg_catalog.pg_database d WHERE d.oid = a.datid), \
         CASE WHEN usesysid <> 0 THEN pg_catalog.pg_get_userbyid(usesysid)::text END, application_name::text, \
         backend, state, event, {state_age}, {transaction_age}, pg_catalog.left(query, {ASKED_CHARS}), NULL \
         FROM a WHERE coalesce(datid, 0) <> 0 AND state NOT IN ('idle', 'not seen') \
         ORDER BY since, pid LIMIT {MOST_BUSY})",
        own = own_pids(except),
        state_age = age("since"),
        transaction_age = age("xact_start"),
    )
}
