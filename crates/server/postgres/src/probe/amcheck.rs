//! Checks the structure of tables and indexes with the extension `amcheck`.
//!
//! Checksums cover the contents of rows, but neither indexes that are out of order or incomplete, nor damaged
//! page headers.

use std::{sync::Mutex, time::Instant};

use crate::session::{SessionPool, open};
use pgdyno_core::{probe::RelationKind, problem::Problem, stop::Stop, units};
use pgdyno_rows::load::Set;
use pgdyno_wire::{ConnectOptions, Session, WireError};

use crate::probe::{
    extension,
    relations::{self, Relation},
};

/// Most findings reported per relation.
const EXAMPLES: usize = 10;
/// SQLSTATE class of corruption (data, index, or internal errors).
const DAMAGED: &str = "XX";

/// Result of a check.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Structure {
    /// Number of tables and partitions checked; 0 before PostgreSQL 14.
    pub tables: u64,
    /// Number of B-trees checked.
    pub indexes: u64,
    /// Whether every row was looked up in its indexes (PostgreSQL 11 and newer).
    pub rows_in_indexes: bool,
    /// Every fault in a sentence.
    pub faults: Vec<String>,
    /// Duration in seconds.
    pub duration_s: f64,
}

/// Capabilities of the installed extension.
#[derive(Debug, Clone)]
struct Checks {
    schema: String,
    /// Whether it can look up rows in indexes.
    rows_in_indexes: bool,
    /// Whether it can check tables.
    tables: bool,
}

/// Checks the structure of a set's tables and their indexes in the first schema of the search path. Writers are
/// blocked meanwhile.
///
/// # Errors
/// The check cannot be executed. Faults are a result, not an error.
pub fn check_structure(
    options: &ConnectOptions,
    set: Set,
    create_extension: bool,
    sessions: u64,
    stop: &Stop,
) -> Result<Structure, Problem> {
    let start = Instant::now();
    let mut session = open(options, stop)?;
    let checks = find_checks(&mut session, create_extension)?;
    let relations = loaded(&mut session, set)?;
    let relations: Vec<&Relation> = relations.iter().filter(|relation| checks.apply_to(relation)).collect();
    let faults = Mutex::new(Vec::new());
    let work = |session: &mut Session, number: usize| {
        let found = checks.check(session, relations[number]);
        let what = format!("could not check {}", relations[number].name);
        let found = found.map_err(|error| error.into_problem(&what))?;
        if let Ok(mut faults) = faults.lock() {
            faults.extend(found.into_iter().map(|fault| (number, fault)));
        }
        Ok(())
    };
    SessionPool { options, sessions, settings: "", stop }.work(relations.len(), &work, &mut || {})?;
    let mut faults = faults.into_inner().unwrap_or_default();
    faults.sort();
    let of = |index: bool| {
        relations.iter().filter(|relation| (relation.kind == RelationKind::Index) == index).count() as u64
    };
    Ok(Structure {
        tables: of(false),
        indexes: of(true),
        rows_in_indexes: checks.rows_in_indexes,
        faults: faults.into_iter().map(|(_, fault)| fault).collect(),
        duration_s: start.elapsed().as_secs_f64(),
    })
}

fn find_checks(session: &mut Session, create: bool) -> Result<Checks, Problem> {
    let what = "could not check the structure of tables";
    let Some(schema) = extension::find_or_create(session, "amcheck", create)? else {
        return Err(Problem::wrong_request(format!(
            "{what}: the extension amcheck is not installed in this database"
        ))
        .hint("add --create-extension to create it, or leave --amcheck out"));
    };
    let mut there = |signature: &str| -> Result<bool, Problem> {
        let sql = format!("SELECT pg_catalog.to_regprocedure('{}.{signature}')", schema.replace('\'', "''"));
        Ok(session.value(&sql).map_err(|error| error.into_problem(what))?.is_some())
    };
    let rows_in_indexes = there("bt_index_parent_check(regclass, boolean)")?;
    let tables = there("verify_heapam(regclass, boolean, boolean, text, bigint, bigint)")?;
    Ok(Checks { schema, rows_in_indexes, tables })
}

/// The tables of a load with all their relations.
fn loaded(session: &mut Session, set: Set) -> Result<Vec<Relation>, Problem> {
    let names: Vec<_> = set.tables().iter().map(|table| format!("'{}'", table.generator().table())).collect();
    let sql = format!(
        "SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
               WHERE n.nspname = pg_catalog.current_schema() AND c.relkind IN ('r', 'p') \
               AND c.relname IN ({})",
        names.join(", ")
    );
    let look = |session: &mut Session| {
        let rows = session.query(&sql)?;
        let tables: Vec<u32> = rows.iter().filter_map(|row| row.parse(0)).collect();
        relations::of_tables(session, &tables)
    };
    look(session).map_err(|error| error.into_problem("could not list tables"))
}

impl Checks {
    fn apply_to(&self, relation: &Relation) -> bool {
        match relation.kind {
            RelationKind::Index => relation.btree,
            _ => self.tables,
        }
    }

    /// Faults of a relation.
    fn check(&self, session: &mut Session, relation: &Relation) -> Result<Vec<String>, WireError> {
        let found = match relation.kind {
            RelationKind::Index => session.execute(&self.of_index(relation)).map(|()| Vec::new()),
            _ => self.of_table(session, relation),
        };
        match found {
            Err(WireError::Server(error)) if error.code.starts_with(DAMAGED) => {
                let detail = error.detail.map(|detail| format!(" ({detail})"));
                Ok(vec![format!("{}: {}{}", relation.name, error.message, detail.unwrap_or_default())])
            }
            found => found,
        }
    }

    /// Query that checks key order within and between pages and across levels, and that all rows are indexed.
    fn of_index(&self, relation: &Relation) -> String {
        let rows = if self.rows_in_indexes { ", true" } else { "" };
        format!("SELECT {}.bt_index_parent_check('{}'::pg_catalog.regclass{rows})", self.schema, relation.oid)
    }

    fn of_table(&self, session: &mut Session, relation: &Relation) -> Result<Vec<String>, WireError> {
        let rows = session.query(&format!(
            "SELECT blkno, offnum, msg, pg_catalog.count(*) OVER () FROM {}.verify_heapam('{}'::pg_catalog.regclass, \
             false, true, 'none', NULL, NULL) LIMIT {EXAMPLES}",
            self.schema, relation.oid
        ))?;
        let text = |row: &pgdyno_wire::Row, column| row.get(column).unwrap_or("?").to_owned();
        let mut faults: Vec<_> = rows
            .iter()
            .map(|row| format!("{} ({},{}): {}", relation.name, text(row, 0), text(row, 1), text(row, 2)))
            .collect();
        let all: u64 = rows.first().and_then(|row| row.parse(3)).unwrap_or(0);
        if all > EXAMPLES as u64 {
            faults.push(format!("{}: {} more", relation.name, units::count(all - EXAMPLES as u64)));
        }
        Ok(faults)
    }
}
