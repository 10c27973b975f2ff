//! Too few blocks, and blocks or intervals without a steady state.

use pgdyno_core::{
    measure::{CellRun, CellSummary, SteadyVerdict, Workload, runs_by_cell},
    units,
};
use pgdyno_record::RunRecord;

use super::{
    keys::{Key, Measuring},
    wording::{cell_name, doubt, percent, worst},
};
use crate::{
    Doubt, DoubtKind,
    estimate::MAX_HALF_WIDTH,
    over_blocks::Change,
    trend::{self, Trend},
};

/// Fewest blocks of a run: with fewer there is no confidence interval.
pub const MIN_BLOCKS: u32 = 3;

/// Fewest blocks of a thorough run: t(95 %) falls from 4.3 at three blocks to 2.8 at five.
pub const MIN_BLOCKS_THOROUGH: u32 = 5;

/// A cell is unsteady if more than this share of its runs is: with many runs, one may be a false alarm.
pub const MAX_UNSTEADY_SHARE: f64 = 0.2;

pub(super) fn screening_run(record: &RunRecord) -> Option<Doubt> {
    let drove_nothing = !record.operations.is_empty() && record.runs.is_empty();
    if record.plan.thorough || drove_nothing {
        return None;
    }
    let flag = Key::Thorough.named(Measuring::of(record));
    let hint = record.plan.thorough_hint.as_deref().unwrap_or(flag);
    let detail = "short intervals and few blocks: suitable for a first look, not for publication".into();
    doubt(DoubtKind::ScreeningRun, detail, &format!("Use {hint} for numbers to publish."), Vec::new())
}

pub(super) fn too_few_blocks(record: &RunRecord) -> Option<Doubt> {
    let least = if record.plan.thorough { MIN_BLOCKS_THOROUGH } else { MIN_BLOCKS };
    let counts = runs_by_cell(&record.runs).into_iter().map(|(workload, runs)| (workload, runs.len() as u32));
    let few: Vec<_> = counts.filter(|(_, runs)| *runs < least).collect();
    let fewest = few.iter().map(|(_, runs)| *runs).min()?;
    let s = if fewest == 1 { "" } else { "s" };
    let detail = format!("only {fewest} block{s} of a cell; at least {least} are needed");
    let names = few.into_iter().map(|(workload, _)| cell_name(workload)).collect();
    let advice = format!("Measure more blocks ({}).", Key::Blocks.named(Measuring::of(record)));
    doubt(DoubtKind::TooFewBlocks, detail, &advice, names)
}

pub(super) fn not_steady(record: &RunRecord) -> Option<Doubt> {
    let thorough = record.plan.thorough;
    let unsteady = |run: &&&CellRun| match run.steady {
        SteadyVerdict::Steady => false,
        // Screening runs are short by design and have a doubt of their own.
        SteadyVerdict::TooShort => thorough,
        SteadyVerdict::Trending { .. } | SteadyVerdict::NotSteady { .. } => true,
    };
    let shares = runs_by_cell(&record.runs).into_iter().map(|(workload, runs)| {
        let bad: Vec<_> = runs.iter().filter(unsteady).collect();
        let share = bad.len() as f64 / runs.len() as f64;
        (share, cell_name(workload), bad.first().map(|run| run.steady.words()), bad.len(), runs.len())
    });
    let found: Vec<_> = shares.filter(|(share, ..)| *share > MAX_UNSTEADY_SHARE).collect();
    let (_, name, example, bad, all) = found.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let example = example.as_deref().unwrap_or_default();
    let detail = format!("throughput was not steady in {bad} of {all} runs of {name}: {example}");
    let names = found.iter().map(|(_, name, ..)| name.clone()).collect();
    let advice =
        "Use a longer warm-up and interval (at least 10 s); look for a cache that fills up, or a checkpoint.";
    doubt(DoubtKind::NotSteady, detail, advice, names)
}

/// The cells whose TPS changed over the blocks, with the change.
fn changed(record: &RunRecord) -> Vec<(String, Change)> {
    let of = |(workload, runs): (&Workload, Vec<&CellRun>)| {
        let rates: Vec<f64> = runs.iter().map(|run| run.tps).collect();
        Change::find(&rates).map(|change| (cell_name(workload), change))
    };
    runs_by_cell(&record.runs).into_iter().filter_map(of).collect()
}

