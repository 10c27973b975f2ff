//! The only clock that durations come from.

use rustix::time::{ClockId, clock_gettime};

/// The monotonic clock and the calling thread's processor clock, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Clock;

impl Clock {
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    #[inline]
    pub fn now_ns() -> u64 {
        nanoseconds(ClockId::Monotonic)
    }

    /// Processor time of the whole process in nanoseconds.
    pub fn process_cpu_ns() -> u64 {
        nanoseconds(ClockId::ProcessCPUTime)
    }

    /// Processor time of the calling thread in nanoseconds.
    pub fn thread_cpu_ns() -> u64 {
        nanoseconds(ClockId::ThreadCPUTime)
    }
}

#[inline]
fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
