//! The server's clock, and which start of which server it is.

use pgdyno_core::observe::ServerIdentity;
use pgdyno_wire::{Session, WireError};

use crate::activity::{prepared::Prepared, sql::OWN};

/// First version with functions that report the contents of the control file.
const CONTROL_SINCE: u32 = 90_600;
/// Name of the sessions of observers in `pg_stat_activity`.
const OBSERVER: &str = "pgdyno observer";

/// Reads the clock of a server. No rights are needed.
#[derive(Debug, Clone)]
pub struct ClockReader {
    version_num: u32,
    clock: Prepared,
}

impl ClockReader {
    /// A reader for a server of this version.
    pub fn new(version_num: u32) -> Self {
        let sql = format!("SELECT {} FROM (SELECT pg_catalog.clock_timestamp() AS t) q", micros("q.t"));
        Self { version_num, clock: Prepared::new("pgdyno_clock", sql) }
    }

    /// The server's clock in microseconds since 1970.
    ///
    /// # Errors
    /// See [`Session::query`].
    pub fn unix_us(&mut self, session: &mut Session) -> Result<Option<i64>, WireError> {
        Ok(self.clock.run(session)?.first().and_then(|row| row.parse(0)))
    }

    /// Which start of which server it is; `None` if the server does not report it.
    ///
    /// # Errors
    /// See [`Session::query`].
    pub fn identity(&self, session: &mut Session) -> Result<Option<ServerIdentity>, WireError> {
        let started = micros("pg_catalog.pg_postmaster_start_time()");
        let rows = session.query(&format!("{OWN} SELECT {started}"))?;
        let Some(started_unix_us) = rows.first().and_then(|row| row.parse(0)) else { return Ok(None) };
        let system_identifier = match self.version_num {
            0..CONTROL_SINCE => None,
            // An administrator may have revoked it: the start time suffices.
            _ => value(session, "SELECT system_identifier FROM pg_catalog.pg_control_system()")?,
        };
        Ok(Some(ServerIdentity { system_identifier, started_unix_us }))
    }

    /// Process ids of all sessions of pgdyno's observers at the server, wherever they connect from.
    ///
    /// # Errors
    /// See [`Session::query`].
    pub fn observers(&self, session: &mut Session) -> Result<Vec<u32>, WireError> {
        let sql = "SELECT pid FROM pg_catalog.pg_stat_activity WHERE application_name";
        let rows = session.query(&format!("{OWN} {sql} = '{OBSERVER}'"))?;
        Ok(rows.iter().filter_map(|row| row.parse(0)).collect())
    }
}

/// A time in microseconds since 1970. As a number with a fraction, versions before 14 would round it to ten of them.
fn micros(time: &str) -> String {
    format!(
        "pg_catalog.date_part('epoch', pg_catalog.date_trunc('minute', {time}))::pg_catalog.int8 * 1000000 \
         + pg_catalog.date_part('microseconds', {time})::pg_catalog.int8"
    )
}

/// A value, or `None` if the server refuses it.
fn value(session: &mut Session, sql: &str) -> Result<Option<String>, WireError> {
    match session.value(&format!("{OWN} {sql}")) {
        Err(WireError::Server(_)) => Ok(None),
        answer => answer,
    }
}
