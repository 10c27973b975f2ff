//! Cache states, contended rows and checkpoints.

use pgdyno_core::{
    measure::{ServedFrom, Workload, runs_by_cell},
    units,
};
use pgdyno_record::RunRecord;
use pgdyno_script::Builtin;

use super::{
    keys::{Key, Measuring},
    subject::SubjectRuns,
    wording::{cell_name, doubt, worst},
};
use crate::{Doubt, DoubtKind};

/// The scale is the number of branches, and every transaction updates one of them: "-c values in excess of -s
/// will undoubtedly result in lots of transactions blocked waiting for other transactions" (pgbench's manual, Good
/// Practices).
pub(super) fn few_branches(record: &RunRecord) -> Option<Doubt> {
    let scale = record.plan.scale?;
    let updates =
        |workload: &Workload| Builtin::by_name(workload.script_name()).is_some_and(Builtin::updates_branches);
    let contended = runs_by_cell(&record.runs)
        .into_iter()
        .filter(|(workload, _)| updates(workload) && u64::from(workload.clients) > scale)
        .map(|(workload, _)| (cell_name(workload), f64::from(workload.clients)));
    let (names, most) = worst(contended)?;
    let detail = format!(
        "up to {most:.0} clients updated {} branch row{}, so they wait for row locks",
        units::count(scale),
        if scale == 1 { "" } else { "s" }
    );
    let advice = format!(
        "Load at least scale {most:.0} ({}); see Good Practices in pgbench's manual.",
        Key::Scale.named(Measuring::of(record))
    );
    doubt(DoubtKind::FewBranches, detail, &advice, names)
}

pub(super) fn foreign_tables(of: &SubjectRuns<'_>) -> Option<Doubt> {
    let tables = of.subject.existing.as_ref().filter(|tables| tables.loaded_by.is_none())?;
    let detail = format!(
        "{} was not loaded by pgdyno: only a few of its rows were checked, and its age and dead rows are not known",
        tables.words()
    );
    let advice = "Load tables with `pgdyno load`, or state the origin of the tables with every number.";
    doubt(DoubtKind::ForeignTables, detail, advice, Vec::new())
}

pub(super) fn mixed_cache(record: &RunRecord) -> Option<Doubt> {
    let mixed = runs_by_cell(&record.runs).into_iter().filter_map(|(workload, runs)| {
        // Without measured reads below shared buffers it is unknown whether the sources differ.
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
        format!("by measured reads, blocks of {} were served from different sources", names.join(", "));
    let advice = "Use a longer warm-up, or a scale that clearly fits or clearly exceeds memory.";
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
    let detail = format!("there was a checkpoint in up to {with} blocks of a cell and not in the others");
    let advice =
        "Use an interval longer than checkpoint_timeout, or raise max_wal_size to avoid checkpoints.";
    doubt(DoubtKind::UnevenCheckpoints, detail, advice, names)
}
