//! A client as a target of the engine.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicI32, Ordering::Relaxed},
    },
};

use pgdyno_core::{
    measure::{Failure, Outcome, Work},
    random::Random,
};
use pgdyno_engine::{Event, Level, Probe, Step, Target};
use pgdyno_script::{Command, Scratch, Sql, Variables};
use pgdyno_wire::{ConnectOptions, ServerError, Splitter, libpq, try_connect_unless};

use super::{
    SharedScripts,
    branches::Branches,
    messages::ScriptPosition,
    reply::{Reply, ReplyTo},
    sent,
    sessions::Sessions,
    store::Results,
    terminal_input::TerminalInput,
};
use crate::targets::{Reconnects, Redial};

/// Initial state of a client.
#[derive(Debug)]
pub struct Start {
    /// Number of the client, from 0.
    pub client: u32,
    /// Variables of the client.
    pub variables: Variables,
    /// Random stream for the client's scripts.
    pub random: Random,
    /// Options for reconnecting, on request of the engine or after a measurement's connection is lost; `None`
    /// if neither happens.
    pub options: Option<Arc<ConnectOptions>>,
    /// Terminal input of TPC-C; `None` for other scripts.
    pub terminal_input: Option<TerminalInput>,
}

/// A client: the shared scripts, and its own state. Sends the same messages as libpq for pgbench, so that the
/// server has the same work.
#[derive(Debug)]
pub struct SqlTarget {
    shared: Arc<SharedScripts>,
    client_state: ClientState,
}

/// State of one client.
#[derive(Debug)]
pub(super) struct ClientState {
    pub client: u32,
    pub options: Option<Arc<ConnectOptions>>,
    pub variables: Variables,
    pub random: Random,
    /// Random stream at the beginning of the current attempt, so that a retry draws the same numbers.
    pub random_at_begin: Random,
    pub scratch: Scratch,
    /// Index of the script.
    pub script: usize,
    pub at: usize,
    pub branches: Branches,
    pub tries: u32,
    /// Whether the script rolled itself back.
    pub rolled_back: bool,
    /// Terminal input of TPC-C; `None` for other scripts.
    pub terminal_input: Option<TerminalInput>,
    pub failure: Option<Failure>,
    /// Time when the attempt was due, in nanoseconds.
    pub scheduled_ns: u64,
    pub command_began_ns: u64,
    /// Client and backend of the attempt, and its slowest command so far.
    pub work: Work,
    /// Backend's process ID, updated on reconnection; 0 if unknown.
    backend_pid: Arc<AtomicI32>,
    /// Which statements are prepared in this session.
    pub prepared: Vec<bool>,
    /// Statements being prepared.
    pub preparing: Vec<usize>,
    /// Number of Syncs in the open pipeline; `None` outside a pipeline.
    pub pipeline: Option<u32>,
    /// Whether a transaction block is open at the end of the pipeline.
    pub in_block: bool,
    /// Whether the statements in progress may commit anything.
    pub may_commit: bool,
    pub outgoing: Vec<u8>,
    pub splitter: Splitter,
    pub reply: Reply,
    pub results: Results,
    pub state: State,
    /// Receives the session's commit settings at the end of the run.
    pub sessions: Option<Sessions>,
}

/// Current activity of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Between attempts, or computing.
    Idle,
    /// Waiting for a statement or the end of a pipeline.
    Statement,
    /// Waiting for statements that are prepared separately, before the command continues.
    Preparing,
    /// Sleeping in `\sleep`.
    Sleeping { until_ns: u64 },
    /// Rolling back a failed try.
    RollingBack,
    /// Between attempts, without a connection.
    Disconnected,
    /// Waiting for the session's settings at the end of the run.
    ReadingSettings,
}

/// Context of a single step of a client.
#[derive(Debug)]
pub(super) struct StepContext<'a> {
    pub shared: &'a SharedScripts,
    pub now_ns: u64,
    pub probe: &'a mut Probe,
}

