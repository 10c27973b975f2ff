//! Pages into shared buffers, by several sessions.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use pgdyno_core::{
    probe::{Prewarm, ReadMethod, RelationKind},
    problem::Problem,
    units,
};
use pgdyno_engine::Stop;

use super::{
    asked,
    crew::Crew,
    extension, find_tables, open,
    relations::{self, Relation, touching},
    residency,
};
use crate::wire::{ConnectOptions, Session, WireError};

/// Pages of one task: 1 GiB in pages of 8 KiB, seconds of work.
const TASK_PAGES: u64 = 131_072;
/// Settings of a session that reads by queries: plans that touch every page, and no helpers.
const SCANNING: [&str; 4] = [
    "enable_seqscan = off",
    "enable_bitmapscan = off",
    "enable_sort = off",
    "max_parallel_workers_per_gather = 0",
];

/// What is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PrewarmWish {
    /// Tables as SQL names them; none: all of the database.
    pub tables: Vec<String>,
    /// Whether extensions that are lacking may be created in the database.
    pub create_extension: bool,
    /// Whether tables that are larger than shared buffers are read as well.
    pub anyway: bool,
    /// Sessions that read at the same time.
    pub jobs: u64,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrewarmProgress {
    /// So many pages will be read.
    Reading(u64),
    /// So many of them have been.
    Pages(u64),
    /// Shared buffers are looked at.
    Looking,
}

/// Relations that are read, and how.
#[derive(Debug)]
pub(crate) struct Reading {
    pub relations: Vec<Relation>,
    /// The schema of `pg_prewarm`, where it reads.
    schema: Option<String>,
    tasks: Vec<Task>,
}

/// Pages of a relation, or a whole index where queries read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Task {
    /// Its number among the relations.
    pub relation: usize,
    pub first: u64,
    pub last: u64,
}

impl Task {
    pub fn pages(self) -> u64 {
        self.last + 1 - self.first
    }
}

impl Reading {
    /// How to read the pages of tables, by `pg_prewarm` in a schema, where there is one and the role may use it.
    ///
    /// # Errors
    /// The server's.
    pub fn of(session: &mut Session, tables: &[u32], schema: Option<String>) -> Result<Self, WireError> {
        let mut relations = relations::of_tables(session, tables)?;
        relations.retain(|relation| relation.pages > 0);
        let schema = match schema {
            Some(schema) if usable(session, &schema, &relations)? => Some(schema),
            _ => None,
        };
        let tasks = tasks(&relations, schema.is_some());
        Ok(Self { relations, schema, tasks })
    }

    pub fn method(&self) -> ReadMethod {
        if self.schema.is_some() { ReadMethod::PgPrewarm } else { ReadMethod::Scans }
    }

    fn pages(&self) -> u64 {
        self.relations.iter().map(|relation| relation.pages).sum()
    }

    pub(super) fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// Reads all of it in one session. Its settings stay as they are.
    ///
    /// # Errors
    /// The server's.
    pub fn read_here(&self, session: &mut Session) -> Result<(), WireError> {
        session.execute("BEGIN")?;
        let read = session
            .execute(&scanning("SET LOCAL"))
            .and_then(|()| self.tasks.iter().try_for_each(|task| self.read(session, *task).map(drop)));
        let over = session.execute(if read.is_ok() { "COMMIT" } else { "ROLLBACK" });
        read.and(over)
    }

    /// Does one task; false where no query reads the relation.
    fn read(&self, session: &mut Session, task: Task) -> Result<bool, WireError> {
        let relation = &self.relations[task.relation];
        let sql = match &self.schema {
            Some(schema) => Some(format!(
                "SELECT {schema}.pg_prewarm('{}'::pg_catalog.regclass, 'buffer', 'main', {}, {})",
                relation.oid, task.first, task.last
            )),
            None => touching(session, relation, task.first, task.last)?,
        };
        sql.map_or(Ok(false), |sql| session.execute(&sql).map(|()| true))
    }
}

/// Whether a role may read relations by `pg_prewarm`: it is allowed to call it, and what it reads is its own.
fn usable(session: &mut Session, schema: &str, relations: &[Relation]) -> Result<bool, WireError> {
    let signature = format!("{schema}.pg_prewarm(regclass, text, text, bigint, bigint)");
    let sql = format!("SELECT pg_catalog.has_function_privilege({}, 'EXECUTE')", super::literal(&signature));
    let allowed = session.value(&sql)?.as_deref() == Some("t");
    Ok(allowed && relations.iter().all(|relation| relation.owned))
}

fn tasks(relations: &[Relation], by_extension: bool) -> Vec<Task> {
    let of = |(number, relation): (usize, &Relation)| {
        let (pages, whole) = (relation.pages, relation.kind == RelationKind::Index && !by_extension);
        let step = if whole { pages } else { TASK_PAGES };
        let task = move |first| Task { relation: number, first, last: pages.min(first + step) - 1 };
        (0..pages).step_by(step as usize).map(task)
    };
    relations.iter().enumerate().flat_map(of).collect()
}

