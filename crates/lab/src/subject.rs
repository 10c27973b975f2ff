//! A server under test, from its start or the first connection to its removal.

mod restart;
pub mod run_state;

use std::{
    collections::BTreeSet,
    fs, io,
    net::TcpListener,
    thread,
    time::{Duration, Instant},
};

use pgdyno_core::{
    facts::{Choice, PresetFacts, ServerFacts, ServerSource},
    host::Storage,
    problem::Problem,
    stop::Stop,
};
use pgdyno_host::procs::ProcessId;
use pgdyno_observe::ServerId;
use pgdyno_plan::SetPlace;
use pgdyno_postgres::{
    load::TableScope,
    observe::{postmaster_of, server_facts, show_statements, wait_for_replay},
};
use pgdyno_provision::{Request, RunningServer};
use pgdyno_rows::load::Set;
use pgdyno_wire::{Address, ConnectOptions, Password, Row, Session, WireError, connect, connect_unless};

use crate::{
    Events, External, Job, Wanted,
    context::Context,
    counters_sampler::CountersSampler,
    dirs,
    inspect_server::ExistingServer,
    room::make_room,
    server_storage,
    table_sets::{TableSet, places, quoted, with_search_path, within, without_search_path},
    waiting::waiting_for,
};

/// Connection timeout for cleaning up after a request to stop.
const LAST_TRY: Duration = Duration::from_secs(2);
/// Longest wait for a server that was restarted between two runs; a run tolerates an outage just as long.
const LONGEST_RESTART: Duration = Duration::from_secs(30);
/// Time between two attempts to reconnect.
const RESTART_POLL: Duration = Duration::from_millis(100);
/// Longest wait for sessions that hold locks on tables to be dropped, and time between two attempts.
const LONGEST_LOCK_WAIT: Duration = Duration::from_secs(30);
const LOCK_POLL: Duration = Duration::from_secs(1);
/// Longest wait for such locks after a request to stop.
const LAST_DROP: Duration = Duration::from_secs(10);
/// SQLSTATE of a lock that was not granted in time.
const LOCK_NOT_AVAILABLE: &str = "55P03";
/// SQLSTATE of a schema that exists already.
const DUPLICATE_SCHEMA: &str = "42P06";
/// Schema of pgdyno's objects on an existing server.
pub const SCHEMA: &str = "pgdyno";

/// Turns autovacuum back on.
const RESET_AUTOVACUUM: &str = "ALTER SYSTEM RESET autovacuum";

/// A server under test.
#[derive(Debug)]
pub struct Subject {
    /// How the driver's clients connect.
    pub options: ConnectOptions,
    /// How all other sessions connect.
    admin_options: ConnectOptions,
    /// A session with the server under test, if the tables are prepared on another server.
    pub elsewhere: Option<Session>,
    /// Schema that scripts have to name, if the clients' sessions cannot set `search_path`.
    named_schema: Option<&'static str>,
    /// The session for administration, checks and observation.
    pub admin: Session,
    /// Facts of the server.
    pub facts: ServerFacts,
    /// Largest `shared_buffers` of all servers side by side, in bytes.
    pub largest_buffers_bytes: u64,
    /// Process id of the postmaster, if the server is on this machine.
    pub postmaster: Option<u32>,
    /// Settings chosen for it.
    pub choices: Vec<Choice>,
    /// The preset that it was given, and what differs from it.
    pub preset: Option<PresetFacts>,
    /// Whether its bundle is a tested one; `None` if it is not from a bundle.
    pub bundle_pinned: Option<bool>,
    /// The postmaster of an own server, which is not restarted if it ends.
    process: Option<ProcessId>,
    home: Home,
    /// Backends of pgdyno's sessions that may still be busy when a run is stopped.
    backends: Vec<i32>,
    /// The request to stop.
    stop: Stop,
    /// Where waits and clean-up problems are reported.
    events: Events,
    /// What the observers call it.
    pub(crate) watched: Option<ServerId>,
    /// Reads the counters of its processes.
    pub sampler: CountersSampler,
    /// Whether its autovacuum is currently turned off.
    autovacuum_stopped: bool,
    /// The state left by a reset, as long as no run has touched it.
    untouched: Option<ResetState>,
    /// Time of the last CHECKPOINT, as long as nothing was written after it.
    written_out: Option<Instant>,
    /// The sets of TPC-C's tables, once they were found.
    pub sets: Vec<TableSet>,
    /// Other databases in which the run has a schema, those of sets on an existing server.
    others: Vec<String>,
    /// `search_path` of sessions on an existing server: pgdyno's schema, or after their own.
    path: String,
    /// Names of the tables under test, if they were there before the run.
    existing: Option<Vec<String>>,
    /// Whether the schema is that of another subject, which reaches the same database in another way.
    is_guest: bool,
    /// Whether the clients connect through a pooler.
    pub pooled: bool,
    /// Index of the workload for which its tables were loaded.
    pub loaded_for: usize,
}

