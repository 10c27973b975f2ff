//! What a target reports in addition to the outcome: latency of statements, and errors.

use std::collections::BTreeMap;

use pgdyno_core::measure::{CommandTally, Failure, Latency, Precision, Work};
use serde::{Deserialize, Serialize};

use crate::{Bookkeeping, Level, Messages};

/// Most kinds of errors kept apart; further ones count as [`OTHER`].
const MAX_KINDS: usize = 64;
/// Kind of the errors beyond [`MAX_KINDS`], so that none counts as a kind that it is not.
const OTHER: &str = "other";

/// Count of each kind of error, with the text of the first one and the longest time that an attempt had taken.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorTally(BTreeMap<String, Kind>);

/// One kind of error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Kind {
    /// Text of the first error.
    message: String,
    count: u64,
    /// Longest time from due to error in nanoseconds, if it is known of any.
    longest_ns: Option<u64>,
}

impl ErrorTally {
    /// Counts one error of kind `code`; `took_ns` is the time in nanoseconds from the instant at which the attempt that
    /// it ended was due.
    pub fn add(&mut self, code: &str, message: &str, took_ns: Option<u64>) {
        self.add_many(code, message, 1, took_ns);
    }

    /// Adds the errors of another worker.
    pub fn merge(&mut self, other: Self) {
        for (code, Kind { message, count, longest_ns }) in other.0 {
            self.add_many(&code, &message, count, longest_ns);
        }
    }

    fn add_many(&mut self, code: &str, message: &str, more: u64, took_ns: Option<u64>) {
        let full = self.0.len() >= MAX_KINDS && !self.0.contains_key(code);
        let code = if full { OTHER } else { code };
        if let Some(kind) = self.0.get_mut(code) {
            kind.count += more;
            kind.longest_ns = kind.longest_ns.max(took_ns);
        } else {
            let kind = Kind { message: message.to_owned(), count: more, longest_ns: took_ns };
            self.0.insert(code.to_owned(), kind);
        }
    }

    /// Iterates over code, first text and count of every kind.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, u64)> {
        self.0.iter().map(|(code, kind)| (code.as_str(), kind.message.as_str(), kind.count))
    }

    /// Appends the most frequent error, as the reason, to `what`.
    pub fn why(&self, what: &str) -> String {
        match self.iter().max_by_key(|(_, _, count)| *count) {
            Some((code, message, _)) => format!("{what}: {message} ({code})"),
            None => what.to_owned(),
        }
    }

    /// Longest time from the instant an attempt was due to the error of this kind that ended it, in nanoseconds; `None`
    /// if it is not known.
    pub fn longest_ns(&self, code: &str) -> Option<u64> {
        self.0.get(code)?.longest_ns
    }
}

/// Interface between a target and the engine within an attempt: measurements in, facts of the attempt out. One a
/// worker.
#[derive(Debug)]
pub struct Probe {
    pub(crate) statements: Vec<Latency>,
    pub(crate) commands: Vec<CommandTally>,
    pub(crate) errors: ErrorTally,
    pub(crate) measuring: bool,
    pub(crate) stop: Option<String>,
    pub(crate) messages: Messages,
    /// The attempt that begins: valid with [`Event::Begin`](crate::Event::Begin).
    pub(crate) beginning: Beginning,
    /// What the target reported of the attempt that ends.
    pub(crate) note: Note,
    /// Whether the client of the attempt that ends has completed all its attempts.
    pub(crate) finished: bool,
    pub(crate) end_ns: u64,
    pub(crate) connects: u64,
    pub(crate) connect_ns: u64,
}

/// An attempt as it begins.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Beginning {
    pub(crate) script: u32,
    pub(crate) scheduled_ns: u64,
    pub(crate) open_loop: bool,
    /// Number of the user whose attempt it is, if there are users.
    pub(crate) user: Option<u64>,
}

/// What a target reports of an attempt that ends.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Note {
    pub(crate) client: u32,
    pub(crate) number: u64,
    /// Number of retries.
    pub(crate) retries: u32,
    /// Rows that its statements returned or changed.
    pub(crate) rows: u64,
    pub(crate) failure: Option<Failure>,
    /// Whether the script rolled the attempt back.
    pub(crate) rolled_back: bool,
    /// When the work began, if that is later than the attempt's begin.
    pub(crate) begun_ns: u64,
    /// Backend that carried the attempt out, and its slowest command.
    pub(crate) work: Work,
}

