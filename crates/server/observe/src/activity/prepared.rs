//! Queries asked again and again, which the server parses and plans once.

use pgdyno_wire::{Row, Session, WireError};

use crate::activity::sql::OWN;

/// SQLSTATE of an unknown prepared statement: the session is another one, or behind a pooler of transactions.
const UNKNOWN: &str = "26000";
/// SQLSTATE of a statement prepared before, by an earlier reader.
const KNOWN: &str = "42P05";
/// How often a statement is prepared again before that is given up.
const TRIES: u32 = 3;

/// A query with its state in a session.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    name: &'static str,
    sql: String,
    /// The session that it was asked over last, by its process ID.
    session: Option<i32>,
    ready: bool,
    failed: u32,
}

impl Prepared {
    pub(crate) fn new(name: &'static str, sql: String) -> Self {
        Self { name, sql: format!("{OWN} {sql}"), session: None, ready: false, failed: 0 }
    }

    /// Runs the query, prepared where the server takes that.
    pub(crate) fn run(&mut self, session: &mut Session) -> Result<Vec<Row>, WireError> {
        if self.session.replace(session.backend_pid()) != Some(session.backend_pid()) {
            (self.ready, self.failed) = (false, 0);
        }
        if !self.ready && self.failed < TRIES {
            self.prepare(session)?;
        }
        if !self.ready {
            return session.query(&self.sql);
        }
        match session.query(&format!("EXECUTE {}", self.name)) {
            Err(error) if error.code() == Some(UNKNOWN) => {
                self.ready = false;
                self.failed += 1;
                session.query(&self.sql)
            }
            answer => answer,
        }
    }

    fn prepare(&mut self, session: &mut Session) -> Result<(), WireError> {
        let prepare = format!("PREPARE {} AS {}", self.name, self.sql);
        let mut prepared = session.execute(&prepare);
        if prepared.as_ref().is_err_and(|error| error.code() == Some(KNOWN)) {
            session.execute(&format!("DEALLOCATE {}", self.name))?;
            prepared = session.execute(&prepare);
        }
        prepared.map(|()| self.ready = true)
    }
}
