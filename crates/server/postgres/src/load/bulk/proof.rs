//! Proves that tables contain the generated rows: compares the server's counts and checksums with ours. If the
//! plan is known, also compares the definitions of the tables.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Instant,
};

use pgdyno_core::{problem::Problem, stop::Stop, units};
use pgdyno_rows::{
    Part, Population, RowGenerator, Sums,
    load::{LoadPlan, Table},
};
use pgdyno_wire::{Row, Session, WireError};

use super::shape;

/// Rows summed between two checks for a stop request.
const PIECE_ROWS: u64 = 100_000;

/// Proof of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableProof {
    /// The table.
    pub table: Table,
    /// Sums of the generated rows.
    pub expected: Sums,
    /// Sums found in the server.
    pub found: Sums,
}

impl TableProof {
    /// Every difference in a sentence.
    pub fn faults(&self) -> Vec<String> {
        let (generator, expected, found) = (self.table.generator(), &self.expected, &self.found);
        let mut faults = Vec::new();
        if expected.rows != found.rows {
            let (found, expected) = (units::plural(found.rows, "row"), units::count(expected.rows));
            faults.push(format!("{} has {found}, {expected} were expected", generator.table()));
        }
        for ((check, expected), found) in generator.checks().iter().zip(&expected.columns).zip(&found.columns)
        {
            if expected != found {
                let column = check.column.map(|column| format!(".{column}")).unwrap_or_default();
                let table = generator.table();
                faults.push(format!("{table}{column} has the checksum {found}, {expected} was expected"));
            }
        }
        faults
    }
}

/// Proof of all tables.
#[derive(Debug, Clone, PartialEq)]
pub struct Proof {
    /// Proofs of the single tables.
    pub tables: Vec<TableProof>,
    /// Faults of keys, storage parameters and tablespaces; `None` if there is no plan to compare with.
    pub shape: Option<Vec<String>>,
    /// Duration of the proof in seconds.
    pub duration_s: f64,
}

impl Proof {
    /// Every fault in a sentence; empty if the tables are right.
    pub fn faults(&self) -> Vec<String> {
        let shape = self.shape.iter().flatten().cloned();
        self.tables.iter().flat_map(TableProof::faults).chain(shape).collect()
    }
}

/// Compares the tables in a session's search path with a plan: their rows and, for tables created by pgdyno
/// (`shaped`), their keys and storage. `threads` threads compute our sums while the server computes its own.
pub(super) fn prove(
    session: &mut Session,
    plan: &LoadPlan,
    shaped: bool,
    threads: u64,
    stop: &Stop,
) -> Result<Proof, Problem> {
    let start = Instant::now();
    let mut tables = Vec::new();
    for table in plan.set.tables() {
        tables.push(prove_table(session, *table, plan, threads, stop)?);
    }
    let shape = shaped.then(|| shape::faults(session, plan)).transpose();
    let shape = shape.map_err(|error| error.into_problem("could not examine the keys of the tables"))?;
    Ok(Proof { tables, shape, duration_s: start.elapsed().as_secs_f64() })
}

/// If the server fails, our own sums, which may take hours, are abandoned.
fn prove_table(
    session: &mut Session,
    table: Table,
    plan: &LoadPlan,
    threads: u64,
    stop: &Stop,
) -> Result<TableProof, Problem> {
    let (generator, failed) = (table.generator(), AtomicBool::new(false));
    let (units, population) = (plan.units(table), plan.population());
    let over = || stop.requested() || failed.load(Ordering::Relaxed);
    let (expected, found) = thread::scope(|scope| {
        let expected = scope.spawn(|| sums(generator, &population, units, threads, &over));
        let found = of_server(session, generator);
        failed.store(found.is_err(), Ordering::Relaxed);
        (expected.join(), found)
    });
    let what = format!("could not check {}", generator.table());
    let found = found.map_err(|error| error.into_problem(&what))?;
    let expected = expected.ok().flatten().ok_or_else(|| Problem::could_not(format!("{what}: stopped")))?;
    Ok(TableProof { table, expected, found })
}

/// `None` if the computation was abandoned.
fn sums(
    generator: &dyn RowGenerator,
    population: &Population,
    total: u64,
    threads: u64,
    over: &(dyn Fn() -> bool + Sync),
) -> Option<Sums> {
    let checks = generator.checks().len();
    let of_part = |part: Part| {
        let mut sums = Sums::none(checks);
        for first in (part.first..part.end).step_by(PIECE_ROWS as usize) {
            if over() {
                return None;
            }
            sums += &generator.sums(population, Part { first, end: part.end.min(first + PIECE_ROWS) });
        }
        Some(sums)
    };
    let threads = threads.max(1);
    thread::scope(|scope| {
        let parts = (0..threads).map(|k| scope.spawn(move || of_part(Part::of(total, k, threads))));
        let parts: Vec<_> = parts.collect();
        let mut all = Sums::none(checks);
        for part in parts {
            all += &part.join().ok().flatten()?;
        }
        Some(all)
    })
}

fn of_server(session: &mut Session, generator: &dyn RowGenerator) -> Result<Sums, WireError> {
    let checks = generator.checks();
    let sums: String = checks.iter().map(|check| format!(", {}", check.sql)).collect();
    let rows = session.query(&format!("SELECT count(*){sums} FROM {}", generator.table()))?;
    let row = rows.first().ok_or_else(|| WireError::Protocol("no row of sums".to_owned()))?;
    read(row, checks.len()).ok_or_else(|| WireError::Protocol("sums that are no numbers".to_owned()))
}

fn read(row: &Row, checks: usize) -> Option<Sums> {
    // The sum of no rows is NULL.
    let sum = |check| row.get(check).map_or(Some(0), |text| text.parse().ok());
    Some(Sums { rows: row.parse(0)?, columns: (1..=checks).map(sum).collect::<Option<_>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_difference_is_a_fault() {
        let expected = Sums { rows: 1, columns: vec![1, 2, 3] };
        let mut found = expected.clone();
        let proof = |found| TableProof { table: Table::Branches, expected: expected.clone(), found }.faults();
        assert_eq!(proof(found.clone()), Vec::<String>::new());
        found.rows = 1_000;
        found.columns[2] = 4;
        assert_eq!(
            proof(found),
            [
                "pgbench_branches has 1,000 rows, 1 were expected",
                "pgbench_branches.filler has the checksum 4, 3 was expected"
            ]
        );
    }

    #[test]
    fn threads_change_nothing() {
        let generator = Table::Accounts.generator();
        let sums = |threads, over: bool| sums(generator, &Population::default(), 100_000, threads, &|| over);
        let one = sums(1, false);
        assert_eq!((one.is_some(), &one), (true, &sums(3, false)));
        assert_eq!(sums(1, true), None);
    }
}
