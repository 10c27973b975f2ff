//! Doubts about a run of `pgdyno pgbench`, which has no plan and no client levels.

use pgdyno_record::PgbenchRecord;
use pgdyno_script::Builtin;

use crate::{Doubt, DoubtKind};

/// Adapts a doubt to `pgdyno pgbench`; `None` if it does not apply.
pub(super) fn adapted(doubt: Doubt, pgbench: &PgbenchRecord) -> Option<Doubt> {
    let builtin = pgbench.scripts.iter().all(|script| Builtin::by_name(&script.name).is_some());
    // Both were requested, and both leave a client idle between transactions.
    let paused = pgbench.think_time_ns > 0 || pgbench.reconnect_after.is_some();
    match doubt.kind {
        DoubtKind::ScreeningRun => None,
        DoubtKind::NotChecked if !builtin => None,
        DoubtKind::Implausible if paused => None,
        DoubtKind::Partial => Some(Doubt { advice: "Repeat the run.".into(), ..doubt }),
        DoubtKind::TooFewBlocks => {
            Some(Doubt { advice: "Run it several times, or use `pgdyno bench`.".into(), ..doubt })
        }
        DoubtKind::NotChecked => Some(Doubt {
            advice: "Use `pgdyno bench`, which checks the data after the runs.".into(),
            ..doubt
        }),
        _ => Some(doubt),
    }
}
