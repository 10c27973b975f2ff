//! The server of a run, from its start (or the first connection) to the last trace of it.

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
    Events, External, Prepared, Wanted, dirs, inspect_server::ExistingServer, places,
    reset_state::ResetState, tpcc_facts::TpccFacts, wait_sampler::WaitSampler, waiting::waiting_for,
};

/// Time to connect for cleaning up after a request to stop.
const LAST_TRY: Duration = Duration::from_secs(2);
/// Longest wait for a server that was restarted between two runs: as long as a run bears to be without one.
const LONGEST_RESTART: Duration = Duration::from_secs(30);
/// Time between two tries to reach it.
const RESTART_LOOKS: Duration = Duration::from_millis(100);
/// Longest wait for those who hold tables of ours that are to be dropped, and time between two tries.
const LONGEST_HELD: Duration = Duration::from_secs(30);
const LOCK_LOOKS: Duration = Duration::from_secs(1);
/// Longest wait for the same after a request to stop.
const LAST_DROP: Duration = Duration::from_secs(10);
/// SQLSTATE of a lock that was not to be had in time.
const LOCK_NOT_AVAILABLE: &str = "55P03";
/// SQLSTATE of a schema that is there already.
const DUPLICATE_SCHEMA: &str = "42P06";
/// Schema of pgdyno's own objects on a server that is not its own.
const SCHEMA: &str = "pgdyno";

/// Longest wait for autovacuum to end what it is at, once it has been told to.
const LONGEST_VACUUM: Duration = Duration::from_secs(30);
/// Time between two looks whether it has.
const VACUUM_LOOKS: Duration = Duration::from_millis(20);

/// Time after which a CHECKPOINT is made again though nothing was written: a third of the shortest `checkpoint_timeout`
/// that a server takes, so that none is due within a run that is as long as those of the others which came between.
const CHECKPOINT_LASTS: Duration = Duration::from_secs(10);

/// Ends the workers of autovacuum, which go on with their tables where it has been turned off; a row for each process
/// of it that is still there. To cancel one is not enough: it takes the next table. The launcher goes by itself, and
/// may start another worker before it does.
const END_VACUUM: &str = "SELECT CASE WHEN backend_type = 'autovacuum worker' \
                          THEN pg_catalog.pg_terminate_backend(pid) END FROM pg_catalog.pg_stat_activity \
                          WHERE backend_type IN ('autovacuum worker', 'autovacuum launcher')";
/// The same before 10, which does not tell what kind of process it is.
const END_VACUUM_BEFORE_10: &str = "SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity \
                                    WHERE query LIKE 'autovacuum: %' AND pid <> pg_catalog.pg_backend_pid()";

/// Takes back that autovacuum is off.
const WAKE: &str = "ALTER SYSTEM RESET autovacuum";
/// Has the server read its settings anew.
const RELOAD: &str = "SELECT pg_catalog.pg_reload_conf()";

/// How a problem ends where a server found its data corrupt (SQLSTATE `data_corrupted`, `index_corrupted`).
const CORRUPT: [&str; 2] = ["(SQLSTATE XX001)", "(SQLSTATE XX002)"];

/// What a server that found its data corrupt has to say is evidence: then its data is kept, and the hint says so.
pub fn keep_evidence(result: Result<(), Problem>) -> (bool, Result<(), Problem>) {
    let tells = |problem: &Problem| CORRUPT.iter().any(|code| problem.what.contains(code));
    let corrupt = result.as_ref().is_err_and(tells);
    let hint = "the data is kept as evidence, as after --keep: copy it before anything is repaired";
    (corrupt, result.map_err(|problem| if corrupt { problem.hint(hint) } else { problem }))
}

/// What stages came to and what became of cleaning up after them. What was left behind is told in any case, with how to
/// remove it.
///
/// # Errors
/// The problem of the stages with that of cleaning up, or one of them.
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