/// The state of the data after a workload's reset, to avoid repeating it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ResetState {
    workload: String,
    /// Client count, if the reset depends on it.
    clients: Option<u32>,
}

#[derive(Debug)]
enum Home {
    /// Started by pgdyno.
    Own(Box<RunningServer>),
    /// An existing server: pgdyno's schema is dropped after the run.
    Foreign,
    /// Closed.
    Gone,
}

impl Subject {
    /// Starts or connects to the server. `run` is the id of the run, by which pgdyno's schema on an existing server is
    /// recognised.
    ///
    /// # Errors
    /// The first problem.
    pub fn open(
        context: Context<'_>,
        wanted: &Wanted,
        reached: Option<&ExistingServer>,
        run: &str,
    ) -> Result<Self, Problem> {
        let Context { job, prepared, events, .. } = context;
        match wanted {
            Wanted::External(external) => {
                let reached = reached.ok_or_else(|| Problem::could_not("the server was not inspected"))?;
                Self::foreign(context, external, reached, run)
            }
            Wanted::Own(request) => {
                let mut request = (**request).clone();
                make_room(&mut request, job, &prepared.all_loads(), &prepared.bench);
                if let Some(bytes) = prepared.shared_buffers_bytes.filter(|_| request.preset.is_none()) {
                    let given = request.settings.entry("shared_buffers".into());
                    given.or_insert_with(|| format!("{}MB", bytes >> 20));
                }
                choose_port(&mut request)?;
                events.doing("starting a server");
                let server = pgdyno_provision::up(&request, &dirs()?, &mut |event| report(events, &event))?;
                server.warnings.iter().for_each(|warning| events.warning(warning));
                Self::own(context, server)
            }
        }
    }

    fn own(context: Context<'_>, server: RunningServer) -> Result<Self, Problem> {
        let admin_options = by_socket(&server);
        let opened = open_session(&admin_options, context.stop).and_then(|mut admin| {
            show_statements(&mut admin);
            let bindir = server.bindir.display().to_string();
            let mut facts = server_facts(&mut admin, server.source, Some(bindir))
                .map_err(|error| error.into_problem("could not read the server's facts"))?;
            facts.build.made = server.made();
            Ok((admin, server_storage::with_storage(facts), for_clients(&server)?))
        });
        let (admin, facts, options) = match opened {
            Ok(opened) => opened,
            Err(problem) => {
                let _ = server.remove(); // report the first problem; `ps` lists what is left
                return Err(problem);
            }
        };
        let mut subject = Self::new(context, options, admin_options, admin, facts);
        subject.postmaster = Some(server.pid);
        subject.process = ProcessId::of(server.pid);
        subject.choices.clone_from(&server.choices);
        subject.preset.clone_from(&server.preset);
        subject.bundle_pinned = (server.source == ServerSource::Bundle).then_some(server.pinned);
        subject.home = Home::Own(Box::new(server));
        Ok(subject)
    }

