//! Computes cells, comparisons, noise and doubts from the measurements of a record, and from nothing else.

use pgdyno_core::{
    measure::{CellRun, CellSummary, Estimate, Histograms, Workload},
    results::fewest_commits,
};
use pgdyno_record::{BlockRecord, ComparisonRecord, RunLatencies, RunRecord, TimeRecord};
use pgdyno_rules::{Finding, Purpose, Standing, host::Facts};

use crate::{
    cells,
    compare::{
        Levels, Verdict, disturbances, floor_of_starts, is_too_disturbed, judge_starts, levels, outliers,
        scatter_of_starts,
    },
    declared,
    disk_shares::disk_shares,
    doubts,
    estimate::estimate,
    noise,
};

/// The effect for which a comparison says how many blocks would show it, over its margin: 3 % for the usual 2 %.
const EFFECT_OVER_MARGIN: f64 = 1.5;

/// Recomputes all results of a record from its runs, blocks and checks. `latencies` has the added histograms of the
/// cells; a cell without one keeps the latencies of the record.
pub fn analyse(record: &mut RunRecord, latencies: &[(Workload, Histograms)]) {
    let is_enough = |run: &CellRun| run.counts.committed >= fewest_commits(run.workload.clients);
    let enough_commits = record.measured_runs().iter().all(is_enough);
    mark_disturbed(record);
    if let Some(comparison) = &mut record.comparison {
        conclude(comparison, record.plan.blocks_per_start, enough_commits);
        let idle_cpus = record.runs.iter().filter_map(|run| Some(run.idle?.cpus));
        comparison.idle_cpus = idle_cpus.max_by(f64::total_cmp);
    }
    let before = std::mem::take(&mut record.cells);
    record.cells = cells::summarise(&record.counted_runs(), latencies);
    let is_known = |of: &Workload| latencies.iter().any(|(workload, _)| workload == of);
    let others = record.cells.iter_mut().filter(|cell| !is_known(&cell.workload));
    others.for_each(|cell| keep_latency(cell, &before));
    let names = record.names().into_iter().map(str::to_owned).collect::<Vec<_>>();
    let margin = record.levels.as_ref().map(|of_levels| of_levels.margin);
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let judged = margin.map(|margin| levels(record.measured_runs(), &names, margin));
    if let Some((of_levels, Levels { scripts, list })) = record.levels.as_mut().zip(judged) {
        (of_levels.scripts, of_levels.list) = (scripts, list);
        of_levels.judged = of_levels.list.iter().filter(|level| level.result.is_some()).count() as u32;
    }
    record.noise = noise::pooled(record.measured_runs());
    record.noise_by_script = noise::by_script(record.measured_runs());
    record.time = TimeRecord::from_stages(&record.stages, &record.runs, &record.starts, &record.resumed);
    record.disk_shares = disk_shares(record);
    record.nominal_shares = declared::nominal_shares(record);
    record.costs = declared::costs(record);
    record.limits = crate::diagnosis::limits(record);
    record.host_findings = host_findings(record);
    record.doubts = doubts::judge(record);
}

/// What is dangerous or worth improving on the machine of a run.
fn host_findings(record: &RunRecord) -> Vec<Finding> {
    let host = &record.host;
    let facts = Facts { host, purpose: Purpose::default() };
    let mut findings = pgdyno_rules::host::check(&facts);
    findings.retain(|finding| finding.standing <= Standing::Improve);
    findings
}

/// The latency histograms of a record's cells, added over the runs that they summarise.
pub fn latencies_of_cells(record: &RunRecord, runs: Vec<RunLatencies>) -> Vec<(Workload, Histograms)> {
    let counted = record.comparison.as_ref().map(ComparisonRecord::counted_blocks);
    let mut cells: Vec<(Workload, Histograms)> = Vec::new();
    for RunLatencies { run, histograms } in runs {
        let Some(of_run) = record.measured_runs().get(run as usize) else { continue };
        if counted.as_ref().is_some_and(|counted| !counted.contains(&of_run.block)) {
            continue;
        }
        match cells.iter_mut().find(|(workload, _)| *workload == of_run.workload) {
            Some((_, cell)) => cell.add(&histograms),
            None => cells.push((of_run.workload.clone(), histograms)),
        }
    }
    cells
}