fn scanning(set: &str) -> String {
    SCANNING.map(|setting| format!("{set} {setting}")).join("; ")
}

/// Reads tables with all that belongs to them into shared buffers, and looks what is there afterwards.
///
/// # Errors
/// What could not be done. Tables that shared buffers have no room for are a wrong request.
pub fn prewarm(
    options: &ConnectOptions,
    wish: &PrewarmWish,
    stop: &Stop,
    tell: &mut dyn FnMut(PrewarmProgress),
) -> Result<Prewarm, Problem> {
    let mut session = open(options, stop)?;
    let server = asked(&mut session)?;
    let tables: Vec<u32> = match wish.tables.is_empty() {
        true => relations::all_tables(&mut session)
            .map_err(|error| error.into_problem("could not look for tables"))?,
        false => find_tables(&mut session, &wish.tables)?.iter().map(|table| table.oid).collect(),
    };
    let schema = extension::find_or_create(&mut session, "pg_prewarm", wish.create_extension)?;
    let reading = Reading::of(&mut session, &tables, schema)
        .map_err(|error| error.into_problem("could not look for pages"))?;
    check_size(&reading, server.page_bytes, server.shared_buffers_bytes, wish.anyway)?;
    tell(PrewarmProgress::Reading(reading.pages()));
    let start = Instant::now();
    let unread = read_all(options, &reading, wish.jobs, stop, tell)?;
    let duration_s = start.elapsed().as_secs_f64();
    tell(PrewarmProgress::Looking);
    let eye = extension::find_or_create(&mut session, "pg_buffercache", wish.create_extension)?;
    session.execute(&scanning("SET")).map_err(|error| error.into_problem("could not prepare a session"))?;
    let (seen_by, mut relations) = residency::look(&mut session, &reading, eye.as_deref())?;
    for number in unread {
        relations[number].not_read = Some("no query of this role reads it; pg_prewarm would".to_owned());
    }
    Ok(Prewarm { server, method: reading.method(), duration_s, seen_by, relations })
}

fn check_size(reading: &Reading, page_bytes: u64, buffers_bytes: u64, anyway: bool) -> Result<(), Problem> {
    let bytes = reading.pages().saturating_mul(page_bytes);
    if bytes == 0 {
        let what = "could not read anything into shared buffers: there is no table with a page";
        return Err(Problem::wrong_request(what).hint("name the database by -d, or tables that hold rows"));
    }
    if bytes <= buffers_bytes || anyway {
        return Ok(());
    }
    let (need, have) = (units::bytes(bytes), units::bytes(buffers_bytes));
    let what = format!("could not hold these tables in shared buffers: they are {need}, of {have}");
    Err(Problem::wrong_request(what)
        .detail("what is read last would throw out what was read first")
        .hint("name fewer tables, raise shared_buffers and restart the server, or say --anyway"))
}

/// Reads all tasks; gives the numbers of relations that were not read.
fn read_all(
    options: &ConnectOptions,
    reading: &Reading,
    sessions: u64,
    stop: &Stop,
    tell: &mut dyn FnMut(PrewarmProgress),
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
    let settings = scanning("SET");
    let crew = Crew { options, sessions, settings: &settings, stop };
    crew.work(reading.tasks.len(), &work, &mut || {
        tell(PrewarmProgress::Pages(pages.load(Ordering::Relaxed)));
    })?;
    Ok(unread.into_inner().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relation(kind: RelationKind, pages: u64) -> Relation {
        Relation {
            oid: 1,
            name: "public.t".to_owned(),
            plain_name: "t".to_owned(),
            kind,
            pages,
            owned: true,
            btree: kind == RelationKind::Index,
        }
    }

    #[test]
    fn tasks_are_all_pages() {
        let relations = [
            relation(RelationKind::Table, 2 * TASK_PAGES + 1),
            relation(RelationKind::Index, TASK_PAGES + 5),
        ];
        let stretches = |by_extension| -> Vec<_> {
            tasks(&relations, by_extension)
                .iter()
                .map(|task| (task.relation, task.first, task.last))
                .collect()
        };
        let table = [(0, 0, 131_071), (0, 131_072, 262_143), (0, 262_144, 262_144)];
        assert_eq!(stretches(true), [&table[..], &[(1, 0, 131_071), (1, 131_072, 131_076)]].concat());
        assert_eq!(stretches(false), [&table[..], &[(1, 0, 131_076)]].concat());
        let pages: u64 = tasks(&relations, true).into_iter().map(Task::pages).sum();
        assert_eq!(pages, 3 * TASK_PAGES + 6);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let reading = |pages| Reading {
            relations: vec![relation(RelationKind::Table, pages)],
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
