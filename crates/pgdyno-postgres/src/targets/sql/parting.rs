//! What a client's session has at the end of a run: a script, a function or somebody else may have changed it.

use pgdyno_core::measure::Outcome;
use pgdyno_engine::Step;
use pgdyno_wire::{Row, encode};

use super::target::{Player, State};
use crate::observe::{COMMIT_SETTINGS, commit_settings};

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
