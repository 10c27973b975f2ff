//! Who waits for whose lock.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use pgdyno_activity::{Pace, blocked_sessions};
use pgdyno_core::observe::What;
use pgdyno_wire::{Session, WireError};

use super::reader::{Say, ServerReader};

/// Time between two questions, while sessions wait for locks: the server copies its lock table for the answer. A lock
/// that is held for 300 ms is seen by nearly all who wait for it.
const EVERY: Duration = Duration::from_millis(250);

/// Time between two looks at whether to ask: that of the samples.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Asks who blocks whom, if a sample of the activity shows a wait for a lock.
pub(super) struct Blocked {
    version_num: u32,
    suspected: Arc<AtomicBool>,
    /// That of the questions, which are fewer than the times at which there is nothing to ask.
    pace: Pace,
}

impl Blocked {
    pub(super) fn new(version_num: u32, suspected: Arc<AtomicBool>) -> Self {
        Self { version_num, suspected, pace: Pace::new(EVERY) }
    }
}

impl ServerReader for Blocked {
    fn name(&self) -> &'static str {
        "locks"
    }

    fn pace(&self) -> Pace {
        Pace::new(LOOK_EVERY)
    }

    fn read(&mut self, session: &mut Session, own: &[i32], say: &mut Say<'_>) -> Result<(), WireError> {
        let begin = Instant::now();
        if !self.pace.is_due(begin) || !self.suspected.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        let blocked = blocked_sessions(session, self.version_num, own)?;
        self.pace.answered(begin, Instant::now());
        if !blocked.is_empty() {
            say(0.0, What::Blocked { blocked });
        }
        Ok(())
    }
}
