//! Decides what a reply means for the attempt, and what a client does after losing its connection.

use std::io;

use pgdyno_core::measure::{Failure, Outcome};
use pgdyno_engine::{Level, Step};
use pgdyno_script::SqlKind;
use pgdyno_wire::{ServerError, SessionAttrs, WireError, encode, libpq};

use super::{
    messages::RetryDecision,
    reply::Completed,
    sent,
    shared::MOST_SHORTAGES,
    store::Refusal,
    target::{ClientState, State, StepContext, sql_of},
};

impl ClientState {
    /// Continues after a complete reply.
    pub fn answered(&mut self, context: &mut StepContext<'_>) -> Step {
        match self.state {
            State::Preparing => self.prepared(context),
            State::RollingBack => self.rolled_back(context),
            _ => self.statement_answered(context),
        }
    }

    fn statement_answered(&mut self, context: &mut StepContext<'_>) -> Step {
        let command = &context.shared.scripts.get(self.script).commands[self.at];
        let sql = sql_of(command);
        if let Some(sql) = sql {
            self.prepared[sql.number] |= self.reply.parsed;
        }
        if let Some(error) = self.reply.error.take() {
            return self.failed(*error, context);
        }
        if let Some(sql) = sql {
            if self.reply.results == 0 {
                let what = "a reply ended before its statement was complete";
                return self.unreadable(&WireError::Protocol(what.to_owned()), context);
            }
            if let Err(error) = self.reply.store_last(sql, &self.results, &mut self.variables) {
                return self.unreadable(&error, context);
            }
            if let Some(step) = self.wrong_result(context) {
                return step;
            }
            self.rolled_back |= sql.part().is_some_and(|part| part.kind == SqlKind::Rollback);
            context.probe.statement(sql.number, context.now_ns.saturating_sub(self.command_began_ns));
        }
        self.pipeline = None;
        self.command_done(context);
        self.proceed(context)
    }

    /// Handles results that are wrong although the server reported no error.
    fn wrong_result(&mut self, context: &mut StepContext<'_>) -> Option<Step> {
        if let Some((refusal, query)) = self.reply.refusal.take() {
            return Some(self.not_stored(refusal, query, context));
        }
        if context.shared.is_pgbench() {
            return None;
        }
        let sql = sql_of(&context.shared.scripts.get(self.script).commands[self.at])?;
        if sql.part().is_none_or(|part| part.kind != SqlKind::Commit) {
            return None;
        }
        let chains = sql.label.as_bytes().windows(5).any(|part| part.eq_ignore_ascii_case(b"CHAIN"));
        match (self.reply.completed, self.reply.status) {
            (Some(Completed::Commit), b'I') => None,
            (Some(Completed::Commit), b'T') if chains => None,
            (Some(Completed::Rollback), b'I') => {
                let what = "the server answered COMMIT with ROLLBACK";
                context.probe.error("rollback", what);
                context.probe.failed_by(Failure::Other);
                context.probe.tries(self.tries);
                Some(self.end(Step::Done(Outcome::Failed)))
            }
            _ => Some(self.lost("protocol", "END was not answered by COMMIT or ROLLBACK", context)),
        }
    }

    fn not_stored(&mut self, refusal: Refusal, query: u32, context: &mut StepContext<'_>) -> Step {
        let what = match refusal {
            Refusal::Rows(rows) => format!("expected one row, got {rows}"),
            Refusal::Name { variable, why } => {
                if context.shared.is_pgbench() {
                    context.probe.say(Level::Error, &why);
                }
                format!("error storing into variable {variable}")
            }
        };
        self.abort(&self.position().of_query(query, &what), context)
    }

    /// Continues after statements were prepared in separate round trips. A failure is reported; executing the
    /// statement will fail.
    fn prepared(&mut self, context: &mut StepContext<'_>) -> Step {
        for number in std::mem::take(&mut self.preparing) {
            self.prepared[number] = true;
        }
        for (number, error) in std::mem::take(&mut self.reply.unprepared) {
            if !context.shared.is_pgbench() {
                return self.failed(error, context);
            }
            let error = error.in_statement(|| sent::statement(&self.outgoing, number));
            context.probe.say(Level::Error, &libpq::message(&WireError::Server(Box::new(error))));
        }
        self.proceed(context)
    }