impl Probe {
    /// Makes a probe for scripts with this many statements.
    pub fn new(statements: usize) -> Self {
        Self {
            statements: (0..statements).map(|_| Latency::new(Precision::Run)).collect(),
            commands: Vec::new(),
            errors: ErrorTally::default(),
            measuring: false,
            stop: None,
            messages: Messages::default(),
            beginning: Beginning::default(),
            note: Note::default(),
            finished: false,
            end_ns: u64::MAX,
            connects: 0,
            connect_ns: 0,
        }
    }

    /// Makes a probe that also records what `bookkeeping` requests.
    pub fn keeping(statements: usize, bookkeeping: &Bookkeeping) -> Self {
        let commands = vec![CommandTally::default(); bookkeeping.commands];
        Self { commands, messages: bookkeeping.messages.clone(), ..Self::new(statements) }
    }

    /// Records the latency of one statement in nanoseconds; ignored during the warm-up, and if statements have no
    /// histograms of their own.
    #[inline]
    pub fn statement(&mut self, index: usize, latency_ns: u64) {
        if let (true, Some(statement)) = (self.measuring, self.statements.get_mut(index)) {
            statement.record(latency_ns);
        }
    }

    /// Number of the script of the attempt that begins; 0 if there is one script. Valid with
    /// [`Event::Begin`](crate::Event::Begin) only: later it belongs to another attempt.
    #[inline]
    pub fn script(&self) -> u32 {
        self.beginning.script
    }

    /// When the attempt that begins was due, in nanoseconds of the engine's clock. Valid with
    /// [`Event::Begin`](crate::Event::Begin) only.
    #[inline]
    pub fn scheduled_ns(&self) -> u64 {
        self.beginning.scheduled_ns
    }

    /// Whether attempts fall due by a schedule of their own (an open loop). Valid with
    /// [`Event::Begin`](crate::Event::Begin) only.
    #[inline]
    pub fn open_loop(&self) -> bool {
        self.beginning.open_loop
    }

    /// Number of the user whose attempt begins, from 0 over all workers; `None` without users. Valid with
    /// [`Event::Begin`](crate::Event::Begin) only.
    #[inline]
    pub fn user(&self) -> Option<u64> {
        self.beginning.user
    }

    /// Whether an attempt that ends at `now_ns` ends within the measured interval.
    #[inline]
    pub fn is_measured(&self, now_ns: u64) -> bool {
        self.measuring && now_ns < self.end_ns
    }

