//! Doubts about several subjects.

use pgdyno_core::results::ScriptResult;
use pgdyno_record::RunRecord;

use super::wording::doubt;
use crate::{Doubt, DoubtKind};

/// Fewest subjects besides the baseline that can agree against it.
const FEWEST_OTHERS: usize = 2;

/// All comparisons share the runs of the baseline. If it had a bad time, all others seem better at once; if they agree
/// among themselves, it is the odd one, whatever made it so.
pub(super) fn baseline_alone(record: &RunRecord) -> Option<Doubt> {
    let levels = record.levels.as_ref()?;
    let mut scripts: Vec<Vec<&ScriptResult>> = Vec::new();
    for one in &levels.scripts {
        let same =
            |of: &&mut Vec<&ScriptResult>| of[0].script == one.script && of[0].protocol == one.protocol;
        match scripts.iter_mut().find(same) {
            Some(of) => of.push(one),
            None => scripts.push(vec![one]),
        }
    }
    let alone: Vec<&str> = scripts.iter().filter(|of| is_alone(of)).map(|of| of[0].script.as_str()).collect();
    let baseline = record.names().first().copied().unwrap_or("the baseline").to_owned();
    let detail = format!(
        "in {} all other subjects differ from {baseline} in the same direction, and not from each other: its own runs \
         may be the unusual ones",
        alone.join(" and ")
    );
    let advice =
        "Make another subject the first, or give the baseline twice: two equal subjects show what is usual.";
    (!alone.is_empty()).then(|| doubt(DoubtKind::BaselineAlone, detail, advice, Vec::new()))?
}

/// Whether all are significantly faster, or all slower, and their intervals have a common part.
fn is_alone(of: &[&ScriptResult]) -> bool {
    let all = |sign: f64| of.iter().all(|one| one.among_all && one.result.effect * sign > 0.0);
    let low = of.iter().map(|one| one.result.low).fold(f64::NEG_INFINITY, f64::max);
    let high = of.iter().map(|one| one.result.high).fold(f64::INFINITY, f64::min);
    of.len() >= FEWEST_OTHERS && (all(1.0) || all(-1.0)) && low <= high
}
