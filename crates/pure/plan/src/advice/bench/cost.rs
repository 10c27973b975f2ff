//! Estimates the time and bytes that a run costs, printed before it begins.
//!
//! The estimates help the user decide whether to continue: they assume the rates of one current server core and
//! are generous in bytes. The report shows the real figures.

use pgdyno_core::tpcc::DISTRICTS;
use pgdyno_rows::{
    load::{Estimate, SizingFacts},
    tpcb::{history_bytes, rows_total},
};
use pgdyno_script::Builtin;

use super::facts::BenchFacts;
use crate::{BalanceCheckMode, Plan, TpccPlan, WorkloadPlan};

/// Rows loaded per second, including their primary keys.
pub const LOAD_ROWS_PER_S: f64 = 400_000.0;
/// Rows read per second by a full balance check.
pub const CHECK_ROWS_PER_S: f64 = 2_000_000.0;
/// TPC-B-like transactions per second and server processor.
pub const TRANSACTIONS_PER_CPU_S: f64 = 3_000.0;
/// Bytes of WAL of a TPC-B-like transaction without full-page images.
const WAL_PER_TRANSACTION: u64 = 700;
/// Bytes of new row versions per transaction: an account, a teller and a branch.
const BLOAT_PER_TRANSACTION: u64 = 132 + 44 + 36;
/// TPC-C transactions per second and server processor.
const TPCC_PER_CPU_S: f64 = 1_500.0;
/// Bytes of WAL of a TPC-C transaction with full-page images, measured with ten warehouses.
const TPCC_WAL: u64 = 6_000;
/// Bytes that a TPC-C transaction adds on average: 4.5 order lines of 90 bytes with their keys, orders,
/// payments, row versions.
const TPCC_BLOAT: u64 = 1_500;
/// Rows of a warehouse in all TPC-C tables.
const TPCC_WAREHOUSE_ROWS: f64 = 500_000.0;
/// Shortest mean keying plus think time in seconds: that of Delivery and Stock-Level.
const TPCC_ROUND_S: f64 = 7.0;
/// Bytes of a new cluster with its first WAL segments.
const CLUSTER_BYTES: u64 = 64 << 20;
/// Most bytes of WAL kept on disk (`max_wal_size` and a spread checkpoint).
const WAL_KEPT_BYTES: u64 = 2 << 30;
/// Seconds for facts, storage check, initdb, start and report.
const FIXED_S: f64 = 8.0;
/// Seconds between two runs: connecting, CHECKPOINT, drain.
const BETWEEN_S: f64 = 0.5;

/// Size of the loaded tables.
#[derive(Default)]
struct Data {
    rows: u64,
    bytes: u64,
    /// Heap pages of TPC-B's accounts, which built-in transactions update.
    account_pages: u64,
}

impl Data {
    /// Size of what the plan loads. Of tables that exist already, only the pages of accounts count.
    fn new(plan: &Plan, scale: Option<u64>, facts: &BenchFacts<'_>) -> Self {
        let all = Self::of_tables(plan, scale, facts);
        if plan.data.loaded { Self { account_pages: all.account_pages, ..Self::default() } } else { all }
    }

    fn of_tables(plan: &Plan, scale: Option<u64>, facts: &BenchFacts<'_>) -> Self {
        match (scale, plan.data.scaleup) {
            (Some(scale), _) => {
                let sizes = plan.load.sizes(scale, facts.page_bytes);
                let account_pages = sizes.accounts.heap.pages;
                Self { rows: rows_total(scale), bytes: sizes.total_bytes(), account_pages }
            }
            (None, Some(scaleup)) => {
                let bytes = scaleup.bytes(facts.page_bytes, plan.load.fillfactor());
                Self { rows: scaleup.rows.saturating_add(scaleup.log_rows), bytes, account_pages: 0 }
            }
            (None, None) => Self::of_tpcc(plan, facts),
        }
    }
}

