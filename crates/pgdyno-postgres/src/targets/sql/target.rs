//! One client, as the engine sees it.

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
use pgdyno_wire::{ConnectOptions, ServerError, Splitter, WireError, libpq, try_connect_unless};

use super::{
    Play,
    branches::Branches,
    reply::{Of, Reply},
    sent,
    sessions::Sessions,
    store::Results,
    terminal_input::TerminalInput,
    words::Whereabouts,
};
use crate::targets::{Reconnects, Redial};

/// What a client begins with.
#[derive(Debug)]
pub struct Start {
    /// Number of the client, from 0.
    pub client: u32,
    /// Its variables.
    pub variables: Variables,
    /// What its scripts draw from.
    pub random: Random,
    /// Where it connects when it is asked to connect anew, and where a measurement connects again after a connection
    /// was lost; `None` where neither is done.
    pub options: Option<Arc<ConnectOptions>>,
    /// What terminals of TPC-C enter, where the scripts are its transactions.
    pub terminal_input: Option<TerminalInput>,
}

/// One client: scripts, its variables, and where it stands in them. It sends the messages that libpq sends for
/// pgbench, so that a server has the same work from both.
#[derive(Debug)]
pub struct SqlTarget {
    play: Arc<Play>,
    player: Player,
}

/// What is a client's own.
#[derive(Debug)]
pub(super) struct Player {
    pub client: u32,
    pub options: Option<Arc<ConnectOptions>>,
    pub variables: Variables,
    pub random: Random,
    /// The random numbers of the attempt under way as it began: another try draws the same ones.
    pub random_at_begin: Random,
    pub scratch: Scratch,
    /// Number of the script, and of the command within it.
    pub script: usize,
    pub at: usize,
    pub branches: Branches,
    pub tries: u32,
    /// Whether the script itself has rolled back what it did.
    pub rolled_back: bool,
    /// What terminals of TPC-C enter, where the scripts are its transactions.
    pub terminal_input: Option<TerminalInput>,
    pub failure: Option<Failure>,
    /// When the attempt was due, and when the command under way began.
    pub scheduled_ns: u64,
    pub command_began_ns: u64,
    /// Who carries the attempt out, and which of its commands took the longest until now.
    pub work: Work,
    /// Process of the server behind the connection; set anew by whoever makes another one. 0 is not known.
    backend_pid: Arc<AtomicI32>,
    /// Which statements this session has prepared.
    pub prepared: Vec<bool>,
    /// Those that are being prepared.
    pub preparing: Vec<usize>,
    /// Whether a pipeline is open, and the Syncs in it.
    pub pipeline: Option<u32>,
    /// Whether a transaction block is open where the pipeline ends.
    pub in_block: bool,
    /// Whether what is under way may make something last.
    pub may_commit: bool,
    pub outgoing: Vec<u8>,
    pub splitter: Splitter,
    pub reply: Reply,
    pub results: Results,
    pub state: State,
    /// Where the settings of its session go at the end of the run.
    pub sessions: Option<Sessions>,
}

/// What the client is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Between attempts, or computing.
    Idle,
    /// A statement is under way, or the end of a pipeline.
    Statement,
    /// Statements are being prepared by themselves; then the command goes on.
    Preparing,
    /// `\sleep`.
    Sleeping { until_ns: u64 },
    /// A try has failed, and its transaction is being rolled back.
    RollingBack,
    /// Between attempts, without a connection.
    Away,
    /// The run is over, and the session is asked for its settings.
    Parting,
}

/// What goes on around a client during one step.
#[derive(Debug)]
pub(super) struct Scene<'a> {
    pub play: &'a Play,
    pub now_ns: u64,
    pub probe: &'a mut Probe,
}

impl SqlTarget {
    /// A client on a connection that is ready, or without one until it is asked to connect.
    pub fn new(play: Arc<Play>, start: Start) -> Self {
        let prepared = vec![false; play.names.len()];
        let player = Player {
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
        Self { play, player }
    }

    /// The same, carried out by the process of the server that calls itself so.
    #[must_use]
    pub fn by_backend(mut self, pid: i32) -> Self {
        self.player.backend_pid = Arc::new(AtomicI32::new(pid));
        self
    }

    /// The same, whose session is asked at the end of the run for the settings that a commit rests on.
    #[must_use]
    pub fn asked_at_the_end(mut self, sessions: Sessions) -> Self {
        self.player.sessions = Some(sessions);
        self
    }
}

impl Target for SqlTarget {
    fn step(&mut self, event: Event<'_>, now_ns: u64, probe: &mut Probe) -> Step {
        let mut scene = Scene { play: &self.play, now_ns, probe };
        match event {
            Event::Begin => self.player.begin(&mut scene),
            Event::Received(bytes) => self.player.received(bytes, &mut scene),
            Event::Gone(error) => self.player.gone(error, &mut scene),
            Event::Woken => self.player.woken(&mut scene),
            Event::Connected => self.player.end(Step::Receive),
            Event::Parting => self.player.part(),
            Event::Sent | Event::Disk(_) => Step::Receive,
        }
    }

    fn outgoing(&self) -> &[u8] {
        &self.player.outgoing
    }

