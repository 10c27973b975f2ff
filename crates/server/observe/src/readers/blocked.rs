//! Who waits for whose lock.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::activity::{BlockedReader, Pace};
use pgdyno_core::observe::What;
use pgdyno_wire::{Session, WireError};

use super::reader::{Say, ServerReader};

/// Time between two decisions whether to ask: that of the samples. Only an answer after a session began to wait names
/// its holder: of a lock that is held for 200 ms, most waiters are seen.
const DECIDE_EVERY: Duration = Duration::from_millis(100);

/// Time between two queries, while sessions wait for locks: less than between decisions, of which some come early.
const EVERY: Duration = Duration::from_millis(75);

/// Answers may take one part in so many of the time: the server copies its lock table for each, which takes
/// milliseconds when hundreds of sessions wait, and for a part of them it grants no lock.
const SHARE: u32 = 600;

/// Time without waits for locks for whose share the first questions may make up: who holds a lock for less than a
/// second is otherwise not seen by most who wait for it.
const SAVINGS: Duration = Duration::from_secs(3);

/// Asks who blocks whom, if a sample of the activity shows a wait for a lock.
pub(super) struct Blocked {
    version_num: u32,
    reader: BlockedReader,
    /// The sessions that the reader leaves out.
    own: Vec<i32>,
    suspected: Arc<AtomicBool>,
    /// That of the questions, which are fewer than the times at which there is nothing to ask.
    pace: Pace,
}

impl Blocked {
    pub(super) fn new(version_num: u32, suspected: Arc<AtomicBool>) -> Self {
        let reader = BlockedReader::new(version_num, &[]);
        let pace = Pace::new(EVERY).with_share(SHARE).with_savings(SAVINGS);
        Self { version_num, reader, own: Vec::new(), suspected, pace }
    }

    fn leave_out(&mut self, own: &[i32]) {
        if self.own != own {
            self.own = own.to_vec();
            self.reader = BlockedReader::new(self.version_num, own);
        }
    }
}

impl ServerReader for Blocked {
    fn name(&self) -> &'static str {
        "locks"
    }

    fn pace(&self) -> Pace {
        Pace::new(DECIDE_EVERY)
    }

    fn read(&mut self, session: &mut Session, own: &[i32], say: &mut Say<'_>) -> Result<(), WireError> {
        let begin = Instant::now();
        if !self.pace.is_due(begin) || !self.suspected.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        self.leave_out(own);
        let blocked = self.reader.read(session)?;
        self.pace.answered(begin, Instant::now());
        if !blocked.is_empty() {
            say(0.0, What::Blocked { blocked });
        }
        Ok(())
    }
}
