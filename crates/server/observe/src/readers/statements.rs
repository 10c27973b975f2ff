//! Statements by their time.

use std::time::{Duration, Instant};

use crate::activity::{Pace, StatementChange, StatementReader, StatementSupport};
use pgdyno_core::observe::What;
use pgdyno_wire::{Session, WireError};

use super::reader::{Say, Server, ServerReader};

/// Time between two readings: the server copies what it knows of all statements.
const EVERY: Duration = Duration::from_secs(10);
/// Statements of a line.
const MOST_NAMED: usize = 20;

/// Reads the statements of the extension, where it is.
pub(super) struct Statements {
    server: Server,
    /// The session in which the extension was looked for, by its process id.
    asked: Option<i32>,
    reader: Option<StatementReader>,
    since: Instant,
    /// Whether it was reported what is needed to see statements.
    reported: bool,
}

impl Statements {
    pub(super) fn new(server: Server) -> Self {
        Self { server, asked: None, reader: None, since: Instant::now(), reported: false }
    }

    /// Looks for the extension, once in a session: it may come with a restart.
    fn look(&mut self, session: &mut Session, say: &mut Say<'_>) -> Result<(), WireError> {
        let support = StatementSupport::find(session)?;
        match &support {
            StatementSupport::Ready { schema } => {
                self.reader = Some(StatementReader::new(session, schema, &self.server.databases)?);
            }
            missing => {
                let why = missing.hint().filter(|_| !self.reported);
                why.into_iter().for_each(|why| {
                    say(0.0, What::Gap { missing: "statements".to_owned(), why: why.to_owned() });
                });
                self.reported = true;
            }
        }
        self.asked = Some(session.backend_pid());
        Ok(())
    }
}

impl ServerReader for Statements {
    fn name(&self) -> &'static str {
        "statements"
    }

    fn pace(&self) -> Pace {
        Pace::new(EVERY)
    }

    fn reads_at_edges(&self) -> bool {
        true
    }

    fn read(&mut self, session: &mut Session, _own: &[i32], say: &mut Say<'_>) -> Result<(), WireError> {
        if self.reader.is_none() && self.asked != Some(session.backend_pid()) {
            self.look(session, say)?;
        }
        let Some(reader) = &mut self.reader else { return Ok(()) };
        let change = reader.read(session, MOST_NAMED)?;
        let over_s = std::mem::replace(&mut self.since, Instant::now()).elapsed().as_secs_f64();
        match change {
            StatementChange::First => {}
            StatementChange::Since(statements) if statements.is_empty() => {}
            StatementChange::Since(statements) => say(over_s, What::Statements { statements }),
            StatementChange::Reset => {
                let why = "pg_stat_statements was reset".to_owned();
                say(over_s, What::Gap { missing: "statements".to_owned(), why });
            }
        }
        Ok(())
    }
}
