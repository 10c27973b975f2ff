//! What a client's session has at the end of a run: a script, a function or somebody else may have changed it.

use std::sync::{Arc, Mutex, PoisonError};

use pgdyno_core::{
    facts::{CommitSettings, SessionsSeen},
    measure::Outcome,
};
use pgdyno_engine::Step;

use super::target::{Player, State};
use crate::{
    observe::{COMMIT_SETTINGS, ask_commit_settings, commit_settings},
    wire::{Row, Session, encode},
};

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

    fn end(&self, settings: CommitSettings) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *seen.end.entry(settings).or_default() += 1;
    }
}

impl Player {
    /// Asks the session for its settings, where that is wanted and it has nothing under way.
    pub fn part(&mut self) -> Step {
        if self.sessions.is_none() || self.state != State::Idle || self.reply.status == b'E' {
            return Step::Receive;
        }
        self.outgoing.clear();
        encode::query(&mut self.outgoing, COMMIT_SETTINGS);
        self.splitter.keep_rows(true);
        self.state = State::Parting;
        Step::Send
    }

    /// Takes the answer. What cannot be read is not known.
    pub fn parting(&mut self, bytes: &[u8]) -> Step {
        let (mut settings, mut is_over) = (None, false);
        let fed = self.splitter.feed(bytes, |tag, body| {
            match tag {
                b'D' => settings = Row::read(body).ok().as_ref().and_then(commit_settings),
                b'Z' => is_over = true,
                _ => {}
            }
            Ok(())
        });
        if let (Some(sessions), Some(settings)) = (&self.sessions, settings) {
            sessions.end(settings);
        }
        if is_over || fed.is_err() { Step::Done(Outcome::Committed) } else { Step::Receive }
    }
}