/// A mean over blocks that jump or drift describes no actual state of the server.
pub(super) fn unsteady_blocks(record: &RunRecord) -> Option<Doubt> {
    blocks_changed("TPS", &changed(record), &|nth| nth as u32)
}

/// [`DoubtKind::UnsteadyBlocks`] for these named changes of a rate; the detail describes the strongest. `number` is
/// that of the nth block that counts, from 1.
pub(super) fn blocks_changed(
    rate: &str,
    changed: &[(String, Change)],
    number: &dyn Fn(usize) -> u32,
) -> Option<Doubt> {
    let (name, change) = changed.iter().max_by(|a, b| a.1.strength().total_cmp(&b.1.strength()))?;
    let detail = match *change {
        Change::Jump { block, from, to } => format!(
            "{rate} of {name} {} from {} to {} between its blocks {} and {}",
            if to > from { "rose" } else { "fell" },
            units::rate(from),
            units::rate(to),
            number(block),
            number(block + 1)
        ),
        Change::Drift { change, blocks } => format!(
            "{rate} of {name} {} by {} over its {blocks} blocks",
            if change > 0.0 { "rose" } else { "fell" },
            percent(change.abs())
        ),
    };
    let advice = "Find out what changed between blocks (a cache that fills up, growing tables, a throttled disk, other \
                  load) and measure again: the mean describes none of the states.";
    doubt(DoubtKind::UnsteadyBlocks, detail, advice, changed.iter().map(|(name, _)| name.clone()).collect())
}

/// WAL per transaction from which on it counts, in bytes: reading writes a little, for hint bits.
const LEAST_WAL: f64 = 200.0;

/// A trend of all cells together, too small for any of them alone: the data ages, a cache fills, the machine warms up.
pub(super) fn trend_over_blocks(record: &RunRecord) -> Option<Doubt> {
    let cells = runs_by_cell(&record.runs);
    let of = |figure: fn(&CellRun) -> Option<f64>| -> Vec<Vec<f64>> {
        let series = |runs: &Vec<&CellRun>| runs.iter().map(|run| figure(run)).collect::<Option<Vec<f64>>>();
        cells.iter().filter_map(|(_, runs)| series(runs)).collect()
    };
    let rates = of(|run| Some(run.tps).filter(|_| run.workload.rate_per_s.is_none()));
    // A cell that jumps or drifts by itself has a doubt that says more.
    let rates = if changed(record).is_empty() { rates } else { Vec::new() };
    let wal = of(|run| {
        let each = run.io.as_ref()?.wal_bytes? as f64 / run.counts.committed.max(1) as f64;
        (each >= LEAST_WAL).then_some(each)
    });
    let words = |what: &str, trend: Trend| {
        let way = if trend.change > 0.0 { "rose" } else { "fell" };
        format!("{what} {way} by {} over {} blocks", percent(trend.change.abs()), trend.blocks)
    };
    let found: Vec<_> =
        [("TPS", trend::common(&rates, true)), ("WAL per transaction", trend::common(&wal, false))]
            .into_iter()
            .filter_map(|(what, trend)| Some(words(what, trend?)))
            .collect();
    let detail = format!("all cells together: {}", found.join("; "));
    let advice = "Let the tables age, or vacuum them, before you measure, and measure longer: the means are of a state \
                  that was changing.";
    (!found.is_empty()).then(|| doubt(DoubtKind::TrendOverBlocks, detail, advice, Vec::new()))?
}

/// Not raised for cells whose blocks jump or drift, which have a more specific doubt, nor for several subjects: those
/// are compared within a block, where scatter between blocks cancels.
pub(super) fn noisy(record: &RunRecord) -> Option<Doubt> {
    if record.subjects.len() > 1 {
        return None;
    }
    let changed = changed(record);
    let is_known = |cell: &CellSummary| changed.iter().any(|(name, _)| *name == cell_name(&cell.workload));
    let shares = record.cells.iter().filter_map(|cell| Some((cell, cell.tps.relative_half_width()?)));
    let noisy = shares.filter(|(cell, share)| *share > MAX_HALF_WIDTH && !is_known(cell));
    let (names, most) = worst(noisy.map(|(cell, share)| (cell_name(&cell.workload), share)))?;
    let detail = format!(
        "blocks of one cell scatter: the 95 % confidence interval is up to ± {} of the mean",
        percent(most)
    );
    let advice = "Measure more or longer blocks, and stop other programs on the machine.";
    doubt(DoubtKind::Noisy, detail, advice, names)
}
