//! A client that runs one script over and over.

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use pgdyno_core::{
    measure::Outcome,
    plan::Protocol,
    problem::Problem,
    script::{Action, Automatic, Random, Scratch, Script, Scripts, Sql, SqlKind, Variables},
};
use pgdyno_engine::{Client, Event, Probe, Step, Stop, Target};

use super::{Link, Reconnects};
use crate::wire::{ConnectOptions, ServerError, Splitter, WireError, connect_unless, encode};

/// The clients of every worker.
pub type Workers = Vec<Vec<Client<Link<SqlTarget>>>>;

/// Makes the clients of a run.
#[derive(Debug, Clone)]
pub struct SqlClients {
    /// The script: the first of these.
    pub scripts: Arc<Scripts>,
    /// How statements are sent.
    pub protocol: Protocol,
    /// Scale factor, as scripts see it.
    pub scale: u64,
    /// Seed of the plan.
    pub seed: u64,
    /// Number of the run within the plan: no two runs draw the same numbers.
    pub run: u32,
}

impl SqlClients {
    /// Connects `clients` clients and deals them out to `jobs` workers. Gives them with the time that it took.
    ///
    /// # Errors
    /// The first connection that could not be made, or that a stop was requested meanwhile.
    pub fn connect(
        &self,
        options: &ConnectOptions,
        clients: u32,
        jobs: u32,
        stop: &Stop,
    ) -> Result<(Workers, Duration), Problem> {
        let start = Instant::now();
        let mut workers: Workers = (0..jobs.min(clients)).map(|_| Vec::new()).collect();
        let count = workers.len();
        let names: Arc<[String]> = (0..self.scripts.statements().count()).map(|n| format!("P_{n}")).collect();
        for client in 0..clients {
            if stop.requested() {
                let why = stop.reason().unwrap_or_default();
                let what = format!("stopped while connecting client {} of {clients}: {why}", client + 1);
                return Err(Problem::could_not(what).hint("what was measured before is kept"));
            }
            let session = connect_unless(stop, options).map_err(|problem| {
                let seen = problem.detail.as_ref().map_or(String::new(), |detail| format!("\n{detail}"));
                problem.detail(format!("client {} of {clients}: {client} were connected{seen}", client + 1))
            })?;
            let (io, records) = session.into_parts().map_err(|error| no_descriptor(&error))?;
            let target = Link::new(SqlTarget::new(self, Arc::clone(&names), client), records);
            workers[client as usize % count].push(Client { target, io: Some(io) });
        }
        Ok((workers, start.elapsed()))
    }
}

fn no_descriptor(error: &io::Error) -> Problem {
    Problem::could_not(format!("could not keep a connection: {error}"))
        .hint("raise the limit of open files (ulimit -n), or ask for fewer clients")
}

/// One client: a script, its variables, and where it stands in them. It sends the messages that libpq sends for
/// pgbench, so that a server has the same work from both.
#[derive(Debug)]
pub struct SqlTarget {
    scripts: Arc<Scripts>,
    /// Names of the script's prepared statements, the same in every session.
    names: Arc<[String]>,
    protocol: Protocol,
    variables: Variables,
    random: Random,
    scratch: Scratch,
    /// Index of the command under way.
    at: usize,
    /// Number of its statement among the statements of the script.
    statement: usize,
    /// Statements that this session has prepared: the first `prepared` of the script.
    prepared: usize,
    sent_ns: u64,
    /// Transaction status after the last answer.
    status: u8,
    outgoing: Vec<u8>,
    splitter: Splitter,
    reply: Reply,
    state: State,
}

/// What the client is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Between attempts.
    Idle,
    /// A statement of the script is under way.
    Statement,
    /// An attempt has failed, and its transaction is being rolled back.
    RollingBack,
}

/// What the server has said to the statement under way.
#[derive(Debug, Default)]
struct Reply {
    /// Whether an answer is expected: from sending to ReadyForQuery.
    awaited: bool,
    error: Option<Box<ServerError>>,
    /// Transaction status of ReadyForQuery: `I`, `T` or `E`.
    ready: Option<u8>,
    /// What became of the command, once it is complete.
    completed: Option<Completed>,
    /// Whether a statement was parsed: it stays prepared, whatever became of its execution.
    parsed: bool,
    /// An error that answers nothing: why the server is about to close the connection.
    farewell: Option<Box<ServerError>>,
}