    /// An existing server without any object of pgdyno.
    fn new(
        Context { stop, events, .. }: Context<'_>,
        options: ConnectOptions,
        admin_options: ConnectOptions,
        admin: Session,
        facts: ServerFacts,
    ) -> Self {
        Self {
            backends: vec![admin.backend_pid()],
            options,
            admin_options,
            elsewhere: None,
            named_schema: None,
            postmaster: None,
            admin,
            largest_buffers_bytes: facts.shared_buffers_bytes,
            facts,
            choices: Vec::new(),
            preset: None,
            bundle_pinned: None,
            process: None,
            home: Home::Gone,
            stop: stop.clone(),
            events: events.clone(),
            watched: None,
            sampler: CountersSampler::default(),
            autovacuum_stopped: false,
            untouched: None,
            written_out: None,
            sets: Vec::new(),
            others: Vec::new(),
            path: SCHEMA.to_owned(),
            existing: None,
            is_guest: false,
            pooled: false,
            loaded_for: 0,
        }
    }

    /// Creates the schema for everything of this run. It keeps out a second pgdyno on the same database. Tables that
    /// are there already are found by the sessions' own `search_path`.
    fn foreign(
        context: Context<'_>,
        external: &External,
        reached: &ExistingServer,
        run: &str,
    ) -> Result<Self, Problem> {
        let (options, stop) = (external.admin(), context.stop);
        let there = context.prepared.uses_existing;
        let is_guest = reached.shares.is_some();
        let mut admin = if is_guest { open_session(options, stop)? } else { enter(options, run, stop)? };
        let path = if there { extended_search_path(&external.drive, stop)? } else { SCHEMA.to_owned() };
        set_search_path(&mut admin, &path)?;
        // A pooler loses what a session sets, and PgBouncer refuses clients with such startup parameters.
        let clients = match reached.pooled() {
            true => external.drive.clone(),
            false => with_search_path(&external.drive, &path),
        };
        let postmaster = postmaster_of(&admin);
        let mut subject = Self::new(context, clients, options.clone(), admin, reached.facts.clone());
        subject.postmaster = postmaster;
        subject.named_schema = (reached.pooled() && !there).then_some(SCHEMA);
        subject.path = path;
        subject.existing = there.then(|| existing_names(context.job, reached));
        subject.pooled = reached.pooled();
        subject.is_guest = is_guest;
        subject.home = Home::Foreign;
        // From here on, the schema is dropped whatever happens.
        if reached.elsewhere {
            let elsewhere = open_session(&external.drive, stop)?;
            subject.postmaster = postmaster_of(&elsewhere);
            subject.elsewhere = Some(elsewhere);
        }
        subject.enter_databases(context, run)?;
        Ok(subject)
    }

    /// Creates the schema in the databases of all sets of tables, too: it keeps out a second pgdyno, and has the
    /// functions that the clients call.
    fn enter_databases(&mut self, context: Context<'_>, run: &str) -> Result<(), Problem> {
        for place in places(context.prepared.plan.data.tpcc.as_ref()) {
            let SetPlace::Database(name) = place else { continue };
            if name != self.admin_options.database && !self.is_guest {
                enter(&self.admin_options.with_database(&name), run, &self.stop)?;
                self.others.push(name);
            }
        }
        Ok(())
    }

    /// Creates the schema or the database of a set of tables, on an own server.
    ///
    /// # Errors
    /// An error of the server.
    pub fn make_place(&mut self, place: &SetPlace) -> Result<(), Problem> {
        let sql = match place {
            SetPlace::Found => return Ok(()),
            SetPlace::Schema(name) => format!("CREATE SCHEMA {}", quoted(name)),
            SetPlace::Database(name) => format!("CREATE DATABASE {}", quoted(name)),
        };
        self.admin
            .execute(&sql)
            .map_err(|error| error.into_problem("could not make room for a set of tables"))
    }

    /// How the clients of a set of tables connect. They find its tables, and the functions of TPC-C.
    ///
    /// # Errors
    /// The `search_path` of a database could not be read.
    pub fn client_options(&self, place: &SetPlace) -> Result<ConnectOptions, Problem> {
        let is_own = self.own_server().is_some();
        Ok(match place {
            SetPlace::Found => self.options.clone(),
            SetPlace::Schema(name) => {
                let functions = if is_own { "public" } else { SCHEMA };
                with_search_path(&self.options, &format!("{}, {functions}", quoted(name)))
            }
            SetPlace::Database(name) if is_own => self.options.with_database(name),
            SetPlace::Database(name) => {
                let options = without_search_path(&self.options).with_database(name);
                let path = extended_search_path(&options, &self.stop)?;
                with_search_path(&options, &path)
            }
        })
    }

