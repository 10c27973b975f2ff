//! Summarises the runs of each cell.

use std::collections::BTreeMap;

use pgdyno_core::measure::{
    BlockRange, CellRun, CellSummary, Counts, CpuUse, Estimate, Histograms, IoUse, Latency, LatencyRanges,
    LatencySummary, MovedPerTransaction, Retries, ScriptRun, ServedFrom, Waits, Workload, is_known,
    runs_by_cell,
};
use pgdyno_script::{Builtin, Scripts};

use crate::{estimate::of_family, tpcc};

/// Reads per committed transaction from which on a source counts: one in twenty transactions. Fewer reads come from
/// extending tables, which servers before 16 count as reads (history: one in 157 transactions, accounts: one in 61),
/// and from the system catalogs.
pub const READS_PER_TRANSACTION: f64 = 0.05;
/// Bytes of a device read that count as one page.
const DEVICE_READ_BYTES: f64 = 8_192.0;

/// Where the pages of a run came from, derived from measured reads and never from sizes. `None` if nothing committed,
/// or if the server reported fewer pages than transactions: a backend reports at most once per second, so a short run
/// may end before any report.
pub fn served_from(io: &IoUse, committed: u64) -> Option<ServedFrom> {
    let often = |reads: f64| reads / committed as f64 >= READS_PER_TRANSACTION;
    if committed == 0 {
        return None;
    }
    let device = io.device_read_bytes.map(|bytes| bytes as f64 / DEVICE_READ_BYTES);
    let unreported = io.blocks_hit + io.blocks_read < committed;
    if unreported && !device.is_some_and(often) {
        return None;
    }
    Some(match (often(io.blocks_read as f64), device) {
        (_, Some(reads)) if often(reads) => ServedFrom::Disk,
        (false, _) => ServedFrom::SharedBuffers,
        (true, Some(_)) => ServedFrom::PageCache,
        (true, None) => ServedFrom::BelowBuffersUnknown,
    })
}

/// SQL statements of a transaction without BEGIN and END: QPS is this times TPS.
///
/// For other than built-in scripts it is counted from the statements listed in the run. `None` if none are listed, as
/// for several scripts, or a script with conditional statements.
pub fn statements_per_transaction(run: &CellRun) -> Option<u32> {
    if let Some(builtin) = Builtin::by_name(run.workload.script_name()) {
        return Some(builtin.scripts().get(0).statements_per_transaction());
    }
    let counted = run.statements.iter().map(|one| match Scripts::one("statement", &one.statement) {
        Ok(scripts) => scripts.get(0).statements_per_transaction(),
        // It was executed, so it is a statement, although the script parser rejects it on its own.
        Err(_) => 1,
    });
    (!run.statements.is_empty()).then(|| counted.sum())
}

/// Summarises every cell, in the order of their first runs. `latencies` has the histograms of each cell, added over its
/// blocks; a cell without one has no latency.
pub fn summarise(runs: &[CellRun], latencies: &[(Workload, Histograms)]) -> Vec<CellSummary> {
    let latency =
        |workload: &Workload| latencies.iter().find(|(of, _)| of == workload).map(|(_, latency)| latency);
    let cells = runs_by_cell(runs);
    let rates = by_family(&cells, "1/s", |run| Some(run.tps));
    let nopm = by_family(&cells, "1/min", |run| run.nopm);
    let tpm = by_family(&cells, "1/min", tpcc::tpm);
    let rows = by_family(&cells, "1/s", |run| Some(run.rows? as f64 * 1e9 / run.duration_ns as f64));
    let rates = rates.into_iter().zip(nopm).zip(tpm).zip(rows);
    let rates = rates.map(|(((tps, nopm), tpm), rows)| Rates { tps, nopm, tpm, rows });
    let summaries = cells.iter().zip(rates);
    summaries
        .filter_map(|((workload, runs), rates)| summary(workload, runs, rates, latency(workload)))
        .collect()
}