/// A command that is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Completed {
    Commit,
    Rollback,
    Other,
}

impl Reply {
    fn take(&mut self, tag: u8, body: &[u8]) -> Result<(), WireError> {
        if !self.awaited {
            return self.take_unasked(tag, body);
        }
        match tag {
            b'Z' => {
                let [status @ (b'I' | b'T' | b'E')] = *body else {
                    return Err(WireError::Protocol("ReadyForQuery without a transaction status".to_owned()));
                };
                self.ready = Some(status);
                self.awaited = false;
            }
            b'C' if body.starts_with(b"COMMIT") => self.completed = Some(Completed::Commit),
            b'C' if body.starts_with(b"ROLLBACK") => self.completed = Some(Completed::Rollback),
            b'C' | b'I' => self.completed = Some(Completed::Other),
            b'E' => self.error = self.error.take().or_else(|| Some(Box::new(ServerError::parse(body)))),
            b'1' => self.parsed = true,
            b'2' | b'D' | b'T' | b'n' | b'N' | b'S' | b'A' => {}
            b'G' | b'H' | b'W' => return Err(WireError::Protocol("a script cannot COPY".to_owned())),
            tag => return Err(WireError::Protocol(format!("a message of type {:?}", tag as char))),
        }
        Ok(())
    }

    /// Between ReadyForQuery and the next statement: an error here must not be taken for the outcome of either.
    fn take_unasked(&mut self, tag: u8, body: &[u8]) -> Result<(), WireError> {
        match tag {
            b'N' | b'S' | b'A' => Ok(()),
            b'E' => {
                self.farewell = Some(Box::new(ServerError::parse(body)));
                Ok(())
            }
            tag => {
                Err(WireError::Protocol(format!("a message of type {:?} that nobody asked for", tag as char)))
            }
        }
    }
}

impl SqlTarget {
    fn new(clients: &SqlClients, names: Arc<[String]>, client: u32) -> Self {
        let seed = Random::stream_seed(clients.seed, clients.run, client);
        let automatic = Automatic {
            scale: clients.scale as i64,
            client_id: i64::from(client),
            random_seed: seed.cast_signed(),
            default_seed: seed.cast_signed(),
        };
        Self {
            scripts: Arc::clone(&clients.scripts),
            names,
            protocol: clients.protocol,
            variables: Variables::new(clients.scripts.names(), &[], automatic),
            random: Random::seeded(seed),
            scratch: Scratch::default(),
            at: 0,
            statement: 0,
            prepared: 0,
            sent_ns: 0,
            status: b'I',
            outgoing: Vec::with_capacity(512),
            splitter: Splitter::default(),
            reply: Reply::default(),
            state: State::Idle,
        }
    }

    fn begin(&mut self, now_ns: u64, probe: &mut Probe) -> Step {
        self.at = 0;
        self.statement = 0;
        self.go_on(now_ns, probe)
    }

    /// Computes variables up to the next statement and sends that; at the end of the script the attempt is done.
    fn go_on(&mut self, now_ns: u64, probe: &mut Probe) -> Step {
        let scripts = Arc::clone(&self.scripts);
        let script = scripts.get(0);
        while let Some(command) = script.commands.get(self.at) {
            match &command.action {
                Action::Set { variable, value } => {
                    let place = variable.slot(&command.word);
                    let value = value.eval(&mut self.variables, &mut self.random, &mut self.scratch);
                    match (place, value) {
                        (Ok(slot), Ok(value)) => self.variables.set(slot, value),
                        (_, Err(error)) => return self.refused(script, &error.to_string(), probe),
                        (Err(error), _) => return self.refused(script, &error, probe),
                    }
                }
                Action::Sql(sql) => {
                    let parse = self.prepared <= self.statement;
                    let out = &mut self.outgoing;
                    out.clear();
                    match self.protocol {
                        Protocol::Prepared => {
                            run_bound(out, sql, &self.names[self.statement], parse, &self.variables);
                        }
                        Protocol::Extended => run_bound(out, sql, "", true, &self.variables),
                        Protocol::Simple => run_simple(out, sql, &self.variables),
                    }
                    return self.send(State::Statement, now_ns);
                }
                _ => return self.refused(script, &format!("\\{} is not driven yet", command.word), probe),
            }
            self.at += 1;
        }
        if self.status != b'I' {
            return self.refused(script, "it ends inside a transaction block", probe);
        }
        self.end(Step::Done(Outcome::Committed))
    }

