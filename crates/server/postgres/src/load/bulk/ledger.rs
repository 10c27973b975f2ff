//! The ledger that a load keeps in the database it fills: its plan, and which tasks are done.
//!
//! The ledger is in the schema `pgdyno_load`. A task is marked done in the transaction that writes its rows, so
//! neither can exist without the other.

use pgdyno_core::{problem::Problem, units};
use pgdyno_rows::load::{LAYOUT, LoadPlan, LoadRequest, Set, Stage, Table, Task, tasks};
use pgdyno_wire::{Row, Session, WireError};

use super::{
    super::init::quoted,
    work::{shared_constants, table_statements},
};
use crate::session;

/// First key of the advisory locks of loads: "pgdy". Locks of tasks have a single key, which begins with "pg".
pub(super) const LOCKS: u32 = 0x7067_6479;
/// Second key of the lock that every session of a load shares; the load's number is added.
const PRESENT: i64 = 1 << 30;
/// Second key of the lock held during the proof; the load's number is added.
const PROOF: i64 = 1 << 29;

/// A load as recorded in the ledger.
#[derive(Debug, Clone)]
pub struct Job {
    pub(super) id: i64,
    /// Schema that contains the tables.
    pub target: String,
    /// Plan of the load.
    pub plan: LoadPlan,
    /// Whether the load is complete and verified.
    pub finished: bool,
    relations: String,
}

impl Job {
    /// Name of the table of tasks. It is unlogged if the loaded tables are, so that a crash of the server
    /// empties both.
    pub(super) fn tasks_table(&self) -> String {
        format!("pgdyno_load.task_{}", self.id)
    }

    /// Column with the OIDs of the load's tables and partitions, as a list for SQL.
    fn oids(&self) -> String {
        oids(&self.relations)
    }

    /// Arguments of the advisory lock that every session of the load shares.
    fn present(&self) -> String {
        format!("{LOCKS}, {}", PRESENT + self.id)
    }

    /// Argument of the advisory lock of a task that cannot run in a transaction: a 16-bit prefix, and 24 bits
    /// each for load and task.
    pub(super) fn task_lock(&self, number: usize) -> i64 {
        (i64::from(LOCKS >> 16) << 48) | (self.id << 24) | number as i64
    }

    /// Arguments of the advisory lock held during the proof.
    pub(super) fn proof(&self) -> String {
        format!("{LOCKS}, {}", PROOF + self.id)
    }
}

/// A text as an SQL literal.
pub(in crate::load) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Prepares a session for loading, overriding settings of roles and databases that could end or alter a load.
/// Since sessions hold tasks, keepalives let the server notice soon that a loader or its host is gone. Commits
/// wait for the flush, since VACUUM does not mark rows all-visible before their commit is flushed.
pub(super) fn settle(session: &mut Session) -> Result<(), WireError> {
    session.execute(
        "SET tcp_keepalives_idle = 60; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 6; \
         SET default_transaction_isolation = 'read committed'; SET default_transaction_read_only = off; \
         SELECT pg_catalog.set_config('synchronous_commit', 'on', false) \
         WHERE pg_catalog.current_setting('synchronous_commit') = 'off'",
    )?;
    session::settle(session)
}

/// Sets the schema that unqualified names refer to.
pub(super) fn aim(session: &mut Session, target: &str) -> Result<(), WireError> {
    session.execute(&format!("SET search_path = {}", quoted(target)))
}

/// The load recorded for a schema, if there is one.
pub(in crate::load) fn find(session: &mut Session, target: &str) -> Result<Option<Job>, Problem> {
    let row =
        read(session, target).map_err(|error| error.into_problem("could not read the record of loads"))?;
    let Some(row) = row else { return Ok(None) };
    let unread = || {
        Problem::could_not(format!("could not read the record of the load of schema {}", quoted(target)))
            .detail("pgdyno_load.job was written by another version of pgdyno, or by hand")
            .hint("finish the load with the version that began it, or drop its tables and the schema pgdyno_load")
    };
    let plan = row.get(1).and_then(|text| serde_json::from_slice(text.as_bytes()).ok()).ok_or_else(unread)?;
    let layout: Option<u32> = row.parse(3);
    let (Some(id), Some(LAYOUT)) = (row.parse(0), layout) else { return Err(unread()) };
    let relations = row.get(2).unwrap_or_default().to_owned();
    Ok(Some(Job { id, target: target.to_owned(), plan, finished: row.get(4) == Some("t"), relations }))
}