/// The rates of a cell; `None` if no run has one.
struct Rates {
    tps: Option<Estimate>,
    nopm: Option<Estimate>,
    tpm: Option<Estimate>,
    rows: Option<Estimate>,
}

/// A rate of each cell. Cells of one script over one protocol are a family, apart from those of an open loop, where the
/// schedule determines TPS.
fn by_family(
    cells: &[(&Workload, Vec<&CellRun>)],
    unit: &str,
    figure: impl Fn(&CellRun) -> Option<f64>,
) -> Vec<Option<Estimate>> {
    let family = |of: &Workload| (of.script.clone(), of.protocol.clone(), of.rate_per_s.is_some());
    let mut families: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (at, (workload, _)) in cells.iter().enumerate() {
        families.entry(family(workload)).or_default().push(at);
    }
    let mut estimates = vec![None; cells.len()];
    for members in families.into_values() {
        let of = |at: &usize| cells[*at].1.iter().filter_map(|run| figure(run)).collect::<Vec<_>>();
        let found = of_family(&members.iter().map(of).collect::<Vec<_>>(), unit);
        members.into_iter().zip(found).for_each(|(at, found)| estimates[at] = found);
    }
    estimates
}

fn summary(
    workload: &Workload,
    runs: &[&CellRun],
    rates: Rates,
    histograms: Option<&Histograms>,
) -> Option<CellSummary> {
    let latency = histograms.map(|histograms| &histograms.whole);
    let scripts = scripts(runs, histograms);
    let sets = histograms.map(|histograms| histograms.sets.as_slice()).unwrap_or_default();
    let tps = rates.tps?;
    let factor = statements_per_transaction(runs.first()?);
    let never_started = runs.iter().map(|run| run.counts_whole.never_started).sum();
    let committed: u64 = runs.iter().map(|run| run.counts.committed).sum();
    let seconds: f64 = runs.iter().map(|run| run.duration_ns as f64 / 1e9).sum();
    let driver_s: f64 = runs.iter().map(|run| run.cpu.driver_s).sum();
    let server_s: Option<f64> = runs.iter().map(|run| run.cpu.server_s).sum();
    let each = |cpu_s: f64| (committed > 0).then(|| cpu_s * 1e6 / committed as f64);
    Some(CellSummary {
        workload: workload.clone(),
        tpcc: tpcc::cell(runs, &scripts, rates.nopm, rates.tpm, sets),
        scripts,
        retries: retries(runs),
        statements_per_transaction: factor,
        qps: factor.map(|factor| tps.times(f64::from(factor), "1/s")),
        rows_per_s: rates.rows,
        moved: moved(runs),
        tps,
        latency: latency
            .and_then(Latency::summary)
            .map(|all| all.without_tail_of(never_started).with_tails(|from_ns| is_spread(runs, from_ns))),
        longest_silence_ns: runs.iter().filter_map(|run| run.longest_silence_ns).max(),
        latency_ranges: latency_ranges(runs),
        distribution: latency.map(|all| known_distribution(all, never_started)).unwrap_or_default(),
        miss_rate: miss_rate(runs),
        driver_cpu_us_per_transaction: each(driver_s),
        server_cpu_us_per_transaction: server_s.and_then(each),
        driver_cpus: if seconds > 0.0 { driver_s / seconds } else { 0.0 },
        server_cpus: server_s.filter(|_| seconds > 0.0).map(|cpu_s| cpu_s / seconds),
        served_from: slowest_source(runs),
        durability: runs.iter().filter_map(|run| Some(run.durability.as_ref()?.tier)).max(),
        waits: waits(runs),
    })
}