    /// Connection options of other sessions that find the tables of a set.
    pub fn set_options(&self, place: &SetPlace) -> ConnectOptions {
        match place {
            SetPlace::Found => self.table_options(),
            place => within(&self.admin_options, place),
        }
    }

    /// How a session connects that observes the server under test, bypassing a pooler if the admin connection does.
    pub(crate) fn observed_by(&self) -> &ConnectOptions {
        if self.elsewhere.is_some() { &self.options } else { &self.admin_options }
    }

    /// Opens another session that finds the tables of a set.
    ///
    /// # Errors
    /// The connection failed.
    pub fn set_session(&mut self, place: &SetPlace) -> Result<Session, Problem> {
        if *place == SetPlace::Found {
            return self.session();
        }
        let session = open_session(&self.set_options(place), &self.stop)?;
        self.backends.push(session.backend_pid());
        Ok(session)
    }

    /// Scope of the tables of a set, in a session that finds them.
    pub fn set_scope(&self, place: &SetPlace) -> TableScope {
        match place {
            SetPlace::Found => self.table_scope(),
            SetPlace::Schema(_) | SetPlace::Database(_) => TableScope::of_set(Set::Tpcc),
        }
    }

    /// The databases of the sets of tables; empty if there is only that of the admin session.
    pub fn set_databases(&self) -> Vec<String> {
        let name = |set: &TableSet| match &set.place {
            SetPlace::Database(name) => Some(name.clone()),
            SetPlace::Found | SetPlace::Schema(_) => None,
        };
        self.sets.iter().filter_map(name).collect()
    }

    /// Reconnects sessions that a restart of the server has ended. A server that is starting up is waited for.
    ///
    /// # Errors
    /// The server does not come back.
    pub fn revive(&mut self) -> Result<(), Problem> {
        if self.admin.execute("SELECT 1").is_err() {
            // Unlogged tables are empty after a crash.
            (self.untouched, self.written_out) = (None, None);
            self.admin = self.reach_again(&self.admin_options)?;
            if let Home::Foreign = self.home {
                set_search_path(&mut self.admin, &self.path)?;
                self.postmaster = postmaster_of(&self.admin);
            }
            self.backends.push(self.admin.backend_pid());
        }
        let elsewhere_is_dead = |session: &mut Session| session.execute("SELECT 1").is_err();
        if self.elsewhere.as_mut().is_some_and(elsewhere_is_dead) {
            self.elsewhere = Some(self.reach_again(&self.options)?);
        }
        if let Some(elsewhere) = &self.elsewhere {
            self.postmaster = postmaster_of(elsewhere);
        }
        self.sampler.follow(self.postmaster);
        Ok(())
    }

    /// Waits for a server that has gone, as long as a restart may take: for pgdyno's sessions, and for those of the
    /// clients, who may be behind a pooler.
    ///
    /// # Errors
    /// It does not come back.
    pub fn await_return(&mut self) -> Result<(), Problem> {
        self.revive()?;
        self.reach_again(&self.options).map(drop)
    }

    fn reach_again(&self, options: &ConnectOptions) -> Result<Session, Problem> {
        let begin = Instant::now();
        loop {
            let reached = open_session(options, &self.stop);
            match (reached, self.death()) {
                (Err(_), Some(death)) => {
                    let problem = Problem::could_not(format!("could not continue: {death}"));
                    return Err(problem.hint("earlier results are kept"));
                }
                (Err(_), None) if begin.elapsed() < LONGEST_RESTART && !self.stop.requested() => {
                    thread::sleep(RESTART_POLL);
                }
                (reached, _) => return reached,
            }
        }
    }