    /// Handles an error of the server.
    fn failed(&mut self, error: ServerError, context: &mut StepContext<'_>) -> Step {
        if context.shared.rolls_back_by(&error.code) && self.reply.status == b'I' {
            (self.pipeline, self.rolled_back) = (None, true);
            return self.end_of_script(context);
        }
        let took_ns = context.now_ns.saturating_sub(self.scheduled_ns);
        context.probe.error_after(&error.code, &error.message, took_ns);
        let failure = match error.code.as_str() {
            "40001" => Failure::Serialization,
            "40P01" => Failure::Deadlock,
            _ => Failure::Other,
        };
        let behavior = context.shared.behavior;
        if !context.shared.is_pgbench() {
            if let Some(step) = self.beyond_rolling_back(&error, context) {
                return step;
            }
        } else {
            let text = self.text_of(error);
            if failure == Failure::Other && !behavior.continue_on_error {
                return self.abort(&self.position().aborted_in_query(self.query(), &text), context);
            }
            if behavior.verbose_errors {
                context.probe.say(Level::Info, &self.position().got_an_error(&text));
            }
        }
        self.failure = Some(failure);
        self.took(context.now_ns.saturating_sub(self.command_began_ns));
        self.clean_up(context)
    }

    /// Handles errors that a measurement does not ignore.
    fn beyond_rolling_back(&mut self, error: &ServerError, context: &mut StepContext<'_>) -> Option<Step> {
        let reaction = reaction(&error.code);
        if reaction == Reaction::FindWriter && self.may_find_writer() {
            self.state = State::Disconnected;
            return Some(Step::Reconnect(Outcome::Failed));
        }
        let why = match reaction {
            Reaction::Continue | Reaction::Reconnect => return None,
            Reaction::ContinueIfRequested if context.shared.behavior.continue_on_error => return None,
            Reaction::ContinueSeldom if !context.shared.is_short_for_good() => return None,
            Reaction::ContinueSeldom => {
                format!("{MOST_SHORTAGES} attempts met a server that lacks something: {error}")
            }
            Reaction::ContinueIfRequested | Reaction::FindWriter | Reaction::StopRun => {
                format!("the server refused a statement: {error}")
            }
        };
        context.probe.stop_run(&why);
        Some(self.end(Step::Last(Outcome::Failed)))
    }

    /// Whether another of several servers may be the one that accepts writes.
    fn may_find_writer(&self) -> bool {
        self.options.as_ref().is_some_and(|options| {
            options.hosts.len() > 1
                && matches!(options.target, SessionAttrs::ReadWrite | SessionAttrs::Primary)
        })
    }

    /// A server error in libpq's format, with its position in the text sent.
    fn text_of(&self, error: ServerError) -> String {
        let number = self.reply.before_error as usize;
        let error = error.in_statement(|| sent::statement(&self.outgoing, number));
        libpq::message(&WireError::Server(Box::new(error)))
    }

    /// Number of the query within the failed command. In a pipeline each command has one, but libpq returns the
    /// end of a `\syncpipeline` as a separate result, which pgbench counts with the next command.
    fn query(&self) -> u32 {
        if self.pipeline.is_some() { self.reply.syncs_before_error } else { self.reply.before_error }
    }

    /// Rolls back an open transaction block after an error.
    fn clean_up(&mut self, context: &mut StepContext<'_>) -> Step {
        self.pipeline = None;
        self.branches.clear();
        if self.reply.status == b'I' {
            return self.judge(context);
        }
        self.outgoing.clear();
        self.may_commit = false;
        encode::query(&mut self.outgoing, "ROLLBACK");
        self.send(State::RollingBack, 1, context)
    }