/// What a transaction moved on average: sums over all runs, if every run knows its own.
fn moved(runs: &[&CellRun]) -> MovedPerTransaction {
    let committed: u64 = runs.iter().map(|run| run.counts.committed).sum();
    let each = |amount: &dyn Fn(&CellRun) -> Option<u64>| {
        let all: Option<u64> = runs.iter().map(|run| amount(run)).sum();
        all.filter(|_| committed > 0).map(|all| all as f64 / committed as f64)
    };
    let rounded = |mean: Option<f64>| mean.map(|mean| mean.round() as u64);
    let io = |of: fn(&IoUse) -> Option<u64>| move |run: &CellRun| of(run.io.as_ref()?);
    MovedPerTransaction {
        rows: each(&|run| run.rows),
        blocks_read: each(&io(|io| Some(io.blocks_read))),
        device_read_bytes: rounded(each(&io(|io| io.device_read_bytes))),
        device_written_bytes: rounded(each(&io(|io| io.device_written_bytes))),
        wal_bytes: rounded(each(&io(|io| io.wal_bytes))),
    }
}

/// Blocks, and seconds of all of them, in which latencies from a percentile on must be seen: the samples of one stall
/// are not independent of each other, however many clients it held up.
const TAIL_BLOCKS: usize = 3;
const TAIL_SECONDS: usize = 10;
/// A histogram with three digits gives a percentile a little more than the largest latency of its bucket.
const TAIL_ROUNDING: f64 = 0.99;

/// Whether latencies of at least this much occurred in three blocks and ten different seconds; in half of the seconds
/// if there are fewer than twenty, and in every block if there are fewer than three. True where seconds are not known.
fn is_spread(runs: &[&CellRun], from_ns: u64) -> bool {
    if runs.iter().any(|run| run.slowest_seconds_ns.is_empty()) {
        return true;
    }
    let limit = from_ns as f64 * TAIL_ROUNDING;
    let of = |run: &&CellRun| run.slowest_seconds_ns.iter().filter(|ns| **ns as f64 >= limit).count();
    let seen: Vec<usize> = runs.iter().map(of).collect();
    let all_s: f64 = runs.iter().map(|run| run.duration_ns as f64 / 1e9).sum();
    let blocks = seen.iter().filter(|seconds| **seconds > 0).count();
    let needed_s = TAIL_SECONDS.min((all_s / 2.0).ceil() as usize);
    blocks >= TAIL_BLOCKS.min(runs.len()) && seen.iter().sum::<usize>() >= needed_s
}

/// Retries of all runs; `None` if transactions are tried once.
fn retries(runs: &[&CellRun]) -> Option<Retries> {
    let all = runs.iter().filter_map(|run| run.retries);
    all.reduce(|sum, of_run| Retries { retries: sum.retries + of_run.retries, ..sum })
}

/// The distribution up to the quantile that attempts without a start could change.
fn known_distribution(latency: &Latency, never_started: u64) -> Vec<(u64, f64)> {
    let points = latency.distribution().into_iter();
    points
        .filter(|(_, quantile)| never_started == 0 || is_known(*quantile, latency.count(), never_started))
        .collect()
}

/// The smallest and the largest percentiles among the blocks; `None` with a single one.
pub fn latency_ranges(runs: &[&CellRun]) -> Option<LatencyRanges> {
    let known: Vec<&LatencySummary> = runs.iter().filter_map(|run| run.latency.as_ref()).collect();
    let range = |percentile: fn(&LatencySummary) -> Option<u64>| {
        let all: Option<Vec<u64>> = known.iter().map(|of| percentile(of)).collect();
        let all = all?;
        Some(BlockRange { min_ns: *all.iter().min()?, max_ns: *all.iter().max()? })
    };
    (known.len() >= 2 && known.len() == runs.len()).then(|| LatencyRanges {
        p50_ns: range(|of| of.p50_ns),
        p95_ns: range(|of| of.p95_ns),
        p99_ns: range(|of| of.p99_ns),
        p999_ns: range(|of| of.p999_ns),
    })
}