/// The server of a run.
#[derive(Debug)]
pub struct Subject {
    /// How the driver's clients connect.
    pub options: ConnectOptions,
    /// How everything else connects.
    admin_options: ConnectOptions,
    /// A session with the server that is driven, where that is another than the one that is prepared.
    pub elsewhere: Option<Session>,
    /// Schema that scripts have to name, where the clients' sessions cannot look into it by themselves.
    named_schema: Option<&'static str>,
    /// The session for administration, checks and observation.
    pub admin: Session,
    /// Facts.
    pub facts: ServerFacts,
    /// Shared buffers of it, or of that of the servers side by side which has the most, in bytes.
    pub largest_buffers_bytes: u64,
    /// Number of the postmaster, where the server is on this machine.
    pub postmaster: Option<u32>,
    /// Settings that were chosen for it.
    pub choices: Vec<Choice>,
    /// Whether a bundle is one of those tested; `None` where it is no bundle.
    pub bundle_pinned: Option<bool>,
    /// The postmaster of an own server, which nobody starts again.
    process: Option<ProcessId>,
    home: Home,
    /// Backends of sessions that may still be at work when a run is stopped.
    backends: Vec<i32>,
    /// Whether somebody waits for the end.
    stop: Stop,
    /// Where waits at the end, and what could not be cleaned up, are told.
    events: Events,
    /// Whether what sessions wait for is looked at during runs.
    pub samples_waits: bool,
    /// The session that looks, between two runs.
    lookout: Option<Session>,
    /// Whether its autovacuum was turned off for a time.
    resting: bool,
    /// What a reset left and no run has touched since.
    pub untouched: Option<ResetState>,
    /// When the CHECKPOINT was made since which nothing was written.
    pub written_out: Option<Instant>,
    /// What is known of TPC-C's tables, once they were looked at.
    pub tpcc: Option<TpccFacts>,
    /// Where sessions of a server that is somebody else's look for tables: our schema, or after theirs ours.
    path: String,
    /// Whether the clients reach it through a pooler, which hands their server processes on.
    pub pooled: bool,
}

#[derive(Debug)]
enum Home {
    /// Made for this run.
    Own(Box<RunningServer>),
    /// Somebody else's: the schema goes when the run is over.
    Foreign,
    /// Closed.
    Gone,
}