fn read(session: &mut Session, target: &str) -> Result<Option<Row>, WireError> {
    if session.value("SELECT pg_catalog.to_regclass('pgdyno_load.job')")?.is_none() {
        return Ok(None);
    }
    let sql = format!(
        "SELECT id, plan, relations, layout, finished IS NOT NULL FROM pgdyno_load.job WHERE target = {}",
        literal(target)
    );
    Ok(session.query(&sql)?.into_iter().next())
}

/// Relations of a schema whose names the set needs, with their OIDs: `name=oid`, ordered by name.
pub(super) fn relations(session: &mut Session, target: &str, set: Set) -> Result<Vec<String>, WireError> {
    let sql = format!(
        "SELECT c.relname || '=' || c.oid FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = {} \
         AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S', 'c') \
         AND c.relname ~ '{}' ORDER BY 1",
        literal(target),
        set.names()
    );
    Ok(session.query(&sql)?.iter().filter_map(|row| row.get(0).map(str::to_owned)).collect())
}

/// OIDs of relations as a list for SQL; the ledger may have been written by another version.
fn oids(relations: &str) -> String {
    let oids = relations.split(',').filter_map(|table| table.split('=').nth(1)?.parse::<u32>().ok());
    oids.map(|oid| oid.to_string()).collect::<Vec<_>>().join(",")
}

/// Begins a load: creates tables, plan and tasks in one transaction.
pub(super) fn begin(session: &mut Session, target: &str, plan: &LoadPlan) -> Result<Job, Problem> {
    let what = format!("could not begin to load {} {}", plan.set.scale_word(), plan.scale);
    let begun = session
        .execute(&format!("BEGIN; SELECT pg_catalog.pg_advisory_xact_lock({LOCKS}, 0)"))
        .map_err(|error| error.into_problem(&what))
        .and_then(|()| make(session, target, plan, &what));
    if begun.is_err() {
        let _ = session.execute("ROLLBACK"); // the session stays usable, if it is alive
    }
    begun
}

fn make(session: &mut Session, target: &str, plan: &LoadPlan, what: &str) -> Result<Job, Problem> {
    refuse_existing(session, target, plan.set)?;
    let make = |session: &mut Session| -> Result<(), WireError> {
        session.execute(
            "CREATE SCHEMA IF NOT EXISTS pgdyno_load; \
             CREATE TABLE IF NOT EXISTS pgdyno_load.job (id serial PRIMARY KEY, target text NOT NULL UNIQUE, \
             plan text NOT NULL, relations text NOT NULL, layout int NOT NULL, \
             begun timestamptz NOT NULL DEFAULT pg_catalog.now(), finished timestamptz)",
        )?;
        forget(session, target)?;
        for sql in table_statements(plan) {
            session.execute(&sql)?;
        }
        let relations = relations(session, target, plan.set)?.join(",");
        let text = serde_json::to_string(plan).map_err(std::io::Error::other)?;
        session.execute(&format!(
            "INSERT INTO pgdyno_load.job (target, plan, relations, layout) VALUES ({}, {}, {}, {LAYOUT})",
            literal(target),
            literal(&text),
            literal(&relations)
        ))
    };
    make(session).map_err(|error| error.into_problem(what))?;
    let job =
        find(session, target)?.ok_or_else(|| Problem::could_not(format!("{what}: its record is missing")))?;
    let unlogged = if plan.unlogged { "UNLOGGED " } else { "" };
    let table = job.tasks_table();
    let tasks_of = format!(
        "CREATE {unlogged}TABLE {table} (number int PRIMARY KEY, stage smallint NOT NULL, \
         done boolean NOT NULL DEFAULT false, loader text); \
         CREATE INDEX ON {table} (stage, number) WHERE NOT done"
    );
    session
        .execute(&tasks_of)
        .and_then(|()| fill(session, &job))
        .and_then(|()| be_present(session, &job))
        .and_then(|()| session.execute("COMMIT"))
        .map_err(|error| error.into_problem(what))?;
    Ok(job)
}

/// Counts this session among those that work on a load, until it ends.
pub(super) fn be_present(session: &mut Session, job: &Job) -> Result<(), WireError> {
    session.execute(&format!("SELECT pg_catalog.pg_advisory_lock_shared({})", job.present()))
}

