//! Copies databases through CREATE DATABASE.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_wire::{Address, ConnectOptions, Row, Session, WireError};

use super::{
    super::{BulkLoad, Job},
    Copied, check_lengths, enough, literals, no_copy, quoted,
};
use crate::session::{SessionPool, open};

/// First version with two copy strategies.
const STRATEGIES_SINCE: u32 = 150_000;
/// SQLSTATE of a database that other sessions are connected to.
const IN_USE: &str = "55006";
/// SQLSTATEs of a database that exists, or was just created by a concurrent session.
const IS_THERE: [&str; 2] = ["42P04", "23505"];

/// Number of checks for sessions about to end, and the pause between two checks.
const LOOKS: u32 = 20;
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Copy strategy of the server (PostgreSQL 15 and newer; older ones copy files).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyStrategy {
    /// Copies whole files, between two checkpoints.
    FileCopy,
    /// Copies page by page through WAL.
    WalLog,
}

impl CopyStrategy {
    fn sql(self) -> &'static str {
        match self {
            Self::FileCopy => "FILE_COPY",
            Self::WalLog => "WAL_LOG",
        }
    }
}

/// Copies the connected database, whose load must be finished, to databases with these names, several in parallel, and
/// verifies each. With `resume` existing copies are verified again. `on_progress` receives progress messages.
///
/// # Errors
/// A copy fails. Nothing is begun if a name is taken or too long, others are connected to the source, or there
/// is no room.
pub fn copy_database(
    options: &ConnectOptions,
    job: &Job,
    names: &[String],
    (strategy, resume): (Option<CopyStrategy>, bool),
    sessions: u64,
    stop: &Stop,
    on_progress: &mut dyn FnMut(&str),
) -> Result<Vec<Copied>, Problem> {
    check_lengths(names)?;
    let source = &options.database;
    // A session in the source would prevent the copy.
    let elsewhere = options.with_database(if source == "postgres" { "template1" } else { "postgres" });
    let mut session = open(&elsewhere, stop)?;
    let found = look(&mut session, source)?;
    refuse_connected(&mut session, source)?;
    let there = there(&mut session, source, names)?;
    match there.first() {
        Some(taken) if !resume => return Err(is_taken(source, taken)),
        _ => there.iter().try_for_each(|name| check_copy(&options.with_database(name), job, stop))?,
    }
    let left: Vec<_> = names.iter().filter(|name| !there.contains(name)).collect();
    check_room(&session, &found, left.len() as u64)?;
    let strategy = strategy_sql(found.version_num, strategy)?;
    drop(session);
    on_progress(&format!("copying the database {source}"));
    let times: Mutex<BTreeMap<&str, f64>> = Mutex::default();
    let work = |session: &mut Session, number: usize| {
        let (name, start) = (left[number], Instant::now());
        let sql = format!("CREATE DATABASE {} TEMPLATE {}{strategy}", quoted(name), quoted(source));
        match session.execute(&sql) {
            Err(error) if resume && error.code().is_some_and(|code| IS_THERE.contains(&code)) => {
                return Ok(());
            }
            made => made.map_err(|error| refused(error, source, name))?,
        }
        times.lock().unwrap_or_else(PoisonError::into_inner).insert(name, start.elapsed().as_secs_f64());
        Ok(())
    };
    let session_pool = SessionPool { options: &elsewhere, sessions, settings: "", stop };
    session_pool.work(left.len(), &work, &mut || {})?;
    let mut copied = Vec::new();
    for name in names {
        on_progress(&format!("{name}: comparing counts and checksums"));
        let (_, proof) = BulkLoad::new(&options.with_database(name), sessions, stop)?.verify(None)?;
        let duration_s = times.lock().unwrap_or_else(PoisonError::into_inner).get(name.as_str()).copied();
        let size_bytes = duration_s.map(|_| found.bytes);
        copied.push(Copied { name: name.clone(), duration_s, size_bytes, proof: Some(proof) });
    }
    Ok(copied)
}

/// Options for CREATE DATABASE.
fn strategy_sql(version_num: u32, strategy: Option<CopyStrategy>) -> Result<String, Problem> {
    if version_num >= STRATEGIES_SINCE {
        return Ok(format!(" STRATEGY {}", strategy.unwrap_or(CopyStrategy::FileCopy).sql()));
    }
    if strategy == Some(CopyStrategy::WalLog) {
        let what = "could not copy page by page: the server is older than PostgreSQL 15";
        return Err(Problem::wrong_request(what).hint("leave --strategy out"));
    }
    Ok(String::new())
}

