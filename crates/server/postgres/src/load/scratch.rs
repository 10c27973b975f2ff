//! A schema for a load that is not kept.

use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_wire::{ConnectOptions, Session, WireError, connect, connect_unless};

use super::init::quoted;

/// SQLSTATE of a schema that exists already.
const DUPLICATE_SCHEMA: &str = "42P06";

/// A schema of its own, with everything that a load in it leaves in the database.
#[derive(Debug)]
pub struct Scratch {
    options: ConnectOptions,
    schema: &'static str,
    /// Whether other loads were recorded in the database before.
    had_loads: bool,
}

impl Scratch {
    /// Creates the schema.
    ///
    /// # Errors
    /// It exists already, or the role may not create it.
    pub fn new(options: &ConnectOptions, schema: &'static str, stop: &Stop) -> Result<Self, Problem> {
        let what = format!("could not create schema {}", quoted(schema));
        let mut session = connect_unless(stop, options)?;
        let failed = |error: WireError| match error.code() {
            Some(DUPLICATE_SCHEMA) => Problem::wrong_request(format!("{what}: it exists already"))
                .hint(format!("if no other pgdyno uses it: DROP SCHEMA {} CASCADE", quoted(schema))),
            _ => error.into_problem(&what),
        };
        let had_loads = has_loads(&mut session).map_err(failed)?;
        session.execute(&format!("CREATE SCHEMA {}", quoted(schema))).map_err(failed)?;
        let mut options = options.clone();
        options.startup.retain(|(name, _)| name != "search_path");
        options.startup.push(("search_path".to_owned(), quoted(schema)));
        Ok(Self { options, schema, had_loads })
    }

    /// How sessions connect that create their tables there.
    pub fn options(&self) -> &ConnectOptions {
        &self.options
    }

    /// Drops the schema with all tables, and the records of loads there.
    ///
    /// # Errors
    /// What is left, and how to remove it.
    pub fn remove(self) -> Result<(), Problem> {
        let dropped = connect(&self.options).and_then(|mut session| {
            let failed = |error: WireError| error.into_problem("could not drop what was loaded");
            self.remove_by(&mut session).map_err(failed)
        });
        let hint = format!("DROP SCHEMA {} CASCADE removes it", quoted(self.schema));
        dropped.map_err(|problem| Problem { hint: Some(hint), ..problem })
    }

    fn remove_by(&self, session: &mut Session) -> Result<(), WireError> {
        session.execute(&format!("DROP SCHEMA {} CASCADE", quoted(self.schema)))?;
        if !has_loads(session)? {
            return Ok(());
        }
        let name = self.schema;
        session.execute(&format!(
            "DO $$DECLARE load int; BEGIN FOR load IN SELECT id FROM pgdyno_load.job WHERE target = '{name}' LOOP \
             EXECUTE 'DROP TABLE IF EXISTS pgdyno_load.task_' || load; END LOOP; END$$; \
             DELETE FROM pgdyno_load.job WHERE target = '{name}'"
        ))?;
        if self.had_loads {
            return Ok(());
        }
        // A load that began meanwhile has a row there.
        session.execute(
            "DO $$BEGIN LOCK pgdyno_load.job; IF NOT EXISTS (SELECT FROM pgdyno_load.job) THEN \
             DROP SCHEMA pgdyno_load CASCADE; END IF; END$$",
        )
    }
}

/// Whether the database has records of loads.
fn has_loads(session: &mut Session) -> Result<bool, WireError> {
    let found = session.value("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = 'pgdyno_load'")?;
    Ok(found.is_some())
}
