//! What sessions and background processes are doing at an instant. How often that is read is up to `readers::waits`.

mod process;
mod tally;

pub use process::ActivitySample;
use process::{Process, READ, sampled};
pub use tally::WaitTally;

use pgdyno_wire::{Session, WireError};

use crate::activity::{
    prepared::Prepared,
    sql::{databases, own_pids},
};

/// Samples the activity of sessions, meant for ten times a second or more. The server answers with one short row for
/// each process: to add them up there takes it longer than to send them.
#[derive(Debug, Clone)]
pub struct WaitReader(Prepared);

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
        let rows = self.0.run(session)?;
        Ok(sampled(rows.iter().filter_map(Process::of)))
    }
}

/// How long the backend sleeps before it reads, in seconds. Where all CPUs are busy, the query itself is received when
/// another process has just given up its CPU, that is, waits; a process that sleeps is woken by the clock, so that it
/// sees more of those that run.
const PAUSE_S: f64 = 0.001;

/// One scan of the function below `pg_stat_activity` (the view looks up the names of databases and roles besides), in
/// the order of the columns of [`Process`]. What it is called with depends on the pause, which so comes first.
fn look(version_num: u32, of: &[String], except: &[i32]) -> String {
    let autovacuum = "query LIKE 'autovacuum: %'";
    let backend = match version_num {
        0..100_000 => format!("CASE WHEN {autovacuum} THEN 'autovacuum worker' ELSE 'session' END"),
        _ => "backend_type".to_owned(),
    };
    // Background processes have no state, but a type.
    let is_hidden = match version_num {
        0..100_000 => "state IS NULL OR state = 'disabled'",
        _ => "backend_type IS NULL OR state = 'disabled'",
    };
    let [client, read] = READ;
    let is_idle = "state LIKE 'idle%'";
    let (kind, event) = match version_num {
        0..90_600 => (
            format!("CASE WHEN waiting THEN 'Lock' WHEN {is_idle} THEN '{client}' END"),
            format!("CASE WHEN {is_idle} AND NOT waiting THEN '{read}' END"),
        ),
        90_600..100_000 => (
            format!("CASE WHEN {is_idle} THEN '{client}' ELSE wait_event_type END"),
            format!("CASE WHEN {is_idle} THEN '{read}' ELSE wait_event END"),
        ),
        _ => ("wait_event_type".to_owned(), "wait_event".to_owned()),
    };
    let query_id = if version_num < 140_000 { "NULL" } else { "query_id" };
    let no_database = if version_num < 100_000 { "" } else { " OR datid IS NULL OR datid = 0" };
    let age = |of: &str| {
        format!(
            "CASE WHEN xact_start IS NOT NULL \
             THEN pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() - {of}) END"
        )
    };
    format!(
        "SELECT pid, {is_hidden}, {kind}, {event}, {backend}, {query_id}, {transaction_age}, {statement_age} \
         FROM (SELECT pg_catalog.pg_sleep({PAUSE_S}) AS slept OFFSET 0) AS pause, \
         LATERAL pg_catalog.pg_stat_get_activity(CASE WHEN slept IS NULL THEN 0 END) \
         WHERE pid NOT IN {own} AND (datid = ANY (ARRAY(\
         SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = ANY ({databases}))){no_database})",
        transaction_age = age("xact_start"),
        statement_age = age("query_start"),
        own = own_pids(except),
        databases = databases(of),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_is_asked_for_what_it_has() {
        let look = |version_num| look(version_num, &[], &[]);
        assert!(
            look(90_503).contains("CASE WHEN waiting THEN 'Lock' WHEN state LIKE 'idle%' THEN 'Client' END")
                && !look(90_503).contains("wait_event")
        );
        assert!(!look(90_624).contains("waiting THEN") && !look(90_624).contains("backend_type"));
        assert!(look(100_000).contains("backend_type"));
        assert!(!look(130_000).contains("query_id") && look(140_000).contains("query_id"));
    }
}
