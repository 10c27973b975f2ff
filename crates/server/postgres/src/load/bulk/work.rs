//! Executes a task in a session, independent of any ledger.

use std::cell::RefCell;

use pgdyno_rows::{
    Part, RowGenerator,
    load::{LoadPlan, Set, Table, Way, Work, table_workers, workers_by_memory},
};
use pgdyno_wire::{Session, WireError};

use super::{
    super::init::{foreign_keys, partition, quoted, tables, tablespace},
    scaleup, tpcc,
};
use crate::settings::{set_if_known, size_bytes};

/// Settings of a session that fills tables: writeback of dirty pages begins at once rather than when something
/// waits for it.
pub(in crate::load) fn fill_settings() -> String {
    set_if_known("backend_flush_after", "1MB", false)
}

/// Result of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::load) struct Done {
    /// Bytes of COPY data.
    pub bytes: u64,
    /// Parallel workers that the server planned for a key, if it reported them.
    pub planned_workers: Option<u64>,
}

/// Executes tasks.
pub(in crate::load) struct TaskExecutor<'a> {
    /// Plan of the load.
    pub plan: &'a LoadPlan,
    /// Whether to stop, checked between batches of rows.
    pub over: &'a (dyn Fn() -> bool + Sync),
    /// A session in the database from which rows are copied, if that is another one.
    pub source: Option<&'a RefCell<Session>>,
}

/// Rows that are relayed from one reported number of rows to the next.
const RELAYED_ROWS: u64 = 4_096;

