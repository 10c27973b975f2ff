//! What a target tells beside the outcome: latency of statements, and errors.

use std::collections::BTreeMap;

use pgdyno_core::measure::{CommandTally, Failure, Latency, Precision, Work};

use crate::{Bookkeeping, Level, Messages};

/// Kinds of errors kept apart; further ones count as [`OTHER`].
const MAX_KINDS: usize = 64;
/// What errors count as when there are too many kinds of them: never as a kind that they are not.
const OTHER: &str = "other";

/// How often each kind of error came, with the text of the first and the longest time that an attempt had taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorTally(BTreeMap<String, Kind>);

/// One kind of error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Kind {
    /// Text of the first.
    message: String,
    count: u64,
    /// The longest time that an attempt had taken, where it is known of any.
    longest_ns: Option<u64>,
}

impl ErrorTally {
    /// Counts one error.
    pub fn add(&mut self, code: &str, message: &str) {
        self.add_many(code, message, 1, None);
    }

    /// Counts one error that ended an attempt so many nanoseconds after it was due.
    pub fn add_after(&mut self, code: &str, message: &str, took_ns: u64) {
        self.add_many(code, message, 1, Some(took_ns));
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

    /// Code, first text and count of every kind.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, u64)> {
        self.0.iter().map(|(code, kind)| (code.as_str(), kind.message.as_str(), kind.count))
    }

    /// Says what happened, and the error that came most often, which is why.
    pub fn why(&self, what: &str) -> String {
        match self.iter().max_by_key(|(_, _, count)| *count) {
            Some((code, message, _)) => format!("{what}: {message} ({code})"),
            None => what.to_owned(),
        }
    }

    /// The longest time from the instant at which an attempt was due to the error of this kind that ended it, in
    /// nanoseconds; `None` where no such time is known.
    pub fn longest_ns(&self, code: &str) -> Option<u64> {
        self.0.get(code)?.longest_ns
    }
}

/// Where a target puts what it measured within an attempt, and finds what the engine knows of it. One a worker.
#[derive(Debug)]
pub struct Probe {
    pub(crate) statements: Vec<Latency>,
    pub(crate) commands: Vec<CommandTally>,
    pub(crate) errors: ErrorTally,
    pub(crate) measuring: bool,
    pub(crate) stop: Option<String>,
    pub(crate) messages: Messages,
    /// What the attempt that begins is: valid with [`Event::Begin`](crate::Event::Begin).
    pub(crate) beginning: Beginning,
    /// What was said of the attempt that ends.
    pub(crate) note: Note,
    /// Whether the client of the attempt that ends has done all it had to do.
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
    /// Number of the user whose attempt it is, where there are users.
    pub(crate) user: Option<u64>,
}

/// What a target says of an attempt that ends.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Note {
    pub(crate) client: u32,
    pub(crate) number: u64,
    /// Tries beyond the first.
    pub(crate) retries: u32,
    pub(crate) failure: Option<Failure>,
    /// Whether its script rolled it back.
    pub(crate) rolled_back: bool,
    /// When its work began, where that is later than it was begun.
    pub(crate) begun_ns: u64,
    /// Who carried it out, and what took the longest.
    pub(crate) work: Work,
}

impl Probe {
    /// A probe for scripts with this many statements.
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

    /// As [`Probe::new`], with what else is kept.
    pub fn keeping(statements: usize, bookkeeping: &Bookkeeping) -> Self {
        let commands = vec![CommandTally::default(); bookkeeping.commands];
        Self { commands, messages: bookkeeping.messages.clone(), ..Self::new(statements) }
    }

    /// Records the latency of one statement in nanoseconds; dropped during the warm-up, and where statements have no
    /// histograms of their own.
    #[inline]
    pub fn statement(&mut self, index: usize, latency_ns: u64) {
        if let (true, Some(statement)) = (self.measuring, self.statements.get_mut(index)) {
            statement.record(latency_ns);
        }
    }

    /// Number of the script of the attempt that begins; 0 where there is one script. Ask with
    /// [`Event::Begin`](crate::Event::Begin): later it is that of another attempt.
    #[inline]
    pub fn script(&self) -> u32 {
        self.beginning.script
    }

    /// When the attempt that begins was due, in nanoseconds of the engine's clock. Ask with
    /// [`Event::Begin`](crate::Event::Begin).
    #[inline]
    pub fn scheduled_ns(&self) -> u64 {
        self.beginning.scheduled_ns
    }

    /// Whether attempts fall due by a schedule of their own (an open loop). Ask with
    /// [`Event::Begin`](crate::Event::Begin).
    #[inline]
    pub fn open_loop(&self) -> bool {
        self.beginning.open_loop
    }

    /// Number of the user whose attempt begins, from 0 over all workers; `None` where clients have attempts of their
    /// own. Ask with [`Event::Begin`](crate::Event::Begin).
    #[inline]
    pub fn user(&self) -> Option<u64> {
        self.beginning.user
    }

    /// Whether an attempt that ends at `now_ns` ends within the measured interval.
    #[inline]
    pub fn is_measured(&self, now_ns: u64) -> bool {
        self.measuring && now_ns < self.end_ns
    }