/// Records all tasks as not done, and prepares the tables for them.
fn fill(session: &mut Session, job: &Job) -> Result<(), WireError> {
    shared_constants(&job.plan).map_or(Ok(()), |sql| session.execute(&sql))?;
    let tasks = tasks(&job.plan);
    for stage in Stage::ALL {
        let numbers = numbers(&tasks, stage);
        session.execute(&format!(
            "INSERT INTO {} (number, stage) SELECT n, {} FROM pg_catalog.generate_series({}, {}) n",
            job.tasks_table(),
            stage as u8,
            numbers.start,
            numbers.end as i64 - 1
        ))?;
    }
    Ok(())
}

/// Range of the numbers of a stage's tasks.
fn numbers(tasks: &[Task], stage: Stage) -> std::ops::Range<usize> {
    tasks.partition_point(|task| task.stage < stage)..tasks.partition_point(|task| task.stage <= stage)
}

/// Records that a load is verified.
pub(super) fn finish(session: &mut Session, job: &Job) -> Result<(), WireError> {
    session.execute(&format!("UPDATE pgdyno_load.job SET finished = pg_catalog.now() WHERE id = {}", job.id))
}

/// Whether all tasks of a load are done.
pub(in crate::load) fn is_done(session: &mut Session, job: &Job) -> Result<bool, WireError> {
    let left = session.value(&format!("SELECT 1 FROM {} WHERE NOT done LIMIT 1", job.tasks_table()))?;
    let all = session.value(&format!("SELECT 1 FROM {} LIMIT 1", job.tasks_table()))?;
    Ok(left.is_none() && all.is_some())
}

/// Whether the tables of a load are still those that it created, and are filled: a crash of the server empties
/// unlogged tables together with their tasks.
pub(in crate::load) fn is_whole(session: &mut Session, job: &Job) -> Result<bool, Problem> {
    let looked = relations(session, &job.target, job.plan.set).and_then(|there| {
        let same = job.relations == there.join(",");
        Ok(same && is_done(session, job)?)
    });
    looked.map_err(|error| error.into_problem("could not find the tables of the load"))
}

/// Refuses to drop tables that are not those of the load, or that somebody is loading.
pub(super) fn refuse_dropping(session: &mut Session, job: &Job) -> Result<(), Problem> {
    let what = format!("could not drop the load in schema {}", quoted(&job.target));
    let failed = |error: WireError| error.into_problem(&what);
    if job.relations != relations(session, &job.target, job.plan.set).map_err(failed)?.join(",") {
        return Err(Problem::wrong_request(format!("{what}: the tables are not those of the load"))
            .detail("tables were dropped, created or renamed since the load was begun")
            .hint("drop those that are left yourself. Nothing was changed."));
    }
    match working_sessions(session, job).map_err(failed)? {
        0 => Ok(()),
        sessions => {
            Err(Problem::wrong_request(format!("{what}: in use by {}", units::plural(sessions, "session")))
                .hint("end the load first: Ctrl-C, or `pgdyno stop`. Nothing was changed."))
        }
    }
}

/// Drops the tables of a load, and the load from the ledger, in one transaction.
pub(super) fn drop_tables(session: &mut Session, job: &Job) -> Result<(), WireError> {
    let schema = quoted(&job.target);
    let name = |table: &Table| format!("{schema}.{}", table.generator().table());
    let tables: Vec<_> = job.plan.set.tables().iter().map(name).collect();
    session.execute(&format!(
        "DROP TABLE {}; DROP TABLE IF EXISTS {}; DELETE FROM pgdyno_load.job WHERE id = {}",
        tables.join(", "),
        job.tasks_table(),
        job.id
    ))
}

/// Deletes a load whose tables are gone from the ledger.
fn forget(session: &mut Session, target: &str) -> Result<(), WireError> {
    let id = session.value(&format!("SELECT id FROM pgdyno_load.job WHERE target = {}", literal(target)))?;
    let Some(id) = id else { return Ok(()) };
    session.execute(&format!(
        "DROP TABLE IF EXISTS pgdyno_load.task_{id}; DELETE FROM pgdyno_load.job WHERE id = {id}"
    ))
}

/// Hint for a schema that is in use.
const ELSEWHERE: &str =
    "drop them yourself, or load into another database or schema (-d 'options=-csearch_path=NAME')";