/// The scripts of a cell, with added counts and percentiles of the added histograms.
fn scripts(runs: &[&CellRun], histograms: Option<&Histograms>) -> Vec<ScriptRun> {
    let mut whole: Vec<ScriptRun> = runs.first().map(|run| run.scripts.clone()).unwrap_or_default();
    for run in runs.iter().skip(1) {
        whole.iter_mut().zip(&run.scripts).for_each(|(whole, one)| whole.add(one));
    }
    let latencies = histograms.map(|histograms| histograms.scripts.as_slice()).unwrap_or_default();
    for (script, latency) in whole.iter_mut().zip(latencies) {
        (script.latency, script.p90_ns) = (latency.summary(), latency.quantile_ns(0.9));
    }
    whole
}

/// Share of the ended attempts that did not commit; 1 if attempts fell due and none ended.
fn miss_rate(runs: &[&CellRun]) -> f64 {
    let ended: u64 = runs.iter().map(|run| run.counts.ended()).sum();
    let missed: u64 = runs.iter().map(|run| missed(&run.counts)).sum();
    let due = runs.iter().any(|run| run.counts.scheduled > 0);
    match ended {
        0 => f64::from(u8::from(due)),
        _ => missed as f64 / ended as f64,
    }
}

/// Attempts that ended without a commit.
pub(super) fn missed(counts: &Counts) -> u64 {
    counts.ended() - counts.committed
}

fn waits(runs: &[&CellRun]) -> Option<Waits> {
    let mut sampled = runs.iter().filter_map(|run| run.waits.as_ref()).peekable();
    sampled.peek()?;
    let mut all = Waits::default();
    sampled.for_each(|waits| all.merge(waits));
    Some(all)
}

fn slowest_source(runs: &[&CellRun]) -> Option<ServedFrom> {
    let rank = |source: &ServedFrom| match source {
        ServedFrom::SharedBuffers => 0,
        ServedFrom::PageCache => 1,
        ServedFrom::BelowBuffersUnknown => 2,
        ServedFrom::Disk => 3,
    };
    runs.iter().filter_map(|run| run.served_from).max_by_key(rank)
}

/// Mean CPU use of the busiest driver thread, 0 to 1.
pub(super) fn busiest_worker(runs: &[&CellRun]) -> f64 {
    mean_of(runs, |cpu| cpu.busiest_worker)
}

/// Mean number of CPUs that other programs used; unknown values count as 0.
pub(super) fn others_cpus(runs: &[&CellRun]) -> f64 {
    mean_of(runs, |cpu| cpu.others_cpus.unwrap_or(0.0))
}

/// Mean CPU steal as a share of CPU time; unknown values count as 0.
pub(super) fn steal(runs: &[&CellRun]) -> f64 {
    mean_of(runs, |cpu| cpu.steal.unwrap_or(0.0))
}

/// Mean number of CPUs that the servers of other subjects used, over the runs in which it is known.
pub(super) fn idle_cpus(runs: &[&CellRun]) -> f64 {
    mean(runs.iter().filter_map(|run| Some(run.idle?.cpus)))
}

/// Mean bytes that the servers of other subjects wrote during a run, over the runs in which they are known.
pub(super) fn idle_written_bytes(runs: &[&CellRun]) -> f64 {
    mean(runs.iter().filter_map(|run| Some(run.idle?.written_bytes? as f64)))
}

/// Mean; 0 without a figure.
fn mean(figures: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = figures.fold((0.0, 0), |(sum, count), figure| (sum + figure, count + 1));
    sum / f64::from(count.max(1))
}