    /// Storage under its data, if it is on this machine and the data directory is known.
    pub fn storage(&self) -> Option<Storage> {
        let dir = self.facts.data_directory.as_ref()?;
        pgdyno_host::facts::storage(std::path::Path::new(dir)).ok()
    }

    /// What to say if an own server has ended; it is not restarted.
    pub fn death(&self) -> Option<&'static str> {
        let ended = self.process.is_some_and(|postmaster| !postmaster.is_alive());
        ended.then_some("the server has ended (see the last lines of server.log in the record)")
    }

    /// Waits until the standby under test has replayed the load of its primary.
    ///
    /// # Errors
    /// It does not catch up.
    pub fn wait_for_replication(&mut self) -> Result<(), Problem> {
        let Some(standby) = &mut self.elsewhere else { return Ok(()) };
        self.events.doing("waiting for the standby");
        wait_for_replay(&mut self.admin, standby, self.facts.version_num, &self.stop)
    }

    /// Opens another session. Its activity reaches the server's statistics as soon as it ends; a session that stays
    /// open would report its reads later, in the middle of another server's run.
    ///
    /// # Errors
    /// The connection failed.
    pub fn session(&mut self) -> Result<Session, Problem> {
        let mut session = open_session(&self.admin_options, &self.stop)?;
        if let Home::Foreign = self.home {
            set_search_path(&mut session, &self.path)?;
        }
        self.backends.push(session.backend_pid());
        Ok(session)
    }

    /// The isolation level of clients that request none: a role or a database may have its own default.
    ///
    /// # Errors
    /// The level could not be read.
    pub fn default_isolation(&self, clients: &ConnectOptions) -> Result<String, Problem> {
        let shown = open_session(clients, &self.stop)?.value("SHOW default_transaction_isolation");
        let shown = shown
            .map_err(|error| error.into_problem("could not read the isolation level of transactions"))?;
        Ok(shown.unwrap_or_default())
    }

    /// Connection options of a session that finds the tables.
    pub fn table_options(&self) -> ConnectOptions {
        match self.home {
            Home::Own(_) => self.admin_options.clone(),
            // Poolers refuse startup parameters; the tables behind one are found without them.
            _ if self.pooled => self.admin_options.clone(),
            Home::Foreign | Home::Gone => with_search_path(&self.admin_options, &self.path),
        }
    }

    /// Creates functions in pgdyno's schema of the database of a set of tables, or in an own database. They name row
    /// types of that set, which those of the sets in other schemas equal, and find the tables by `search_path`.
    ///
    /// # Errors
    /// An error of the server.
    pub fn make_functions(&self, set: &TableSet, sql: &str) -> Result<(), Problem> {
        if self.is_guest {
            return Ok(());
        }
        let mut session = open_session(&self.admin_options.with_database(&set.clients.database), &self.stop)?;
        let path = set.clients.startup.iter().rev().find(|(name, _)| name == "search_path");
        let path = path.map_or(&*self.path, |(_, path)| path);
        match (&self.home, &set.place) {
            (Home::Foreign, _) => set_search_path(&mut session, &format!("{SCHEMA}, {path}"))?,
            (_, SetPlace::Schema(_)) => set_search_path(&mut session, &format!("public, {path}"))?,
            (Home::Own(_) | Home::Gone, _) => {}
        }
        let failed = |error: WireError| error.into_problem("could not make the functions of TPC-C");
        session.execute(sql).map_err(failed)?;
        if let Home::Foreign = self.home {
            // The clients may have another role than the admin session.
            session.execute(&format!("GRANT USAGE ON SCHEMA {SCHEMA} TO PUBLIC")).map_err(failed)?;
        }
        Ok(())
    }

    /// Scope of the tables under test. A database with existing tables may have other tables, too.
    pub fn table_scope(&self) -> TableScope {
        match self.home {
            Home::Own(_) => TableScope::Database,
            Home::Foreign | Home::Gone => match &self.existing {
                Some(names) => TableScope::Found(names.clone()),
                None => TableScope::Schema(SCHEMA),
            },
        }
    }

    /// The server, if pgdyno started it.
    pub fn own_server(&self) -> Option<&RunningServer> {
        match &self.home {
            Home::Own(server) => Some(server),
            Home::Foreign | Home::Gone => None,
        }
    }

    /// Removes the server or pgdyno's schema; with `keep`, leaves data and server.
    ///
    /// # Errors
    /// What could not be removed.
    pub fn close(&mut self, keep: bool) -> Result<(), Problem> {
        let autovacuum_stopped = std::mem::take(&mut self.autovacuum_stopped);
        let restored = if keep && autovacuum_stopped { self.restore_autovacuum() } else { Ok(()) };
        let closed = match std::mem::replace(&mut self.home, Home::Gone) {
            Home::Own(server) if keep => {
                waiting_for("the server's end", &self.events, || server.stop()).map(drop)
            }
            Home::Own(server) => waiting_for("the server's end", &self.events, || server.remove()),
            Home::Foreign if !keep && !self.is_guest => self.drop_schemas(),
            Home::Foreign | Home::Gone => Ok(()),
        };
        closed.and(restored)
    }

    /// Re-enables autovacuum in data that is kept. It needs a new session, because the old ones end at a request to
    /// stop.
    fn restore_autovacuum(&self) -> Result<(), Problem> {
        let hint = "before you use the data: ALTER SYSTEM RESET autovacuum";
        let reset = connect(&self.last_options(&self.admin_options.database))?.execute(RESET_AUTOVACUUM);
        reset
            .map_err(|error| error.into_problem("could not re-enable autovacuum in the kept data").hint(hint))
    }

    /// Connection options for cleaning up: after a request to stop, a hung server is not given as much time as usual.
    fn last_options(&self, database: &str) -> ConnectOptions {
        let mut options = self.admin_options.with_database(database);
        if self.stop.requested() {
            options.connect_timeout = options.connect_timeout.min(LAST_TRY);
        }
        options
    }

    /// Drops the schema in all databases. Of what is left, the first is reported.
    fn drop_schemas(&self) -> Result<(), Problem> {
        let databases = self.others.iter().chain([&self.admin_options.database]);
        databases.map(|database| self.drop_schema(database)).fold(Ok(()), Result::and)
    }

    /// Drops the schema in a database. Sessions that hold locks on its tables are terminated and waited for, and named
    /// if that does not help: a stopped process does not react. A request to stop ends the wait.
    fn drop_schema(&self, database: &str) -> Result<(), Problem> {
        let begin = Instant::now();
        let mut tries = 0;
        loop {
            tries += 1;
            let stopping = self.stop.requested();
            let (error, holders) = match waiting_for("the removal of its schema", &self.events, || {
                self.try_to_drop(database, stopping)
            }) {
                Ok(()) => return Ok(()),
                Err(Undropped::Unreached(problem)) => return Err(left(database, &problem.what)),
                Err(Undropped::Refused(error, holders)) => (error, holders),
            };
            let locked = error.code() == Some(LOCK_NOT_AVAILABLE) && begin.elapsed() < LONGEST_LOCK_WAIT;
            // A wait interrupted by a request to stop is tried once more, for the last time.
            let interrupted = matches!(error, WireError::Stopped);
            if !stopping && (locked || interrupted) {
                // Sessions still there at the second attempt do not react.
                if locked && !holders.is_empty() && tries == 2 {
                    let limit = LONGEST_LOCK_WAIT.as_secs();
                    self.events.note(format!("waiting up to {limit} s for {holders} (Ctrl-C ends the wait)"));
                }
                continue;
            }
            let problem = left(database, &error.to_string());
            return Err(if holders.is_empty() { problem } else { problem.detail(holders) });
        }
    }

    /// Uses a new session, and terminates the old ones, which may be busy.
    fn try_to_drop(&self, database: &str, stopping: bool) -> Result<(), Undropped> {
        let mut session = connect(&self.last_options(database)).map_err(Undropped::Unreached)?;
        if stopping {
            session.within(Some(LAST_DROP));
        } else {
            session.heed(&self.stop);
        }
        let refused = |error| Undropped::Refused(error, String::new());
        let name = self.admin_options.application_name().replace('\'', "''");
        for backend in &self.backends {
            // By process id and name: the id may belong to another session by now.
            let end = format!(
                "SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity \
                 WHERE pid = {backend} AND application_name = '{name}' AND usename = CURRENT_USER"
            );
            session.execute(&end).map_err(refused)?;
        }
        let drop = format!("SET lock_timeout = {}; DROP SCHEMA {SCHEMA} CASCADE", LOCK_POLL.as_millis());
        session.execute(&drop).map_err(|error| {
            let holders = holders(&mut session).unwrap_or_default();
            Undropped::Refused(error, holders)
        })
    }
}

