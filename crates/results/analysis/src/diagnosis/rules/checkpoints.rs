//! Checkpoints.

use pgdyno_core::{
    observe::ByCheckpoint,
    results::{Bottleneck, BottleneckKind},
};

use super::about::About;
use crate::diagnosis::cell::Cell;

/// Checkpoints from which on it is no coincidence that throughput was lower meanwhile.
const ENOUGH: f64 = 3.0;

/// Throughput is lower while a checkpoint is running.
pub fn slower(cell: &Cell<'_>) -> Option<Bottleneck> {
    let all = cell.by_checkpoint();
    let mean = |figure: fn(&ByCheckpoint) -> f64| all.iter().map(figure).sum::<f64>() / all.len() as f64;
    if all.is_empty() {
        return None;
    }
    let about = About {
        kind: BottleneckKind::Checkpoints,
        next: "Longer checkpoint_timeout and larger max_wal_size, so that there are fewer checkpoints and full-page \
               images; a larger checkpoint_completion_target; pg_wal on a device of its own.",
        refuted_by: "measure an interval without a checkpoint",
    };
    let first = format!(
        "{:.0} TPS while a checkpoint was running, {:.0} otherwise",
        mean(|by| by.within_per_s),
        mean(|by| by.otherwise_per_s)
    );
    let ended = cell.server(|server| server.checkpoints.map(|count| count as f64))?;
    let several = ended * cell.runs.len() as f64 >= ENOUGH;
    let second = several.then(|| format!("in {ended:.1} checkpoints of a run"));
    about.explains(mean(ByCheckpoint::missing), first, second)
}
