//! Looks at what sessions wait for, ten times a second, beside a run.

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

/// Time between two looks. A look takes a fraction of a millisecond.
const EVERY: Duration = Duration::from_millis(100);

/// A thread that looks, with a session of its own.
#[derive(Debug)]
pub struct WaitSampler {
    signs: Arc<Signs>,
    thread: Option<JoinHandle<(Option<Session>, Waits)>>,
}

#[derive(Debug, Default)]
struct Signs {
    looks: AtomicBool,
    ends: AtomicBool,
}

impl WaitSampler {
    /// Begins, and waits to be told when to look. `except` are the process ids of pgdyno's own sessions.
    pub fn begin(mut session: Session, version_num: u32, except: Vec<i32>) -> Self {
        let signs = Arc::new(Signs::default());
        let told = Arc::clone(&signs);
        let thread = thread::spawn(move || {
            let mut seen = Waits::default();
            while !told.ends.load(Ordering::Relaxed) {
                if told.looks.load(Ordering::Relaxed) {
                    let Ok(found) = waits(&mut session, version_num, &except) else { return (None, seen) };
                    // What was asked for before the end may be answered after it.
                    if told.looks.load(Ordering::Relaxed) {
                        seen.add(found);
                    }
                }
                thread::park_timeout(EVERY);
            }
            (Some(session), seen)
        });
        Self { signs, thread: Some(thread) }
    }

    /// Looks from now on, or no more.
    pub fn sample_while(&self, looks: bool) {
        self.signs.looks.store(looks, Ordering::Relaxed);
        if let Some(thread) = self.thread.as_ref().filter(|_| looks) {
            thread.thread().unpark();
        }
    }

    /// Ends, and gives its session back, if that still lives, with what was seen.
    pub fn end(mut self) -> (Option<Session>, Waits) {
        self.join().unwrap_or_default()
    }

    fn join(&mut self) -> Option<(Option<Session>, Waits)> {
        self.signs.ends.store(true, Ordering::Relaxed);
        let thread = self.thread.take()?;
        thread.thread().unpark();
        thread.join().ok()
    }
}

/// A run that fails leaves no thread behind.
impl Drop for WaitSampler {
    fn drop(&mut self) {
        self.join();
    }
}