impl SqlTarget {
    /// A client on a ready connection, or without one until it is asked to connect.
    pub fn new(shared: Arc<SharedScripts>, start: Start) -> Self {
        let prepared = vec![false; shared.names.len()];
        let client_state = ClientState {
            client: start.client,
            options: start.options,
            variables: start.variables,
            random_at_begin: start.random.clone(),
            random: start.random,
            scratch: Scratch::default(),
            script: 0,
            at: 0,
            branches: Branches::default(),
            tries: 1,
            rolled_back: false,
            terminal_input: start.terminal_input,
            failure: None,
            scheduled_ns: 0,
            command_began_ns: 0,
            work: Work { client: start.client, ..Work::default() },
            backend_pid: Arc::default(),
            prepared,
            preparing: Vec::new(),
            pipeline: None,
            in_block: false,
            may_commit: false,
            outgoing: Vec::with_capacity(512),
            splitter: Splitter::default(),
            reply: Reply { status: b'I', ..Reply::default() },
            results: Results::default(),
            state: State::Idle,
            sessions: None,
        };
        Self { shared, client_state }
    }

    /// Sets the process ID of the client's backend.
    #[must_use]
    pub fn by_backend(mut self, pid: i32) -> Self {
        self.client_state.backend_pid = Arc::new(AtomicI32::new(pid));
        self
    }

    /// Asks the session at the end of the run for its commit settings.
    #[must_use]
    pub fn asked_at_the_end(mut self, sessions: Sessions) -> Self {
        self.client_state.sessions = Some(sessions);
        self
    }
}

impl Target for SqlTarget {
    fn step(&mut self, event: Event<'_>, now_ns: u64, probe: &mut Probe) -> Step {
        let mut context = StepContext { shared: &self.shared, now_ns, probe };
        match event {
            Event::Begin => self.client_state.begin(&mut context),
            Event::Received(bytes) => self.client_state.received(bytes, &mut context),
            Event::Gone(error) => self.client_state.gone(error, &mut context),
            Event::Woken => self.client_state.woken(&mut context),
            Event::Connected => self.client_state.end(Step::Receive),
            Event::Parting => self.client_state.ask_settings(),
            Event::Sent => Step::Receive,
        }
    }

    fn outgoing(&self) -> &[u8] {
        &self.client_state.outgoing
    }

    fn abandon(&mut self) -> Outcome {
        self.client_state.abandon()
    }
}

impl Reconnects for SqlTarget {
    fn redial(&mut self) -> Redial {
        self.client_state.redial(self.shared.is_pgbench())
    }
}

impl ClientState {
    /// How to reconnect; `libpqs` selects libpq's wording for errors.
    fn redial(&mut self, libpqs: bool) -> Redial {
        self.prepared.fill(false);
        self.preparing.clear();
        self.splitter = Splitter::default();
        self.reply = Reply { status: b'I', ..Reply::default() };
        let Some(options) = self.options.clone() else {
            let unsupported = || io::Error::new(io::ErrorKind::Unsupported, "this client does not connect");
            return Box::new(move |_| Err(unsupported()));
        };
        // The error keeps its type, since its SQLSTATE decides about the client.
        let backend_pid = Arc::clone(&self.backend_pid);
        Box::new(move |stop| {
            let session = if libpqs {
                libpq::connect(&options).map_err(io::Error::other)?
            } else {
                try_connect_unless(stop, &options).map_err(io::Error::other)?
            };
            backend_pid.store(session.backend_pid(), Relaxed);
            session.into_parts()
        })
    }

    fn begin(&mut self, context: &mut StepContext<'_>) -> Step {
        self.script = context.probe.script() as usize;
        self.scheduled_ns = context.probe.scheduled_ns();
        self.random_at_begin.clone_from(&self.random);
        self.tries = 1;
        self.reply.rows = 0;
        if let Some(terminal_input) = &mut self.terminal_input {
            terminal_input.enter(self.script, context.probe.user(), &mut self.variables);
        }
        self.work.command_ns = 0;
        self.work.backend_pid = self.backend_pid.load(Relaxed).try_into().unwrap_or_default();
        if context.probe.hears(Level::Debug) {
            let name = &context.shared.scripts.get(self.script).name;
            context.probe.say(Level::Debug, &format!("client {} executing script \"{name}\"", self.client));
        }
        self.try_once(context)
    }

