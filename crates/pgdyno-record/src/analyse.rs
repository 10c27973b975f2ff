//! What a record's measurements come to: cells, comparisons, noise and doubts, from nothing but the record.

use pgdyno_analysis::{
    Doubt, DoubtKind,
    cells::{self, Histograms},
    compare::{self, Verdict, floor, levels, outliers},
    doubts,
    noise::Noise,
};
use pgdyno_core::measure::{Arm, CellSummary, Workload};
use pgdyno_script::Builtin;

use crate::{
    BalanceRecord, BlockKind, ComparisonRecord, ConsistencyRecord, PgbenchRecord, RunLatencies, RunRecord,
    ScriptNoise, Status, SubjectRecord, TimeRecord,
};

/// Says anew what the runs, blocks and checks of a record come to. `latencies` holds the added histograms of the cells;
/// those of a cell that is not among them stay as the record has them.
pub fn analyse(record: &mut RunRecord, latencies: &[(Workload, Histograms)]) {
    let fewest = record.runs.iter().map(|run| run.counts.committed).min();
    if let Some(comparison) = &mut record.comparison {
        conclude(comparison, fewest);
    }
    let before = std::mem::take(&mut record.cells);
    record.cells = cells::summarise(&record.counted_runs(), latencies);
    let is_known = |of: &Workload| latencies.iter().any(|(workload, _)| workload == of);
    let others = record.cells.iter_mut().filter(|cell| !is_known(&cell.workload));
    others.for_each(|cell| keep_latency(cell, &before));
    let names = record.names().into_iter().map(str::to_owned).collect::<Vec<_>>();
    if let Some(of_levels) = &mut record.levels {
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        of_levels.list = levels(&record.runs, &names, of_levels.margin);
        of_levels.judged = of_levels.list.iter().filter(|level| level.result.is_some()).count() as u32;
    }
    record.noise = Noise::of(&record.runs).map(Into::into);
    record.noise_by_script = ScriptNoise::of(&record.runs);
    record.time = TimeRecord::of(&record.stages, &record.runs, &record.resumed);
    record.doubts = judge(record);
}