impl Data {
    /// Size of the TPC-C tables; zero if the plan does not load them.
    fn of_tpcc(plan: &Plan, facts: &BenchFacts<'_>) -> Self {
        let Some(load) = plan.loads(None).ok().flatten() else { return Self::default() };
        let need = SizingFacts {
            page_bytes: facts.page_bytes,
            wal_minimal: false,
            maintenance_bytes: 64 << 20,
            workers: 0,
            streams: plan.load.streams(),
        };
        let Estimate { main, others, .. } = Estimate::new(&load, &need);
        let bytes: u64 = [main, others].iter().map(|size| size.heap.bytes + size.index.bytes).sum();
        let sets = plan.data.tpcc.as_ref().map_or(1, |tpcc| u64::from(tpcc.count()));
        Self {
            rows: load.rows_total().saturating_mul(sets),
            bytes: sets.saturating_mul(bytes),
            account_pages: 0,
        }
    }
}

/// Estimated size in bytes of the tables that a plan loads, with their indexes.
pub fn loaded_bytes(plan: &Plan, scale: Option<u64>, facts: &BenchFacts<'_>) -> u64 {
    Data::new(plan, scale, facts).bytes
}

/// Highest assumed rate of TPC-C transactions.
fn tpcc_rate(plan: &Plan, server_cpus: usize) -> f64 {
    plan.measure.rate.unwrap_or(f64::MAX).min(TPCC_PER_CPU_S * server_cpus as f64)
}

/// Seconds of one run of a workload: as planned, or of its number of transactions at the assumed rate.
fn run_s(plan: &Plan, workload: &WorkloadPlan, clients: u32, server_cpus: usize) -> f64 {
    match workload.tpcc.and_then(|work| work.transactions) {
        Some(each) => each as f64 * f64::from(clients) / tpcc_rate(plan, server_cpus),
        None => plan.measure.duration.as_secs_f64() + plan.measure.warmup.as_secs_f64(),
    }
}

/// Most TPC-C transactions of all runs together. Terminals with keying and think times are bounded by those.
fn of_tpcc(plan: &Plan, levels: &[Vec<u32>], server_cpus: usize) -> u64 {
    let measure = &plan.measure;
    let most = tpcc_rate(plan, server_cpus);
    let tpcc = plan.data.tpcc.as_ref();
    let terminals = tpcc.map_or(0.0, |tpcc| tpcc.all_warehouses() as f64 * DISTRICTS as f64);
    let of = |(workload, levels): (&WorkloadPlan, &Vec<u32>)| {
        let rate = match workload.tpcc {
            None => return 0,
            Some(work) if work.paced => most.min(terminals / TPCC_ROUND_S),
            Some(_) => most,
        };
        let seconds: f64 = levels.iter().map(|clients| run_s(plan, workload, *clients, server_cpus)).sum();
        ((rate * seconds) as u64).saturating_mul(measure.blocks.into())
    };
    plan.workload.iter().zip(levels).map(of).fold(0, u64::saturating_add)
}

/// Seconds of the consistency check after the runs, which also covers tables that were loaded before.
fn check_of_tpcc_s(plan: &Plan) -> f64 {
    let tpcc = plan.data.tpcc.as_ref().filter(|_| plan.check.consistency);
    let warehouses = tpcc.map_or(0, TpccPlan::all_warehouses);
    warehouses as f64 * TPCC_WAREHOUSE_ROWS / CHECK_ROWS_PER_S
}

/// Estimated cost of a whole run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Number of runs: workloads × client counts × blocks.
    pub runs: u64,
    /// Seconds from start to report.
    pub seconds: f64,
    /// Seconds of one run on average, without the pause after it.
    pub run_s: f64,
    /// Seconds of loading, which `seconds` includes.
    pub load_s: f64,
    /// Seconds of checking the data after the runs, which `seconds` includes.
    pub check_s: f64,
    /// Bytes written to storage: data, indexes, WAL, and pages written again by checkpoints.
    pub written_bytes: u64,
    /// Most bytes that the data directory will hold.
    pub disk_bytes: u64,
}

