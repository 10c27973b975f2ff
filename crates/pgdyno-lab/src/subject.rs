//! A server under test, from its start or the first connection to its removal.

use std::{
    thread,
    time::{Duration, Instant},
};

use pgdyno_core::{
    facts::{Choice, DurabilityTier, ServerFacts, ServerSource, StorageFacts, Weakness},
    measure::Waits,
    probe::Held,
    problem::Problem,
    stop::Stop,
};
use pgdyno_host::procs::ProcessId;
use pgdyno_plan::Work;
use pgdyno_postgres::{
    load::{TableScope, has_unlogged},
    observe::{ask_commit_settings, postmaster_of, server_facts, wait_for_replay, weak_routines},
    probe::{Buffercache, held},
};
use pgdyno_provision::RunningServer;
use pgdyno_rows::load::Set;
use pgdyno_script::{Builtin, Definition, Scripts};
use pgdyno_wire::{Address, ConnectOptions, Row, Session, WireError, connect, connect_unless};

use crate::{
    Events, External, Prepared, Wanted, dirs, inspect_server::ExistingServer, reset_state::ResetState,
    server_storage, tpcc_facts::TpccFacts, wait_sampler::WaitSampler, waiting::waiting_for,
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
const SCHEMA: &str = "pgdyno";

/// Longest wait for autovacuum to stop its current work.
const LONGEST_VACUUM: Duration = Duration::from_secs(30);
/// Time between two checks whether it has stopped.
const VACUUM_POLL: Duration = Duration::from_millis(20);

/// Time after which CHECKPOINT is repeated although nothing was written: a third of the shortest allowed
/// `checkpoint_timeout`, so that no timed checkpoint falls into a run of the usual length.
const CHECKPOINT_LASTS: Duration = Duration::from_secs(10);

/// Terminates autovacuum workers, which otherwise finish their tables after autovacuum is turned off; returns a row for
/// each remaining autovacuum process. Cancelling a worker is not enough: it continues with the next table. The launcher
/// exits by itself, and may start another worker before it does.
const END_VACUUM: &str = "SELECT CASE WHEN backend_type = 'autovacuum worker' \
                          THEN pg_catalog.pg_terminate_backend(pid) END FROM pg_catalog.pg_stat_activity \
                          WHERE backend_type IN ('autovacuum worker', 'autovacuum launcher')";
/// [`END_VACUUM`] before 10, which has no `backend_type`.
const END_VACUUM_BEFORE_10: &str = "SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity \
                                    WHERE query LIKE 'autovacuum: %' AND pid <> pg_catalog.pg_backend_pid()";

/// Turns autovacuum back on.
const RESET_AUTOVACUUM: &str = "ALTER SYSTEM RESET autovacuum";
/// Reloads the configuration.
const RELOAD: &str = "SELECT pg_catalog.pg_reload_conf()";

/// How a problem ends if the server found its data corrupt (SQLSTATE `data_corrupted`, `index_corrupted`).
const CORRUPT: [&str; 2] = ["(SQLSTATE XX001)", "(SQLSTATE XX002)"];

/// Keeps the data of a server that reported corruption, as evidence, and says so in the hint.
pub fn keep_evidence(result: Result<(), Problem>) -> (bool, Result<(), Problem>) {
    let tells = |problem: &Problem| CORRUPT.iter().any(|code| problem.what.contains(code));
    let corrupt = result.as_ref().is_err_and(tells);
    let hint = "the data is kept as evidence, as after --keep: copy it before you repair anything";
    (corrupt, result.map_err(|problem| if corrupt { problem.hint(hint) } else { problem }))
}

/// Combines the result of the stages with that of cleaning up. Anything left behind is reported in any case, with how
/// to remove it.
///
/// # Errors
/// The problem of the stages, of cleaning up, or both.
pub fn with_leftovers(result: Result<(), Problem>, closed: Result<(), Problem>) -> Result<(), Problem> {
    let joined = |one: Option<String>, other: Option<String>| match (one, other) {
        (Some(one), Some(other)) if one != other => Some(format!("{one}; {other}")),
        (one, other) => one.or(other),
    };
    match (result, closed) {
        (Err(problem), Err(left)) => Err(Problem {
            detail: joined(problem.detail, Some(left.what)),
            hint: joined(problem.hint, left.hint),
            ..problem
        }),
        (result, closed) => result.and(closed),
    }
}

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
    /// Whether wait events are sampled during runs.
    pub samples_waits: bool,
    /// The session for sampling, between two runs.
    wait_session: Option<Session>,
    /// Whether its autovacuum is currently turned off.
    autovacuum_stopped: bool,
    /// The state left by a reset, as long as no run has touched it.
    pub untouched: Option<ResetState>,
    /// Time of the last CHECKPOINT, as long as nothing was written after it.
    pub written_out: Option<Instant>,
    /// Facts of TPC-C's tables, once they were read.
    pub tpcc: Option<TpccFacts>,
    /// `search_path` of sessions on an existing server: pgdyno's schema, or after their own.
    path: String,
    /// Whether the clients connect through a pooler.
    pub pooled: bool,
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
        wanted: &Wanted,
        reached: Option<&ExistingServer>,
        prepared: &Prepared,
        run: &str,
        stop: &Stop,
        events: &Events,
    ) -> Result<Self, Problem> {
        match wanted {
            Wanted::External(external) => {
                let reached = reached.ok_or_else(|| Problem::could_not("the server was not inspected"))?;
                let there = prepared.plan.data.tpcc.is_some_and(|tpcc| tpcc.loaded);
                Self::foreign(external, reached, there, run, stop, events)
            }
            Wanted::Own(request) => {
                let mut request = (**request).clone();
                let loading = prepared.plan.load.streams().try_into().unwrap_or(u32::MAX);
                request.clients = prepared.bench.max_clients().max(loading);
                if let Some(bytes) = prepared.shared_buffers_bytes {
                    let given = request.settings.entry("shared_buffers".into());
                    given.or_insert_with(|| format!("{}MB", bytes >> 20));
                }
                request.cpus.clone_from(&prepared.bench.cpus.server);
                events.doing("starting a server");
                let server = pgdyno_provision::up(&request, &dirs()?, &mut |event| report(events, &event))?;
                server.warnings.iter().for_each(|warning| events.warning(warning));
                Self::own(server, stop, events)
            }
        }
    }

    fn own(server: RunningServer, stop: &Stop, events: &Events) -> Result<Self, Problem> {
        let address = Address::Unix(server.socket_dir.clone(), server.port);
        let options = ConnectOptions::local(address, server.superuser);
        let opened = open_session(&options, stop).and_then(|mut admin| {
            let bindir = server.bindir.display().to_string();
            let mut facts = server_facts(&mut admin, server.source, Some(bindir))
                .map_err(|error| error.into_problem("could not read the server's facts"))?;
            facts.build.made = server.made();
            Ok((admin, server_storage::with_storage(facts)))
        });
        let (admin, facts) = match opened {
            Ok(opened) => opened,
            Err(problem) => {
                let _ = server.remove(); // report the first problem; `ps` lists what is left
                return Err(problem);
            }
        };
        Ok(Self {
            backends: vec![admin.backend_pid()],
            admin_options: options.clone(),
            elsewhere: None,
            named_schema: None,
            options,
            admin,
            largest_buffers_bytes: facts.shared_buffers_bytes,
            facts,
            postmaster: Some(server.pid),
            process: ProcessId::of(server.pid),
            choices: server.choices.clone(),
            bundle_pinned: (server.source == ServerSource::Bundle).then_some(server.pinned),
            home: Home::Own(Box::new(server)),
            stop: stop.clone(),
            events: events.clone(),
            samples_waits: false,
            wait_session: None,
            autovacuum_stopped: false,
            untouched: None,
            written_out: None,
            tpcc: None,
            path: SCHEMA.to_owned(),
            pooled: false,
        })
    }

    /// Creates the schema for everything of this run. It keeps out a second pgdyno on the same database. If the tables
    /// are `there` already, they are found by the sessions' own `search_path`.
    fn foreign(
        external: &External,
        reached: &ExistingServer,
        there: bool,
        run: &str,
        stop: &Stop,
        events: &Events,
    ) -> Result<Self, Problem> {
        let options = external.admin();
        let mut admin = open_session(options, stop)?;
        let failed = |error: WireError| error.into_problem("could not prepare the database");
        let mut schema = create_schema(&mut admin, run);
        if schema.as_ref().is_err_and(|error| error.code() == Some(DUPLICATE_SCHEMA))
            && is_schema_of(&mut admin, run).map_err(failed)?
        {
            // The run is resumed: its process is gone, and its tables are recreated.
            admin.execute(&format!("DROP SCHEMA {SCHEMA} CASCADE")).map_err(failed)?;
            schema = create_schema(&mut admin, run);
        }
        if schema.as_ref().is_err_and(|error| error.code() == Some(DUPLICATE_SCHEMA)) {
            return Err(Problem::could_not(format!(
                "schema {SCHEMA} exists already in database {}",
                options.database
            ))
            .detail("another pgdyno is running there, or an earlier one was killed or kept it (--keep)")
            .hint(format!("if none is running, remove it: DROP SCHEMA {SCHEMA} CASCADE")));
        }
        schema.map_err(failed)?;
        let path = if there { extended_search_path(&external.drive, stop)? } else { SCHEMA.to_owned() };
        set_search_path(&mut admin, &path)?;
        let mut subject = Self {
            backends: vec![admin.backend_pid()],
            // A pooler loses what a session sets, and PgBouncer refuses clients with such startup parameters.
            options: if reached.pooled() {
                external.drive.clone()
            } else {
                with_search_path(&external.drive, &path)
            },
            named_schema: (reached.pooled() && !there).then_some(SCHEMA),
            admin_options: options.clone(),
            elsewhere: None,
            postmaster: postmaster_of(&admin),
            admin,
            facts: reached.facts.clone(),
            largest_buffers_bytes: reached.facts.shared_buffers_bytes,
            choices: Vec::new(),
            bundle_pinned: None,
            process: None,
            home: Home::Foreign,
            stop: stop.clone(),
            events: events.clone(),
            samples_waits: false,
            wait_session: None,
            autovacuum_stopped: false,
            untouched: None,
            written_out: None,
            tpcc: None,
            path,
            pooled: reached.pooled(),
        };
        // From here on, the schema is dropped whatever happens.
        if reached.elsewhere {
            let elsewhere = open_session(&external.drive, stop)?;
            subject.postmaster = postmaster_of(&elsewhere);
            subject.elsewhere = Some(elsewhere);
        }
        Ok(subject)
    }

    /// Reconnects sessions that a restart of the server has ended. A server that is starting up is waited for.
    ///
    /// # Errors
    /// The server does not come back.
    pub fn revive(&mut self, stop: &Stop) -> Result<(), Problem> {
        if self.admin.execute("SELECT 1").is_err() {
            // Unlogged tables are empty after a crash.
            (self.untouched, self.written_out) = (None, None);
            self.admin = self.reach_again(&self.admin_options, stop)?;
            if let Home::Foreign = self.home {
                set_search_path(&mut self.admin, &self.path)?;
                self.postmaster = postmaster_of(&self.admin);
            }
            self.backends.push(self.admin.backend_pid());
        }
        let elsewhere_is_dead = |session: &mut Session| session.execute("SELECT 1").is_err();
        if self.elsewhere.as_mut().is_some_and(elsewhere_is_dead) {
            self.elsewhere = Some(self.reach_again(&self.options, stop)?);
        }
        if let Some(elsewhere) = &self.elsewhere {
            self.postmaster = postmaster_of(elsewhere);
        }
        Ok(())
    }

    fn reach_again(&self, options: &ConnectOptions, stop: &Stop) -> Result<Session, Problem> {
        let begin = Instant::now();
        loop {
            let reached = open_session(options, stop);
            match (reached, self.death()) {
                (Err(_), Some(death)) => {
                    let problem = Problem::could_not(format!("could not continue: {death}"));
                    return Err(problem.hint("earlier results are kept"));
                }
                (Err(_), None) if begin.elapsed() < LONGEST_RESTART && !stop.requested() => {
                    thread::sleep(RESTART_POLL);
                }
                (reached, _) => return reached,
            }
        }
    }

    /// Starts sampling the wait events of its sessions; `None` if that is not wanted or not possible.
    pub fn sample_waits(&mut self, stop: &Stop) -> Option<WaitSampler> {
        if !self.samples_waits {
            return None;
        }
        let session = match self.wait_session.take() {
            Some(session) => session,
            None => open_session(self.driven_options(), stop).ok()?,
        };
        let except = self.backends.iter().copied().chain(self.elsewhere.as_ref().map(Session::backend_pid));
        Some(WaitSampler::begin(session, self.facts.version_num, except.collect()))
    }

    /// Ends the sampling of wait events and returns them.
    pub fn sampled_waits(&mut self, sampler: WaitSampler) -> Waits {
        let (session, waits) = sampler.end();
        self.wait_session = session;
        waits
    }

    /// Storage under its data, if it is on this machine and the data directory is known.
    pub fn storage(&self) -> Option<StorageFacts> {
        let dir = self.facts.data_directory.as_ref()?;
        pgdyno_host::facts::storage(std::path::Path::new(dir)).ok()
    }

    /// Executes CHECKPOINT, so that nothing is left to write later; skipped for a role without the permission.
    ///
    /// # Errors
    /// The server reported another error.
    pub fn checkpoint(&mut self) -> Result<(), Problem> {
        match self.admin.execute("CHECKPOINT") {
            Err(error) if error.code() != Some("42501") => {
                Err(error.into_problem("could not prepare a run (CHECKPOINT)"))
            }
            _ => Ok(()),
        }
    }

    /// Executes CHECKPOINT before a run, if there may be something to write or a timed checkpoint could fall into the
    /// run.
    ///
    /// # Errors
    /// As [`Subject::checkpoint`].
    pub fn checkpoint_if_needed(&mut self) -> Result<(), Problem> {
        match self.written_out.take() {
            Some(at) if at.elapsed() < CHECKPOINT_LASTS => Ok(()),
            _ => self.checkpoint(),
        }
    }

    /// Options for sessions with the server under test, bypassing a pooler if the admin connection does.
    fn driven_options(&self) -> &ConnectOptions {
        if self.elsewhere.is_some() { &self.options } else { &self.admin_options }
    }

    /// Quiesces an own server while another one is measured: dead rows of its last run would otherwise trigger
    /// autovacuum during another run.
    ///
    /// # Errors
    /// The server refused.
    pub fn stop_autovacuum(&mut self) -> Result<(), Problem> {
        let Home::Own(_) = self.home else { return Ok(()) };
        self.autovacuum_stopped = true;
        self.change("ALTER SYSTEM SET autovacuum = off")?;
        self.change(RELOAD)?;
        let end = if self.facts.version_num < 100_000 { END_VACUUM_BEFORE_10 } else { END_VACUUM };
        let begin = Instant::now();
        while !self.admin.query(end).map_err(could_not_change)?.is_empty() {
            if begin.elapsed() > LONGEST_VACUUM {
                let s = LONGEST_VACUUM.as_secs();
                return Err(Problem::could_not(format!(
                    "could not quiesce a server: its autovacuum has not ended within {s} s"
                ))
                .hint("see server.log of the record for what it is doing"));
            }
            thread::sleep(VACUUM_POLL);
        }
        Ok(())
    }

    /// Re-enables autovacuum.
    ///
    /// # Errors
    /// As [`Subject::stop_autovacuum`].
    pub fn restart_autovacuum(&mut self) -> Result<(), Problem> {
        let Home::Own(_) = self.home else { return Ok(()) };
        self.change(RESET_AUTOVACUUM)?;
        self.change(RELOAD)?;
        self.autovacuum_stopped = false;
        Ok(())
    }

    fn change(&mut self, sql: &str) -> Result<(), Problem> {
        self.admin.execute(sql).map_err(could_not_change)
    }

    /// What to say if an own server has ended; it is not restarted.
    pub fn death(&self) -> Option<&'static str> {
        let ended = self.process.is_some_and(|postmaster| !postmaster.is_alive());
        ended.then_some("the server has ended (see the last lines of server.log in the record)")
    }

    /// The session with the server under test, for its counters.
    pub fn observed(&mut self) -> &mut Session {
        self.elsewhere.as_mut().unwrap_or(&mut self.admin)
    }

    /// A built-in transaction in a form that the clients' sessions can run.
    ///
    /// # Errors
    /// It could not be parsed.
    pub fn scripts(&self, builtin: Builtin) -> Result<Scripts, Problem> {
        let Some(schema) = self.named_schema else { return Ok(builtin.scripts()) };
        let text = builtin.script_text().replace(" pgbench_", &format!(" {schema}.pgbench_"));
        Scripts::one(builtin.name(), &text).map_err(|error| {
            Problem::could_not(format!(
                "could not qualify the tables with schema {schema} in {}: {error}",
                builtin.name()
            ))
        })
    }

    /// Waits until the standby under test has replayed the load of its primary.
    ///
    /// # Errors
    /// It does not catch up.
    pub fn wait_for_replication(&mut self, stop: &Stop, events: &Events) -> Result<(), Problem> {
        let Some(standby) = &mut self.elsewhere else { return Ok(()) };
        events.doing("waiting for the standby");
        wait_for_replay(&mut self.admin, standby, self.facts.version_num, stop)
    }

    /// Opens another session. Its activity reaches the server's statistics as soon as it ends; a session that stays
    /// open would report its reads later, in the middle of another server's run.
    ///
    /// # Errors
    /// The connection failed.
    pub fn session(&mut self, stop: &Stop) -> Result<Session, Problem> {
        let mut session = open_session(&self.admin_options, stop)?;
        if let Home::Foreign = self.home {
            set_search_path(&mut session, &self.path)?;
        }
        self.backends.push(session.backend_pid());
        Ok(session)
    }

    /// How the clients of a workload connect.
    pub fn options_of(&self, work: Option<&Work>) -> ConnectOptions {
        let mut options = self.options.clone();
        if let Some(isolation) = work.and_then(|work| work.tpcc?.isolation) {
            options.startup.push(("default_transaction_isolation".to_owned(), isolation.sql().to_owned()));
        }
        options
    }

    /// The isolation level of clients that request none: a role or a database may have its own default.
    ///
    /// # Errors
    /// The level could not be read.
    pub fn default_isolation(&self, stop: &Stop) -> Result<String, Problem> {
        let shown = open_session(&self.options, stop)?.value("SHOW default_transaction_isolation");
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

    /// Creates functions in pgdyno's schema, or in an own database.
    ///
    /// # Errors
    /// An error of the server.
    pub fn make_functions(&self, sql: &str, stop: &Stop) -> Result<(), Problem> {
        let mut session = open_session(&self.admin_options, stop)?;
        if let Home::Foreign = self.home {
            set_search_path(&mut session, &format!("{SCHEMA}, {}", self.path))?;
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
            _ if self.path != SCHEMA => TableScope::Found(Set::Tpcc),
            Home::Own(_) => TableScope::Database,
            Home::Foreign | Home::Gone => TableScope::Schema(SCHEMA),
        }
    }

    /// Checks whether tables under test are unlogged or in memory; returns the durability tier and stores it in the
    /// facts.
    ///
    /// # Errors
    /// An error of the server.
    pub fn check_tables(&mut self) -> Result<DurabilityTier, Problem> {
        let table_scope = self.table_scope();
        let failed = |error: WireError| error.into_problem("could not inspect the loaded tables");
        let unlogged = has_unlogged(&mut self.admin, table_scope).map_err(failed)?;
        let in_memory = server_storage::has_tables_in_memory(&mut self.admin, &self.facts).map_err(failed)?;
        self.facts.durability = self.facts.durability.of_tables(unlogged, in_memory);
        Ok(self.facts.durability)
    }

    /// Checks the tables once more after all runs. If the server does not answer, the tier stays as it was.
    pub fn recheck_tables(&mut self, stop: &Stop) -> DurabilityTier {
        if self.revive(stop).is_ok() {
            let _ = self.check_tables(); // keep what is known
        }
        self.facts.durability
    }

    /// The durability tier from the settings of a new session with the clients' options; full if it cannot connect.
    pub fn tier_of_sessions(&self, stop: &Stop) -> DurabilityTier {
        let settings = open_session(&self.options, stop).ok();
        let settings = settings.and_then(|mut session| ask_commit_settings(&mut session).ok());
        settings.map_or(DurabilityTier::Full, |settings| settings.tier())
    }

    /// Statements in scripts, and in functions that they call, that weaken a commit or may do so.
    ///
    /// # Errors
    /// The server is gone.
    pub fn weaknesses_of(
        &mut self,
        scripts: &Scripts,
        definitions: &[Definition],
    ) -> Result<Vec<Weakness>, Problem> {
        let mut found = scripts.weaknesses(definitions);
        let functions = weak_routines(&mut self.admin, &scripts.words(definitions));
        let failed = |error: WireError| error.into_problem("could not inspect functions that scripts call");
        found.extend(functions.map_err(failed)?);
        Ok(found)
    }

    /// Sizes of the data on the server under test, and its share in shared buffers; `None` if it cannot be inspected.
    /// Shared buffers are read by an extension, which is created only in an own database.
    pub fn footprint(&mut self, stop: &Stop) -> Option<Held> {
        self.revive(stop).ok()?;
        let (place, buffers) = match self.home {
            Home::Own(_) => (self.table_scope(), Buffercache::Make),
            Home::Foreign | Home::Gone => (self.table_scope(), Buffercache::AsItIs),
        };
        held(self.elsewhere.as_mut().unwrap_or(&mut self.admin), place, buffers).ok()
    }

    /// Path of an own server's log.
    pub fn log_path(&self) -> Option<&std::path::Path> {
        match &self.home {
            Home::Own(server) => Some(&server.log_path),
            _ => None,
        }
    }

    /// Name of an own server.
    pub fn own_name(&self) -> Option<&str> {
        match &self.home {
            Home::Own(server) => Some(&server.name),
            _ => None,
        }
    }

    /// Data directory of an own server.
    pub fn own_data_dir(&self) -> Option<&std::path::Path> {
        match &self.home {
            Home::Own(server) => Some(&server.data_dir),
            _ => None,
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
            Home::Foreign if !keep => self.drop_schema(),
            Home::Foreign | Home::Gone => Ok(()),
        };
        closed.and(restored)
    }

    /// Re-enables autovacuum in data that is kept. It needs a new session, because the old ones end at a request to
    /// stop.
    fn restore_autovacuum(&self) -> Result<(), Problem> {
        let hint = "before you use the data: ALTER SYSTEM RESET autovacuum";
        let told = connect(&self.last_options())?.execute(RESET_AUTOVACUUM);
        told.map_err(|error| error.into_problem("could not re-enable autovacuum in the kept data").hint(hint))
    }

    /// Connection options for cleaning up: after a request to stop, a hung server is not given as much time as usual.
    fn last_options(&self) -> ConnectOptions {
        let mut options = self.admin_options.clone();
        if self.stop.requested() {
            options.connect_timeout = options.connect_timeout.min(LAST_TRY);
        }
        options
    }

    /// Drops the schema. Sessions that hold locks on its tables are terminated and waited for, and named if that does
    /// not help: a stopped process does not react. A request to stop ends the wait.
    fn drop_schema(&self) -> Result<(), Problem> {
        let begin = Instant::now();
        let mut tries = 0;
        loop {
            tries += 1;
            let stopping = self.stop.requested();
            let (error, holders) =
                match waiting_for("the removal of its schema", &self.events, || self.try_to_drop(stopping)) {
                    Ok(()) => return Ok(()),
                    Err(Undropped::Unreached(problem)) => return Err(self.left(&problem.what)),
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
            let problem = self.left(&error.to_string());
            return Err(if holders.is_empty() { problem } else { problem.detail(holders) });
        }
    }

    /// The error for a schema left behind: where, why, and how to remove it.
    fn left(&self, why: &str) -> Problem {
        let database = &self.admin_options.database;
        Problem::could_not(format!("schema {SCHEMA} was left in database {database}: {why}"))
            .hint(format!("remove it once the server is up and accepts writes: DROP SCHEMA {SCHEMA} CASCADE"))
    }

    /// Uses a new session, and terminates the old ones, which may be busy.
    fn try_to_drop(&self, stopping: bool) -> Result<(), Undropped> {
        let mut session = connect(&self.last_options()).map_err(Undropped::Unreached)?;
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

fn could_not_change(error: WireError) -> Problem {
    error.into_problem("could not change the settings of an idle server")
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

/// Options with `search_path` for our tables. It is given separately, which overrides `options`
/// (`ProcessStartupPacket`).
fn with_search_path(options: &ConnectOptions, path: &str) -> ConnectOptions {
    let mut options = options.clone();
    options.startup.push(("search_path".to_owned(), path.to_owned()));
    options
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_are_reported_with_the_error() {
        let wrong = || Problem::could_not("stopped").detail("seen").hint("look");
        let left = || Problem::could_not("schema x is left").hint("DROP SCHEMA x");
        let both = with_leftovers(Err(wrong()), Err(left())).expect_err("both went wrong");
        assert_eq!(both.what, "stopped");
        assert_eq!(both.detail.as_deref(), Some("seen; schema x is left"));
        assert_eq!(both.hint.as_deref(), Some("look; DROP SCHEMA x"));
        assert_eq!(with_leftovers(Ok(()), Err(left())), Err(left()));
        assert_eq!(with_leftovers(Err(wrong()), Ok(())), Err(wrong()));
        assert_eq!(with_leftovers(Ok(()), Ok(())), Ok(()));
    }

    #[test]
    fn only_corrupt_data_is_kept() {
        let stopped =
            |code: &str| Err(Problem::could_not(format!("stopped in x: bad page (SQLSTATE {code})")));
        for code in ["XX001", "XX002"] {
            let (keep, result) = keep_evidence(stopped(code));
            let hint = result.expect_err("it stays an error").hint.unwrap_or_default();
            assert!(keep && hint.contains("kept as evidence"), "{hint}");
        }
        assert!(!keep_evidence(stopped("XX000")).0 && !keep_evidence(Ok(())).0);
    }
}