    fn abandon(&mut self) -> Outcome {
        self.player.abandon()
    }
}

impl Reconnects for SqlTarget {
    fn redial(&mut self) -> Redial {
        self.player.redial(self.play.is_pgbench())
    }
}

impl Player {
    /// How another connection is made; `libpqs` says whether its failure is told in libpq's words.
    fn redial(&mut self, libpqs: bool) -> Redial {
        self.prepared.fill(false);
        self.preparing.clear();
        self.splitter = Splitter::default();
        self.reply = Reply { status: b'I', ..Reply::default() };
        let Some(options) = self.options.clone() else {
            let unsupported = || io::Error::new(io::ErrorKind::Unsupported, "this client does not connect");
            return Box::new(move |_| Err(unsupported()));
        };
        // The error stays what it is: its SQLSTATE decides what becomes of the client.
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

    fn begin(&mut self, scene: &mut Scene<'_>) -> Step {
        self.script = scene.probe.script() as usize;
        self.scheduled_ns = scene.probe.scheduled_ns();
        self.random_at_begin.clone_from(&self.random);
        self.tries = 1;
        if let Some(terminal_input) = &mut self.terminal_input {
            terminal_input.enter(self.script, scene.probe.user(), &mut self.variables);
        }
        self.work.command_ns = 0;
        self.work.backend_pid = self.backend_pid.load(Relaxed).try_into().unwrap_or_default();
        if scene.probe.hears(Level::Debug) {
            let name = &scene.play.scripts.get(self.script).name;
            scene.probe.say(Level::Debug, &format!("client {} executing script \"{name}\"", self.client));
        }
        self.try_once(scene)
    }

    /// Runs the script from its first command.
    pub fn try_once(&mut self, scene: &mut Scene<'_>) -> Step {
        self.at = 0;
        self.failure = None;
        self.pipeline = None;
        self.rolled_back = false;
        self.branches.clear();
        self.go_on(scene)
    }

    /// Carries commands out until the client has to wait; at the end of the script the attempt is done.
    pub fn go_on(&mut self, scene: &mut Scene<'_>) -> Step {
        let play = scene.play;
        let script = play.scripts.get(self.script);
        self.state = State::Idle;
        while let Some(command) = script.commands.get(self.at) {
            if !self.branches.active() && self.branches.pass(&command.action) {
                self.at += 1;
                continue;
            }
            self.command_began_ns = scene.now_ns;
            if let Some(step) = self.act(command, scene) {
                return step;
            }
            self.command_done(scene);
        }
        self.end_of_script(scene)
    }

    /// The command under way has succeeded: the next one is due.
    pub fn command_done(&mut self, scene: &mut Scene<'_>) {
        let took_ns = scene.now_ns.saturating_sub(self.command_began_ns);
        scene.probe.command(scene.play.first[self.script] + self.at, took_ns);
        self.took(took_ns);
        self.at += 1;
    }

    /// Remembers the command under way if none of the attempt took longer.
    #[inline]
    pub fn took(&mut self, took_ns: u64) {
        if took_ns > self.work.command_ns {
            self.work.command = self.at as u32;
            (self.work.command_begin_ns, self.work.command_ns) = (self.command_began_ns, took_ns);
        }
    }

    fn woken(&mut self, scene: &mut Scene<'_>) -> Step {
        match self.state {
            State::Sleeping { until_ns } if scene.now_ns < until_ns => Step::WaitUntil(until_ns),
            State::Sleeping { .. } => {
                self.command_done(scene);
                self.go_on(scene)
            }
            _ => Step::Receive,
        }
    }

    fn received(&mut self, bytes: &[u8], scene: &mut Scene<'_>) -> Step {
        if self.state == State::Parting {
            return self.parting(bytes);
        }
        let sql = match self.state {
            State::Statement => self.stored(scene.play),
            _ => None,
        };
        let mut of = match sql {
            Some(sql) => Of::Stored { sql, results: &mut self.results, variables: &mut self.variables },
            None if self.state == State::Preparing => Of::Preparation,
            None => Of::Statement,
        };
        let (reply, outgoing, probe) = (&mut self.reply, &self.outgoing, &*scene.probe);
        let fed = self.splitter.feed(bytes, |tag, body| match tag {
            b'N' => {
                let sent = || sent::statement(outgoing, reply.results as usize);
                notice(body, sent, scene.play, probe);
                Ok(())
            }
            _ => reply.take(tag, body, &mut of),
        });
        if let Err(error) = fed {
            return self.unreadable(&error, scene);
        }
        match self.state {
            State::Sleeping { until_ns } => Step::WaitUntil(until_ns),
            State::Idle | State::Away | State::Parting => Step::Receive,
            _ if self.reply.awaited > 0 => Step::Receive,
            _ => self.answered(scene),
        }
    }

    /// The statement under way where its results go into variables.
    fn stored<'a>(&self, play: &'a Play) -> Option<&'a Sql> {
        let command = play.scripts.get(self.script).commands.get(self.at)?;
        sql_of(command).filter(|sql| sql.store.is_some())
    }

    /// Where the client is, for messages.
    pub fn whereabouts(&self) -> Whereabouts {
        Whereabouts { client: self.client, script: self.script, command: self.at }
    }
}

/// The SQL of a command.
pub(super) fn sql_of(command: &Command) -> Option<&Sql> {
    match &command.action {
        pgdyno_script::Action::Sql(sql) => Some(sql),
        _ => None,
    }
}

/// A notice of the server is shown as libpq shows it to users of pgbench.
fn notice(body: &[u8], sent: impl FnOnce() -> Option<String>, play: &Play, probe: &Probe) {
    if play.is_pgbench() && probe.hears(Level::Plain) {
        let notice = ServerError { context: None, ..ServerError::parse(body) }.in_statement(sent);
        let notice = WireError::Server(Box::new(notice));
        probe.say(Level::Plain, &format!("{}\n", libpq::message(&notice)));
    }
}
