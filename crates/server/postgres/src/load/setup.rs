//! The plan's own tables: setup, resets before runs, and their state.

use std::time::Instant;

use pgdyno_core::{measure::DataState, problem::Problem, stop::Stop};
use pgdyno_plan::Steps;
use pgdyno_rows::load::Set;
use pgdyno_script::{Action, Automatic, Definition, Sql, Variables};
use pgdyno_wire::{Row, Session, WireError, libpq};

use super::bulk::literal;

/// Largest total size of tables that are counted before every run, in bytes; counting larger ones would delay
/// runs and evict their cache.
const COUNTED_BYTES: u64 = 32 << 20;
/// Most tables that are counted.
const COUNTED_TABLES: usize = 1_000;

/// Variables for steps, in addition to their own.
#[derive(Debug, Clone, Copy)]
pub struct StepVariables<'a> {
    /// Scale factor and seeds.
    pub automatic: Automatic,
    /// Variables for client counts.
    pub more: &'a [Definition],
}

/// Executes steps, each statement separately, like psql with a file. `progress` receives the number of each
/// statement from 1, and its text in one line.
///
/// # Errors
/// The first statement that fails, with its place and the server's message; also a stop request.
pub fn carry_out(
    session: &mut Session,
    steps: &Steps,
    known: StepVariables<'_>,
    stop: &Stop,
    progress: &mut dyn FnMut(u64, &str),
) -> Result<u64, Problem> {
    let definitions: Vec<_> = steps.definitions.iter().chain(known.more).cloned().collect();
    let variables = Variables::new(steps.scripts.names(), &definitions, known.automatic);
    let mut done = 0;
    for script in steps.scripts.iter() {
        for command in &script.commands {
            let Action::Sql(sql) = &command.action else { continue };
            if stop.requested() {
                let why = stop.reason().unwrap_or_default();
                return Err(Problem::could_not(format!(
                    "stopped before {}: {why}",
                    place(&script.name, command.line_number)
                )));
            }
            progress(done + 1, &sql.label);
            execute(session, sql, &variables)
                .map_err(|error| failed(error, &place(&script.name, command.line_number)))?;
            done += 1;
        }
    }
    Ok(done)
}

fn place(script: &str, line: usize) -> String {
    format!("{script}:{line}")
}

fn execute(session: &mut Session, sql: &Sql, variables: &Variables) -> Result<(), WireError> {
    let mut text = Vec::new();
    sql.substitute(variables, &mut text);
    session.execute(&String::from_utf8_lossy(&text))
}

/// The server's error with the line of the statement and a caret, as psql shows it.
fn failed(error: WireError, place: &str) -> Problem {
    let said = libpq::message(&error);
    let problem = error.into_problem(&format!("could not execute {place}"));
    let lines: Vec<_> = said.lines().skip(1).filter(|line| !line.starts_with("HINT:  ")).collect();
    let problem = if lines.is_empty() { problem } else { problem.detail(lines.join("\n")) };
    if problem.hint.is_some() { problem } else { problem.hint("fix the SQL there; it was rolled back") }
}

/// Scope of the measured tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableScope {
    /// All schemas of the database, which belongs to pgdyno.
    Database,
    /// Only this schema.
    Schema(&'static str),
    /// The tables with these names in the search path of sessions, and their partitions, among others.
    Found(Vec<String>),
}

impl TableScope {
    /// The tables of a set among others.
    pub fn of_set(set: Set) -> Self {
        Self::Found(set.tables().iter().map(|table| table.generator().table().to_owned()).collect())
    }
}

/// SQL condition that relation `c` has one of these names in the search path, or is a partition on any level.
pub fn is_found(names: &[String]) -> String {
    let names: Vec<_> = names.iter().map(|name| literal(name)).collect();
    format!(
        "c.oid IN (WITH RECURSIVE found(oid) AS (SELECT f.oid FROM pg_catalog.pg_class AS f \
         WHERE f.relname = ANY (ARRAY[{}]::name[]) AND pg_catalog.pg_table_is_visible(f.oid) \
         UNION ALL SELECT i.inhrelid FROM pg_catalog.pg_inherits AS i JOIN found ON i.inhparent = found.oid) \
         SELECT oid FROM found)",
        names.join(", ")
    )
}

