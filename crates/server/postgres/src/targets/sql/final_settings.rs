//! Reads a session's commit settings at the end of a run, since scripts, functions or others may have changed them.

use pgdyno_core::measure::Outcome;
use pgdyno_engine::Step;
use pgdyno_wire::{Row, encode};

use super::target::{ClientState, State};
use crate::observe::{COMMIT_SETTINGS, commit_settings};

impl ClientState {
    /// Asks the session for its settings, if requested and if no statement is in progress.
    pub fn ask_settings(&mut self) -> Step {
        if self.sessions.is_none() || self.state != State::Idle || self.reply.status == b'E' {
            return Step::Receive;
        }
        self.outgoing.clear();
        encode::query(&mut self.outgoing, COMMIT_SETTINGS);
        self.splitter.keep_rows(true);
        self.state = State::ReadingSettings;
        Step::Send
    }

    /// Takes the answer; settings that cannot be parsed count as unknown.
    pub fn take_settings(&mut self, bytes: &[u8]) -> Step {
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
        if !is_over && fed.is_ok() {
            return Step::Receive;
        }
        // Another run may follow.
        self.state = State::Idle;
        self.splitter.keep_rows(false);
        Step::Done(Outcome::Committed)
    }
}