impl TaskExecutor<'_> {
    /// Executes a task, and reports the rows of each batch sent.
    pub fn carry_out(
        &self,
        session: &mut Session,
        work: Work,
        sent: &mut dyn FnMut(u64),
    ) -> Result<Done, WireError> {
        let sql = match work {
            Work::Fill { table, partition, part, whole } => {
                let bytes = self.fill(session, (table, partition), part, whole, sent)?;
                return Ok(Done { bytes, ..Done::default() });
            }
            Work::Vacuum { table, partition } => {
                // ANALYZE of the parent includes partitions unless it can be restricted; they are not analyzed twice.
                let analyze = partition.is_none() || analyzes_alone(session);
                format!(
                    "VACUUM (FREEZE{}) {}",
                    if analyze { ", ANALYZE" } else { "" },
                    relation(table, partition)
                )
            }
            Work::Analyze { table } => {
                let only = if analyzes_alone(session) { "ONLY " } else { "" };
                format!("ANALYZE {only}{}", relation(table, None))
            }
            Work::Key { table, partition } => return self.add_key(session, table, partition),
            Work::ForeignKey(number) => foreign_key(self.plan.set, number),
        };
        session.execute(&sql).map(|()| Done::default())
    }

    /// Adds a primary key; returns the parallel workers planned for a key of the main table (11 and newer).
    fn add_key(
        &self,
        session: &mut Session,
        table: Table,
        partition: Option<u64>,
    ) -> Result<Done, WireError> {
        let mut done = Done::default();
        let key = self.key(table, partition);
        // One message is one transaction, unless there is one already: the option never outlives a failed build.
        let sql = match self.parallel_option(session, table, partition)? {
            Some([set, reset]) => format!("{set}; {key}; {reset}"),
            None => key,
        };
        session.execute("SET client_min_messages = debug1")?;
        session.execute_hearing(&sql, &mut |notice| {
            let workers = planned(notice).filter(|_| table == self.plan.set.main());
            done.planned_workers = workers.or(done.planned_workers);
        })?;
        session.execute("SET client_min_messages = warning")?;
        Ok(done)
    }

    /// Statements that have the server plan the workers of the session for a key of a large table, whatever the table's
    /// size, and that restore the option of the table. `None` if that changes nothing, or if no number was requested
    /// and the table was given the option.
    fn parallel_option(
        &self,
        session: &mut Session,
        table: Table,
        partition: Option<u64>,
    ) -> Result<Option<[String; 2]>, WireError> {
        if session.major().is_none_or(|major| major < 11) || !self.plan.set.spread().contains(&table) {
            return Ok(None);
        }
        let name = relation(table, partition);
        let sql = format!(
            "SELECT pg_catalog.pg_relation_size(c.oid), \
             pg_catalog.current_setting('max_parallel_maintenance_workers'), \
             pg_catalog.current_setting('max_worker_processes'), (SELECT option_value \
             FROM pg_catalog.pg_options_to_table(c.reloptions) WHERE option_name = 'parallel_workers') \
             FROM pg_catalog.pg_class c WHERE c.oid = '{name}'::pg_catalog.regclass"
        );
        let Some(row) = session.query(&sql)?.into_iter().next() else { return Ok(None) };
        let number = |column| row.parse::<u64>(column).unwrap_or(0);
        let own = row.get(3);
        if own.is_some() && self.plan.key_workers.is_none() {
            return Ok(None);
        }
        let most = self.plan.key_workers.unwrap_or_else(|| number(1)).min(number(2));
        let most = most.min(workers_by_memory(size_bytes(session, "maintenance_work_mem")?));
        let least_bytes = size_bytes(session, "min_parallel_table_scan_size")?;
        let workers = table_workers(number(0), least_bytes, most, self.plan.key_workers.is_some());
        let set = |workers: &str| format!("ALTER TABLE {name} SET (parallel_workers = {workers})");
        let reset = own.map_or_else(|| format!("ALTER TABLE {name} RESET (parallel_workers)"), set);
        Ok(workers.map(|workers| [set(&workers.to_string()), reset]))
    }

    /// Fills a part. If it is the whole table, no other transaction sees the table before it is filled.
    fn fill(
        &self,
        session: &mut Session,
        (table, partition): (Table, Option<u64>),
        part: Part,
        whole: bool,
        sent: &mut dyn FnMut(u64),
    ) -> Result<u64, WireError> {
        let (name, generator) = (relation(table, partition), table.generator());
        let around = |set: bool| constants(generator, &name, set).filter(|_| whole);
        if whole {
            around(true).map_or(Ok(()), |sql| session.execute(&sql))?;
            session.execute(&format!("TRUNCATE {name}"))?;
        }
        let bytes = match (self.source, self.plan.way) {
            (Some(source), _) => self.relay(session, source, (&name, generator), part, whole, sent)?,
            (None, Way::Server) => {
                let (columns, query) = match &self.plan.source {
                    Some(schema) => (generator.names(), Some(copied(schema, generator, &name, part))),
                    None => (generator.sent(), generator.query(&self.plan.population(), part)),
                };
                let query = query.ok_or_else(|| WireError::Protocol(format!("no query generates {name}")))?;
                session.execute(&format!("INSERT INTO {name} ({columns}) {query}"))?;
                sent(table.rows_of(part.rows()));
                0
            }
            (None, Way::Stream | Way::Chunks) => self.copy(session, &name, generator, part, whole, sent)?,
        };
        around(false).map_or(Ok(()), |sql| session.execute(&sql))?;
        Ok(bytes)
    }

    fn copy(
        &self,
        session: &mut Session,
        name: &str,
        generator: &dyn RowGenerator,
        part: Part,
        whole: bool,
        sent: &mut dyn FnMut(u64),
    ) -> Result<u64, WireError> {
        let freeze = if whole { " WITH (FREEZE)" } else { "" };
        let mut copy = session.copy_in(&format!("COPY {name} ({}) FROM STDIN{freeze}", generator.sent()))?;
        let (population, units, mut rows) = (self.plan.population(), generator.piece(), 0);
        for first in (part.first..part.end).step_by(units as usize) {
            if (self.over)() {
                return Err(WireError::Stopped);
            }
            let piece = Part { first, end: part.end.min(first + units) };
            copy.row(|out| rows = generator.write(&population, piece, out))?;
            sent(rows);
        }
        copy.finish()
    }

    /// Copies the rows of a part from the table with the same name in another database.
    fn relay(
        &self,
        session: &mut Session,
        source: &RefCell<Session>,
        (name, generator): (&str, &dyn RowGenerator),
        part: Part,
        whole: bool,
        sent: &mut dyn FnMut(u64),
    ) -> Result<u64, WireError> {
        let freeze = if whole { ", FREEZE" } else { "" };
        let into = format!("COPY {name} ({}) FROM STDIN WITH (FORMAT binary{freeze})", generator.names());
        let schema = self.plan.source.as_deref().unwrap_or_default();
        let out = format!("COPY ({}) TO STDOUT WITH (FORMAT binary)", copied(schema, generator, name, part));
        let mut copy = session.copy_in(&into)?;
        let (mut messages, mut reported) = (0_u64, 0);
        source.borrow_mut().copy_out(&out, &mut |row| {
            if (self.over)() {
                return Err(WireError::Stopped);
            }
            messages += 1;
            if messages.is_multiple_of(RELAYED_ROWS) {
                sent(RELAYED_ROWS);
                reported += RELAYED_ROWS;
            }
            copy.row(|out| out.extend_from_slice(row))
        })?;
        // The last message is the trailer.
        sent((messages - 1).saturating_sub(reported));
        copy.finish()
    }

    /// Statements for the primary key and any other index. For a table filled by many tasks they also drop the
    /// defaults for its constants.
    fn key(&self, table: Table, partition: Option<u64>) -> String {
        let Some(key) = table.key() else { return scaleup::indexes(self.plan) };
        let name = relation(table, partition);
        let space = self.plan.index_tablespace.as_ref();
        let space = space.map_or_else(String::new, |name| format!(" TABLESPACE {}", quoted(name)));
        let using = if space.is_empty() { String::new() } else { format!(" USING INDEX{space}") };
        let generator = table.generator();
        let shared = table == self.plan.set.main() && partition.is_none() && !self.plan.whole();
        let drops = if shared { drops(generator) } else { Vec::new() };
        let drops: String = drops.iter().map(|drop| format!(", {drop}")).collect();
        let index = table.index().map(|columns| format!("; CREATE INDEX ON {name} ({columns}){space}"));
        format!("ALTER TABLE {name} ADD PRIMARY KEY ({key}){using}{drops}{}", index.unwrap_or_default())
    }
}

