//! Sessions for work that takes long: checks, copies, probes.

mod pool;

use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_wire::{ConnectOptions, Session, WireError, connect_unless};

pub use pool::SessionPool;

/// Opens a session for work that takes long, which settings of roles and databases cannot end early. From
/// PostgreSQL 14 on the server abandons a query when its client is gone.
///
/// # Errors
/// The server cannot be reached.
pub fn open(options: &ConnectOptions, stop: &Stop) -> Result<Session, Problem> {
    let mut session = connect_unless(stop, options)?;
    session.heed(stop);
    settle(&mut session).map_err(|error| error.into_problem("could not prepare a session"))?;
    Ok(session)
}

/// Overrides settings of roles and databases that could end a session's work, and makes the server check
/// regularly whether its client still exists.
///
/// # Errors
/// A statement fails.
pub fn settle(session: &mut Session) -> Result<(), WireError> {
    session.execute(
        "SET standard_conforming_strings = on; SET client_min_messages = warning; SET row_security = off; \
         SELECT pg_catalog.set_config(name, '0', false) FROM pg_catalog.pg_settings WHERE name IN \
         ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout', \
         'transaction_timeout')",
    )?;
    let watched = session.execute(
        "SELECT pg_catalog.set_config(name, '10s', false) FROM pg_catalog.pg_settings \
         WHERE name = 'client_connection_check_interval'",
    );
    match watched {
        // Some platforms accept the setting's name but not a value; queries run to their end there.
        Err(WireError::Server(_)) => Ok(()),
        watched => watched,
    }
}