    /// Going on would fail again.
    fn refused(&mut self, script: &Script, why: &str, probe: &mut Probe) -> Step {
        probe.stop_run(&format!("script {}: {why}", script.name));
        self.end(Step::Last(Outcome::Failed))
    }

    /// The statement under way.
    fn sql(&self) -> Option<&Sql> {
        match &self.scripts.get(0).commands.get(self.at)?.action {
            Action::Sql(sql) => Some(sql),
            _ => None,
        }
    }

    fn end(&mut self, step: Step) -> Step {
        self.state = State::Idle;
        step
    }

    fn send(&mut self, state: State, now_ns: u64) -> Step {
        self.reply = Reply { awaited: true, farewell: self.reply.farewell.take(), ..Reply::default() };
        self.state = state;
        self.sent_ns = now_ns;
        Step::Send
    }

    fn received(&mut self, bytes: &[u8], now_ns: u64, probe: &mut Probe) -> Step {
        let reply = &mut self.reply;
        if let Err(error) = self.splitter.feed(bytes, |tag, body| reply.take(tag, body)) {
            return self.lost("protocol", &error.to_string(), probe);
        }
        let Some(ready) = self.reply.ready.take() else { return Step::Receive };
        self.status = ready;
        match self.state {
            State::Idle => Step::Receive,
            State::RollingBack if ready != b'I' => {
                self.lost("rollback", "the server did not roll back where it was asked to", probe)
            }
            State::RollingBack => self.end(Step::Done(Outcome::Failed)),
            State::Statement => self.answered(ready, now_ns, probe),
        }
    }

    /// A statement of the script has been answered completely.
    fn answered(&mut self, ready: u8, now_ns: u64, probe: &mut Probe) -> Step {
        if self.reply.parsed {
            self.prepared = self.prepared.max(self.statement + 1);
        }
        if let Some(error) = self.reply.error.take() {
            return self.failed(&error, ready, now_ns, probe);
        }
        let Some(completed) = self.reply.completed else {
            return self.lost("protocol", "a statement was answered without being completed", probe);
        };
        if self.asks_to_commit() {
            match (completed, ready) {
                (Completed::Commit, b'I') => {}
                (Completed::Rollback, b'I') => {
                    probe.error("rollback", "the server rolled back where the script asked to commit");
                    return self.end(Step::Done(Outcome::Failed));
                }
                _ => return self.lost("protocol", "END was not answered by COMMIT or ROLLBACK", probe),
            }
        }
        probe.statement(self.statement, now_ns.saturating_sub(self.sent_ns));
        self.at += 1;
        self.statement += 1;
        self.go_on(now_ns, probe)
    }

    /// Whether the statement under way is END or COMMIT, in contrast to ROLLBACK or ABORT.
    fn asks_to_commit(&self) -> bool {
        self.sql().is_some_and(|sql| sql.part().is_some_and(|part| part.kind == SqlKind::Commit))
    }

    fn failed(&mut self, error: &ServerError, ready: u8, now_ns: u64, probe: &mut Probe) -> Step {
        probe.error(&error.code, &error.message);
        match reaction(&error.code) {
            Reaction::StopRun => {
                probe.stop_run(&format!("the server refused a statement: {error}"));
                self.end(Step::Last(Outcome::Failed))
            }
            Reaction::GoOn if ready == b'I' => self.end(Step::Done(Outcome::Failed)),
            Reaction::GoOn => {
                self.outgoing.clear();
                encode::query(&mut self.outgoing, "ROLLBACK");
                self.send(State::RollingBack, now_ns)
            }
        }
    }

