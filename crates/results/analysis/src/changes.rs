//! Differences between the results of a record and the results recomputed from it.

use pgdyno_record::RunRecord;

use crate::{Doubt, compare::Comparison};

/// Describes the cells, verdicts and doubts that differ between a record and the same record after another analysis.
pub fn changes(before: &RunRecord, after: &RunRecord) -> Vec<String> {
    let mut changes = Vec::new();
    for cell in &after.cells {
        let name = cell.workload.cell();
        let Some(known) = before.cells.iter().find(|known| known.workload == cell.workload) else {
            changes.push(format!("{name} is new"));
            continue;
        };
        let figures = [
            ("TPS", Some(known.tps.value), Some(cell.tps.value)),
            ("± of TPS", known.tps.half_width, cell.tps.half_width),
            ("p50", p50(known), p50(cell)),
            ("p99", p99(known), p99(cell)),
        ];
        let changed = figures.into_iter().filter(|(_, then, now)| !agree(*then, *now));
        changes.extend(
            changed.map(|(what, then, now)| format!("{what} of {name}: {} → {}", shown(then), shown(now))),
        );
    }
    let verdict = |record: &RunRecord| record.comparison.as_ref().and_then(|of| of.result.clone());
    let (then, now) = (verdict(before), verdict(after));
    if then != now {
        changes.push(format!("verdict: {} → {}", answer(then.as_ref()), answer(now.as_ref())));
    }
    let lists = |record: &RunRecord| record.levels.as_ref().map(|levels| levels.list.clone());
    if lists(before) != lists(after) {
        changes.push("verdicts of levels".to_owned());
    }
    changes.extend(doubts(&before.doubts, &after.doubts));
    changes
}

/// Whether two figures are equal, up to the rounding of sums in another order.
fn agree(then: Option<f64>, now: Option<f64>) -> bool {
    match (then, now) {
        (Some(then), Some(now)) => (then - now).abs() <= 1e-9 * then.abs().max(now.abs()),
        _ => then == now,
    }
}

fn p50(cell: &pgdyno_core::measure::CellSummary) -> Option<f64> {
    cell.latency.as_ref()?.p50_ns.map(|ns| ns as f64)
}

fn p99(cell: &pgdyno_core::measure::CellSummary) -> Option<f64> {
    cell.latency.as_ref()?.p99_ns.map(|ns| ns as f64)
}

fn shown(figure: Option<f64>) -> String {
    figure.map_or_else(|| "–".to_owned(), |figure| format!("{figure:.1}"))
}

fn answer(result: Option<&Comparison>) -> String {
    result.map_or_else(|| "none".to_owned(), |result| format!("{:?} {:+.4}", result.verdict, result.effect))
}

fn doubts(before: &[Doubt], after: &[Doubt]) -> Vec<String> {
    let describe = |doubt: &Doubt| format!("{:?}: {}", doubt.kind, doubt.detail);
    let gone = before.iter().filter(|doubt| !doubt.is_of_reader() && !after.contains(doubt));
    let new = after.iter().filter(|doubt| !before.contains(doubt));
    gone.map(|doubt| format!("doubt removed: {}", describe(doubt)))
        .chain(new.map(|doubt| format!("doubt added: {}", describe(doubt))))
        .collect()
}
