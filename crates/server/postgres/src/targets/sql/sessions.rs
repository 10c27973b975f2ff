//! Commit settings of the sessions of a run.

use std::sync::{Arc, Mutex, PoisonError};

use pgdyno_core::facts::{CommitSettings, SessionsSeen};
use pgdyno_wire::Session;

use crate::observe::ask_commit_settings;

/// Collects the commit settings of a run's sessions at its start and end.
#[derive(Debug, Clone, Default)]
pub struct Sessions(Arc<Mutex<SessionsSeen>>);

impl Sessions {
    /// Asks a session before the run. One that does not answer counts as unknown.
    pub fn begin(&self, session: &mut Session) {
        let settings = ask_commit_settings(session).ok();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).start = settings;
    }

    /// The settings collected in a run. Another run asks the same sessions again at its end.
    pub fn take(&self) -> SessionsSeen {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let end = std::mem::take(&mut seen.end);
        SessionsSeen { end, ..seen.clone() }
    }

    /// Adds what another process collected.
    pub fn add(&self, seen: SessionsSeen) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).merge(seen);
    }

    /// Counts a session that ends with these settings.
    pub(super) fn end(&self, settings: CommitSettings) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *seen.end.entry(settings).or_default() += 1;
    }
}
