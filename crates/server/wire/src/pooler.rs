//! Detects a pooler in front of the server, and its effect on sessions.
//!
//! `pg_backend_pid()` is answered by the backend, while the PID in BackendKeyData is from whatever let us in. A pooler
//! that shares server connections among clients issues cancel keys of its own, so that the two differ. A startup
//! parameter that PostgreSQL accepts and PgBouncer refuses shows which pooler it is.

use std::time::Duration;

use pgdyno_core::{problem::Problem, stop::Stop};

use super::{ConnectOptions, Session, SessionAttrs, WireError, connect_unless, try_connect};

/// Time limit of queries that a full pool would leave unanswered.
const QUERY_LIMIT: Duration = Duration::from_secs(5);
/// How often the backends of two sessions are compared before they count as not shared.
const ROUNDS: usize = 5;
/// Name of the prepared statement used for tests.
const PROBE: &str = "pgdyno_probe";

/// When a pooler hands a server connection to another client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolMode {
    /// When the client disconnects.
    Session,
    /// After every transaction: session settings are lost.
    Transaction,
    /// After every statement: transactions of several statements are not possible.
    Statement,
    /// Could not be determined.
    Unknown,
}

impl PoolMode {
    /// Name in one word, for records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Transaction => "transaction",
            Self::Statement => "statement",
            Self::Unknown => "unknown",
        }
    }
}

/// A detected pooler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pooler {
    /// Name, with the version if known, such as `PgBouncer 1.18.0`; `None` for an unknown pooler.
    pub name: Option<String>,
    /// When server connections change hands.
    pub mode: PoolMode,
    /// Whether prepared statements are kept separate by client. If not, the next client meets those of the last.
    pub keeps_prepared: bool,
}

/// Detects a pooler in front of a server.
///
/// # Errors
/// If the server cannot be reached, or a stop is requested.
pub fn find_pooler(options: &ConnectOptions, stop: &Stop) -> Result<Option<Pooler>, Problem> {
    let mut first = connect_unless(stop, options)?;
    first.heed(stop);
    let failed = |error: WireError| error.into_problem("could not check for a pooler");
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

/// PID of the backend that answers now.
fn backend(session: &mut Session) -> Result<Option<i32>, WireError> {
    Ok(session.value("SELECT pg_catalog.pg_backend_pid()")?.and_then(|text| text.parse().ok()))
}

/// Determines whether two sessions share a backend, or one has several.
fn mode(first: &mut Session, second: &mut Session) -> PoolMode {
    first.within(Some(QUERY_LIMIT));
    second.within(Some(QUERY_LIMIT));
    let mode = compare(first, second).unwrap_or(PoolMode::Unknown);
    let _ = second.execute("ROLLBACK"); // the session may be broken, and is not used any more then
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
        // If the pool has only this one connection, the first session would wait for the second now.
        if held == before || backend(first)? != before {
            return Ok(PoolMode::Transaction);
        }
        second.execute("COMMIT")?;
    }
    Ok(PoolMode::Session)
}

/// Prepares a statement in two sessions that use the same backend one after the other. PostgreSQL refuses the second
/// unless the pooler keeps them separate.
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

/// Removes the statement from the pool's server connection.
fn forget(session: &mut Session, prepared_at: Option<i32>) -> Result<(), WireError> {
    session.execute("BEGIN")?;
    if backend(session)? == prepared_at {
        session.execute(&format!("DEALLOCATE {PROBE}"))?;
    }
    session.execute("COMMIT")
}

/// Name and version of the pooler.
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
    // Only users named in its configuration may use PgBouncer's console.
    let console = try_connect(&plain.with_database("pgbouncer"));
    let version = console.ok().and_then(|mut console| console.value("SHOW VERSION").ok().flatten());
    Some(version.unwrap_or_else(|| "PgBouncer".to_owned()))
}
