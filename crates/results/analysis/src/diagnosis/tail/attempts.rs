//! The transactions of the tail of every cell.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use pgdyno_core::measure::{
    CellRun, Latency, MAX_NS, Part, Precision, SLOWEST, SlowAttempt, SlowInterval, Workload,
};
use pgdyno_record::{ComparisonRecord, LoggedInterval, RunLatencies, RunRecord};

/// Share of the transactions of a cell that are its tail.
const PART: f64 = 0.01;
/// Fewest transactions of a tail: of less, shares say nothing.
const FEWEST: u64 = 20;
/// Most transactions of all cells that are kept. Of longer records fewer of each second are.
const MOST_KEPT: u64 = 200_000;
/// Most intervals of a run in a record.
const MOST_INTERVALS: u64 = 3_600;
/// Transactions of a cell that are quoted, at most.
const MOST_QUOTED: usize = 50;
/// Largest difference between the clocks of a run: if there is more, the time of day was set.
const MOST_APART_S: f64 = 1.0;

/// The slowest transactions of every cell, from what the driver recorded of them.
///
/// First the lines of `slowest.ndjson`, in their order. If then [`Slowest::wants_counts`], the lines of `latency.hlog`:
/// of seconds with more slow transactions than are recorded one by one, they have the number.
#[derive(Debug)]
pub struct Slowest<'a> {
    pub(super) record: &'a RunRecord,
    pub(super) cells: Vec<TailCell<'a>>,
    pub(super) attempts: Vec<Attempt>,
    pub(super) strata: Vec<Stratum>,
    /// Server processes of the run's clients, as far as they are recorded.
    pub(super) clients: BTreeSet<i32>,
    /// Of each run the index of its cell.
    cell_of: Vec<Option<usize>>,
    started_at: Option<Timestamp>,
    most_of_interval: usize,
    /// Lines so far that have one in `latency.hlog`, too.
    lines: usize,
    /// Strata whose size is not known, by the number of their line.
    pending: BTreeMap<usize, usize>,
    counted: usize,
}

/// A cell with the bounds of its tail.
#[derive(Debug)]
pub(super) struct TailCell<'a> {
    pub workload: &'a Workload,
    pub runs: Vec<&'a CellRun>,
    pub part: f64,
    /// Latency that the transactions of the tail exceed.
    pub over_ns: u64,
    pub p50_ns: Option<u64>,
    /// Its slowest transactions, the slowest first, each with its index in [`Slowest::attempts`].
    pub quoted: Vec<(usize, SlowAttempt)>,
}

/// A transaction of the tail. Times are seconds since the start of pgdyno's run.
#[derive(Debug)]
pub(super) struct Attempt {
    pub cell: usize,
    pub stratum: usize,
    pub pid: Option<i32>,
    pub begin_s: f64,
    pub end_s: f64,
    /// Share of the latency that passed before it began, from 0 to 1.
    pub lag: f64,
    /// Whether the driver's threads waited for a CPU for half of the latency.
    pub is_driver_starved: bool,
}

/// Transactions of the tail that ended within one interval.
#[derive(Debug)]
pub(super) struct Stratum {
    pub cell: usize,
    /// All of them.
    pub size: u64,
    /// Those that are kept.
    pub kept: u64,
}

impl Stratum {
    /// Number of transactions that each of the kept ones represents.
    pub fn weight(&self) -> f64 {
        self.size.max(self.kept) as f64 / self.kept.max(1) as f64
    }
}

