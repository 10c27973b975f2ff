//! Doubts about comparisons in blocks. Scatter raises none, because the confidence interval shows it.

use pgdyno_core::{measure::Arm, results::ComparedRate};
use pgdyno_record::{ComparisonRecord, RunRecord, SubjectRecord};

use super::{
    blocks::blocks_changed,
    keys::{Key, Measuring},
    wording::doubt,
};
use crate::{
    Doubt, DoubtKind,
    compare::{FEWEST_DOUBTED, FIRST_LOOK, MAX_CORRELATION},
    over_blocks::Change,
};

pub(super) fn too_few_blocks(comparison: &ComparisonRecord) -> Option<Doubt> {
    let least = FIRST_LOOK;
    let made = comparison.result.as_ref().map_or(0, |result| result.blocks);
    if made >= least {
        return None;
    }
    let counted = comparison.undisturbed().count() as u32;
    let s = if counted == 1 { "" } else { "s" };
    let whole = if made < counted { format!(", {made} of them in whole starts") } else { String::new() };
    let detail =
        format!("only {counted} block{s} of A and B{whole}; a reliable answer needs at least {least}");
    let advice = match comparison.too_disturbed {
        true => "Stop the other programs, or count disturbed blocks as well (--keep-disturbed).",
        false => "Measure more blocks (--blocks).",
    };
    doubt(DoubtKind::TooFewBlocks, detail, advice, Vec::new())
}

pub(super) fn dependent_blocks(comparison: &ComparisonRecord) -> Option<Doubt> {
    let result = comparison.result.as_ref()?;
    let units = comparison.starts.as_ref().map_or(result.blocks, |of| of.starts);
    let correlation = result.correlation.filter(|r| *r > MAX_CORRELATION && units >= FEWEST_DOUBTED)?;
    let detail = format!(
        "a block's result resembles that of the block before (correlation {correlation:.2}): something may change \
         slowly in one server and not in the other, and the interval is wider for it"
    );
    let advice = "Look for what changes from block to block in one of the servers, such as a cache that fills up, or \
                  tables that grow; more blocks of this kind say little.";
    doubt(DoubtKind::DependentBlocks, detail, advice, Vec::new())
}

/// Blocks of one start do not show how much starts differ. Two scripts at one server share its start.
pub(super) fn one_start(record: &RunRecord) -> Option<Doubt> {
    let compares = record.comparison.is_some() || record.levels.is_some();
    if !compares || record.plan.blocks_per_start.is_some() || at_one_server(record) {
        return None;
    }
    let own = record.subjects.iter().any(|subject| subject.own_server.is_some());
    let detail = match (own, record.resumed.is_empty()) {
        (true, true) => "every server was started once",
        (true, false) => "the servers were restarted only when the run was resumed",
        (false, _) => "pgdyno did not restart the servers",
    };
    let detail = format!(
        "{detail}: effects of a start, such as memory placement, are the same in all blocks, so the answer holds for \
         these starts"
    );
    let advice = format!(
        "Let pgdyno restart the servers between blocks ({}); measure existing servers again after a restart of \
         each.",
        Key::Restart.named(Measuring::of(record))
    );
    doubt(DoubtKind::OneStart, detail, &advice, Vec::new())
}

/// Whether the subjects are all on one existing server, or on none that is known.
fn at_one_server(record: &RunRecord) -> bool {
    let place = |subject: &SubjectRecord| (subject.server.clone(), subject.connection.clone());
    let all_existing = record.subjects.iter().all(|subject| subject.own_server.is_none());
    let same = record.subjects.windows(2).all(|two| place(&two[0]) == place(&two[1]));
    let known = record.subjects.iter().any(|subject| subject.server.is_some());
    !known || (all_existing && same)
}

pub(super) fn tests_disagree(comparison: &ComparisonRecord) -> Option<Doubt> {
    let result = comparison.result.as_ref().filter(|result| result.tests_disagree && result.look > 0)?;
    let p = result.sign_flip_p.map_or("not known".to_owned(), |p| format!("{p:.4}"));
    let detail = format!(
        "the confidence interval and the nonparametric tests disagree: sign-flip p {p} at a level of {:.3}, \
         Hodges-Lehmann {:+.1} %",
        result.alpha,
        result.hodges_lehmann * 100.0
    );
    let advice = "Check the blocks for outliers, and measure more blocks.";
    doubt(DoubtKind::TestsDisagree, detail, advice, Vec::new())
}

/// Changes that both arms share cancel in the ratio only if each arm has a single state.
pub(super) fn unsteady_blocks(comparison: &ComparisonRecord) -> Option<Doubt> {
    let rates = comparison.rates();
    let of = |arm: Arm| Some((arm.letter().to_owned(), Change::find(&rates[arm.index()])?));
    let changed: Vec<_> = Arm::BOTH.into_iter().filter_map(of).collect();
    let numbers: Vec<u32> = comparison.undisturbed().map(|block| block.number).collect();
    let number = |nth: usize| numbers.get(nth - 1).copied().unwrap_or_default();
    let rate = match comparison.by {
        ComparedRate::Tps => "TPS",
        ComparedRate::NewOrders => "New-Orders per second",
        ComparedRate::LoadedRows => "Rows loaded per second",
        ComparedRate::Syncs => "Synchronous writes per second",
        ComparedRate::Reads => "Random reads per second",
    };
    blocks_changed(rate, &changed, &number).map(|doubt| Doubt { cells: Vec::new(), ..doubt })
}

/// Checkpoints in all blocks of one arm and none of the other. `uneven_checkpoints` covers checkpoints in some blocks
/// of an arm.
pub(super) fn checkpoints_in_one_arm(record: &RunRecord) -> Option<Doubt> {
    record.comparison.as_ref()?;
    let seen = |arm: Arm| {
        let runs = record.runs.iter().filter(|run| run.workload.subject.as_deref() == Some(arm.letter()));
        let mut known = runs.filter_map(|run| Some(run.io.as_ref()?.checkpoints? > 0)).peekable();
        let first = *known.peek()?;
        known.all(|any| any == first).then_some(first)
    };
    let (a, b) = (seen(Arm::A)?, seen(Arm::B)?);
    if a == b {
        return None;
    }
    let arm = if a { Arm::A } else { Arm::B };
    let detail = format!(
        "there was a checkpoint in every run of {} and in none of {}",
        arm.letter(),
        arm.other().letter()
    );
    let advice =
        "Use the same max_wal_size and checkpoint_timeout for both, unless you compare these settings.";
    doubt(DoubtKind::UnevenCheckpoints, detail, advice, Vec::new())
}
