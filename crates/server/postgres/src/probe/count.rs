//! Measures how fast a table is counted by index-only and sequential scans with different numbers of workers.

use std::time::Instant;

use crate::{session::open, settings::set_if_known};
use pgdyno_core::{
    probe::{Count, CountBy, CountTable, CountWay, Explained, median},
    problem::Problem,
    stop::Stop,
};
use pgdyno_wire::{ConnectOptions, Session, WireError};

use crate::probe::{
    server::{asked, checkpoint},
    table::{Table, find_tables, shape},
};

/// Request for a probe of counting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountRequest {
    /// Tables as named in SQL.
    pub tables: Vec<String>,
    /// Kinds of scans.
    pub by: Vec<CountBy>,
    /// Numbers of parallel workers.
    pub workers: Vec<u64>,
    /// Number of repetitions of each count, after the first one with EXPLAIN.
    pub repeats: u64,
}

/// Counts tables in all requested ways. `on_progress` receives progress messages.
///
/// # Errors
/// A query fails, a table does not exist, or a stop is requested.
pub fn count(
    options: &ConnectOptions,
    request: &CountRequest,
    stop: &Stop,
    on_progress: &mut dyn FnMut(&str),
) -> Result<Count, Problem> {
    let mut session = open(options, stop)?;
    let server = asked(&mut session)?;
    let tables = find_tables(&mut session, &request.tables)?;
    session
        .execute(&cheap_workers(server.version_num))
        .map_err(|error| error.into_problem("could not prepare a session"))?;
    let mut probe = CountProbe { session, request, checkpoints: true, on_progress };
    let tables = tables.iter().map(|table| probe.table(table)).collect::<Result<_, _>>()?;
    Ok(Count { server, checkpoints: probe.checkpoints, tables })
}

/// Settings that make the planner use as many workers as allowed, however small the table is. 9.5 has no workers.
fn cheap_workers(version_num: u32) -> String {
    let parallel = match version_num {
        ..90_600 => "",
        90_600..100_000 => {
            "; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_relation_size = 0"
        }
        _ => {
            "; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; \
             SET min_parallel_index_scan_size = 0"
        }
    };
    format!("SET enable_bitmapscan = off{parallel}")
}

struct CountProbe<'a> {
    session: Session,
    request: &'a CountRequest,
    checkpoints: bool,
    on_progress: &'a mut dyn FnMut(&str),
}

impl CountProbe<'_> {
    fn table(&mut self, table: &Table) -> Result<CountTable, Problem> {
        let what = format!("could not count {}", table.shown());
        let shape = shape(&mut self.session, table).map_err(|error| error.into_problem(&what))?;
        let (mut ways, mut rows) = (Vec::new(), None);
        for &by in &self.request.by {
            for &workers in &self.request.workers {
                let plural = if workers == 1 { "" } else { "s" };
                (self.on_progress)(&format!(
                    "{}: by {} with {workers} worker{plural}",
                    table.name,
                    by.name()
                ));
                self.checkpoints &= checkpoint(&mut self.session)?;
                let counted = self.way(table, by, workers).map_err(|error| error.into_problem(&what))?;
                rows = counted.0.or(rows);
                ways.push(counted.1);
            }
        }
        Ok(CountTable { table: shape, rows: rows.unwrap_or(0), ways })
    }

    /// The row count, and how it was obtained.
    fn way(
        &mut self,
        table: &Table,
        by: CountBy,
        workers: u64,
    ) -> Result<(Option<u64>, CountWay), WireError> {
        let (index, seq) = match by {
            CountBy::Index => ("on", "off"),
            CountBy::Seq => ("off", "on"),
        };
        self.session.execute(&format!(
            "{}; SET enable_seqscan = {seq}; SET enable_indexscan = {index}; SET enable_indexonlyscan = {index}",
            set_if_known("max_parallel_workers_per_gather", &workers.to_string(), false)
        ))?;
        let sql = format!("SELECT pg_catalog.count(*) FROM {}", table.name);
        let explain = format!("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {sql}");
        let answer = self.session.query(&explain)?;
        let answer: String = answer.iter().filter_map(|row| row.get(0)).collect();
        let plan = Explained::read(&answer)
            .ok_or_else(|| WireError::Protocol("EXPLAIN did not answer with a plan".to_owned()))?;
        let (mut rows, mut seconds) = (None, Vec::new());
        for _ in 0..self.request.repeats {
            let start = Instant::now();
            let counted = self.session.value(&sql)?;
            seconds.push(start.elapsed().as_secs_f64());
            rows = counted.and_then(|count| count.parse().ok());
        }
        let rows_per_s = median(&seconds).zip(rows).map(|(seconds, rows): (f64, u64)| rows as f64 / seconds);
        Ok((rows, CountWay { by, workers_asked: workers, plan, seconds, rows_per_s }))
    }
}