impl Subject {
    /// Makes or reaches the server. `run` is the id of the run, by which its schema on somebody else's server is known.
    ///
    /// # Errors
    /// What could not be done.
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
                let reached = reached.ok_or_else(|| Problem::could_not("the server was not looked at"))?;
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
                let server = pgdyno_provision::up(&request, &dirs()?, &mut |event| tell(events, &event))?;
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
            Ok((admin, places::located(facts)))
        });
        let (admin, facts) = match opened {
            Ok(opened) => opened,
            Err(problem) => {
                let _ = server.remove(); // the first problem is the one to be told; `ps` lists what stayed
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
            lookout: None,
            resting: false,
            untouched: None,
            written_out: None,
            tpcc: None,
            path: SCHEMA.to_owned(),
            pooled: false,
        })
    }

    /// Makes the schema that everything of this run goes into. A second pgdyno on the same database is refused by it.
    /// Tables that are `there` are looked for where the sessions look by themselves.
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
            // The run is resumed: its process is gone, and its tables are made anew.
            admin.execute(&format!("DROP SCHEMA {SCHEMA} CASCADE")).map_err(failed)?;
            schema = create_schema(&mut admin, run);
        }
        if schema.as_ref().is_err_and(|error| error.code() == Some(DUPLICATE_SCHEMA)) {
            return Err(Problem::could_not(format!(
                "schema {SCHEMA} exists already in database {}",
                options.database
            ))
            .detail("another run of pgdyno is under way there, or one was killed or kept it (--keep)")
            .hint(format!("when no run is under way, remove it: DROP SCHEMA {SCHEMA} CASCADE")));
        }
        schema.map_err(failed)?;
        let path = if there { path_of(&external.drive, stop)? } else { SCHEMA.to_owned() };
        look_into(&mut admin, &path)?;
        let mut subject = Self {
            backends: vec![admin.backend_pid()],
            // What a session sets is lost in a pooler, and PgBouncer lets nobody in who wants to set something.
            options: if reached.pooled() {
                external.drive.clone()
            } else {
                looking_into(&external.drive, &path)
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
            lookout: None,
            resting: false,
            untouched: None,
            written_out: None,
            tpcc: None,
            path,
            pooled: reached.pooled(),
        };
        // From here on the schema is dropped whatever happens.
        if reached.elsewhere {
            let elsewhere = open_session(&external.drive, stop)?;
            subject.postmaster = postmaster_of(&elsewhere);
            subject.elsewhere = Some(elsewhere);
        }
        Ok(subject)
    }

    /// Sees to it that the sessions live: a server that was restarted has ended them. One that is on its way up is
    /// waited for.
    ///
    /// # Errors
    /// Where it does not come back.
    pub fn revive(&mut self, stop: &Stop) -> Result<(), Problem> {
        if self.admin.execute("SELECT 1").is_err() {
            // Tables that are not logged are empty after a crash.
            (self.untouched, self.written_out) = (None, None);
            self.admin = self.reach_again(&self.admin_options, stop)?;
            if let Home::Foreign = self.home {
                look_into(&mut self.admin, &self.path)?;
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
                    let problem = Problem::could_not(format!("could not go on: {death}"));
                    return Err(problem.hint("what was measured before is kept"));
                }
                (Err(_), None) if begin.elapsed() < LONGEST_RESTART && !stop.requested() => {
                    thread::sleep(RESTART_LOOKS);
                }
                (reached, _) => return reached,
            }
        }
    }

    /// Begins to sample the wait events of its sessions; `None` unless that is wanted and can be had.
    pub fn sample_waits(&mut self, stop: &Stop) -> Option<WaitSampler> {
        if !self.samples_waits {
            return None;
        }
        let session = match self.lookout.take() {
            Some(session) => session,
            None => open_session(self.driven_options(), stop).ok()?,
        };
        let except = self.backends.iter().copied().chain(self.elsewhere.as_ref().map(Session::backend_pid));
        Some(WaitSampler::begin(session, self.facts.version_num, except.collect()))
    }

    /// Ends the sampling of wait events, and gives what was seen.
    pub fn sampled_waits(&mut self, sampler: WaitSampler) -> Waits {
        let (session, waits) = sampler.end();
        self.lookout = session;
        waits
    }

    /// Storage under its data, where it is on this machine and tells where they are.
    pub fn storage(&self) -> Option<StorageFacts> {
        let dir = self.facts.data_directory.as_ref()?;
        pgdyno_host::facts::storage(std::path::Path::new(dir)).ok()
    }

    /// Writes out what is to be written, so that nothing of it is left for later; a role that may not do it goes
    /// without.
    ///
    /// # Errors
    /// Where the server refuses it otherwise.
    pub fn checkpoint(&mut self) -> Result<(), Problem> {
        match self.admin.execute("CHECKPOINT") {
            Err(error) if error.code() != Some("42501") => {
                Err(error.into_problem("could not prepare a run (CHECKPOINT)"))
            }
            _ => Ok(()),
        }
    }

    /// The same before a run, where there may be something to write, or where one that is due by time may begin within
    /// the run.
    ///
    /// # Errors
    /// As [`Subject::checkpoint`].
    pub fn checkpoint_if_needed(&mut self) -> Result<(), Problem> {
        match self.written_out.take() {
            Some(at) if at.elapsed() < CHECKPOINT_LASTS => Ok(()),
            _ => self.checkpoint(),
        }
    }

    /// How a session with the server that is driven is made, past a pooler where one is named for that.
    fn driven_options(&self) -> &ConnectOptions {
        if self.elsewhere.is_some() { &self.options } else { &self.admin_options }
    }

    /// Lets a server that was made for the run do nothing while another one is measured: dead rows that its last run
    /// left would bring autovacuum into somebody else's interval.
    ///
    /// # Errors
    /// Where the server does not let itself be told.
    pub fn rest(&mut self) -> Result<(), Problem> {
        let Home::Own(_) = self.home else { return Ok(()) };
        self.resting = true;
        self.tell("ALTER SYSTEM SET autovacuum = off")?;
        self.tell(RELOAD)?;
        let end = if self.facts.version_num < 100_000 { END_VACUUM_BEFORE_10 } else { END_VACUUM };
        let begin = Instant::now();
        while !self.admin.query(end).map_err(untold)?.is_empty() {
            if begin.elapsed() > LONGEST_VACUUM {
                let s = LONGEST_VACUUM.as_secs();
                return Err(Problem::could_not(format!(
                    "could not let a server rest: its autovacuum has not ended within {s} s"
                ))
                .hint("look into server.log of the record for what it is at"));
            }
            thread::sleep(VACUUM_LOOKS);
        }
        Ok(())
    }

    /// Lets it go on as it was.
    ///
    /// # Errors
    /// As [`Subject::rest`].
    pub fn wake(&mut self) -> Result<(), Problem> {
        let Home::Own(_) = self.home else { return Ok(()) };
        self.tell(WAKE)?;
        self.tell(RELOAD)?;
        self.resting = false;
        Ok(())
    }

    fn tell(&mut self, sql: &str) -> Result<(), Problem> {
        self.admin.execute(sql).map_err(untold)
    }

    /// What to say where an own server has ended: nobody starts it again.
    pub fn death(&self) -> Option<&'static str> {
        let ended = self.process.is_some_and(|postmaster| !postmaster.is_alive());
        ended.then_some("the server has ended (its last words are in server.log of the record)")
    }

    /// The session with the server that is driven, for its counters.
    pub fn observed(&mut self) -> &mut Session {
        self.elsewhere.as_mut().unwrap_or(&mut self.admin)
    }

    /// A built-in transaction as the clients' sessions can run it.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn scripts(&self, builtin: Builtin) -> Result<Scripts, Problem> {
        let Some(schema) = self.named_schema else { return Ok(builtin.scripts()) };
        let text = builtin.script_text().replace(" pgbench_", &format!(" {schema}.pgbench_"));
        Scripts::one(builtin.name(), &text).map_err(|error| {
            Problem::could_not(format!("could not name schema {schema} in {}: {error}", builtin.name()))
        })
    }

    /// Waits until a standby that is driven has what was loaded into its primary.
    ///
    /// # Errors
    /// Where it does not get there.
    pub fn wait_for_replication(&mut self, stop: &Stop, events: &Events) -> Result<(), Problem> {
        let Some(standby) = &mut self.elsewhere else { return Ok(()) };
        events.doing("waiting for the standby");
        wait_for_replay(&mut self.admin, standby, self.facts.version_num, stop)
    }

    /// Another session. What it does is in the server's statistics as soon as it ends; a session that stays open
    /// reports its reads later, in the middle of somebody else's interval.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn session(&mut self, stop: &Stop) -> Result<Session, Problem> {
        let mut session = open_session(&self.admin_options, stop)?;
        if let Home::Foreign = self.home {
            look_into(&mut session, &self.path)?;
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

    /// The isolation level of clients that ask for none: a role or a database may have its own.
    ///
    /// # Errors
    /// Where it cannot be asked.
    pub fn default_isolation(&self, stop: &Stop) -> Result<String, Problem> {
        let shown = open_session(&self.options, stop)?.value("SHOW default_transaction_isolation");
        let shown =
            shown.map_err(|error| error.into_problem("could not see how transactions are isolated"))?;
        Ok(shown.unwrap_or_default())
    }

    /// How somebody connects who looks at the tables.
    pub fn table_options(&self) -> ConnectOptions {
        match self.home {
            Home::Own(_) => self.admin_options.clone(),
            // A pooler lets nobody in who wants to set something; what is behind one is where sessions look anyway.
            _ if self.pooled => self.admin_options.clone(),
            Home::Foreign | Home::Gone => looking_into(&self.admin_options, &self.path),
        }
    }

    /// Makes functions where nobody else looks, or in a database that is ours alone.
    ///
    /// # Errors
    /// The server's.
    pub fn make_functions(&self, sql: &str, stop: &Stop) -> Result<(), Problem> {
        let mut session = open_session(&self.admin_options, stop)?;
        if let Home::Foreign = self.home {
            look_into(&mut session, &format!("{SCHEMA}, {}", self.path))?;
        }
        let failed = |error: WireError| error.into_problem("could not make the functions of TPC-C");
        session.execute(sql).map_err(failed)?;
        if let Home::Foreign = self.home {
            // The clients may be of another role than who prepares.
            session.execute(&format!("GRANT USAGE ON SCHEMA {SCHEMA} TO PUBLIC")).map_err(failed)?;
        }
        Ok(())
    }

    /// Where the tables are that are driven. Those that were there are not the only ones of their database.
    pub fn whereabouts(&self) -> TableScope {
        match self.home {
            _ if self.path != SCHEMA => TableScope::Found(Set::Tpcc),
            Home::Own(_) => TableScope::Database,
            Home::Foreign | Home::Gone => TableScope::Schema(SCHEMA),
        }
    }

    /// Looks whether tables that are measured are unlogged or lie in memory; gives the durability tier, and holds it
    /// among the facts.
    ///
    /// # Errors
    /// The server's.
    pub fn look_at_tables(&mut self) -> Result<DurabilityTier, Problem> {
        let whereabouts = self.whereabouts();
        let failed = |error: WireError| error.into_problem("could not look at the tables that were loaded");
        let unlogged = has_unlogged(&mut self.admin, whereabouts).map_err(failed)?;
        let in_memory = places::are_in_memory(&mut self.admin, &self.facts).map_err(failed)?;
        self.facts.durability = self.facts.durability.of_tables(unlogged, in_memory);
        Ok(self.facts.durability)
    }

    /// The same when all runs are over. Of a server that does not answer any more nothing new is known.
    pub fn look_at_tables_again(&mut self, stop: &Stop) -> DurabilityTier {
        if self.revive(stop).is_ok() {
            let _ = self.look_at_tables(); // what was known before stays
        }
        self.facts.durability
    }

    /// What the settings of a new session give, which is made as those of the clients are; full where it cannot be.
    pub fn tier_of_sessions(&self, stop: &Stop) -> DurabilityTier {
        let settings = open_session(&self.options, stop).ok();
        let settings = settings.and_then(|mut session| ask_commit_settings(&mut session).ok());
        settings.map_or(DurabilityTier::Full, |settings| settings.tier())
    }

    /// What in scripts, and in functions that they lead to, weakens a commit or may.
    ///
    /// # Errors
    /// Where the server is gone.
    pub fn weaknesses_of(
        &mut self,
        scripts: &Scripts,
        definitions: &[Definition],
    ) -> Result<Vec<Weakness>, Problem> {
        let mut found = scripts.weaknesses(definitions);
        let functions = weak_routines(&mut self.admin, &scripts.words(definitions));
        let failed = |error: WireError| error.into_problem("could not look at functions that scripts call");
        found.extend(functions.map_err(failed)?);
        Ok(found)
    }

    /// What the server that is driven holds of the data; `None` where it cannot be looked at. Shared buffers are looked
    /// into by an extension, which is made in a database that is ours alone.
    pub fn held(&mut self, stop: &Stop) -> Option<Held> {
        self.revive(stop).ok()?;
        let (place, buffers) = match self.home {
            Home::Own(_) => (self.whereabouts(), Buffercache::Make),
            Home::Foreign | Home::Gone => (self.whereabouts(), Buffercache::AsItIs),
        };
        held(self.elsewhere.as_mut().unwrap_or(&mut self.admin), place, buffers).ok()
    }

    /// Path of the log of an own server.
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

    /// Removes every trace, or with `keep` leaves data and server.
    ///
    /// # Errors
    /// What could not be removed.
    pub fn close(&mut self, keep: bool) -> Result<(), Problem> {
        let resting = std::mem::take(&mut self.resting);
        let woken = if keep && resting { self.wake_for_good() } else { Ok(()) };
        let closed = match std::mem::replace(&mut self.home, Home::Gone) {
            Home::Own(server) if keep => {
                waiting_for("the server's end", &self.events, || server.stop()).map(drop)
            }
            Home::Own(server) => waiting_for("the server's end", &self.events, || server.remove()),
            Home::Foreign if !keep => self.drop_schema(),
            Home::Foreign | Home::Gone => Ok(()),
        };
        closed.and(woken)
    }

    /// Data that are kept come up as they were made. Through a new session, since the old ones heed a request to stop.
    fn wake_for_good(&self) -> Result<(), Problem> {
        let hint = "before the data are used: ALTER SYSTEM RESET autovacuum";
        let told = connect(&self.last_options())?.execute(WAKE);
        told.map_err(|error| {
            error.into_problem("could not turn autovacuum on again in data that are kept").hint(hint)
        })
    }

    /// How to connect at the end: while somebody waits for it, a server that is frozen is not waited for as long as one
    /// that is slow.
    fn last_options(&self) -> ConnectOptions {
        let mut options = self.admin_options.clone();
        if self.stop.requested() {
            options.connect_timeout = options.connect_timeout.min(LAST_TRY);
        }
        options
    }

    /// Drops the schema. Whoever holds its tables is ended, waited for, and named where that does not help: a process
    /// that is stopped heeds nothing. A request to stop ends the wait.
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
            let held = error.code() == Some(LOCK_NOT_AVAILABLE) && begin.elapsed() < LONGEST_HELD;
            // A wait that the request to stop ended is tried once more, for the last time.
            let interrupted = matches!(error, WireError::Stopped);
            if !stopping && (held || interrupted) {
                // Who is still there at the second try heeds nothing.
                if held && !holders.is_empty() && tries == 2 {
                    let limit = LONGEST_HELD.as_secs();
                    self.events.note(format!("waiting up to {limit} s for {holders} (Ctrl-C ends the wait)"));
                }
                continue;
            }
            let problem = self.left(&error.to_string());
            return Err(if holders.is_empty() { problem } else { problem.detail(holders) });
        }
    }

    /// The schema is still there: where, why, and how it is removed.
    fn left(&self, why: &str) -> Problem {
        let database = &self.admin_options.database;
        Problem::could_not(format!("schema {SCHEMA} is left in database {database}: {why}")).hint(format!(
            "remove it once the server is there and takes writes: DROP SCHEMA {SCHEMA} CASCADE"
        ))
    }

    /// Through a new session: the old ones may be in the middle of something, and are ended.
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
            // By number and name: the number may belong to somebody else by now.
            let end = format!(
                "SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity \
                 WHERE pid = {backend} AND application_name = '{name}' AND usename = CURRENT_USER"
            );
            session.execute(&end).map_err(refused)?;
        }
        let drop = format!("SET lock_timeout = {}; DROP SCHEMA {SCHEMA} CASCADE", LOCK_LOOKS.as_millis());
        session.execute(&drop).map_err(|error| {
            let holders = holders(&mut session).unwrap_or_default();
            Undropped::Refused(error, holders)
        })
    }
}