impl Cost {
    /// Cost at a scale without the balance check. Space and writes of the plan's own SQL are not included.
    pub(super) fn estimate(
        plan: &Plan,
        scale: Option<u64>,
        levels: &[Vec<u32>],
        server_cpus: usize,
        facts: &BenchFacts<'_>,
    ) -> Self {
        let measure = &plan.measure;
        let blocks = u64::from(measure.blocks);
        let runs = levels.iter().map(|levels| levels.len() as u64).sum::<u64>() * blocks;
        let writes = |workload: &WorkloadPlan| workload.as_builtin().is_some_and(Builtin::writes);
        let writing = plan.workload.iter().zip(levels).filter(|(workload, _)| writes(workload));
        let writing_runs = writing.map(|(_, levels)| levels.len() as u64).sum::<u64>() * blocks;
        let planned_s = measure.duration.as_secs_f64() + measure.warmup.as_secs_f64();
        let of_workload = |(workload, levels): (&WorkloadPlan, &Vec<u32>)| -> f64 {
            levels.iter().map(|clients| run_s(plan, workload, *clients, server_cpus)).sum()
        };
        let by_number =
            plan.workload.iter().any(|of| of.tpcc.is_some_and(|work| work.transactions.is_some()));
        let all_s = plan.workload.iter().zip(levels).map(of_workload).sum::<f64>() * blocks as f64;
        let run_s = if by_number && runs > 0 { all_s / runs as f64 } else { planned_s };
        let rate = measure.rate.unwrap_or(f64::MAX).min(TRANSACTIONS_PER_CPU_S * server_cpus as f64);
        let transactions = (rate * planned_s) as u64;

        let of_tpcc = of_tpcc(plan, levels, server_cpus);
        let all = transactions.saturating_mul(writing_runs);
        let data = Data::new(plan, scale, facts);
        let data_bytes = data.bytes;
        // The first change of a page after a checkpoint writes a full-page image to WAL, and the next
        // checkpoint writes the page back.
        let pages = transactions.min(data.account_pages) * facts.page_bytes;
        let images = pages.saturating_mul(writing_runs);
        let wal =
            data_bytes + all.saturating_mul(WAL_PER_TRANSACTION) + of_tpcc.saturating_mul(TPCC_WAL) + images;
        let history = history_bytes(scale.unwrap_or(1), all, facts.page_bytes);
        let cluster = if facts.own_server { CLUSTER_BYTES } else { 0 };
        let grown = all.saturating_mul(BLOAT_PER_TRANSACTION) + of_tpcc.saturating_mul(TPCC_BLOAT);
        let kept = cluster + data_bytes + history + grown;
        let (load_s, check_s) = (data.rows as f64 / LOAD_ROWS_PER_S, check_of_tpcc_s(plan));
        Self {
            runs,
            run_s,
            load_s,
            check_s,
            seconds: FIXED_S + runs as f64 * (run_s + BETWEEN_S) + load_s + check_s,
            written_bytes: cluster + data_bytes + history + wal + images,
            disk_bytes: kept + wal.min(WAL_KEPT_BYTES),
        }
    }

    /// Cost on several servers measured one after the other on the same disk.
    #[must_use]
    pub fn times(self, servers: u64) -> Self {
        Self {
            runs: self.runs * servers,
            seconds: self.seconds * servers as f64,
            run_s: self.run_s,
            load_s: self.load_s * servers as f64,
            check_s: self.check_s * servers as f64,
            written_bytes: self.written_bytes.saturating_mul(servers),
            disk_bytes: self.disk_bytes.saturating_mul(servers),
        }
    }

    /// Adds the time of the balance check.
    pub(super) fn with_check(self, mode: BalanceCheckMode, scale: Option<u64>) -> Self {
        let rows = match mode {
            BalanceCheckMode::Full => scale.map_or(0, rows_total) as f64,
            _ => 0.0,
        };
        let check_s = rows / CHECK_ROWS_PER_S;
        Self { seconds: self.seconds + check_s, check_s: self.check_s + check_s, ..self }
    }
}
