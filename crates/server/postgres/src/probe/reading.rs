//! Reads relations page by page.

use crate::settings::set_if_known;
use pgdyno_core::probe::{ReadMethod, RelationKind};
use pgdyno_wire::{Session, WireError};

use crate::probe::{
    relations::{self, Relation, touching},
    server::literal,
};

/// Pages of one task: 1 GiB with 8 KiB pages, which takes seconds.
const TASK_PAGES: u64 = 131_072;

/// Settings of a session that reads through queries: plans that touch every page, without parallel workers.
const SCANNING: [(&str, &str); 4] = [
    ("enable_seqscan", "off"),
    ("enable_bitmapscan", "off"),
    ("enable_sort", "off"),
    ("max_parallel_workers_per_gather", "0"),
];

/// Relations to read, and the method.
#[derive(Debug)]
pub struct Reading {
    pub relations: Vec<Relation>,
    /// Schema of `pg_prewarm` if that is used.
    pub schema: Option<String>,
    pub tasks: Vec<Task>,
}

/// A range of pages of a relation, or a whole index if it is read through queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// Index into the list of relations.
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
    /// Prepares reading the pages of tables, with `pg_prewarm` if it is in a schema and the role may use it.
    ///
    /// # Errors
    /// A query fails.
    pub fn new(session: &mut Session, tables: &[u32], schema: Option<String>) -> Result<Self, WireError> {
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

    pub fn pages(&self) -> u64 {
        self.relations.iter().map(|relation| relation.pages).sum()
    }

    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// Reads everything in one session, and restores its settings.
    ///
    /// # Errors
    /// A query fails.
    pub fn read_here(&self, session: &mut Session) -> Result<(), WireError> {
        session.execute("BEGIN")?;
        let read = session
            .execute(&scanning(true))
            .and_then(|()| self.tasks.iter().try_for_each(|task| self.read(session, *task).map(drop)));
        let over = session.execute(if read.is_ok() { "COMMIT" } else { "ROLLBACK" });
        read.and(over)
    }

    /// Executes one task; `false` if no query can read the relation.
    pub fn read(&self, session: &mut Session, task: Task) -> Result<bool, WireError> {
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

/// Whether the role may execute `pg_prewarm` and owns all relations.
fn usable(session: &mut Session, schema: &str, relations: &[Relation]) -> Result<bool, WireError> {
    let signature = format!("{schema}.pg_prewarm(regclass, text, text, bigint, bigint)");
    let sql = format!("SELECT pg_catalog.has_function_privilege({}, 'EXECUTE')", literal(&signature));
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

/// Statements that make the session, or with `local` the transaction, read through queries.
pub fn scanning(local: bool) -> String {
    SCANNING.map(|(name, value)| set_if_known(name, value, local)).join("; ")
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A relation with this many pages.
    pub fn relation(kind: RelationKind, pages: u64) -> Relation {
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
}
