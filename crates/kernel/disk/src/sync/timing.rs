//! Repeats an operation for a time.

use std::{
    io,
    time::{Duration, Instant},
};

use pgdyno_core::measure::{Latency, Precision};

/// One operation of this many is timed where the clock would take a tenth of its time and more: writes to memory.
pub(super) const SAMPLED: u32 = 16;

/// What was executed until the time was over, somebody stopped it, or an operation failed.
pub(super) struct Timed {
    /// Completed operations.
    pub operations: u64,
    /// Latency of those that were timed.
    pub latency: Latency,
    /// Time to the end of the last completed one.
    pub took: Duration,
    /// The error that ended it.
    pub error: Option<io::Error>,
}

impl Timed {
    /// Nothing executed.
    pub(super) fn none() -> Self {
        Self { operations: 0, latency: Latency::lazy(Precision::Run), took: Duration::ZERO, error: None }
    }

    /// Adds what was executed afterwards.
    pub(super) fn add(&mut self, later: Self) {
        self.operations += later.operations;
        self.latency.add(&later.latency);
        self.took += later.took;
        self.error = self.error.take().or(later.error);
    }
}

/// Repeats an operation until the duration is over, but at least once, or until `halted` says so. The clock is read
/// once per operation.
pub(super) fn repeat(
    duration: Duration,
    halted: impl Fn() -> bool,
    mut operation: impl FnMut() -> io::Result<()>,
) -> Timed {
    let mut timed = Timed { latency: Latency::new(Precision::Run), ..Timed::none() };
    let start = Instant::now();
    let mut last = start;
    while timed.took < duration && !halted() {
        if let Err(error) = operation() {
            timed.error = Some(error);
            break;
        }
        let now = Instant::now();
        timed.operations += 1;
        timed.latency.record((now - last).as_nanos() as u64);
        timed.took = now - start;
        last = now;
    }
    timed
}

/// Repeats an operation as [`repeat`] does, and times the last of every [`SAMPLED`].
pub(super) fn repeat_sampled(
    duration: Duration,
    halted: impl Fn() -> bool,
    mut operation: impl FnMut() -> io::Result<()>,
) -> Timed {
    let mut timed = Timed { latency: Latency::new(Precision::Run), ..Timed::none() };
    let start = Instant::now();
    while timed.took < duration && !halted() {
        let before = (1..SAMPLED).try_for_each(|_| {
            operation()?;
            timed.operations += 1;
            Ok(())
        });
        let begun = Instant::now();
        let ended = before.and_then(|()| operation());
        let now = Instant::now();
        timed.took = now - start;
        if let Err(error) = ended {
            timed.error = Some(error);
            break;
        }
        timed.operations += 1;
        timed.latency.record((now - begun).as_nanos() as u64);
    }
    timed
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const EVER: Duration = Duration::from_secs(3_600);

    #[test]
    fn an_error_ends_it_and_keeps_what_was_measured() {
        let mut left = 5;
        let timed = repeat(
            EVER,
            || false,
            || {
                left -= 1;
                if left == 0 { Err(io::Error::from_raw_os_error(5)) } else { Ok(()) }
            },
        );
        assert_eq!(timed.latency.count(), 4);
        assert_eq!(timed.error.and_then(|error| error.raw_os_error()), Some(5));
    }

    #[test]
    fn a_stop_ends_it_between_two_operations() {
        let count = Cell::new(0);
        let timed = repeat(
            EVER,
            || count.get() == 7,
            || {
                count.set(count.get() + 1);
                Ok(())
            },
        );
        assert_eq!((timed.latency.count(), timed.error.is_none()), (7, true));
        assert_eq!(repeat(EVER, || true, || Ok(())).latency.count(), 0);
    }

    #[test]
    fn one_of_a_sample_is_timed_and_all_count() {
        let count = Cell::new(0);
        let operation = || {
            count.set(count.get() + 1);
            if count.get() == 40 { Err(io::Error::from_raw_os_error(5)) } else { Ok(()) }
        };
        let timed = repeat_sampled(EVER, || false, operation);
        assert_eq!((timed.operations, timed.latency.count()), (39, 2));
        assert!(timed.error.is_some() && !timed.took.is_zero());
        count.set(100);
        let timed = repeat_sampled(
            EVER,
            || count.get() == 132,
            || {
                count.set(count.get() + 1);
                Ok(())
            },
        );
        assert_eq!((timed.operations, timed.latency.count(), timed.error.is_none()), (32, 2, true));
    }

    #[test]
    fn the_time_is_that_of_the_operations() {
        let slow = || {
            std::thread::sleep(Duration::from_millis(3));
            Ok(())
        };
        let timed = repeat(Duration::from_millis(5), || false, slow);
        assert!(timed.latency.count() <= 2 && timed.took >= Duration::from_millis(5), "{:?}", timed.took);
        let mut sum = Timed::none();
        let (took, count) = (timed.took, timed.latency.count());
        sum.add(timed);
        sum.add(repeat(Duration::from_millis(1), || false, slow));
        assert!(sum.took > took && sum.latency.count() > count);
    }
}
