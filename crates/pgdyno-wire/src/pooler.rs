//! Whether there is a pooler between here and the server, and what it does to sessions.
//!
//! The server itself tells: `pg_backend_pid()` is answered by the backend, the number in BackendKeyData by whoever let
//! us in. A pooler that hands one server connection to many clients has its own keys for cancelling, so the two differ.
//! What kind of pooler it is says a parameter at the start that no PostgreSQL minds and PgBouncer refuses.

use std::time::Duration;

use pgdyno_core::{problem::Problem, stop::Stop};

use super::{ConnectOptions, Session, SessionAttrs, WireError, connect_unless, try_connect};

/// Time for the questions that a full pool would leave without an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often two sessions are compared, before nothing shared counts as nothing to share.
const ROUNDS: usize = 5;
/// Name of the statement by which poolers are tried.
const PROBE: &str = "pgdyno_probe";

/// When a pooler gives a server connection to another client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolMode {
    /// When the client goes.
    Session,
    /// After every transaction: what a session sets is lost.
    Transaction,
    /// After every statement: there are no transactions of several statements.
    Statement,
    /// That could not be seen.
    Unknown,
}

impl PoolMode {
    /// One word for records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Transaction => "transaction",
            Self::Statement => "statement",
            Self::Unknown => "unknown",
        }
    }
}

/// A pooler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pooler {
    /// Its name, with its version where it tells: `PgBouncer 1.18.0`. `None` where it is not one of those known.
    pub name: Option<String>,
    /// When server connections change hands.
    pub mode: PoolMode,
    /// Whether every client has prepared statements of its own. Without, one client's are met by the next.
    pub keeps_prepared: bool,
}

/// Looks for a pooler in front of a server.
///
/// # Errors
/// Where the server cannot be reached, or a stop is requested.
pub fn find_pooler(options: &ConnectOptions, stop: &Stop) -> Result<Option<Pooler>, Problem> {
    let mut first = connect_unless(stop, options)?;
    first.heed(stop);
    let failed = |error: WireError| error.into_problem("could not look for a pooler");
    let backend = backend(&mut first).map_err(failed)?;
    if backend == Some(first.backend_pid()) {
        return Ok(None);
    }
    let mut second = connect_unless(stop, options)?;
    second.heed(stop);
    let mode = mode(&mut first, &mut second);
    let keeps_prepared = match mode {
        PoolMode::Session => true,
        PoolMode::Statement => false,
        PoolMode::Transaction | PoolMode::Unknown => keeps_prepared(&mut first, &mut second).unwrap_or(false),
    };
    Ok(Some(Pooler { name: name(options, &mut first), mode, keeps_prepared }))
}

/// The number of the backend that answers now.
fn backend(session: &mut Session) -> Result<Option<i32>, WireError> {
    Ok(session.value("SELECT pg_catalog.pg_backend_pid()")?.and_then(|text| text.parse().ok()))
}

/// Whether two sessions share a backend, or one has several.
fn mode(first: &mut Session, second: &mut Session) -> PoolMode {
    first.within(Some(PATIENCE));
    second.within(Some(PATIENCE));
    let mode = compare(first, second).unwrap_or(PoolMode::Unknown);
    let _ = second.execute("ROLLBACK"); // it may be broken, and is asked no more then
    mode
}

fn compare(first: &mut Session, second: &mut Session) -> Result<PoolMode, WireError> {
    for _ in 0..ROUNDS {
        let before = backend(first)?;
        match second.execute("BEGIN") {
            Err(WireError::Server(error)) if error.message.contains("statement pooling") => {
                return Ok(PoolMode::Statement);
            }
            other => other?,
        }
        let held = backend(second)?;
        // Where the pool has but this one connection, the first session would wait for the second now.
        if held == before || backend(first)? != before {
            return Ok(PoolMode::Transaction);
        }
        second.execute("COMMIT")?;
    }
    Ok(PoolMode::Session)
}

/// Prepares a statement in two sessions that have, one after the other, the same backend. PostgreSQL refuses the second
/// unless the pooler keeps them apart.
fn keeps_prepared(first: &mut Session, second: &mut Session) -> Result<bool, WireError> {
    for _ in 0..ROUNDS {
        first.execute("BEGIN")?;
        let prepared_at = backend(first)?;
        first.prepare(PROBE, "SELECT 1")?;
        first.execute("COMMIT")?;
        second.execute("BEGIN")?;
        if backend(second)? != prepared_at {
            second.execute("COMMIT")?;
            forget(first, prepared_at)?;
            continue;
        }
        let again = second.prepare(PROBE, "SELECT 1");
        second.execute("ROLLBACK")?;
        if again.is_ok() {
            return Ok(true);
        }
        forget(second, prepared_at)?;
        return Ok(false);
    }
    Ok(false)
}

/// Leaves no statement behind in somebody's server connection.
fn forget(session: &mut Session, prepared_at: Option<i32>) -> Result<(), WireError> {
    session.execute("BEGIN")?;
    if backend(session)? == prepared_at {
        session.execute(&format!("DEALLOCATE {PROBE}"))?;
    }
    session.execute("COMMIT")
}

/// What the pooler calls itself.
fn name(options: &ConnectOptions, session: &mut Session) -> Option<String> {
    if let Ok(Some(version)) = session.value("SHOW POOL_VERSION") {
        return Some(format!("Pgpool-II {version}"));
    }
    let plain = ConnectOptions { target: SessionAttrs::Any, ..options.clone() };
    let mut strange = plain.clone();
    strange.startup.push(("pgdyno.probe".to_owned(), "1".to_owned()));
    match try_connect(&strange) {
        Err(WireError::Server(error)) if error.message.contains("unsupported startup parameter") => {}
        _ => return None,
    }
    // Its console is for those that its configuration names.
    let console = try_connect(&plain.with_database("pgbouncer"));
    let version = console.ok().and_then(|mut console| console.value("SHOW VERSION").ok().flatten());
    Some(version.unwrap_or_else(|| "PgBouncer".to_owned()))
}
