//! Loads in several schemas of one database.

use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_wire::{ConnectOptions, Session, WireError};

use super::{
    Job,
    bulk::{find, is_whole},
    init::quoted,
};
use crate::session::open;

/// Connection options with another schema first in the search path.
pub(super) fn within(options: &ConnectOptions, schema: &str) -> ConnectOptions {
    let mut options = options.clone();
    options.startup.push(("search_path".to_owned(), quoted(schema)));
    options
}

/// Progress of a schema's load.
#[derive(Debug, Clone)]
pub enum SchemaState {
    /// There is no schema with this name, or it is empty.
    Nothing,
    /// The load was interrupted.
    Begun(Job),
    /// The load is complete and verified.
    Loaded(Job),
}

/// Schemas that are loaded one after the other.
#[derive(Debug)]
pub struct Schemas<'a> {
    options: &'a ConnectOptions,
    session: Session,
}

impl<'a> Schemas<'a> {
    /// Connects to the database of the schemas.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub fn of(options: &'a ConnectOptions, stop: &Stop) -> Result<Self, Problem> {
        Ok(Self { options, session: open(options, stop)? })
    }

    /// Progress of a schema's load.
    ///
    /// # Errors
    /// The schema contains tables that no load created, or its load is no longer intact.
    pub fn state(&mut self, name: &str) -> Result<SchemaState, Problem> {
        let relations = self.relations(name).map_err(|error| error.into_problem("could not list schemas"))?;
        match find(&mut self.session, name)? {
            _ if relations == 0 => Ok(SchemaState::Nothing),
            Some(job) if !job.finished => Ok(SchemaState::Begun(job)),
            Some(job) if is_whole(&mut self.session, &job)? => Ok(SchemaState::Loaded(job)),
            Some(job) if job.finished => {
                let what =
                    format!("could not load into schema {}: its load is no longer intact", quoted(name));
                Err(Problem::wrong_request(what)
                    .detail(
                        "its tables were replaced since it was loaded, or emptied by a crash of the server",
                    )
                    .hint(format!("DROP SCHEMA {} CASCADE, and --resume loads it again", quoted(name))))
            }
            _ => {
                let what = format!(
                    "could not load into schema {}: it contains tables that no load created",
                    quoted(name)
                );
                Err(Problem::wrong_request(what).hint("drop them yourself, or load into another database"))
            }
        }
    }

    /// Creates a schema unless it exists.
    ///
    /// # Errors
    /// The statement fails.
    pub fn make(&mut self, name: &str) -> Result<(), Problem> {
        let made = self.session.execute(&format!("CREATE SCHEMA IF NOT EXISTS {}", quoted(name)));
        made.map_err(|error| error.into_problem(&format!("could not create the schema {name}")))
    }

    /// The connection options with this schema first in the search path.
    pub fn within(&self, name: &str) -> ConnectOptions {
        within(self.options, name)
    }

    fn relations(&mut self, name: &str) -> Result<u64, WireError> {
        let sql = format!(
            "SELECT pg_catalog.count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n \
             ON n.oid = c.relnamespace WHERE n.nspname = '{}'",
            name.replace('\'', "''")
        );
        Ok(self.session.value(&sql)?.and_then(|count| count.parse().ok()).unwrap_or(0))
    }
}
