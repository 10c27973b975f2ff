//! When the schedule of a run begins: by default as soon as its workers are ready, or together with that of other runs.

use std::{
    fmt,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use pgdyno_core::stop::Stop;

use crate::Clock;

/// Leaves all threads time to get from a barrier to their first read of the clock.
const LEAD_NS: u64 = 1_000_000;
/// How often a waiting thread checks for a stop request.
const POLL: Duration = Duration::from_millis(50);

/// Says when the schedule of a run begins; by default as soon as all its workers are ready.
#[derive(Clone, Default)]
pub struct Begin(Option<Arc<dyn Fn() -> u64 + Send + Sync>>);

impl Begin {
    /// Asks `when`, once all workers are ready, for the instant in nanoseconds of the engine's clock.
    pub fn when(when: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(when)))
    }

    pub(crate) fn instant_ns(&self) -> u64 {
        self.0.as_ref().map_or_else(|| Clock::now_ns() + LEAD_NS, |when| when())
    }
}

impl fmt::Debug for Begin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Begin").field(&self.0.is_some()).finish()
    }
}

/// Where runs wait for each other. The last one that is ready sets the instant at which all begin.
#[derive(Debug)]
pub struct StartLine {
    lead_ns: u64,
    state: Mutex<Awaited>,
    changed: Condvar,
}

#[derive(Debug)]
struct Awaited {
    missing: usize,
    begin_ns: u64,
}

impl StartLine {
    /// Waits for `runs` runs, which begin `lead` after the last one is ready: long enough for it to be known to all.
    pub fn new(runs: usize, lead: Duration) -> Self {
        let state = Mutex::new(Awaited { missing: runs, begin_ns: 0 });
        Self { lead_ns: lead.as_nanos() as u64, state, changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, Awaited> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a run is ready.
    pub fn arrive(&self) {
        let mut state = self.state();
        state.missing = state.missing.saturating_sub(1);
        if state.missing == 0 && state.begin_ns == 0 {
            state.begin_ns = Clock::now_ns() + self.lead_ns;
            self.changed.notify_all();
        }
    }

    /// Sets the instant, as received from another process.
    pub fn set(&self, begin_ns: u64) {
        self.state().begin_ns = begin_ns;
        self.changed.notify_all();
    }

    /// The instant at which all begin, once it is set, in nanoseconds of the engine's clock.
    pub fn begin_ns(&self) -> Option<u64> {
        Some(self.state().begin_ns).filter(|begin_ns| *begin_ns > 0)
    }

    /// Waits for the instant at which all begin. After a request to stop it is the present, because runs that are
    /// missing may never be ready.
    pub fn wait(&self, stop: &Stop) -> u64 {
        let mut state = self.state();
        while state.begin_ns == 0 && !stop.requested() {
            let waited = self.changed.wait_timeout(state, POLL);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if state.begin_ns == 0 { Clock::now_ns() } else { state.begin_ns }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn all_begin_at_the_instant_that_the_last_one_sets() {
        let line = Arc::new(StartLine::new(3, Duration::from_millis(5)));
        let stop = Stop::default();
        let before_ns = Clock::now_ns();
        let run = |_| {
            let (line, stop) = (Arc::clone(&line), stop.clone());
            thread::spawn(move || {
                line.arrive();
                line.wait(&stop)
            })
        };
        let all: Vec<_> = (0..3).map(run).collect();
        let all: Vec<u64> = all.into_iter().map(|run| run.join().expect("it returns")).collect();
        assert!(all[0] >= before_ns + 5_000_000);
        assert_eq!(all, vec![all[0]; 3]);
    }

    #[test]
    fn a_request_to_stop_ends_the_wait_for_a_run_that_is_never_ready() {
        let (line, stop) = (StartLine::new(2, Duration::from_secs(1)), Stop::default());
        line.arrive();
        stop.request("a driver process has ended");
        assert!(line.begin_ns().is_none() && line.wait(&stop) <= Clock::now_ns());
        line.set(7);
        assert_eq!((line.begin_ns(), line.wait(&stop)), (Some(7), 7));
    }
}
