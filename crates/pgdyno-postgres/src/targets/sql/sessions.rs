//! The settings that the sessions of a run have.

use std::sync::{Arc, Mutex, PoisonError};

use pgdyno_core::facts::{CommitSettings, SessionsSeen};
use pgdyno_wire::Session;

use crate::observe::ask_commit_settings;

/// The settings of the sessions of a run, as they are asked for at its start and at its end.
#[derive(Debug, Clone, Default)]
pub struct Sessions(Arc<Mutex<SessionsSeen>>);

impl Sessions {
    /// Asks a session that is about to be driven. One that does not answer is not known.
    pub fn begin(&self, session: &mut Session) {
        let settings = ask_commit_settings(session).ok();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).start = settings;
    }

    /// What was seen.
    pub fn seen(&self) -> SessionsSeen {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts a session that ends with these.
    pub(super) fn end(&self, settings: CommitSettings) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *seen.end.entry(settings).or_default() += 1;
    }
}