/// How sessions connect to an own server by its socket.
fn by_socket(server: &RunningServer) -> ConnectOptions {
    let address = Address::Unix(server.socket_dir.clone(), server.port);
    ConnectOptions::local(address, server.superuser)
}

/// How the clients connect to an own server: by TCP with the password if it listens, else by its socket.
fn for_clients(server: &RunningServer) -> Result<ConnectOptions, Problem> {
    let Some(tcp) = &server.tcp else { return Ok(by_socket(server)) };
    let path = &server.password_file;
    let unreadable =
        |error: io::Error| Problem::could_not(format!("could not read {}: {error}", path.display()));
    let password = fs::read_to_string(path).map_err(unreadable)?;
    let mut options = ConnectOptions::local(Address::Tcp(tcp.host.clone(), server.port), server.superuser);
    options.hosts.iter_mut().for_each(|host| host.password = Some(Password::new(password.trim_end())));
    Ok(options)
}

/// Chooses a free port for a server that listens on TCP. Another process may take it before the server does; the start
/// then says so.
fn choose_port(request: &mut Request) -> Result<(), Problem> {
    if request.listen.is_none() || request.port.is_some() {
        return Ok(());
    }
    let free = TcpListener::bind(("0.0.0.0", 0)).and_then(|listener| listener.local_addr());
    let taken = |error| Problem::could_not(format!("could not find a free port: {error}"));
    request.port = Some(free.map_err(taken)?.port());
    Ok(())
}