    /// Whether no more attempts begin at `now_ns`; a failed one is not retried either.
    #[inline]
    pub fn time_is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.end_ns
    }

    /// End of the schedule, after which no attempt begins, in nanoseconds of the engine's clock.
    pub(crate) fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// Records that a command succeeded, with its duration in nanoseconds; ignored during the warm-up. Commands are
    /// numbered over all scripts ([`Bookkeeping::commands`]).
    #[inline]
    pub fn command(&mut self, index: usize, latency_ns: u64) {
        if let (true, Some(command)) = (self.measuring, self.commands.get_mut(index)) {
            command.latency.add(microseconds(latency_ns) as f64);
        }
    }

    /// Records that an attempt finally failed in a command; ignored during the warm-up.
    pub fn command_failed(&mut self, index: usize) {
        if let (true, Some(command)) = (self.measuring, self.commands.get_mut(index)) {
            command.failures += 1;
        }
    }

    /// Records that an attempt failed in a command and is retried; ignored during the warm-up.
    pub fn command_retried(&mut self, index: usize) {
        if let (true, Some(command)) = (self.measuring, self.commands.get_mut(index)) {
            command.retries += 1;
        }
    }

    /// Reports how often the attempt that ends now was tried, from 1. Call this in the step that returns
    /// [`Step::Done`](crate::Step::Done) or [`Step::Last`](crate::Step::Last).
    #[inline]
    pub fn tries(&mut self, tries: u32) {
        self.note.retries = tries.saturating_sub(1);
    }

    /// Reports how many rows the statements of the attempt that ends now returned or changed.
    #[inline]
    pub fn rows(&mut self, rows: u64) {
        self.note.rows = rows;
    }

    /// Reports why the attempt that ends now failed, if its client continues. An attempt that fails without this call
    /// took its client with it or was cut off by the end: it is counted, and pgbench's sums leave it out.
    #[inline]
    pub fn failed_by(&mut self, failure: Failure) {
        self.note.failure = Some(failure);
    }

    /// Reports that the attempt that ends now ran to its end, and that its script rolled it back.
    #[inline]
    pub fn rolled_back(&mut self) {
        self.note.rolled_back = true;
    }

    /// Reports that the work of the attempt that ends now began only at `begun_ns`: the time before is a wait of the
    /// client's own (reconnecting, thinking). In a closed loop the attempt is due no earlier.
    #[inline]
    pub fn began_at(&mut self, begun_ns: u64) {
        self.note.begun_ns = begun_ns;
    }

    /// Reports whose attempt ends now: the client's number, and its number of attempts so far including this one.
    #[inline]
    pub fn ends_for(&mut self, client: u32, number: u64) {
        (self.note.client, self.note.number) = (client, number);
    }

    /// Reports which backend executed the attempt that ends now, and its slowest command; shown if the attempt is
    /// one of the slowest.
    #[inline]
    pub fn worked(&mut self, work: Work) {
        self.note.work = work;
    }

    /// Reports that the client has completed all its attempts: a [`Step::Last`](crate::Step::Last) that follows at once
    /// is no loss.
    pub fn finished(&mut self) {
        self.finished = true;
    }

    /// Counts a connection made within the run, with the time that it took in nanoseconds; ignored during the warm-up.
    pub fn connected(&mut self, took_ns: u64) {
        if self.measuring {
            self.connects += 1;
            self.connect_ns += took_ns;
        }
    }

    /// Whether messages of this level are wanted; others need not be formatted.
    #[inline]
    pub fn hears(&self, level: Level) -> bool {
        self.messages.hears(level)
    }

    /// Sends a message to the user.
    pub fn say(&self, level: Level, text: &str) {
        self.messages.say(level, text);
    }

    /// Counts an error of kind `code`.
    pub fn error(&mut self, code: &str, message: &str) {
        self.errors.add(code, message, None);
    }

    /// Counts an error that ended an attempt `took_ns` nanoseconds after it was due.
    pub fn error_after(&mut self, code: &str, message: &str, took_ns: u64) {
        self.errors.add(code, message, Some(took_ns));
    }

    /// Requests the end of the whole run because it cannot sensibly continue. The first reason is kept.
    pub fn stop_run(&mut self, reason: &str) {
        self.stop.get_or_insert_with(|| reason.to_owned());
    }
}

/// Converts to microseconds, rounded to the nearest.
#[inline]
pub(crate) fn microseconds(ns: u64) -> u64 {
    ns.saturating_add(500) / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_time_of_a_kind_is_kept() {
        let mut tally = ErrorTally::default();
        [7, 9, 8].iter().for_each(|&took_ns| tally.add("57014", "cancelled", Some(took_ns)));
        tally.add("57014", "cancelled", None);
        tally.add("connection", "gone", None);
        let mut merged = ErrorTally::default();
        merged.add("57014", "cancelled", Some(1));
        merged.merge(tally);
        assert_eq!((merged.longest_ns("57014"), merged.longest_ns("connection")), (Some(9), None));
        assert_eq!(merged.iter().map(|(_, _, count)| count).collect::<Vec<_>>(), [5, 1]);
    }

    #[test]
    fn too_many_kinds_of_errors_are_counted_as_others() {
        let mut tally = ErrorTally::default();
        (0..100).for_each(|kind| tally.add(&format!("E{kind:04}"), "text", None));
        let mut merged = tally.clone();
        merged.merge(tally);
        assert_eq!(merged.0.len(), MAX_KINDS + 1);
        assert_eq!(merged.0.get("E0063").map(|kind| kind.count), Some(2));
        assert_eq!(merged.0.get(OTHER).map(|kind| kind.count), Some(72));
    }
}