/// Refuses a schema with existing tables, which only their owner may fill or drop. A ledger entry is also kept
/// while any of its tables exists, under whatever name, since the load could not be continued without it.
pub(super) fn refuse_existing(session: &mut Session, target: &str, set: Set) -> Result<(), Problem> {
    let there =
        relations(session, target, set).map_err(|error| error.into_problem("could not list tables"))?;
    let names: Vec<_> = there.iter().filter_map(|table| table.split('=').next()).collect();
    let Some(first) = names.first() else { return refuse_kept(session, target) };
    let what = format!("could not load into schema {}: {first} exists already", quoted(target));
    let problem = Problem::wrong_request(what).detail(format!("there are: {}", some(&names)));
    Err(match find(session, target)? {
        Some(job) if job.relations == there.join(",") && !job.finished => problem.hint(format!(
            "a load of {} {} is unfinished there: continue it with --resume, or take part with --join",
            job.plan.set.scale_word(),
            job.plan.scale
        )),
        Some(job) if job.relations == there.join(",") => problem.hint(format!(
            "pgdyno loaded {} {} there: `pgdyno load verify` checks it, `pgdyno load drop` drops it",
            job.plan.set.scale_word(),
            job.plan.scale
        )),
        _ => problem.hint(ELSEWHERE),
    })
}

/// Refuses a schema with a recorded load whose tables exist, even if the record cannot be understood.
fn refuse_kept(session: &mut Session, target: &str) -> Result<(), Problem> {
    let failed = |error: WireError| error.into_problem("could not read the record of loads");
    let Some(row) = read(session, target).map_err(failed)? else { return Ok(()) };
    let sql = format!(
        "SELECT relname FROM pg_catalog.pg_class WHERE oid = ANY ('{{{}}}'::pg_catalog.oid[]) ORDER BY 1",
        oids(row.get(2).unwrap_or_default())
    );
    let there = session.query(&sql).map_err(failed)?;
    let names: Vec<_> = there.iter().filter_map(|row| row.get(0)).collect();
    if names.is_empty() {
        return Ok(());
    }
    let schema = quoted(target);
    let what = format!("could not load into schema {schema}: tables of another load exist there already");
    let problem = Problem::wrong_request(what).detail(format!("there are: {}", some(&names)));
    Err(problem.hint(ELSEWHERE))
}

/// Lists names, at most ten of them.
fn some(names: &[&str]) -> String {
    let (first, rest) = names.split_at(names.len().min(10));
    let more = if rest.is_empty() {
        String::new()
    } else {
        format!(" and {} more", units::count(rest.len() as u64))
    };
    first.join(", ") + &more
}

/// The load to continue.
pub(super) fn resume(
    session: &mut Session,
    target: &str,
    request: &LoadRequest,
    flag: &str,
) -> Result<Job, Problem> {
    let what = format!("could not continue with {flag}");
    let Some(job) = find(session, target)? else {
        let what = format!("{what}: no load was begun in schema {}", quoted(target));
        return Err(Problem::wrong_request(what).hint(format!("leave {flag} out to begin one")));
    };
    let there = relations(session, target, job.plan.set).map_err(|error| error.into_problem(&what))?;
    if job.relations != there.join(",") {
        let detail = "tables were dropped, created or renamed since the load was begun";
        return Err(Problem::wrong_request(format!("{what}: the tables are not those of the load"))
            .detail(detail)
            .hint("drop the tables that are left and load again"));
    }
    let differences = request.differences(&job.plan);
    if !differences.is_empty() {
        return Err(Problem::wrong_request(format!("{what}: the load was begun with other flags"))
            .detail(differences.join("\n"))
            .hint("leave these flags out to continue it"));
    }
    if job.finished {
        return Err(Problem::wrong_request(format!(
            "{what}: the load of {} {} is finished",
            job.plan.set.scale_word(),
            job.plan.scale
        ))
        .hint("`pgdyno load verify` checks it again"));
    }
    refill(session, &job).map_err(|error| error.into_problem(&what))?;
    Ok(job)
}

/// Records the tasks again after a crash of the server emptied them together with unlogged tables. Keys and
/// indexes of these tables still exist in the catalog, and are rebuilt after their rows.
fn refill(session: &mut Session, job: &Job) -> Result<(), WireError> {
    if !job.plan.unlogged {
        return Ok(());
    }
    session.execute(&format!("BEGIN; SELECT pg_catalog.pg_advisory_xact_lock({LOCKS}, 0)"))?;
    let kept = session.value(&format!("SELECT 1 FROM {} LIMIT 1", job.tasks_table()))?;
    if kept.is_none() {
        drop_keys(session, job)?;
        fill(session, job)?;
    }
    session.execute("COMMIT")
}