fn mean_of(runs: &[&CellRun], figure: impl Fn(&CpuUse) -> f64) -> f64 {
    runs.iter().map(|run| figure(&run.cpu)).sum::<f64>() / runs.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use pgdyno_core::measure::{IdleServers, Precision, StatementSummary};

    use super::*;
    use crate::doubts::samples::run;

    fn io(blocks_read: u64, device_read_bytes: Option<u64>) -> IoUse {
        IoUse { blocks_hit: 1_000_000, blocks_read, device_read_bytes, ..IoUse::default() }
    }

    /// An unobserved run is excluded from the mean, not counted as 0.
    #[test]
    fn idle_servers_that_were_not_seen_do_not_count() {
        let (mut seen, unseen) = (run("tpcb-like", 1, 10.0), run("tpcb-like", 1, 10.0));
        seen.idle = Some(IdleServers { cpus: 0.5, written_bytes: Some(100) });
        assert_eq!((idle_cpus(&[&seen, &unseen]), idle_written_bytes(&[&seen, &unseen])), (0.5, 100.0));
        assert_eq!(idle_cpus(&[&unseen]), 0.0);
    }

    #[test]
    fn the_source_follows_from_measured_reads() {
        for (io, committed, source) in [
            (io(0, Some(0)), 1_000, Some(ServedFrom::SharedBuffers)),
            (io(49, None), 1_000, Some(ServedFrom::SharedBuffers)),
            (io(50, None), 1_000, Some(ServedFrom::BelowBuffersUnknown)),
            (io(1_000, Some(8_192)), 1_000, Some(ServedFrom::PageCache)),
            (io(1_000, Some(8_192_000)), 1_000, Some(ServedFrom::Disk)),
            (io(1_000, Some(8_192_000)), 0, None),
            // No backend has reported these transactions yet; only the kernel's counters may show reads.
            (io(0, Some(0)), 1_000_001, None),
            (io(0, Some(8_192_000_000)), 1_000_001, Some(ServedFrom::Disk)),
        ] {
            assert_eq!(served_from(&io, committed), source, "{io:?} {committed}");
        }
    }

    /// What every run observed is divided by the commits of all; a run that did not observe it leaves it unknown.
    #[test]
    fn a_transaction_moves_what_all_runs_observed() {
        let mut runs = [run("tpcb-like", 1, 100.0), run("tpcb-like", 1, 100.0)];
        for (run, (rows, wal)) in runs.iter_mut().zip([(600, 1_000), (400, 3_001)]) {
            run.counts.committed = 100;
            (run.rows, run.duration_ns) = (Some(rows), 1_000_000_000);
            run.io = Some(IoUse { wal_bytes: Some(wal), ..io(10, None) });
        }
        let cell = summarise(&runs, &[]).remove(0);
        assert_eq!(cell.rows_per_s.map(|rows| rows.value), Some(500.0));
        let moved = MovedPerTransaction {
            rows: Some(5.0),
            blocks_read: Some(0.1),
            device_read_bytes: None,
            device_written_bytes: None,
            wal_bytes: Some(20),
        };
        assert_eq!(cell.moved, moved);
        runs[0].rows = None;
        assert_eq!(summarise(&runs, &[]).remove(0).moved.rows, None);
    }

    /// A stall that holds up 128 clients at once has samples enough for p99.9, but all in one second of one block.
    #[test]
    fn one_stall_is_no_percentile() {
        let of = |stalled: bool| {
            let mut run = run("tpcb-like", 128, 100.0);
            run.slowest_seconds_ns = vec![2_000_000; 10];
            if stalled {
                run.slowest_seconds_ns[0] = 400_000_000;
            }
            run
        };
        let (stall, calm) = (of(true), of(false));
        let runs = [&calm, &stall, &calm];
        assert!(is_spread(&runs, 2_000_000) && !is_spread(&runs, 400_000_000));
        assert!(!is_spread(&[&stall, &stall], 400_000_000), "two seconds of sixty");
        let mut brief = of(true);
        (brief.duration_ns, brief.slowest_seconds_ns) = (2_000_000_000, vec![400_000_000, 2_000_000]);
        assert!(is_spread(&[&brief], 400_000_000), "one second of two");
        assert!(is_spread(&[&run("tpcb-like", 8, 100.0)], 1), "its slowest seconds are not known");
        let mut latency = Latency::new(Precision::Run);
        (0..120_000).for_each(|at| latency.record(if at < 119_870 { 1_000_000 } else { 400_000_000 }));
        let summary = latency.summary().expect("there are some");
        let kept = summary.with_tails(|from_ns| is_spread(&runs, from_ns));
        assert!(kept.p99_ns.is_some() && kept.p999_ns.is_none(), "{kept:?}");
    }

    #[test]
    fn percentiles_travel_with_their_range_over_the_blocks() {
        let of = |p99_us: u64| {
            let mut latency = Latency::new(Precision::Run);
            (0..20_000).for_each(|at| latency.record(if at < 19_700 { 100_000 } else { p99_us * 1_000 }));
            CellRun { latency: latency.summary(), ..run("tpcb-like", 8, 100.0) }
        };
        let runs = [of(1_000), of(1_500), of(40_000)];
        let ranges = latency_ranges(&runs.iter().collect::<Vec<_>>()).expect("three blocks");
        let p99 = ranges.p99_ns.expect("each has 200 samples beyond it");
        assert!(
            p99.min_ns.abs_diff(1_000_000) < 2_000 && p99.max_ns.abs_diff(40_000_000) < 80_000,
            "{p99:?}"
        );
        assert_eq!((ranges.p999_ns, latency_ranges(&[&runs[0]])), (None, None));
    }

    #[test]
    fn a_cell_is_its_blocks_together() {
        let mut runs =
            vec![run("tpcb-like", 8, 100.0), run("select-only", 1, 50.0), run("tpcb-like", 8, 300.0)];
        runs[2].counts.failed = 2;
        runs[2].served_from = Some(ServedFrom::Disk);
        let mut latency = Latency::new(Precision::Run);
        (0..200).for_each(|_| latency.record(1_000_000));
        let cells = summarise(&runs, &[(runs[0].workload.clone(), latency.into())]);
        assert_eq!(cells.len(), 2);
        let cell = &cells[0];
        let qps = cell.qps.as_ref().map(|qps| qps.value);
        assert_eq!((cell.tps.value, qps, cell.statements_per_transaction), (200.0, Some(1_000.0), Some(5)));
        assert_eq!(cell.latency.as_ref().map(|latency| latency.count), Some(200));
        assert_eq!(cells[1].latency, None);
        let committed = (runs[0].counts.committed + runs[2].counts.committed) as f64;
        assert!((cell.miss_rate - 2.0 / (committed + 2.0)).abs() < 1e-12);
        assert_eq!(cell.served_from, Some(ServedFrom::Disk));
        let cpu_us = 2.0 * runs[0].cpu.driver_s * 1e6 / committed;
        assert!((cell.driver_cpu_us_per_transaction.expect("there are commits") - cpu_us).abs() < 1e-9);
    }

    #[test]
    fn statements_that_are_not_listed_are_not_counted() {
        let unknown = summarise(&[run("mine.sql", 8, 100.0)], &[]);
        assert_eq!((unknown[0].statements_per_transaction, unknown[0].qps.as_ref()), (None, None));
        let mut known = run("mine.sql", 8, 100.0);
        let statement = |text: &str| StatementSummary { statement: text.into(), latency: None };
        known.statements = ["BEGIN", "SELECT 1", "UPDATE t SET a = 1", "END"].map(statement).into();
        assert_eq!(summarise(&[known], &[])[0].statements_per_transaction, Some(2));
    }

    #[test]
    fn what_is_not_known_of_one_run_is_not_known_of_the_cell() {
        let mut runs = vec![run("tpcb-like", 8, 100.0), run("tpcb-like", 8, 300.0)];
        runs[1].cpu.server_s = None;
        let cells = summarise(&runs, &[]);
        assert_eq!((cells[0].server_cpus, cells[0].server_cpu_us_per_transaction), (None, None));
    }
}
