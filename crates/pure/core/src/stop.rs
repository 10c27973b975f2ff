//! Requests to stop a run.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

/// A request to stop, shared by all threads. Attempts in flight get a second to end; none begins.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    requested: AtomicBool,
    reason: Mutex<Option<String>>,
}

impl Stop {
    /// Requests a stop; the first reason is kept. Safe to call from a signal-handling thread.
    pub fn request(&self, reason: &str) {
        if let Ok(mut kept) = self.0.reason.lock() {
            kept.get_or_insert_with(|| reason.to_owned());
        }
        self.0.requested.store(true, Ordering::Release);
    }

    /// Whether a stop was requested.
    #[inline]
    pub fn requested(&self) -> bool {
        self.0.requested.load(Ordering::Acquire)
    }

    /// The first reason given.
    pub fn reason(&self) -> Option<String> {
        self.0.reason.lock().ok().and_then(|reason| reason.clone())
    }
}