/// Why the schema is still there.
enum Undropped {
    /// Nobody was reached who could drop it.
    Unreached(Problem),
    /// The server's error, and who holds its tables, in words.
    Refused(WireError, String),
}

/// Ends the processes of clients that are gone and still hold our tables, and names all who hold them.
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

/// A panic or an early return leaves nothing behind either.
impl Drop for Subject {
    fn drop(&mut self) {
        if let Err(problem) = self.close(false) {
            self.events.problem(&problem);
        }
    }
}

/// Tells what goes on while a server is made.
fn tell(events: &Events, event: &pgdyno_provision::Event) {
    match event.text() {
        Some(text) if event.is_warning() => events.warning(&text),
        Some(text) => events.note(text),
        None => {}
    }
}

fn untold(error: WireError) -> Problem {
    error.into_problem("could not tell an idle server what to do")
}

/// Makes the schema, with the run in its comment.
fn create_schema(admin: &mut Session, run: &str) -> Result<(), WireError> {
    admin.execute(&format!("CREATE SCHEMA {SCHEMA}"))?;
    admin.execute(&format!("COMMENT ON SCHEMA {SCHEMA} IS 'pgdyno run {run}'"))
}

/// Whether the schema was made for this run.
fn is_schema_of(admin: &mut Session, run: &str) -> Result<bool, WireError> {
    let comment = admin.value(&format!(
        "SELECT pg_catalog.obj_description(oid, 'pg_namespace') FROM pg_catalog.pg_namespace \
         WHERE nspname = '{SCHEMA}'"
    ))?;
    Ok(comment.is_some_and(|comment| comment == format!("pgdyno run {run}")))
}

/// Lets a session look where our tables are. A parameter at its start would do too, and a pooler refuses that.
fn look_into(session: &mut Session, path: &str) -> Result<(), Problem> {
    let set = session.execute(&format!("SET search_path = {path}"));
    set.map_err(|error| error.into_problem("could not prepare the database"))
}

/// The same with sessions that look there, whatever else they are to set at their start: what is said apart goes over
/// what `options` say (`ProcessStartupPacket`).
fn looking_into(options: &ConnectOptions, path: &str) -> ConnectOptions {
    let mut options = options.clone();
    options.startup.push(("search_path".to_owned(), path.to_owned()));
    options
}

/// Where sessions look by themselves, and then into our schema.
fn path_of(options: &ConnectOptions, stop: &Stop) -> Result<String, Problem> {
    let shown = open_session(options, stop)?.value("SHOW search_path");
    let own = shown.map_err(|error| error.into_problem("could not see where sessions look for tables"))?;
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
    fn what_is_left_behind_is_told_beside_what_went_wrong() {
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
    fn corrupt_data_is_kept_and_nothing_else() {
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
