//! What a run will cost in time and bytes, to be printed before it begins.
//!
//! These are estimates for a person who decides whether to press Enter: the assumed rates are those of one
//! core of a present-day server, generous in bytes. The report shows what it really took.

use super::BenchFacts;
use crate::{
    load::{Estimate, Need},
    plan::{BalanceCheckMode, Builtin, Plan, WorkloadPlan},
    rows::tpcb::{history_bytes, rows_total},
};

/// Rows per second of a load with its primary keys.
pub const LOAD_ROWS_PER_S: f64 = 400_000.0;
/// Rows per second of a full balance check.
const CHECK_ROWS_PER_S: f64 = 2_000_000.0;
/// TPC-B-like transactions per second and processor of the server.
pub const TRANSACTIONS_PER_CPU_S: f64 = 3_000.0;
/// WAL of a TPC-B-like transaction without page images.
const WAL_PER_TRANSACTION: u64 = 700;
/// New row versions that a transaction leaves behind: an account, a teller and a branch.
const BLOAT_PER_TRANSACTION: u64 = 132 + 44 + 36;
/// A new cluster with its first WAL segments.
const CLUSTER_BYTES: u64 = 64 << 20;
/// WAL that stays on disk at most (`max_wal_size` and a spread checkpoint).
const WAL_KEPT_BYTES: u64 = 2 << 30;
/// Seconds of facts, storage check, initdb, start and report.
const FIXED_S: f64 = 8.0;
/// Seconds between two runs: connecting, CHECKPOINT, drain.
const BETWEEN_S: f64 = 0.5;

/// What is loaded.
#[derive(Default)]
struct Data {
    rows: u64,
    bytes: u64,
    /// Pages of TPC-B's accounts: what built-in transactions write to.
    account_pages: u64,
}

impl Data {
    fn of(plan: &Plan, scale: Option<u64>, facts: &BenchFacts<'_>) -> Self {
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
    /// TPC-C's tables, where they are loaded.
    fn of_tpcc(plan: &Plan, facts: &BenchFacts<'_>) -> Self {
        let Some(load) = plan.loads(None).ok().flatten() else { return Self::default() };
        let need = Need {
            page_bytes: facts.page_bytes,
            wal_minimal: false,
            maintenance_bytes: 64 << 20,
            workers: 0,
            streams: plan.load.streams(),
        };
        let Estimate { main, others, .. } = Estimate::of(&load, &need);
        let bytes = [main, others].iter().map(|size| size.heap.bytes + size.index.bytes).sum();
        Self { rows: load.rows_total(), bytes, account_pages: 0 }
    }
}

/// What a run will cost, about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Runs: workloads × client counts × blocks.
    pub runs: u64,
    /// Seconds from start to report.
    pub seconds: f64,
    /// Bytes written to storage: data, indexes, WAL, and pages that checkpoints write again.
    pub written_bytes: u64,
    /// Bytes that the data directory will hold at most.
    pub disk_bytes: u64,
}

impl Cost {
    /// The cost at a scale, without the balance check. What SQL of the plan's own writes and takes is not in it.
    pub(super) fn of(
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
        let run_s = measure.duration.as_secs_f64() + measure.warmup.as_secs_f64();
        let rate = measure.rate.unwrap_or(f64::MAX).min(TRANSACTIONS_PER_CPU_S * server_cpus as f64);
        let transactions = (rate * run_s) as u64;

        let all = transactions.saturating_mul(writing_runs);
        let data = Data::of(plan, scale, facts);
        let data_bytes = data.bytes;
        // After a checkpoint the first change of a page puts all of it into WAL, and the next checkpoint
        // writes it back.
        let pages = transactions.min(data.account_pages) * facts.page_bytes;
        let images = pages.saturating_mul(writing_runs);
        let wal = data_bytes + all.saturating_mul(WAL_PER_TRANSACTION) + images;
        let history = history_bytes(scale.unwrap_or(1), all, facts.page_bytes);
        let cluster = if facts.own_server { CLUSTER_BYTES } else { 0 };
        let kept = cluster + data_bytes + history + all.saturating_mul(BLOAT_PER_TRANSACTION);
        Self {
            runs,
            seconds: FIXED_S + runs as f64 * (run_s + BETWEEN_S) + data.rows as f64 / LOAD_ROWS_PER_S,
            written_bytes: cluster + data_bytes + history + wal + images,
            disk_bytes: kept + wal.min(WAL_KEPT_BYTES),
        }
    }

    /// That of several servers, one after the other on one disk.
    #[must_use]
    pub fn times(self, servers: u64) -> Self {
        Self {
            runs: self.runs * servers,
            seconds: self.seconds * servers as f64,
            written_bytes: self.written_bytes.saturating_mul(servers),
            disk_bytes: self.disk_bytes.saturating_mul(servers),
        }
    }

    /// The cost with the balance check.
    pub(super) fn with_check(self, mode: BalanceCheckMode, scale: Option<u64>) -> Self {
        let rows = match mode {
            BalanceCheckMode::Full => scale.map_or(0, rows_total) as f64,
            _ => 0.0,
        };
        Self { seconds: self.seconds + rows / CHECK_ROWS_PER_S, ..self }
    }
}