/// Keeps the percentiles of a cell, because its histogram is not in the record.
fn keep_latency(cell: &mut CellSummary, before: &[CellSummary]) {
    let Some(known) = before.iter().find(|known| known.workload == cell.workload) else { return };
    cell.latency.clone_from(&known.latency);
    cell.distribution.clone_from(&known.distribution);
    cell.tpcc.clone_from(&known.tpcc);
    for (script, known) in cell.scripts.iter_mut().zip(&known.scripts) {
        (script.latency, script.p90_ns) = (known.latency.clone(), known.p90_ns);
    }
}

/// Marks the blocks of a comparison that other load disturbed; only the others count. [`analyse`] does so first.
pub fn mark_disturbed(record: &mut RunRecord) {
    let cpus = doubts::server_cpus(record);
    let Some(comparison) = &mut record.comparison else { return };
    let numbers: Vec<u32> = comparison.blocks.iter().map(|block| block.number - 1).collect();
    let found = match comparison.keep_disturbed {
        true => vec![None; numbers.len()],
        false => disturbances(&record.runs, &numbers, cpus),
    };
    comparison.blocks.iter_mut().zip(found).for_each(|(block, found)| block.disturbed = found);
    let disturbed = comparison.blocks.iter().filter(|block| block.disturbed.is_some()).count();
    let measured_s: f64 = record.runs.iter().map(|run| run.duration_ns as f64 / 1e9).sum();
    comparison.too_disturbed = is_too_disturbed(disturbed, comparison.blocks.len(), measured_s);
}

/// Recomputes the result of a comparison from its blocks, of which each start of the servers has as many as given; with
/// one start the block is the unit. `enough_commits` is about the runs that pgdyno itself drove.
fn conclude(comparison: &mut ComparisonRecord, blocks_per_start: Option<u32>, enough_commits: bool) {
    let ln_ratios = comparison.ln_ratios();
    comparison.blocks.iter_mut().for_each(|block| block.outlier = false);
    let counting = comparison.blocks.iter_mut().filter(|block| block.disturbed.is_none());
    let blocks = counting.zip(outliers(&ln_ratios));
    blocks.for_each(|(block, outlier)| block.outlier = outlier);
    let of_unit = blocks_per_start.unwrap_or(1).max(1);
    let result = judge_starts(&ln_ratios, of_unit, &comparison.looks, comparison.margin);
    let has_answer = enough_commits && !comparison.too_disturbed;
    let result = result.map(|result| result.resting_on(has_answer));
    let more = match result.as_ref().map(|result| result.verdict) {
        Some(Verdict::CannotTell { more_blocks }) => more_blocks,
        _ => None,
    };
    comparison.more_s = more.zip(comparison.block_s).map(|(more, block_s)| f64::from(more) * block_s);
    comparison.result = result;
    comparison.a_per_s = mean_of_arm(comparison, |block| block.a_per_s);
    comparison.b_per_s = mean_of_arm(comparison, |block| block.b_per_s);
    let last = comparison.looks.last().copied();
    let effect = EFFECT_OVER_MARGIN * comparison.margin;
    comparison.floor = last.and_then(|last| floor_of_starts(&ln_ratios, of_unit, last, effect));
    comparison.starts = blocks_per_start.and_then(|blocks| scatter_of_starts(&ln_ratios, blocks));
}

/// The mean of an arm over the blocks that the result is computed from.
fn mean_of_arm(comparison: &ComparisonRecord, rate: fn(&BlockRecord) -> f64) -> Option<Estimate> {
    let counted = comparison.counted_blocks();
    let blocks = comparison.blocks.iter().filter(|block| counted.contains(&(block.number - 1)));
    estimate(&blocks.map(rate).collect::<Vec<_>>(), "1/s")
}
