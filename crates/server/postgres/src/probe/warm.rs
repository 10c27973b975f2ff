//! Reads tables into shared buffers with several sessions.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use crate::session::{SessionPool, open};
use pgdyno_core::{
    probe::{Prewarm, PrewarmTotal},
    problem::Problem,
    stop::Stop,
    units,
};
use pgdyno_wire::{ConnectOptions, Session};

use crate::probe::{
    extension,
    reading::{Reading, scanning},
    relations, residency,
    server::asked,
    table::find_tables,
};

/// Request for prewarming.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PrewarmRequest {
    /// Tables as named in SQL; empty for all tables of the database.
    pub tables: Vec<String>,
    /// Whether missing extensions may be created in the database.
    pub create_extension: bool,
    /// Whether to read tables that are larger than shared buffers.
    pub anyway: bool,
    /// Number of sessions that read in parallel.
    pub jobs: u64,
}

/// Progress of prewarming.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrewarmProgress {
    /// Total number of pages to read.
    Reading(u64),
    /// Number of pages read so far.
    Pages(u64),
    /// Shared buffers are being examined.
    Looking,
}

/// Reads tables with all their relations into shared buffers, and determines what is cached afterwards.
///
/// # Errors
/// A query fails. Tables that do not fit into shared buffers are a wrong request.
pub fn prewarm(
    options: &ConnectOptions,
    request: &PrewarmRequest,
    stop: &Stop,
    on_progress: &mut dyn FnMut(PrewarmProgress),
) -> Result<Prewarm, Problem> {
    let mut session = open(options, stop)?;
    let server = asked(&mut session)?;
    let tables: Vec<u32> = match request.tables.is_empty() {
        true => relations::all_tables(&mut session)
            .map_err(|error| error.into_problem("could not list tables"))?,
        false => find_tables(&mut session, &request.tables)?.iter().map(|table| table.oid).collect(),
    };
    let schema = extension::find_or_create(&mut session, "pg_prewarm", request.create_extension)?;
    let reading = Reading::new(&mut session, &tables, schema)
        .map_err(|error| error.into_problem("could not list the pages of tables"))?;
    check_size(&reading, server.page_bytes, server.shared_buffers_bytes, request.anyway)?;
    on_progress(PrewarmProgress::Reading(reading.pages()));
    let start = Instant::now();
    let unread = read_all(options, &reading, request.jobs, stop, on_progress)?;
    let duration_s = start.elapsed().as_secs_f64();
    on_progress(PrewarmProgress::Looking);
    let eye = extension::find_or_create(&mut session, "pg_buffercache", request.create_extension)?;
    session.execute(&scanning(false)).map_err(|error| error.into_problem("could not prepare a session"))?;
    let (seen_by, mut relations) = residency::look(&mut session, &reading, eye.as_deref())?;
    for number in unread {
        relations[number].not_read = Some("no query of this role reads it; pg_prewarm would".to_owned());
    }
    let total = PrewarmTotal::of(&relations, &server);
    Ok(Prewarm { server, method: reading.method(), duration_s, seen_by, relations, total })
}

fn check_size(reading: &Reading, page_bytes: u64, buffers_bytes: u64, anyway: bool) -> Result<(), Problem> {
    let bytes = reading.pages().saturating_mul(page_bytes);
    if bytes == 0 {
        let what = "could not read anything into shared buffers: no table has any pages";
        return Err(Problem::wrong_request(what).hint("name the database with -d, or tables with rows"));
    }
    if bytes <= buffers_bytes || anyway {
        return Ok(());
    }
    let (need, have) = (units::bytes(bytes), units::bytes(buffers_bytes));
    let what = format!("could not hold these tables in shared buffers: they are {need}, of {have}");
    Err(Problem::wrong_request(what)
        .detail("pages read last would evict those read first")
        .hint("name fewer tables, raise shared_buffers and restart the server, or add --anyway"))
}

/// Executes all tasks; returns the indexes of relations that could not be read.
fn read_all(
    options: &ConnectOptions,
    reading: &Reading,
    sessions: u64,
    stop: &Stop,
    on_progress: &mut dyn FnMut(PrewarmProgress),
) -> Result<BTreeSet<usize>, Problem> {
    let (pages, unread) = (AtomicU64::new(0), Mutex::new(BTreeSet::new()));
    let work = |session: &mut Session, number: usize| {
        let task = reading.tasks[number];
        let name = units::printable(&reading.relations[task.relation].name);
        let read = reading.read(session, task);
        if !read.map_err(|error| error.into_problem(&format!("could not read {name}")))?
            && let Ok(mut unread) = unread.lock()
        {
            unread.insert(task.relation);
        }
        pages.fetch_add(task.pages(), Ordering::Relaxed);
        Ok(())
    };
    let settings = scanning(false);
    let session_pool = SessionPool { options, sessions, settings: &settings, stop };
    session_pool.work(reading.tasks.len(), &work, &mut || {
        on_progress(PrewarmProgress::Pages(pages.load(Ordering::Relaxed)));
    })?;
    Ok(unread.into_inner().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::reading::tests::relation;

    #[test]
    fn what_does_not_fit_is_refused() {
        let reading = |pages| Reading {
            relations: vec![relation(pgdyno_core::probe::RelationKind::Table, pages)],
            schema: None,
            tasks: Vec::new(),
        };
        let size = |pages, anyway| check_size(&reading(pages), 8_192, 80 * 8_192, anyway);
        assert_eq!((size(80, false), size(81, true)), (Ok(()), Ok(())));
        let problem = size(81, false).expect_err("it is larger");
        assert!(problem.what.ends_with("they are 648 KiB, of 640 KiB"), "{problem}");
        assert!(size(0, true).is_err());
    }
}