    /// Runs the script from its first command.
    pub fn try_once(&mut self, context: &mut StepContext<'_>) -> Step {
        self.at = 0;
        self.failure = None;
        self.pipeline = None;
        self.rolled_back = false;
        self.branches.clear();
        self.proceed(context)
    }

    /// Executes commands until the client has to wait; ends the attempt after the last one.
    pub fn proceed(&mut self, context: &mut StepContext<'_>) -> Step {
        let shared = context.shared;
        let script = shared.scripts.get(self.script);
        self.state = State::Idle;
        while let Some(command) = script.commands.get(self.at) {
            if !self.branches.active() && self.branches.pass(&command.action) {
                self.at += 1;
                continue;
            }
            self.command_began_ns = context.now_ns;
            if let Some(step) = self.act(command, context) {
                return step;
            }
            self.command_done(context);
        }
        self.end_of_script(context)
    }

    /// Advances to the next command after a success.
    pub fn command_done(&mut self, context: &mut StepContext<'_>) {
        let took_ns = context.now_ns.saturating_sub(self.command_began_ns);
        context.probe.command(context.shared.first[self.script] + self.at, took_ns);
        self.took(took_ns);
        self.at += 1;
    }

    /// Records the current command if it is the slowest of the attempt.
    #[inline]
    pub fn took(&mut self, took_ns: u64) {
        if took_ns > self.work.command_ns {
            self.work.command = self.at as u32;
            (self.work.command_begin_ns, self.work.command_ns) = (self.command_began_ns, took_ns);
        }
    }

    fn woken(&mut self, context: &mut StepContext<'_>) -> Step {
        match self.state {
            State::Sleeping { until_ns } if context.now_ns < until_ns => Step::WaitUntil(until_ns),
            State::Sleeping { .. } => {
                self.command_done(context);
                self.proceed(context)
            }
            _ => Step::Receive,
        }
    }

    fn received(&mut self, bytes: &[u8], context: &mut StepContext<'_>) -> Step {
        if self.state == State::ReadingSettings {
            return self.take_settings(bytes);
        }
        let sql = match self.state {
            State::Statement => self.stored(context.shared),
            _ => None,
        };
        let mut of = match sql {
            Some(sql) => ReplyTo::Stored { sql, results: &mut self.results, variables: &mut self.variables },
            None if self.state == State::Preparing => ReplyTo::Preparation,
            None => ReplyTo::Statement,
        };
        let (reply, outgoing, probe) = (&mut self.reply, &self.outgoing, &*context.probe);
        let fed = self.splitter.feed(bytes, |tag, body| match tag {
            b'N' => {
                let sent = || sent::statement(outgoing, reply.results as usize);
                notice(body, sent, context.shared, probe);
                Ok(())
            }
            _ => reply.take(tag, body, &mut of),
        });
        if let Err(error) = fed {
            return self.unreadable(&error, context);
        }
        match self.state {
            State::Sleeping { until_ns } => Step::WaitUntil(until_ns),
            State::Idle | State::Disconnected | State::ReadingSettings => Step::Receive,
            _ if self.reply.awaited > 0 => Step::Receive,
            _ => self.answered(context),
        }
    }

    /// The statement in progress if its results are stored in variables.
    fn stored<'a>(&self, shared: &'a SharedScripts) -> Option<&'a Sql> {
        let command = shared.scripts.get(self.script).commands.get(self.at)?;
        sql_of(command).filter(|sql| sql.store.is_some())
    }

    /// Position of the client in its scripts, for messages.
    pub fn position(&self) -> ScriptPosition {
        ScriptPosition { client: self.client, script: self.script, command: self.at }
    }
}

/// The SQL of a command.
pub(super) fn sql_of(command: &Command) -> Option<&Sql> {
    match &command.action {
        pgdyno_script::Action::Sql(sql) => Some(sql),
        _ => None,
    }
}

/// Prints a notice of the server as libpq does for pgbench.
fn notice(body: &[u8], sent: impl FnOnce() -> Option<String>, shared: &SharedScripts, probe: &Probe) {
    if shared.is_pgbench() && probe.hears(Level::Plain) {
        probe.say(Level::Plain, &libpq::notice(&ServerError::parse(body).in_statement(sent)));
    }
}
