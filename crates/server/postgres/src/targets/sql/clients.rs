//! Connects the clients of a measurement.

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use pgdyno_core::{problem::Problem, random::Random, stop::Stop};
use pgdyno_engine::{
    Bookkeeping, Client, EngineError, Listeners, Paced, Pacing, Report, Settings, SocketDriver, run_returning,
};
use pgdyno_script::{
    Automatic, Definition, Protocol, Scripts, Variables,
    tpcc::{ROLLED_BACK, TerminalParams},
};
use pgdyno_wire::{ConnectOptions, connect_unless};

use super::{ClientBehavior, InputCounts, Sessions, SharedScripts, SqlTarget, Start, TerminalInput};
use crate::targets::Link;

/// Longest time per address for a reconnection; several attempts fit into the longest outage that a run tolerates.
const LONGEST_TRY: Duration = Duration::from_secs(5);

/// A client of a run: the same type for all commands, so that the engine is compiled for one.
pub type SqlClient = Client<Paced<Link<SqlTarget>>>;

/// The clients of every worker.
pub type Workers = Vec<Vec<SqlClient>>;

/// Runs these clients: the engine's `run_keeping`, compiled here alone and not in every crate that calls it.
///
/// # Errors
/// [`EngineError`] if the run fails as a whole; failures of single attempts or clients are in the report.
pub fn run_clients(
    driver: SocketDriver,
    workers: Workers,
    settings: &Settings,
    bookkeeping: &Bookkeeping,
    stop: &Stop,
    listeners: Listeners<'_>,
) -> Result<Report, EngineError> {
    run_returning_clients(driver, workers, settings, bookkeeping, stop, listeners).map(|(report, _)| report)
}

/// Like [`run_clients`], and returns the clients that can begin another run, if [`Bookkeeping::returns_clients`] is
/// set: the engine's [`run_returning`].
///
/// # Errors
/// As [`run_clients`].
#[inline(never)]
pub fn run_returning_clients(
    driver: SocketDriver,
    workers: Workers,
    settings: &Settings,
    bookkeeping: &Bookkeeping,
    stop: &Stop,
    listeners: Listeners<'_>,
) -> Result<(Report, Workers), EngineError> {
    run_returning(driver, workers, settings, bookkeeping, stop, listeners)
}

/// Creates the clients of a measurement.
#[derive(Debug, Clone)]
pub struct SqlClients {
    /// Scripts of the workload.
    pub scripts: Arc<Scripts>,
    /// Protocol for sending statements.
    pub protocol: Protocol,
    /// Scale factor for the variable `:scale`.
    pub scale: u64,
    /// Seed of the plan.
    pub seed: u64,
    /// Number of the run within the plan, so that each run draws other random numbers.
    pub run: u32,
    /// Number of the first client: of clients that run at one time, each has a number of its own.
    pub first_client: u32,
    /// Number of attempts after which each client ends; `None` is as many as the time allows.
    pub attempts: Option<u64>,
    /// Initial values of variables, in addition to pgbench's.
    pub definitions: Vec<Definition>,
    /// Whether scripts may run programs.
    pub trust: bool,
    /// Most tries of an attempt that fails with serialization errors or deadlocks; 0 means no limit.
    pub max_tries: u32,
    /// Parameters and counters of TPC-C's terminal input; `None` for other scripts.
    pub tpcc: Option<(TerminalParams, InputCounts)>,
    /// Receives the commit settings of all sessions at start and end of the run; `None` to skip asking.
    pub sessions: Option<Sessions>,
}

impl SqlClients {
    /// Clients of these scripts at scale 1 with seed 1, in the first run, without variables and without trust.
    pub fn new(scripts: Arc<Scripts>, protocol: Protocol) -> Self {
        Self {
            scripts,
            protocol,
            scale: 1,
            seed: 1,
            run: 0,
            first_client: 0,
            attempts: None,
            definitions: Vec::new(),
            trust: false,
            max_tries: 1,
            tpcc: None,
            sessions: None,
        }
    }

    /// Connects `clients` clients, and distributes them over `jobs` workers. Returns them with the time taken.
    ///
    /// # Errors
    /// A connection fails, or a stop is requested meanwhile.
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
        let behavior =
            ClientBehavior { trust: self.trust, max_tries: self.max_tries, ..ClientBehavior::default() };
        let own_rollback = self.tpcc.as_ref().map(|_| ROLLED_BACK);
        let shared = SharedScripts::new(Arc::clone(&self.scripts), self.protocol, behavior);
        let shared = Arc::new(shared.rolling_back_by(own_rollback));
        let again = Arc::new(to_connect_again(options));
        for client in 0..clients {
            if stop.requested() {
                let why = stop.reason().unwrap_or_default();
                let what = format!("stopped while connecting client {} of {clients}: {why}", client + 1);
                return Err(Problem::could_not(what).hint("earlier results are kept"));
            }
            let mut session = connect_unless(stop, options).map_err(|problem| {
                let seen = problem.detail.as_ref().map_or(String::new(), |detail| format!("\n{detail}"));
                problem.detail(format!("client {} of {clients}: {client} were connected{seen}", client + 1))
            })?;
            if let Some(sessions) = self.sessions.as_ref().filter(|_| client == 0) {
                sessions.begin(&mut session);
            }
            let backend_pid = session.backend_pid();
            let (io, records) = session.into_parts().map_err(|error| no_descriptor(&error))?;
            let number = self.first_client + client;
            let start = self.start(number, &again);
            let target = SqlTarget::new(shared.for_client(&start.variables), start).by_backend(backend_pid);
            let target = match &self.sessions {
                Some(sessions) => target.asked_at_the_end(sessions.clone()),
                None => target,
            };
            let pacing = Pacing { attempts: self.attempts, ..Pacing::default() };
            let target = Paced::new(Link::new(target, records), number, true, pacing);
            workers[client as usize % count].push(Client { target, io: Some(io) });
        }
        Ok((workers, start.elapsed()))
    }

    /// Initial state of a client, with random numbers that differ in every run.
    fn start(&self, client: u32, again: &Arc<ConnectOptions>) -> Start {
        let seed = Random::stream_seed(self.seed, self.run, client);
        let automatic = Automatic {
            scale: self.scale as i64,
            client_id: i64::from(client),
            random_seed: seed.cast_signed(),
            default_seed: seed.cast_signed(),
        };
        let variables = Variables::new(self.scripts.names(), &self.definitions, automatic);
        let names = self.scripts.names();
        let terminal_input =
            self.tpcc.as_ref().map(|(params, counted)| TerminalInput::new(*params, client, names, counted));
        Start {
            client,
            variables,
            random: Random::seeded(seed),
            options: Some(Arc::clone(again)),
            terminal_input,
        }
    }
}

/// Options for reconnecting: the same server, but a short timeout, since another try follows.
fn to_connect_again(options: &ConnectOptions) -> ConnectOptions {
    let connect_timeout = options.connect_timeout.min(LONGEST_TRY);
    ConnectOptions { connect_timeout, ..options.clone() }
}

fn no_descriptor(error: &io::Error) -> Problem {
    Problem::could_not(format!("could not keep a connection: {error}"))
        .hint("raise the limit of open files (ulimit -n), or use fewer clients")
}