/// The latencies of the cells of a record: those of the runs that they sum up, added.
pub fn latencies_of_cells(record: &RunRecord, runs: Vec<RunLatencies>) -> Vec<(Workload, Histograms)> {
    let counted = record.comparison.as_ref().map(ComparisonRecord::counted_blocks);
    let mut cells: Vec<(Workload, Histograms)> = Vec::new();
    for RunLatencies { run, histograms } in runs {
        let Some(of_run) = record.runs.get(run as usize) else { continue };
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

/// Histograms are not in a record, what was read off them is.
fn keep_latency(cell: &mut CellSummary, before: &[CellSummary]) {
    let Some(known) = before.iter().find(|known| known.workload == cell.workload) else { return };
    cell.latency.clone_from(&known.latency);
    cell.distribution.clone_from(&known.distribution);
    cell.tpcc.clone_from(&known.tpcc);
    for (script, known) in cell.scripts.iter_mut().zip(&known.scripts) {
        (script.latency, script.p90_ns) = (known.latency.clone(), known.p90_ns);
    }
}

/// Says anew what the blocks of a comparison come to. `fewest` are the fewest commits of a run that pgdyno itself
/// drove.
fn conclude(comparison: &mut ComparisonRecord, fewest: Option<u64>) {
    for kind in [BlockKind::Ab, BlockKind::Aa] {
        let wild = outliers(&comparison.ln_ratios(kind));
        let blocks = comparison.blocks.iter_mut().filter(|block| block.kind == kind);
        blocks.zip(wild).for_each(|(block, wild)| block.outlier = wild);
    }
    let result = compare::judge(&comparison.ln_ratios(BlockKind::Ab), &comparison.looks, comparison.margin);
    let result = result.map(|result| result.resting_on(fewest));
    let more = match result.as_ref().map(|result| result.verdict) {
        Some(Verdict::CannotTell { more_blocks }) => more_blocks,
        _ => None,
    };
    comparison.more_s = more.zip(comparison.block_s).map(|(more, block_s)| f64::from(more) * block_s);
    comparison.result = result;
    let last = comparison.looks.last().copied();
    comparison.floor = last.and_then(|last| floor(&comparison.ln_ratios(BlockKind::Aa), last));
}

/// Every reason to distrust a record, worst things first.
pub fn judge(record: &RunRecord) -> Vec<Doubt> {
    let rates = record.comparison.as_ref().map(ComparisonRecord::rates).unwrap_or_default();
    let comparison = record.comparison.as_ref().map(|of| doubts::ComparisonEvidence {
        rates: Arm::BOTH.map(|arm| &rates[arm.index()][..]),
        result: of.result.as_ref(),
        floor: of.floor.as_ref(),
    });
    let subjects: Vec<_> = record.subjects.iter().map(subject).collect();
    let resumed_at: Vec<_> = record.resumed.iter().map(|one| one.first_run).collect();
    let found = doubts::judge(&doubts::Evidence {
        thorough: record.plan.thorough,
        thorough_hint: record.plan.thorough_hint.as_deref(),
        complete: record.status == Status::Complete,
        resumed_at: &resumed_at,
        cores_shared: record.plan.cores_shared,
        ceiling: ceiling(record),
        scale: record.plan.scale,
        subjects: &subjects,
        comparison,
        runs: &record.runs,
        cells: &record.cells,
    });
    match &record.pgbench {
        Some(pgbench) => found.into_iter().filter_map(|doubt| in_its_words(doubt, pgbench)).collect(),
        None => found,
    }
}

fn ceiling(record: &RunRecord) -> Option<doubts::CeilingEvidence<'_>> {
    let (instrument, plan) = (record.instrument.as_ref()?, &record.plan);
    Some(doubts::CeilingEvidence { instrument, waiting: plan.waiting.as_deref()?, jobs: plan.jobs })
}

fn subject(of: &SubjectRecord) -> doubts::SubjectEvidence<'_> {
    doubts::SubjectEvidence {
        name: &of.name,
        server: of.server.as_ref(),
        bundle_pinned: of.bundle_pinned,
        balance: of.balance.as_ref().map(balance),
        consistency: of.consistency.as_ref().map(consistency),
    }
}

fn balance(of: &BalanceRecord) -> doubts::CheckEvidence<'_> {
    doubts::CheckEvidence {
        rows_examined: of.rows_examined,
        violations: of.violations,
        examples: &of.examples,
    }
}

fn consistency(of: &ConsistencyRecord) -> doubts::CheckEvidence<'_> {
    doubts::CheckEvidence {
        rows_examined: of.rows_examined,
        violations: of.violations,
        examples: &of.examples,
    }
}

/// A doubt about a run of `pgdyno pgbench`: those that speak of plans and levels, which that command has not, are left
/// out or said in other words.
fn in_its_words(doubt: Doubt, pgbench: &PgbenchRecord) -> Option<Doubt> {
    let builtin = pgbench.scripts.iter().all(|script| Builtin::by_name(&script.name).is_some());
    // Pauses between transactions are asked for, and so are connections that are made anew.
    let paused = pgbench.think_time_ns > 0 || pgbench.reconnect_after.is_some();
    match doubt.kind {
        DoubtKind::ScreeningRun => None,
        DoubtKind::NotChecked if !builtin => None,
        DoubtKind::Implausible if paused => None,
        DoubtKind::TooFewBlocks => {
            Some(Doubt { advice: "Run it several times, or use `pgdyno bench`.".into(), ..doubt })
        }
        DoubtKind::NotChecked => {
            Some(Doubt { advice: "`pgdyno bench` checks what it wrote.".into(), ..doubt })
        }
        _ => Some(doubt),
    }
}