    fn rolled_back(&mut self, context: &mut StepContext<'_>) -> Step {
        if self.reply.status == b'I' {
            return self.judge(context);
        }
        let why = match self.reply.error.take() {
            Some(error) => libpq::message(&WireError::Server(error)),
            None => "the server did not answer ROLLBACK as expected".to_owned(),
        };
        if context.shared.is_pgbench() {
            let what = "aborted while rolling back the transaction after an error";
            return self.abort(&format!("client {} {what}; {why}", self.client), context);
        }
        self.lost("rollback", &why, context)
    }

    /// Decides after a failed and rolled-back try whether to try again.
    fn judge(&mut self, context: &mut StepContext<'_>) -> Step {
        let (shared, over) = (context.shared, context.probe.time_is_over(context.now_ns));
        if over && shared.is_pgbench() {
            // pgbench does not count transactions that failed as time ran out.
            return self.end(Step::Done(Outcome::Failed));
        }
        let took_ns = context.now_ns.saturating_sub(self.scheduled_ns);
        let again = !over && self.may_try_again(took_ns, context);
        if shared.behavior.verbose_errors && context.probe.hears(Level::Info) {
            let verdict = RetryDecision { again, tries: self.tries, took_ns };
            context.probe.say(Level::Info, &verdict.text(self.client, shared));
        }
        let number = shared.first[self.script] + self.at;
        if again {
            context.probe.command_retried(number);
            self.tries += 1;
            self.reply.rows = 0;
            self.random.clone_from(&self.random_at_begin);
            return self.try_once(context);
        }
        context.probe.command_failed(number);
        context.probe.failed_by(self.failure.take().unwrap_or(Failure::Other));
        context.probe.tries(self.tries);
        self.end(Step::Done(Outcome::Failed))
    }

    fn may_try_again(&self, took_ns: u64, context: &StepContext<'_>) -> bool {
        let behavior = &context.shared.behavior;
        matches!(self.failure, Some(Failure::Serialization | Failure::Deadlock))
            && (behavior.max_tries == 0 || self.tries < behavior.max_tries)
            && behavior.latency_limit_ns.is_none_or(|limit_ns| took_ns <= limit_ns)
    }

    /// Handles unparseable replies and COPY.
    pub fn unreadable(&mut self, error: &WireError, context: &mut StepContext<'_>) -> Step {
        if context.shared.is_pgbench() {
            let why = if self.reply.copies {
                "COPY is not supported in pgbench, aborting".to_owned()
            } else {
                self.position().aborted("SQL", &error.to_string())
            };
            context.probe.say(Level::Error, &why);
        }
        self.lost("protocol", &error.to_string(), context)
    }

    /// Handles a lost connection.
    pub fn gone(&mut self, error: Option<io::Error>, context: &mut StepContext<'_>) -> Step {
        if self.state == State::Disconnected {
            return self.not_connected(error, context);
        }
        // The server explains why it closes a connection, but does not become ready again.
        let said = self.reply.error.take().or_else(|| self.reply.farewell.take());
        if context.shared.is_pgbench() && self.state != State::Idle {
            context.probe.say(Level::Error, &self.farewell(said.as_deref()));
        }
        let again = match &said {
            Some(error) => self.may_come_back("closed a connection", error, context),
            None => true,
        };
        let lost = match (said, error) {
            (Some(error), _) => self.lost(&error.code, &error.message, context),
            (None, Some(error)) => self.lost("connection", &error.to_string(), context),
            (None, None) => self.lost("connection", "the server closed the connection", context),
        };
        match lost {
            Step::Last(outcome) if again && !context.shared.is_pgbench() && self.options.is_some() => {
                self.state = State::Disconnected;
                Step::Reconnect(outcome)
            }
            step => step,
        }
    }

