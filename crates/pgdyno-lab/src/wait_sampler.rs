//! Samples the wait events of sessions ten times a second during a run.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use pgdyno_core::measure::Waits;
use pgdyno_postgres::observe::waits;
use pgdyno_wire::Session;

/// Time between two samples. A sample takes a fraction of a millisecond.
const EVERY: Duration = Duration::from_millis(100);

/// A sampling thread with its own session.
#[derive(Debug)]
pub struct WaitSampler {
    control: Arc<Control>,
    thread: Option<JoinHandle<(Option<Session>, Waits)>>,
}

#[derive(Debug, Default)]
struct Control {
    sampling: AtomicBool,
    ended: AtomicBool,
}

impl WaitSampler {
    /// Starts the thread; sampling begins with [`WaitSampler::sample_while`]. `except` are the process ids of pgdyno's
    /// own sessions.
    pub fn begin(mut session: Session, version_num: u32, except: Vec<i32>) -> Self {
        let control = Arc::new(Control::default());
        let shared = Arc::clone(&control);
        let thread = thread::spawn(move || {
            let mut seen = Waits::default();
            while !shared.ended.load(Ordering::Relaxed) {
                if shared.sampling.load(Ordering::Relaxed) {
                    let Ok(found) = waits(&mut session, version_num, &except) else { return (None, seen) };
                    // A query sent before the end may be answered after it.
                    if shared.sampling.load(Ordering::Relaxed) {
                        seen.add(found);
                    }
                }
                thread::park_timeout(EVERY);
            }
            (Some(session), seen)
        });
        Self { control, thread: Some(thread) }
    }

    /// Turns sampling on or off.
    pub fn sample_while(&self, sampling: bool) {
        self.control.sampling.store(sampling, Ordering::Relaxed);
        if let Some(thread) = self.thread.as_ref().filter(|_| sampling) {
            thread.thread().unpark();
        }
    }

    /// Ends the thread. Returns its session, if that is still open, and the samples.
    pub fn end(mut self) -> (Option<Session>, Waits) {
        self.join().unwrap_or_default()
    }

    fn join(&mut self) -> Option<(Option<Session>, Waits)> {
        self.control.ended.store(true, Ordering::Relaxed);
        let thread = self.thread.take()?;
        thread.thread().unpark();
        thread.join().ok()
    }
}

/// Ends the thread after a failed run, too.
impl Drop for WaitSampler {
    fn drop(&mut self) {
        self.join();
    }
}
