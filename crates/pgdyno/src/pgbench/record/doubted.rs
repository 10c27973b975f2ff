//! Which reasons to distrust a recorded run there are.

use pgdyno_analysis::{Doubt, DoubtKind, doubts};
use pgdyno_record::{PlanRecord, RunRecord, Status};
use pgdyno_script::Builtin;

use super::{super::options::Options, terms::short_name};
use crate::instrument;

/// Doubts from what is there. Those that speak of plans and levels, which this command has not, are left out or said in
/// other words.
pub fn judge(record: &RunRecord, options: &Options, local: bool) -> Vec<Doubt> {
    let instrument = instrument::kept(&record.host);
    let ceiling = instrument.as_ref().and_then(|instrument| {
        let PlanRecord { waiting, jobs, .. } = &record.plan;
        Some(doubts::CeilingEvidence { instrument, waiting: waiting.as_deref()?, jobs: *jobs })
    });
    let found = doubts::judge(&doubts::Evidence {
        thorough: false,
        thorough_hint: None,
        complete: record.status == Status::Complete,
        // Neither side is kept to processors of its own.
        cores_shared: local,
        ceiling,
        scale: record.plan.scale,
        server: record.server.as_ref(),
        bundle_pinned: None,
        runs: &record.runs,
        cells: &record.cells,
        balance: None,
        consistency: None,
    });
    let builtin = options.scripts.iter().all(|chosen| Builtin::by_name(&short_name(&chosen.name)).is_some());
    // Pauses between transactions are asked for; with retries latency has all tries in it, and with skipped ones none.
    let paused =
        options.extras.think_ns > 0 || options.connect_each || options.extras.reconnect_after.is_some();
    let applies = |doubt: &Doubt| match doubt.kind {
        DoubtKind::ScreeningRun => false,
        DoubtKind::NotChecked => builtin,
        DoubtKind::Implausible => !paused,
        _ => true,
    };
    let reworded = |doubt: Doubt| match doubt.kind {
        DoubtKind::TooFewBlocks => {
            Doubt { advice: "Run it several times, or use `pgdyno bench`.".into(), ..doubt }
        }
        DoubtKind::NotChecked => Doubt { advice: "`pgdyno bench` checks what it wrote.".into(), ..doubt },
        _ => doubt,
    };
    found.into_iter().filter(applies).map(reworded).collect()
}