    /// Whether no attempt begins any more at `now_ns`: one that failed is not tried again either.
    #[inline]
    pub fn time_is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.end_ns
    }

    /// When the last attempts begin, in nanoseconds of the engine's clock.
    pub(crate) fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// Records that a command succeeded, with its duration in nanoseconds; dropped during the warm-up. Commands are
    /// numbered over all scripts ([`Bookkeeping::commands`]).
    #[inline]
    pub fn command(&mut self, index: usize, latency_ns: u64) {
        if let (true, Some(command)) = (self.measuring, self.commands.get_mut(index)) {
            command.latency.add(microseconds(latency_ns) as f64);
        }
    }

    /// Records that an attempt failed for good in a command; dropped during the warm-up.
    pub fn command_failed(&mut self, index: usize) {
        if let (true, Some(command)) = (self.measuring, self.commands.get_mut(index)) {
            command.failures += 1;
        }
    }

    /// Records that an attempt failed in a command and is tried again; dropped during the warm-up.
    pub fn command_retried(&mut self, index: usize) {
        if let (true, Some(command)) = (self.measuring, self.commands.get_mut(index)) {
            command.retries += 1;
        }
    }

    /// Says how often the attempt that ends now was tried, from 1. Say it in the step that gives
    /// [`Step::Done`](crate::Step::Done) or [`Step::Last`](crate::Step::Last).
    #[inline]
    pub fn tries(&mut self, tries: u32) {
        self.note.retries = tries.saturating_sub(1);
    }

    /// Says why the attempt that ends now failed, where its client lives on. An attempt that fails without it took its
    /// client with it or was cut off by the end: it is counted, and pgbench's sums leave it out.
    #[inline]
    pub fn failed_by(&mut self, failure: Failure) {
        self.note.failure = Some(failure);
    }

    /// Says that the attempt that ends now ran to its end, and that its script rolled it back.
    #[inline]
    pub fn rolled_back(&mut self) {
        self.note.rolled_back = true;
    }

    /// Says that the work of the attempt that ends now began only at `begun_ns`: what was before is a wait of the
    /// client's own (a new connection, time to think). In a closed loop it was due no earlier.
    #[inline]
    pub fn began_at(&mut self, begun_ns: u64) {
        self.note.begun_ns = begun_ns;
    }

    /// Says whose attempt ends now: number of the client, and of its attempts so far with this one.
    #[inline]
    pub fn ends_for(&mut self, client: u32, number: u64) {
        (self.note.client, self.note.number) = (client, number);
    }

    /// Says who carried out the attempt that ends now, and which of its commands took the longest: shown where the
    /// attempt is one of the slowest.
    #[inline]
    pub fn worked(&mut self, work: Work) {
        self.note.work = work;
    }

    /// Says that the client has done all it had to do: a [`Step::Last`](crate::Step::Last) that follows at once is no
    /// loss.
    pub fn finished(&mut self) {
        self.finished = true;
    }

    /// Counts a connection that was made within the run, with the time that it took in nanoseconds; dropped during the
    /// warm-up.
    pub fn connected(&mut self, took_ns: u64) {
        if self.measuring {
            self.connects += 1;
            self.connect_ns += took_ns;
        }
    }

    /// Whether anybody hears messages of this level: others need not be made.
    #[inline]
    pub fn hears(&self, level: Level) -> bool {
        self.messages.hears(level)
    }

    /// Says something to whoever runs this.
    pub fn say(&self, level: Level, text: &str) {
        self.messages.say(level, text);
    }

    /// Counts an error.
    pub fn error(&mut self, code: &str, message: &str) {
        self.errors.add(code, message);
    }

    /// Counts an error that ended an attempt so many nanoseconds after it was due.
    pub fn error_after(&mut self, code: &str, message: &str, took_ns: u64) {
        self.errors.add_after(code, message, took_ns);
    }

    /// Asks for the end of the whole run: going on would not make sense. The first reason is kept.
    pub fn stop_run(&mut self, reason: &str) {
        self.stop.get_or_insert_with(|| reason.to_owned());
    }
}

/// Whole microseconds, rounded to the nearest.
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
        [7, 9, 8].iter().for_each(|&took_ns| tally.add_after("57014", "cancelled", took_ns));
        tally.add("57014", "cancelled");
        tally.add("connection", "gone");
        let mut merged = ErrorTally::default();
        merged.add_after("57014", "cancelled", 1);
        merged.merge(tally);
        assert_eq!((merged.longest_ns("57014"), merged.longest_ns("connection")), (Some(9), None));
        assert_eq!(merged.iter().map(|(_, _, count)| count).collect::<Vec<_>>(), [5, 1]);
    }

    #[test]
    fn too_many_kinds_of_errors_are_counted_as_others() {
        let mut tally = ErrorTally::default();
        (0..100).for_each(|kind| tally.add(&format!("E{kind:04}"), "text"));
        let mut merged = tally.clone();
        merged.merge(tally);
        assert_eq!(merged.0.len(), MAX_KINDS + 1);
        assert_eq!(merged.0.get("E0063").map(|kind| kind.count), Some(2));
        assert_eq!(merged.0.get(OTHER).map(|kind| kind.count), Some(72));
    }
}