    /// Whether a server that reported this error will accept the client later; otherwise the run ends.
    fn may_come_back(&self, what: &str, error: &ServerError, context: &mut StepContext<'_>) -> bool {
        if context.shared.is_pgbench() {
            return false;
        }
        let stops = match reaction(&error.code) {
            Reaction::Continue
            | Reaction::Reconnect
            | Reaction::ContinueIfRequested
            | Reaction::FindWriter => false,
            Reaction::ContinueSeldom => context.shared.is_short_for_good(),
            Reaction::StopRun => true,
        };
        if stops {
            context.probe.stop_run(&format!("the server {what}: {error}"));
        }
        !stops
    }

    /// Handles a failed reconnection.
    fn not_connected(&mut self, error: Option<io::Error>, context: &mut StepContext<'_>) -> Step {
        let error = error.unwrap_or_else(|| io::Error::other("it was closed at once"));
        let wire = error.get_ref().and_then(|inner| inner.downcast_ref::<WireError>());
        context.probe.error(wire.and_then(WireError::code).unwrap_or("connect"), &error.to_string());
        let again = match wire {
            Some(WireError::Server(said)) => self.may_come_back("refused a connection", said, context),
            Some(WireError::NoPassword | WireError::Authentication(_)) => {
                context.probe.stop_run(&format!("could not connect again: {error}"));
                false
            }
            _ => true,
        };
        if again { Step::Reconnect(Outcome::Failed) } else { self.end(Step::Last(Outcome::Failed)) }
    }

    /// pgbench's message about a lost connection.
    fn farewell(&self, said: Option<&ServerError>) -> String {
        const DIED: &str = "perhaps the backend died while processing";
        let place = self.position();
        match (self.state, said) {
            (State::RollingBack, _) => {
                let what = "aborted while rolling back the transaction after an error";
                format!("client {} {what}; {DIED}", self.client)
            }
            // libpq reports the closed connection as another result, which pgbench does not read.
            (_, Some(error)) => place.aborted_in_query(self.query(), &self.text_of(error.clone())),
            (_, None) => place.aborted("SQL", DIED),
        }
    }

    /// Ends the client: its attempt is in doubt if a commit was in progress, else failed.
    fn lost(&mut self, code: &str, message: &str, context: &mut StepContext<'_>) -> Step {
        context.probe.error(code, message);
        let outcome = match self.abandon() {
            Outcome::TimedOut => Outcome::Failed,
            outcome => outcome,
        };
        self.end(Step::Last(outcome))
    }

    /// Outcome of the current attempt when it gets no more time.
    pub fn abandon(&mut self) -> Outcome {
        let committing = self.state == State::Statement && self.may_commit;
        if committing { Outcome::InDoubt } else { Outcome::TimedOut }
    }
}

/// Reaction of a measuring client to a server error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reaction {
    /// Roll back, count a failure, continue with the next attempt.
    Continue,
    /// The session is over or was refused: connect again.
    Reconnect,
    /// Like `Continue` if the user requested it, else like `StopRun`.
    ContinueIfRequested,
    /// Like `Continue`, but only a few times in a run.
    ContinueSeldom,
    /// The server no longer accepts writes: connect to the given server that does, else like `StopRun`.
    FindWriter,
    /// Stop the run: the error would recur (configuration), or evidence must be kept (corruption).
    StopRun,
}

/// Decides by SQLSTATE (PostgreSQL manual, "Error Codes").
fn reaction(code: &str) -> Reaction {
    match (code, code.get(..2)) {
        // Terminated, crashed, not ready yet; no connection left.
        ("57P01" | "57P02" | "57P03" | "53300", _) | (_, Some("08")) => Reaction::Reconnect,
        // Disk full, out of memory, I/O error.
        ("53100" | "53200" | "58030", _) => Reaction::ContinueSeldom,
        ("25006", _) => Reaction::FindWriter,
        (_, Some("23")) => Reaction::ContinueIfRequested,
        // Authorization, no such database, syntax and missing objects, not supported; other resources, system errors,
        // corruption.
        (_, Some("28" | "3D" | "42" | "0A" | "53" | "58" | "XX")) => Reaction::StopRun,
        _ => Reaction::Continue,
    }
}