/// Drops foreign keys, then primary keys, then other indexes. Parts of a partitioned index disappear with it.
fn drop_keys(session: &mut Session, job: &Job) -> Result<(), WireError> {
    // Before version 11 no key spans partitions.
    let since_11 = "SELECT pg_catalog.current_setting('server_version_num')::int >= 110000";
    let whole =
        if session.value(since_11)?.as_deref() == Some("t") { "conparentid = 0" } else { "coninhcount = 0" };
    let keys = session.query(&format!(
        "SELECT pg_catalog.format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::pg_catalog.regclass, conname) \
         FROM pg_catalog.pg_constraint WHERE contype IN ('f', 'p') AND {whole} \
         AND conrelid = ANY ('{{{}}}'::pg_catalog.oid[]) ORDER BY contype",
        job.oids()
    ))?;
    keys.iter().filter_map(|row| row.get(0)).try_for_each(|sql| session.execute(sql))?;
    let indexes = session.query(&format!(
        "SELECT pg_catalog.format('DROP INDEX %s', i.indexrelid::pg_catalog.regclass) FROM pg_catalog.pg_index i \
         WHERE i.indrelid = ANY ('{{{}}}'::pg_catalog.oid[]) \
         AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_constraint c WHERE c.conindid = i.indexrelid) \
         AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_inherits p WHERE p.inhrelid = i.indexrelid)",
        job.oids()
    ))?;
    indexes.iter().filter_map(|row| row.get(0)).try_for_each(|sql| session.execute(sql))
}

/// OID of the current database: loads in other databases may have the same numbers, and `pg_locks` shows their
/// advisory locks, too.
pub(super) const DATABASE: &str =
    "(SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())";

/// Backends that hold tasks of a stage, through a row lock or an advisory lock.
pub(super) fn holders(session: &mut Session, job: &Job, stage: Stage) -> Result<Vec<u32>, WireError> {
    let table = job.tasks_table();
    let (stage, first) = (stage as u8, job.task_lock(0));
    let rows = session.query(&format!(
        "SELECT l.pid FROM pg_catalog.pg_locks l JOIN {table} t ON l.transactionid = t.xmax \
         WHERE l.locktype = 'transactionid' AND l.granted AND t.stage = {stage} AND NOT t.done \
         UNION SELECT l.pid FROM pg_catalog.pg_locks l JOIN {table} t \
         ON (l.classid::bigint << 32) + l.objid::bigint = {first} + t.number \
         WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted AND l.database = {DATABASE} \
         AND t.stage = {stage} AND NOT t.done ORDER BY 1"
    ))?;
    Ok(rows.iter().filter_map(|row| row.parse(0)).collect())
}

/// Number of sessions that work on a load.
pub(super) fn working_sessions(session: &mut Session, job: &Job) -> Result<u64, WireError> {
    let sql = format!(
        "SELECT pg_catalog.count(*) FROM pg_catalog.pg_locks WHERE locktype = 'advisory' AND granted \
         AND classid = {LOCKS} AND objid = {} AND objsubid = 2 AND database = {DATABASE}",
        PRESENT + job.id
    );
    Ok(session.value(&sql)?.and_then(|count| count.parse().ok()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: i64) -> Job {
        let plan = LoadRequest { scale: Some(1), ..LoadRequest::default() }.plan(1).expect("it can be");
        let relations = "pgbench_accounts=16384,pgbench_accounts_1=4294967295".to_owned();
        Job { id, target: "public".to_owned(), plan, finished: false, relations }
    }

    #[test]
    fn no_two_tasks_of_any_loads_have_one_lock() {
        let last = (1 << 24) - 1;
        let locks = [(1, 0), (1, 1), (1, last), (2, 0), (2, last), (last as i64, last)];
        let locks = locks.map(|(id, number)| job(id).task_lock(number));
        assert!(locks.windows(2).all(|pair| pair[0] < pair[1]), "{locks:x?}");
        assert_eq!(locks.map(|lock| lock >> 48), [0x7067; 6], "\"pg\"");
    }

    #[test]
    fn tables_are_known_by_their_oids() {
        assert_eq!(job(1).oids(), "16384,4294967295");
    }

    #[test]
    fn of_many_names_ten_are_listed() {
        let names = vec!["t"; 1_012];
        assert_eq!(some(&names[..1]), "t");
        assert_eq!(some(&names[..10]), "t, t, t, t, t, t, t, t, t, t");
        assert_eq!(some(&names), "t, t, t, t, t, t, t, t, t, t and 1,002 more");
    }
}