/// Names of tables that a run on existing tables may use: those of the set, and those that its scripts name.
fn existing_names(job: &Job, reached: &ExistingServer) -> Vec<String> {
    let set = reached.tables.measured.as_ref().map(|tables| tables.set);
    let of_set = set.into_iter().flat_map(|set| set.tables().iter().map(|table| table.generator().table()));
    let works =
        job.workload_files.work.iter().chain(job.subjects.iter().filter_map(|subject| subject.work.own()));
    let named = works.filter(|work| work.is_own()).flat_map(|work| work.scripts.words(&work.definitions));
    let all: BTreeSet<String> = of_set.map(str::to_owned).chain(named).collect();
    all.into_iter().collect()
}

/// The error for a schema left behind: where, why, and how to remove it.
fn left(database: &str, why: &str) -> Problem {
    Problem::could_not(format!("schema {SCHEMA} was left in database {database}: {why}"))
        .hint(format!("remove it once the server is up and accepts writes: DROP SCHEMA {SCHEMA} CASCADE"))
}

/// Why the schema still exists.
enum Undropped {
    /// No connection to drop it.
    Unreached(Problem),
    /// The server's error, and the sessions with locks on its tables, in words.
    Refused(WireError, String),
}

/// Terminates sessions of clients that are gone and still hold locks on our tables, and names all that hold some.
fn holders(session: &mut Session) -> Result<String, WireError> {
    let rows = session.query(&format!(
        "SELECT a.pid, a.application_name, a.state, CASE WHEN a.usename = CURRENT_USER \
         THEN pg_catalog.pg_terminate_backend(a.pid) END FROM pg_catalog.pg_stat_activity a \
         WHERE a.pid <> pg_catalog.pg_backend_pid() AND a.pid IN (SELECT l.pid FROM pg_catalog.pg_locks l \
         JOIN pg_catalog.pg_class c ON c.oid = l.relation \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE l.granted AND n.nspname = '{SCHEMA}' AND l.database = \
         (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()))"
    ))?;
    let word = |row: &Row, column| row.get(column).unwrap_or("?").to_owned();
    let of_row = |row: &Row| format!("{} ({}, {})", word(row, 0), word(row, 1), word(row, 2));
    let all: Vec<_> = rows.iter().map(of_row).collect();
    let (es, hold) = if all.len() == 1 { ("", "holds") } else { ("es", "hold") };
    let named = format!("server process{es} {}, which {hold} tables of schema {SCHEMA}", all.join(", "));
    Ok(if all.is_empty() { String::new() } else { named })
}