/// Statements that create the empty tables, as in pgbench for TPC-B.
pub(in crate::load) fn table_statements(plan: &LoadPlan) -> Vec<String> {
    match plan.set {
        Set::Tpcb => tpcb_statements(plan),
        Set::Scaleup => scaleup::table_statements(plan),
        Set::Tpcc => tpcc::table_statements(plan),
    }
}

fn tpcb_statements(plan: &LoadPlan) -> Vec<String> {
    let mut statements = tables(plan).to_vec();
    if let Some(partitions) = plan.partitions {
        // Before version 12 a partition does not inherit its table's tablespace.
        let part = |number| partition(plan, partitions, number) + &tablespace(plan);
        statements.extend((1..=partitions.count).map(part));
    }
    statements
}

/// The statement that adds a foreign key.
fn foreign_key(set: Set, number: usize) -> String {
    match set {
        Set::Tpcc => tpcc::foreign_key(number),
        Set::Tpcb | Set::Scaleup => foreign_keys()[number].clone(),
    }
}

/// The statement that sets defaults for the constants of a table filled by many tasks, if it has any.
pub(in crate::load) fn shared_constants(plan: &LoadPlan) -> Option<String> {
    let generator = plan.set.main().generator();
    constants(generator, generator.table(), true).filter(|_| !plan.whole())
}

/// The statement that sets or drops the defaults for a table's constants. Partitions of a table that is filled
/// as a whole need none.
fn constants(generator: &dyn RowGenerator, name: &str, set: bool) -> Option<String> {
    let set_to = |(column, value): &(&str, &str)| format!("ALTER {column} SET DEFAULT {value}");
    let actions = if set { generator.constants().iter().map(set_to).collect() } else { drops(generator) };
    (!actions.is_empty()).then(|| format!("ALTER TABLE ONLY {name} {}", actions.join(", ")))
}

