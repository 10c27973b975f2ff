//! Where pages came from, which rows everybody wants, and checkpoints.

use pgdyno_core::{
    measure::{ServedFrom, Workload, runs_by_cell},
    units,
};
use pgdyno_record::RunRecord;
use pgdyno_script::Builtin;

use super::wording::{cell_name, doubt, worst};
use crate::{Doubt, DoubtKind};

/// There are as many branches as the scale says, and every transaction updates one of them: "-c values in excess of -s
/// will undoubtedly result in lots of transactions blocked waiting for other transactions" (pgbench's manual, Good
/// Practices).
pub(super) fn few_branches(record: &RunRecord) -> Option<Doubt> {
    let scale = record.plan.scale?;
    let updates =
        |workload: &Workload| Builtin::by_name(&workload.script).is_some_and(Builtin::updates_branches);
    let crowded = runs_by_cell(&record.runs)
        .into_iter()
        .filter(|(workload, _)| updates(workload) && u64::from(workload.clients) > scale)
        .map(|(workload, _)| (cell_name(workload), f64::from(workload.clients)));
    let (names, most) = worst(crowded)?;
    let detail = format!(
        "up to {most:.0} clients updated the rows of {} branch{}: they wait for each other's transactions to end",
        units::count(scale),
        if scale == 1 { "" } else { "es" }
    );
    let advice =
        format!("Load at least scale {most:.0} (--scale), as pgbench's manual says under Good Practices.");
    doubt(DoubtKind::FewBranches, detail, &advice, names)
}

pub(super) fn mixed_cache(record: &RunRecord) -> Option<Doubt> {
    let mixed = runs_by_cell(&record.runs).into_iter().filter_map(|(workload, runs)| {
        // Where reads below the server's buffers cannot be seen, nobody knows whether places differ.
        let seen = |source: &ServedFrom| *source != ServedFrom::BelowBuffersUnknown;
        let mut sources = runs.iter().filter_map(|run| run.served_from).filter(seen);
        let first = sources.next()?;
        sources.any(|source| source != first).then(|| cell_name(workload))
    });
    let names: Vec<_> = mixed.collect();
    if names.is_empty() {
        return None;
    }
    let detail =
        format!("blocks of {} were served from different places by measured reads", names.join(", "));
    let advice = "Lengthen the warm-up, or choose a scale that clearly fits or clearly exceeds memory.";
    doubt(DoubtKind::MixedCache, detail, advice, names)
}

pub(super) fn uneven_checkpoints(record: &RunRecord) -> Option<Doubt> {
    let uneven = runs_by_cell(&record.runs).into_iter().filter_map(|(workload, runs)| {
        let known = runs.iter().filter_map(|run| run.io.as_ref()?.checkpoints);
        let (with, without) = known.fold((0u32, 0u32), |(with, without), checkpoints| match checkpoints {
            0 => (with, without + 1),
            _ => (with + 1, without),
        });
        (with > 0 && without > 0).then(|| (cell_name(workload), f64::from(with)))
    });
    let (names, with) = worst(uneven)?;
    let detail = format!("a checkpoint fell into up to {with} blocks of a cell and not into its others");
    let advice =
        "Lengthen the interval beyond checkpoint_timeout, or raise max_wal_size so that none falls into it.";
    doubt(DoubtKind::UnevenCheckpoints, detail, advice, names)
}