/// State after a setup.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SetupOutcome {
    /// Number of tables including partitions.
    pub tables: u64,
    /// Size of tables and indexes in bytes.
    pub size_bytes: u64,
    /// Seconds of VACUUM and ANALYZE.
    pub vacuum_s: f64,
}

/// Runs VACUUM and ANALYZE on the plan's own tables, so that every run starts without a backlog of maintenance.
///
/// # Errors
/// A statement fails, or a stop is requested.
pub fn settle(session: &mut Session, scope: &TableScope, stop: &Stop) -> Result<SetupOutcome, Problem> {
    let wrong = |error: WireError| error.into_problem("could not vacuum the plan's own tables");
    let begin = Instant::now();
    for table in tables(session, scope).map_err(wrong)? {
        if stop.requested() {
            return Err(Problem::could_not("could not vacuum the plan's own tables: stopped"));
        }
        session.execute(&format!("VACUUM ANALYZE {}", table.name)).map_err(wrong)?;
    }
    let vacuum_s = begin.elapsed().as_secs_f64();
    let all = tables(session, scope).map_err(wrong)?;
    let size_bytes = all.iter().map(|table| table.bytes).sum();
    Ok(SetupOutcome { tables: all.len() as u64, size_bytes, vacuum_s })
}

/// Current state of the plan's own tables.
///
/// # Errors
/// The query fails.
pub fn data_state(session: &mut Session, scope: &TableScope) -> Result<DataState, WireError> {
    let all = tables(session, scope)?;
    let size_bytes = all.iter().map(|table| table.bytes).sum();
    let countable = size_bytes <= COUNTED_BYTES && all.len() <= COUNTED_TABLES;
    let rows = if countable { Some(count(session, &all)?) } else { None };
    Ok(DataState { tables: all.len() as u64, rows, size_bytes })
}

/// Whether any measured table, the plan's own or TPC-B's, is unlogged.
///
/// # Errors
/// The query fails.
pub fn has_unlogged(session: &mut Session, scope: &TableScope) -> Result<bool, WireError> {
    let place = match scope {
        TableScope::Database => "n.nspname !~ '^(pg_|information_schema$)'".to_owned(),
        TableScope::Schema(name) => format!("n.nspname = '{name}'"),
        TableScope::Found(names) => is_found(names),
    };
    let sql = format!(
        "SELECT count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'm') AND c.relpersistence = 'u' AND {place}"
    );
    Ok(session.value(&sql)?.is_some_and(|count| count != "0"))
}

struct Table {
    name: String,
    bytes: u64,
}

/// SQL condition that relation `c`, of namespace `n`, is one of the plan's own tables. TPC-B tables are not.
pub fn is_own(scope: &TableScope) -> String {
    const TPCB: &str = "c.relname NOT LIKE 'pgbench\\_%'";
    match scope {
        TableScope::Database => {
            format!("n.nspname !~ '^(pg_|information_schema$)' AND {TPCB}")
        }
        TableScope::Schema(name) => format!("n.nspname = '{name}' AND {TPCB}"),
        TableScope::Found(names) => is_found(names),
    }
}

fn tables(session: &mut Session, scope: &TableScope) -> Result<Vec<Table>, WireError> {
    let is_own = is_own(scope);
    let rows = session.query(&format!(
        "SELECT pg_catalog.format('%I.%I', n.nspname, c.relname), pg_catalog.pg_total_relation_size(c.oid) \
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'm') AND {is_own} ORDER BY 1"
    ))?;
    let table = |row: &Row| Some(Table { name: row.get(0)?.to_owned(), bytes: row.parse(1).unwrap_or(0) });
    Ok(rows.iter().filter_map(table).collect())
}

fn count(session: &mut Session, tables: &[Table]) -> Result<u64, WireError> {
    let each = tables.iter().map(|table| format!("SELECT pg_catalog.count(*) AS n FROM {}", table.name));
    let each: Vec<_> = each.collect();
    if each.is_empty() {
        return Ok(0);
    }
    let sum = format!("SELECT pg_catalog.sum(n) FROM ({}) AS each", each.join(" UNION ALL "));
    Ok(session.value(&sum)?.and_then(|sum| sum.parse().ok()).unwrap_or(0))
}
