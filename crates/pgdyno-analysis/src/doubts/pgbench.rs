//! Doubts about a run of `pgdyno pgbench`, which has no plan and no client levels.

use pgdyno_record::PgbenchRecord;
use pgdyno_script::Builtin;

use crate::{Doubt, DoubtKind};

/// A doubt in words that apply to that command; `None` if it does not apply.
pub(super) fn reworded(doubt: Doubt, pgbench: &PgbenchRecord) -> Option<Doubt> {
    let builtin = pgbench.scripts.iter().all(|script| Builtin::by_name(&script.name).is_some());
    // Both were requested, and both leave a client without a transaction for a time.
    let paused = pgbench.think_time_ns > 0 || pgbench.reconnect_after.is_some();
    match doubt.kind {
        DoubtKind::ScreeningRun => None,
        DoubtKind::NotChecked if !builtin => None,
        DoubtKind::Implausible if paused => None,
        DoubtKind::TooFewBlocks => {
            Some(Doubt { advice: "Run it several times, or use `pgdyno bench`.".into(), ..doubt })
        }
        DoubtKind::NotChecked => {
            Some(Doubt { advice: "`pgdyno bench` checks what it wrote.".into(), ..doubt })
        }
        _ => Some(doubt),
    }
}
