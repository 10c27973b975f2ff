//! Target that does nothing, to measure the engine itself.

use pgdyno_core::measure::Outcome;

use crate::{Event, Probe, Step, Target};

/// Target whose attempts all commit at once.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullTarget;

impl Target for NullTarget {
    #[inline]
    fn step(&mut self, _event: Event<'_>, _now_ns: u64, _probe: &mut Probe) -> Step {
        Step::Done(Outcome::Committed)
    }

    fn outgoing(&self) -> &[u8] {
        &[]
    }

    fn abandon(&mut self) -> Outcome {
        Outcome::TimedOut
    }
}
