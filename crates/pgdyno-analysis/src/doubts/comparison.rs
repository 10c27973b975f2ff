//! What only a comparison in blocks can be doubted for. Its spread is no reason: the interval tells it.

use pgdyno_core::measure::Arm;
use pgdyno_record::{ComparisonRecord, RunRecord};

use super::{blocks::blocks_changed, wording::doubt};
use crate::{
    Doubt, DoubtKind,
    compare::{EARLY_LOOKS, Look},
    over_blocks::Change,
};

pub(super) fn too_few_blocks(comparison: &ComparisonRecord) -> Option<Doubt> {
    let [Look { blocks: least, .. }, _] = EARLY_LOOKS;
    let made = comparison.result.as_ref().map_or(0, |result| result.blocks);
    if made >= least {
        return None;
    }
    let s = if made == 1 { "" } else { "s" };
    let detail = format!("{made} block{s} of A and B, {least} are the least for an answer to rely on");
    doubt(DoubtKind::TooFewBlocks, detail, "Measure more blocks (--blocks).", Vec::new())
}

pub(super) fn same_differs(comparison: &ComparisonRecord) -> Option<Doubt> {
    let floor = comparison.floor.as_ref().filter(|floor| floor.differs)?;
    let detail = format!(
        "A seems to differ from A in {} blocks: this method finds more here than there is",
        floor.blocks
    );
    let advice =
        "Lengthen warm-up and interval; look for what changes from run to run, such as a cache that fills.";
    doubt(DoubtKind::SameDiffers, detail, advice, Vec::new())
}

pub(super) fn tests_disagree(comparison: &ComparisonRecord) -> Option<Doubt> {
    let result = comparison.result.as_ref().filter(|result| result.tests_disagree && result.look > 0)?;
    let p = result.sign_flip_p.map_or("not known".to_owned(), |p| format!("{p:.4}"));
    let detail = format!(
        "the interval and what assumes no distribution disagree: sign-flip p {p} against {:.3}, \
         Hodges-Lehmann {:+.1} %",
        result.alpha,
        result.hodges_lehmann * 100.0
    );
    let advice = "Look at the blocks for outliers, and measure more of them.";
    doubt(DoubtKind::TestsDisagree, detail, advice, Vec::new())
}

/// What both arms do alike cancels in their ratio, as far as it is a ratio of one state to one state.
pub(super) fn unsteady_blocks(comparison: &ComparisonRecord) -> Option<Doubt> {
    let rates = comparison.rates();
    let of = |arm: Arm| Some((arm.letter().to_owned(), Change::of(&rates[arm.index()])?));
    let changed: Vec<_> = Arm::BOTH.into_iter().filter_map(of).collect();
    blocks_changed(&changed).map(|doubt| Doubt { cells: Vec::new(), ..doubt })
}

/// Within an arm a checkpoint in some of its blocks is seen by `uneven_checkpoints`; here in all of one and none of the
/// other.
pub(super) fn checkpoints_in_one_arm(record: &RunRecord) -> Option<Doubt> {
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
        "a checkpoint fell into every run of {} and into none of {}",
        arm.letter(),
        arm.other().letter()
    );
    let advice = "Give both the same max_wal_size and checkpoint_timeout, unless these are the question.";
    doubt(DoubtKind::UnevenCheckpoints, detail, advice, Vec::new())
}