impl<'a> Slowest<'a> {
    /// For the cells of a record, whose runs had these latencies. A cell without them has no tail.
    pub fn new(record: &'a RunRecord, latencies: &[RunLatencies]) -> Self {
        let blocks = record.comparison.as_ref().map(ComparisonRecord::counted_blocks);
        let counts = |run: &CellRun| {
            !run.ended_by_outage && blocks.as_ref().is_none_or(|blocks| blocks.contains(&run.block))
        };
        let of_run: BTreeMap<usize, &Latency> =
            latencies.iter().map(|of| (of.run as usize, &of.histograms.whole)).collect();
        let (mut cells, mut all): (Vec<TailCell<'a>>, Vec<Latency>) = (Vec::new(), Vec::new());
        let mut cell_of = vec![None; record.runs.len()];
        for (index, run) in record.runs.iter().enumerate().filter(|(_, run)| counts(run)) {
            let Some(latency) = of_run.get(&index) else { continue };
            let known = cells.iter().position(|cell| *cell.workload == run.workload);
            let cell = known.unwrap_or_else(|| {
                cells.push(TailCell::new(&run.workload));
                all.push(Latency::new(Precision::Run));
                cells.len() - 1
            });
            cells[cell].runs.push(run);
            all[cell].add(latency);
            cell_of[index] = Some(cell);
        }
        cells.iter_mut().zip(&all).for_each(|(cell, latency)| cell.bound(latency));
        let seconds = record.runs.iter().map(|run| (run.duration_ns / 1_000_000_000 + 2).min(MOST_INTERVALS));
        let most_of_interval = MOST_KEPT / seconds.sum::<u64>().max(1);
        Self {
            record,
            cells,
            attempts: Vec::new(),
            strata: Vec::new(),
            clients: BTreeSet::new(),
            cell_of,
            started_at: record.started_at.parse().ok(),
            most_of_interval: (most_of_interval as usize).clamp(1, SLOWEST),
            lines: 0,
            pending: BTreeMap::new(),
            counted: 0,
        }
    }

    /// Takes the next line of `slowest.ndjson`.
    pub fn slow(&mut self, line: &SlowInterval) {
        self.clients.extend(line.attempts.iter().filter_map(|of| pid(of.backend_pid)));
        let number = self.lines;
        self.lines += usize::from(line.part != Part::Drain);
        let cell = self.cell_of.get(line.run as usize).copied().flatten();
        let Some(cell) = cell.filter(|_| line.part != Part::WarmUp) else { return };
        let over_ns = self.cells[cell].over_ns;
        let all = line.attempts.iter().take_while(|of| of.latency_ns > over_ns).count();
        if all == 0 {
            return;
        }
        let kept = all.min(self.most_of_interval);
        self.strata.push(Stratum { cell, size: all as u64, kept: kept as u64 });
        if all >= SLOWEST && line.part == Part::Measured {
            self.pending.insert(number, self.strata.len() - 1);
        }
        for attempt in &line.attempts[..kept] {
            self.keep(cell, line.run as usize, attempt);
        }
    }

    fn keep(&mut self, cell: usize, run: usize, of: &SlowAttempt) {
        let run = &self.record.runs[run];
        if of.scheduled_ns < run.warmup_ns {
            return;
        }
        let end_s = self.ended_s(run, of);
        let of_latency = |ns: u64| (ns as f64 / of.latency_ns.max(1) as f64).min(1.0);
        let index = self.attempts.len();
        self.attempts.push(Attempt {
            cell,
            stratum: self.strata.len() - 1,
            pid: pid(of.backend_pid),
            begin_s: end_s - of.service_ns as f64 / 1e9,
            end_s,
            lag: of_latency(of.lag_ns),
            is_driver_starved: of_latency(of.driver_waited_ns.unwrap_or(0)) >= 0.5,
        });
        let quoted = &mut self.cells[cell].quoted;
        let place = quoted.partition_point(|(_, other)| other.latency_ns >= of.latency_ns);
        if place < MOST_QUOTED {
            quoted.insert(place, (index, of.clone()));
            quoted.truncate(MOST_QUOTED);
        }
    }

    /// When it ended, in seconds since the start of pgdyno's run: by the time of day, as the first attempt of a run is
    /// due a little after the run begins.
    fn ended_s(&self, run: &CellRun, of: &SlowAttempt) -> f64 {
        let by_run = run.start_s + of.at_s;
        let ended_at: Option<Timestamp> = of.ended_at.parse().ok();
        let by_day =
            ended_at.zip(self.started_at).map(|(end, start)| end.duration_since(start).as_secs_f64());
        by_day.filter(|by_day| (by_day - by_run).abs() < MOST_APART_S).unwrap_or(by_run)
    }

    /// Whether the numbers of slow transactions of some seconds are in `latency.hlog` alone.
    pub fn wants_counts(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Takes the next line of `latency.hlog`.
    pub fn counted(&mut self, line: &LoggedInterval) {
        if let Some(stratum) = self.pending.remove(&self.counted) {
            let stratum = &mut self.strata[stratum];
            let over_ns = self.cells[stratum.cell].over_ns;
            stratum.size = stratum.size.max(above(&line.latency, over_ns));
        }
        self.counted += 1;
    }
}

impl<'a> TailCell<'a> {
    fn new(workload: &'a Workload) -> Self {
        Self { workload, runs: Vec::new(), part: PART, over_ns: 0, p50_ns: None, quoted: Vec::new() }
    }

    /// Sets the bound of the tail by the latencies of all transactions.
    fn bound(&mut self, latency: &Latency) {
        let (all, histogram) = (latency.count(), latency.as_histogram());
        let wanted = ((all as f64 * PART).round() as u64).max(FEWEST).min(all);
        self.part = wanted as f64 / all.max(1) as f64;
        self.p50_ns = latency.quantile_ns(0.5);
        let bound = histogram.value_at_quantile(1.0 - self.part);
        // Very many may have the latency of the bound.
        let has_more = above(latency, bound) * 2 >= wanted;
        self.over_ns = if has_more { bound } else { histogram.lowest_equivalent(bound).saturating_sub(1) };
    }
}

/// Number of latencies above a bound.
fn above(latency: &Latency, bound_ns: u64) -> u64 {
    latency.as_histogram().count_between(bound_ns.saturating_add(1), MAX_NS)
}

fn pid(of: Option<u32>) -> Option<i32> {
    of.and_then(|pid| i32::try_from(pid).ok())
}