/// Cleans up after a panic or an early return.
impl Drop for Subject {
    fn drop(&mut self) {
        if let Err(problem) = self.close(false) {
            self.events.problem(&problem);
        }
    }
}

/// Reports what happens while a server starts.
fn report(events: &Events, event: &pgdyno_provision::Event) {
    match event.text() {
        Some(text) if event.is_warning() => events.warning(&text),
        Some(text) => events.note(text),
        None => {}
    }
}

/// Opens a session, and creates the schema of a run in its database.
fn enter(options: &ConnectOptions, run: &str, stop: &Stop) -> Result<Session, Problem> {
    let mut admin = open_session(options, stop)?;
    let failed = |error: WireError| error.into_problem("could not prepare the database");
    let is_there = |made: &Result<(), WireError>| {
        made.as_ref().is_err_and(|error| error.code() == Some(DUPLICATE_SCHEMA))
    };
    let mut schema = create_schema(&mut admin, run);
    if is_there(&schema) && is_schema_of(&mut admin, run).map_err(failed)? {
        // The run is resumed: its process is gone, and its tables are recreated.
        admin.execute(&format!("DROP SCHEMA {SCHEMA} CASCADE")).map_err(failed)?;
        schema = create_schema(&mut admin, run);
    }
    if is_there(&schema) {
        let database = &options.database;
        return Err(Problem::could_not(format!("schema {SCHEMA} exists already in database {database}"))
            .detail("another pgdyno is running there, or an earlier one was killed or kept it (--keep)")
            .hint(format!(
                "`pgdyno resume RUN` completes a run that was killed; if no pgdyno is running, you may also remove \
                 what is left: DROP SCHEMA {SCHEMA} CASCADE"
            )));
    }
    schema.map_err(failed).map(|()| admin)
}

/// Creates the schema, with the run in its comment.
fn create_schema(admin: &mut Session, run: &str) -> Result<(), WireError> {
    admin.execute(&format!("CREATE SCHEMA {SCHEMA}"))?;
    admin.execute(&format!("COMMENT ON SCHEMA {SCHEMA} IS 'pgdyno run {run}'"))
}

/// Whether the schema was created for this run.
fn is_schema_of(admin: &mut Session, run: &str) -> Result<bool, WireError> {
    let comment = admin.value(&format!(
        "SELECT pg_catalog.obj_description(oid, 'pg_namespace') FROM pg_catalog.pg_namespace \
         WHERE nspname = '{SCHEMA}'"
    ))?;
    Ok(comment.is_some_and(|comment| comment == format!("pgdyno run {run}")))
}

/// Sets a session's `search_path` to our tables. A startup parameter would do too, but poolers refuse it.
fn set_search_path(session: &mut Session, path: &str) -> Result<(), Problem> {
    let set = session.execute(&format!("SET search_path = {path}"));
    set.map_err(|error| error.into_problem("could not prepare the database"))
}

/// The sessions' own `search_path`, followed by our schema.
fn extended_search_path(options: &ConnectOptions, stop: &Stop) -> Result<String, Problem> {
    let shown = open_session(options, stop)?.value("SHOW search_path");
    let own = shown.map_err(|error| error.into_problem("could not read search_path"))?;
    let own = own.filter(|path| !path.trim().is_empty());
    Ok(own.map_or_else(|| SCHEMA.to_owned(), |own| format!("{own}, {SCHEMA}")))
}

fn open_session(options: &ConnectOptions, stop: &Stop) -> Result<Session, Problem> {
    let mut session = connect_unless(stop, options)?;
    session.heed(stop);
    Ok(session)
}