fn drops(generator: &dyn RowGenerator) -> Vec<String> {
    generator.constants().iter().map(|(column, _)| format!("ALTER {column} DROP DEFAULT")).collect()
}

/// A query for all columns of a part, from the table with the same name in another schema.
fn copied(schema: &str, generator: &dyn RowGenerator, name: &str, part: Part) -> String {
    format!("SELECT {} FROM {}.{name} WHERE {}", generator.names(), quoted(schema), generator.within(part))
}

/// Whether ANALYZE can exclude partitions (18 and newer), so that these are analyzed in parallel.
fn analyzes_alone(session: &Session) -> bool {
    session.major().is_some_and(|major| major >= 18)
}

/// Parses `index_build`'s message (`index.c`), which is in English in every version.
fn planned(notice: &str) -> Option<u64> {
    let rest = notice.strip_prefix("building index ")?;
    let number = |rest: &str| rest.rsplit_once("with request for ")?.1.split(' ').next()?.parse().ok();
    if rest.ends_with(" serially") { Some(0) } else { number(rest) }
}

/// Name of the table or partition that a task is about.
fn relation(table: Table, partition: Option<u64>) -> String {
    let table = table.generator().table();
    partition.map_or_else(|| table.to_owned(), |number| format!("{table}_{number}"))
}

/// Error message of a failed task.
pub(in crate::load) fn failed(work: Work) -> String {
    match work {
        Work::Fill { table, partition, part, .. } => {
            let (first, end) = (part.first / table.grain() + 1, part.end.div_ceil(table.grain()));
            let what = if table.grain() > 1 { "warehouses" } else { "rows" };
            format!("could not load {what} {first} to {end} of {}", relation(table, partition))
        }
        Work::Vacuum { table, partition } => format!("could not vacuum {}", relation(table, partition)),
        Work::Analyze { table } => format!("could not analyze {}", relation(table, None)),
        Work::Key { table, partition } => {
            let what = if table.key().is_some() { "primary key" } else { "indexes" };
            format!("could not add the {what} of {}", relation(table, partition))
        }
        Work::ForeignKey(_) => "could not add a foreign key".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_rows::load::LoadRequest;

    use super::*;

    fn key(plan: &LoadPlan, partition: Option<u64>) -> String {
        TaskExecutor { plan, over: &|| false, source: None }.key(Table::Accounts, partition)
    }

    #[test]
    fn planned_workers_are_read_from_what_the_server_says() {
        let parallel =
            "building index \"a with request for\" on table \"b\" with request for 3 parallel workers";
        assert_eq!(planned(parallel), Some(3));
        assert_eq!(planned("building index \"a\" on table \"b\" serially"), Some(0));
        assert_eq!(planned("building index \"a\" on table \"b\""), None, "before 11");
        assert_eq!(planned("ALTER TABLE / ADD PRIMARY KEY will create implicit index"), None);
    }

    #[test]
    fn what_stood_for_constants_goes_with_the_key_of_a_table_that_many_filled() {
        let plan = |way, partitions| {
            let request = LoadRequest {
                scale: Some(1),
                method: way,
                partitions: Some(partitions),
                ..LoadRequest::default()
            };
            request.plan(1).expect("it can be")
        };
        let drops = ", ALTER abalance DROP DEFAULT, ALTER filler DROP DEFAULT";
        let chunks = plan(Some(Way::Chunks), 0);
        assert_eq!(key(&chunks, None), format!("ALTER TABLE pgbench_accounts ADD PRIMARY KEY (aid){drops}"));
        let set =
            "ALTER TABLE ONLY pgbench_accounts ALTER abalance SET DEFAULT 0, ALTER filler SET DEFAULT ''";
        assert_eq!(shared_constants(&chunks).as_deref(), Some(set));
        for (whole, partition) in [(plan(Some(Way::Stream), 0), None), (plan(None, 2), Some(2))] {
            assert!(key(&whole, partition).ends_with("ADD PRIMARY KEY (aid)"));
            assert_eq!(shared_constants(&whole), None);
        }
    }
}