    fn gone(&mut self, error: Option<io::Error>, probe: &mut Probe) -> Step {
        // The server says why it closes a connection before it does so, without becoming ready again.
        if let Some(error) = self.reply.error.take().or_else(|| self.reply.farewell.take()) {
            if reaction(&error.code) == Reaction::StopRun {
                probe.stop_run(&format!("the server closed a connection: {error}"));
            }
            return self.lost(&error.code, &error.message, probe);
        }
        match error {
            Some(error) => self.lost("connection", &error.to_string(), probe),
            None => self.lost("connection", "the server closed the connection", probe),
        }
    }

    /// Ends the client: in doubt where a commit was under way, else failed.
    fn lost(&mut self, code: &str, message: &str, probe: &mut Probe) -> Step {
        probe.error(code, message);
        let outcome = match self.abandon() {
            Outcome::TimedOut => Outcome::Failed,
            outcome => outcome,
        };
        self.end(Step::Last(outcome))
    }

    /// Whether the statement under way may have committed something: END, or a statement outside a transaction block
    /// that is not a plain read.
    fn commit_under_way(&self) -> bool {
        let Some(sql) = self.sql() else { return false };
        let changes = |kind| kind == SqlKind::Statement;
        match self.status {
            b'I' => {
                sql.parts.iter().any(|part| changes(part.kind) && !part.reads || part.kind == SqlKind::Commit)
            }
            _ => sql.parts.iter().any(|part| part.kind == SqlKind::Commit),
        }
    }
}

impl Reconnects for SqlTarget {}

impl Target for SqlTarget {
    fn step(&mut self, event: Event<'_>, now_ns: u64, probe: &mut Probe) -> Step {
        match event {
            Event::Begin => self.begin(now_ns, probe),
            Event::Received(bytes) => self.received(bytes, now_ns, probe),
            Event::Gone(error) => self.gone(error, probe),
            Event::Sent | Event::Woken | Event::Connected | Event::Disk(_) => Step::Receive,
        }
    }

    fn outgoing(&self) -> &[u8] {
        &self.outgoing
    }

    fn abandon(&mut self) -> Outcome {
        if self.state == State::Statement && self.commit_under_way() {
            Outcome::InDoubt
        } else {
            Outcome::TimedOut
        }
    }
}

/// One Query message with the values in its text.
fn run_simple(out: &mut Vec<u8>, sql: &Sql, variables: &Variables) {
    encode::query_with(out, |out| sql.substitute(variables, out));
}

/// Parse where asked for, Bind, Describe, Execute and Sync, as `PQsendQueryPrepared` and `PQsendQueryParams` send
/// them. A client that knows its rows could leave Describe out; pgbench does not, and the server's part in it should
/// be the same.
fn run_bound(out: &mut Vec<u8>, sql: &Sql, name: &str, parse: bool, variables: &Variables) {
    if parse {
        encode::parse(out, name, &sql.text);
    }
    encode::bind(out, name, sql.parameters.len(), |number, out| variables.write(sql.parameters[number], out));
    encode::describe_portal(out);
    encode::execute(out);
    encode::sync(out);
}

/// What a server's error means for the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reaction {
    /// Roll back, count a failure, go on with the next attempt.
    GoOn,
    /// Stop everything: it would fail again (configuration), or evidence must be kept (corruption).
    StopRun,
}

/// Decides by SQLSTATE: classes 28 (authorization), 3D (no such database), 42 (syntax, missing objects, privileges),
/// 0A (not supported), 23 (constraints), 53 (disk full, out of memory), 58 (I/O errors) and XX (corruption) stop the
/// run, so does 25006 (a server that takes no writes).
fn reaction(code: &str) -> Reaction {
    match (code, code.get(..2)) {
        ("25006", _) | (_, Some("28" | "3D" | "42" | "0A" | "23" | "53" | "58" | "XX")) => Reaction::StopRun,
        _ => Reaction::GoOn,
    }
}