fn refused(error: WireError, source: &str, name: &str) -> Problem {
    let in_use = error.code() == Some(IN_USE);
    let problem = error.into_problem(&format!("could not copy {source} to {name}"));
    if in_use { problem.hint("end all sessions that are connected to it, and try again") } else { problem }
}

/// The database to copy.
pub(super) struct Source {
    version_num: u32,
    /// Size of the database.
    bytes: u64,
    /// Directory of its default tablespace.
    dir: Option<String>,
}

pub(super) fn look(session: &mut Session, source: &str) -> Result<Source, Problem> {
    let what = format!("could not copy the database {source}");
    let failed = |error: WireError| error.into_problem(&what);
    let name = literals(&[source.to_owned()]);
    let rows = session
        .query(&format!(
            "SELECT pg_catalog.current_setting('server_version_num'), pg_catalog.pg_database_size(d.oid), \
             coalesce(nullif(pg_catalog.pg_tablespace_location(d.dattablespace), ''), \
             (SELECT setting FROM pg_catalog.pg_settings WHERE name = 'data_directory')) \
             FROM pg_catalog.pg_database d WHERE d.datname = {name}"
        ))
        .map_err(failed)?;
    let read = |row: &Row| {
        let dir = row.get(2).map(str::to_owned);
        Some(Source { version_num: row.parse(0)?, bytes: row.parse(1)?, dir })
    };
    rows.first().and_then(read).ok_or_else(|| {
        Problem::wrong_request(format!("{what}: it does not exist")).hint("name an existing database with -d")
    })
}

/// Refuses a source that CREATE DATABASE would refuse.
fn refuse_connected(session: &mut Session, source: &str) -> Result<(), Problem> {
    let what = format!("could not copy the database {source}");
    let name = literals(&[source.to_owned()]);
    let pids = connected(session, &name).map_err(|error| error.into_problem(&what))?;
    pids.map_or(Ok(()), |pids| {
        Err(Problem::wrong_request(format!("{what}: other sessions are connected to it"))
            .detail(format!("server processes {pids}"))
            .hint("end these sessions: SELECT pg_terminate_backend(PID); or copy by --by dump, which lets them be"))
    })
}

/// Names of existing databases among the given ones, in order.
pub(super) fn there(session: &mut Session, source: &str, names: &[String]) -> Result<Vec<String>, Problem> {
    let sql = format!(
        "SELECT datname FROM pg_catalog.pg_database WHERE datname IN ({}) ORDER BY 1",
        literals(names)
    );
    let rows = session.query(&sql);
    let rows = rows.map_err(|error| error.into_problem(&format!("could not copy the database {source}")))?;
    Ok(rows.iter().filter_map(|row| row.get(0).map(str::to_owned)).collect())
}

pub(super) fn is_taken(source: &str, taken: &str) -> Problem {
    let what = format!("could not copy the database {source}: the database {taken} exists already");
    Problem::wrong_request(what)
        .hint("drop it yourself, choose other names by --prefix, or continue interrupted copies by --resume")
}

/// Refuses to take a database with another load, or none, for a copy.
fn check_copy(options: &ConnectOptions, job: &Job, stop: &Stop) -> Result<(), Problem> {
    let other = || no_copy(&format!("the database {}", options.database), "what was loaded");
    match BulkLoad::new(options, 1, stop)?.loaded() {
        Ok(known) if known.plan == job.plan => Ok(()),
        Ok(_) => Err(other()),
        Err(why) => Err(other().detail(why.what)),
    }
}

/// Process IDs of the sessions in a database; retried, since a session that has just ended, such as ours,
/// lingers briefly.
fn connected(session: &mut Session, name: &str) -> Result<Option<String>, WireError> {
    // Autovacuum workers are ended by CREATE DATABASE itself.
    let sql = format!(
        "SELECT pg_catalog.string_agg(pid::text, ', ' ORDER BY pid) FROM pg_catalog.pg_stat_activity \
         WHERE datname = {name} AND query !~ '^autovacuum: '"
    );
    for _ in 0..LOOKS {
        if session.value(&sql)?.is_none() {
            return Ok(None);
        }
        thread::sleep(BETWEEN_LOOKS);
    }
    session.value(&sql)
}

pub(super) fn check_room(session: &Session, source: &Source, copies: u64) -> Result<(), Problem> {
    let local = matches!(session.address(), Address::Unix(..));
    let dir = source.dir.as_ref().filter(|_| local);
    let Some(storage) = dir.and_then(|dir| pgdyno_host::facts::storage(dir.as_ref()).ok()) else {
        return Ok(());
    };
    enough(source.bytes.saturating_mul(copies), storage.available_bytes, &storage.path)
}
