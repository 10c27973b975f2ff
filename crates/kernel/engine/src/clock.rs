//! The only clock for durations.

use rustix::time::{ClockId, clock_gettime};

/// Monotonic clock and CPU-time clocks, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Clock;

impl Clock {
    /// Reads `CLOCK_MONOTONIC`, in nanoseconds.
    #[inline]
    pub fn now_ns() -> u64 {
        nanoseconds(ClockId::Monotonic)
    }

    /// CPU time of the whole process in nanoseconds.
    pub fn process_cpu_ns() -> u64 {
        nanoseconds(ClockId::ProcessCPUTime)
    }

    /// CPU time of the calling thread in nanoseconds.
    pub fn thread_cpu_ns() -> u64 {
        nanoseconds(ClockId::ThreadCPUTime)
    }
}

#[inline]
fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
