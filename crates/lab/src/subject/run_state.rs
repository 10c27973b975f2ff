//! The state of a server around its runs: restores and inspects its data, executes CHECKPOINT, reads its counters, and
//! quiesces it while another server runs.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use pgdyno_core::{
    facts::{DurabilityTier, Weakness},
    measure::DataState,
    probe::Held,
    problem::Problem,
};
use pgdyno_plan::{SetPlace, Steps, Work};
use pgdyno_postgres::probe::{Buffercache, held};
use pgdyno_postgres::{
    load::{StepVariables, carry_out, data_state, has_unlogged},
    observe::{ask_commit_settings, weak_routines},
    verify::Ledger,
};
use pgdyno_rows::load::LoadPlan;
use pgdyno_script::{Automatic, Builtin, Definition, Scripts};
use pgdyno_wire::{ConnectOptions, WireError};

use super::{Home, RESET_AUTOVACUUM, ResetState, Subject, open_session};
use crate::{
    Prepared,
    between::{BetweenRuns, Wrote},
    context::Context,
    counters_sampler::Reading,
    server_storage,
    table_sets::TableSet,
    waiting::waiting_for,
};

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

/// Reloads the configuration.
const RELOAD: &str = "SELECT pg_catalog.pg_reload_conf()";

/// What the tables of a server show.
pub struct Look {
    /// The durability tier of commits to these tables.
    pub tier: Result<DurabilityTier, Problem>,
    /// Sizes of the data, and its share in shared buffers; `None` if it cannot be inspected.
    pub footprint: Option<Held>,
}

/// A server that is ready for a run.
#[derive(Clone)]
pub struct Ready {
    /// The scripts, in a form that the clients' sessions can run.
    pub scripts: Arc<Scripts>,
    /// Initial values of the clients' variables.
    pub definitions: Vec<Definition>,
    /// How the clients connect.
    pub options: ConnectOptions,
    /// Statements in scripts, and in functions that they call, that weaken a commit or may do so.
    pub weak: Vec<Weakness>,
    /// State of the plan's own tables.
    pub data_state: Option<DataState>,
    /// Seconds of restoring and inspecting the data.
    pub reset_s: Option<f64>,
    /// Seconds of the CHECKPOINT.
    pub checkpoint_s: f64,
}

impl Ready {
    /// For the next run of the same clients, right after this one: nothing is restored, inspected or written out.
    pub fn for_next_slot(&self) -> Self {
        Self { data_state: None, reset_s: None, checkpoint_s: 0.0, ..self.clone() }
    }
}

/// Work done after a run, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Settled {
    /// Restoring the data; `None` if that was not needed.
    pub reset_s: Option<f64>,
    /// The CHECKPOINT after it; 0 if nothing was written.
    pub checkpoint_s: f64,
}

impl Subject {
    /// Prepares the next run of a workload: the data is restored unless it is untouched, and written out.
    ///
    /// # Errors
    /// What could not be executed.
    pub fn ready_for_run(
        &mut self,
        context: Context<'_>,
        work: &Work,
        clients: u32,
        drive: Option<&ConnectOptions>,
    ) -> Result<Ready, Problem> {
        let events = context.events;
        waiting_for("an answer of the server", events, || self.revive())?;
        let begin = Instant::now();
        let data_state =
            waiting_for("the preparation of a run (reset, or state of the data)", events, || {
                self.before_run(context, work, clients)
            })?;
        let did_anything = work.reset.is_some() || data_state.is_some();
        let reset_s = did_anything.then(|| begin.elapsed().as_secs_f64());
        let scripts = match work.builtin {
            Some(builtin) => Arc::new(self.scripts(builtin)?),
            None => Arc::clone(&work.scripts),
        };
        let mut definitions = work.definitions.clone();
        definitions.extend(client_count_variables(context.prepared, clients));
        let mut weak = scripts.weaknesses(&definitions);
        let functions = weak_routines(&mut self.admin, &scripts.words(&definitions));
        let failed = |error: WireError| error.into_problem("could not inspect functions that scripts call");
        weak.extend(functions.map_err(failed)?);
        let begin = Instant::now();
        // There may be something to write, or a timed checkpoint could fall into the run.
        if self.written_out.take().is_none_or(|at| at.elapsed() >= CHECKPOINT_LASTS) {
            waiting_for("CHECKPOINT", events, || self.checkpoint())?;
        }
        let checkpoint_s = begin.elapsed().as_secs_f64();
        let options = self.options_of(work, drive);
        Ok(Ready { scripts, definitions, options, weak, data_state, reset_s, checkpoint_s })
    }

    /// Restores the data before a run, unless it is untouched, and inspects what the run will find.
    fn before_run(
        &mut self,
        context: Context<'_>,
        work: &Work,
        clients: u32,
    ) -> Result<Option<DataState>, Problem> {
        let wanted = work.reset.as_ref().map(|reset| state_after(work, reset, clients));
        if self.untouched != wanted {
            self.reset(context, work, clients)?;
        }
        self.untouched = None;
        context.prepared.has_own_tables.then(|| self.data_state()).transpose()
    }

    fn data_state(&mut self) -> Result<DataState, Problem> {
        let table_scope = self.table_scope();
        data_state(&mut self.admin, &table_scope)
            .map_err(|error| error.into_problem("could not inspect the plan's own tables"))
    }

    /// Restores the data that every run of a workload starts from, if the workload has a reset.
    fn reset(&mut self, context: Context<'_>, work: &Work, clients: u32) -> Result<(), Problem> {
        let Some(reset) = &work.reset else { return Ok(()) };
        self.run_steps(context, reset, clients, &mut |_, _| ())?;
        self.wait_for_replication()?;
        self.written_out = None;
        self.untouched = Some(state_after(work, reset, clients));
        Ok(())
    }

    /// Executes SQL of the plan's files for runs of `clients` clients, in a separate session: its settings and open
    /// transactions must not affect anything else. Returns the number of statements.
    ///
    /// # Errors
    /// The first statement that failed, or that a stop was requested.
    pub fn run_steps(
        &mut self,
        context: Context<'_>,
        steps: &Steps,
        clients: u32,
        show: &mut dyn FnMut(u64, &str),
    ) -> Result<u64, Problem> {
        let prepared = context.prepared;
        let seed = prepared.seed.cast_signed();
        let scale = prepared.bench.scale.unwrap_or(1) as i64;
        let automatic = Automatic { scale, client_id: 0, random_seed: seed, default_seed: seed };
        let more = client_count_variables(prepared, clients);
        let variables = StepVariables { automatic, more: &more };
        carry_out(&mut self.session()?, steps, variables, context.stop, show)
    }

    /// Reads all counters at an edge of the measured interval.
    pub fn read_counters(&mut self) -> Reading {
        let databases = self.set_databases();
        let session = self.elsewhere.as_mut().unwrap_or(&mut self.admin);
        waiting_for("the server's counters", &self.events, || {
            self.sampler.read_all(session, self.facts.version_num, &databases)
        })
    }

    /// Quiesces a loaded server.
    ///
    /// # Errors
    /// The server refused.
    pub fn quiesce(&mut self, between: BetweenRuns, counts_rows: bool) -> Result<(), Problem> {
        if between != BetweenRuns::AsAsked {
            self.stop_autovacuum()?;
        }
        self.write_out(between, counts_rows)
    }

    /// CHECKPOINT. It counts for the next run if nothing can write before that run; a second one would find nothing to
    /// write, yet takes 0.1 s, or up to 12 s, because backends poll so rarely for its end. Rows are counted before it,
    /// because counting sets hint bits and prunes pages.
    fn write_out(&mut self, between: BetweenRuns, counts_rows: bool) -> Result<(), Problem> {
        // Neither autovacuum nor other users can write.
        let is_alone = between == BetweenRuns::AllTheTime && self.own_server().is_some();
        if is_alone && counts_rows {
            self.data_state()?;
        }
        self.checkpoint()?;
        self.written_out = is_alone.then(Instant::now);
        Ok(())
    }

    /// Ends the quiet state of the server that runs next.
    ///
    /// # Errors
    /// As [`Subject::quiesce`].
    pub fn wake(&mut self, between: BetweenRuns) -> Result<(), Problem> {
        if between == BetweenRuns::WhileOthersRun {
            self.revive()?;
            self.restart_autovacuum()?;
        }
        Ok(())
    }

    /// Quiesces a server after its run: the tables as close as possible to their state after the load, and no dirty
    /// pages. The plan's own `reset` comes before the CHECKPOINT: discarded changes need not be written out.
    ///
    /// # Errors
    /// As [`Subject::quiesce`], or the tables could not be restored.
    pub fn settle(
        &mut self,
        context: Context<'_>,
        between: BetweenRuns,
        ledger: &mut Ledger,
        wrote: Wrote,
        ran: Option<(&Work, u32)>,
    ) -> Result<Settled, Problem> {
        let mut settled = Settled::default();
        if let Some((work, clients)) = ran.filter(|(work, _)| work.reset.is_some()) {
            let begin = Instant::now();
            self.revive()?;
            self.reset(context, work, clients)?;
            settled.reset_s = Some(begin.elapsed().as_secs_f64());
        }
        if wrote == Wrote::Nothing && between != BetweenRuns::WhileOthersRun {
            return Ok(settled);
        }
        self.revive()?;
        if between == BetweenRuns::WhileOthersRun {
            self.stop_autovacuum()?;
        }
        if wrote == Wrote::Tpcb && context.prepared.loads_tpcb() {
            let begin = Instant::now();
            // If autovacuum settings were requested, autovacuum removes the dead rows of accounts.
            let vacuums = between != BetweenRuns::AsAsked;
            let reset = ledger.reset(&mut self.admin);
            reset
                .and_then(|()| if vacuums { self.admin.execute("VACUUM pgbench_accounts") } else { Ok(()) })
                .map_err(|error| error.into_problem("could not restore the tables after a run"))?;
            self.wait_for_replication()?;
            *settled.reset_s.get_or_insert(0.0) += begin.elapsed().as_secs_f64();
        }
        if wrote != Wrote::Nothing {
            let begin = Instant::now();
            self.write_out(between, wrote != Wrote::Own { counts_rows: false })?;
            settled.checkpoint_s = begin.elapsed().as_secs_f64();
        }
        Ok(settled)
    }

    /// Drops the tables of a load, and writes out what is left.
    ///
    /// # Errors
    /// The server refused.
    pub fn drop_loaded(&mut self, plan: &LoadPlan) -> Result<(), Problem> {
        let tables: Vec<_> = plan.set.tables().iter().map(|table| table.generator().table()).collect();
        let drop = format!("DROP TABLE IF EXISTS {}", tables.join(", "));
        let dropped = self.session()?.execute(&drop);
        dropped.map_err(|error| error.into_problem("could not drop the tables of the load before"))?;
        (self.untouched, self.written_out) = (None, None);
        self.checkpoint()
    }

    /// Executes CHECKPOINT, so that nothing is left to write later; skipped for a role without the permission.
    fn checkpoint(&mut self) -> Result<(), Problem> {
        match self.admin.execute("CHECKPOINT") {
            Err(error) if error.code() != Some("42501") => {
                Err(error.into_problem("could not prepare a run (CHECKPOINT)"))
            }
            _ => Ok(()),
        }
    }

    /// Quiesces an own server while another one is measured: dead rows of its last run would otherwise trigger
    /// autovacuum during another run.
    fn stop_autovacuum(&mut self) -> Result<(), Problem> {
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
    fn restart_autovacuum(&mut self) -> Result<(), Problem> {
        let Home::Own(_) = self.home else { return Ok(()) };
        self.change(RESET_AUTOVACUUM)?;
        self.change(RELOAD)?;
        self.autovacuum_stopped = false;
        Ok(())
    }

    fn change(&mut self, sql: &str) -> Result<(), Problem> {
        self.admin.execute(sql).map_err(could_not_change)
    }

    /// A built-in transaction in a form that the clients' sessions can run.
    fn scripts(&self, builtin: Builtin) -> Result<Scripts, Problem> {
        let Some(schema) = self.named_schema else { return Ok(builtin.scripts()) };
        let text = builtin.script_text().replace(" pgbench_", &format!(" {schema}.pgbench_"));
        Scripts::one(builtin.name(), &text).map_err(|error| {
            Problem::could_not(format!(
                "could not qualify the tables with schema {schema} in {}: {error}",
                builtin.name()
            ))
        })
    }

    /// How the clients of a workload connect.
    fn options_of(&self, work: &Work, drive: Option<&ConnectOptions>) -> ConnectOptions {
        at_level(with_sessions_of(self.options.clone(), drive), work)
    }

    /// How the clients of a workload connect to find the tables of a set.
    pub fn options_in_set(
        &self,
        work: &Work,
        set: &TableSet,
        drive: Option<&ConnectOptions>,
    ) -> ConnectOptions {
        at_level(with_sessions_of(set.clients.clone(), drive), work)
    }
}

/// Connection options with the settings of sessions of a subject that connects in its own way.
pub fn with_sessions_of(mut options: ConnectOptions, drive: Option<&ConnectOptions>) -> ConnectOptions {
    let Some(own) = drive else { return options };
    options.options.clone_from(&own.options);
    options.startup.retain(|(name, _)| !own.startup.iter().any(|(other, _)| other == name));
    options.startup.extend(own.startup.iter().cloned());
    options
}

/// Connection options with the isolation level of a workload.
fn at_level(mut options: ConnectOptions, work: &Work) -> ConnectOptions {
    if let Some(isolation) = work.tpcc.and_then(|tpcc| tpcc.isolation) {
        options.startup.push(("default_transaction_isolation".to_owned(), isolation.sql().to_owned()));
    }
    options
}

impl Subject {
    /// Checks whether tables under test are unlogged or in memory; returns the durability tier and stores it in the
    /// facts.
    fn check_tables(&mut self) -> Result<DurabilityTier, Problem> {
        let table_scope = self.table_scope();
        let failed = |error: WireError| error.into_problem("could not inspect the loaded tables");
        let unlogged = has_unlogged(&mut self.admin, &table_scope).map_err(failed)?;
        let in_memory = server_storage::has_tables_in_memory(&mut self.admin, &self.facts).map_err(failed)?;
        self.facts.durability = self.facts.durability.of_tables(unlogged, in_memory);
        for place in self.named_sets() {
            let (mut session, scope) = (self.set_session(&place)?, self.set_scope(&place));
            let unlogged = has_unlogged(&mut session, &scope).map_err(failed)?;
            let in_memory =
                server_storage::has_tables_in_memory(&mut session, &self.facts).map_err(failed)?;
            self.facts.durability = self.facts.durability.of_tables(unlogged, in_memory);
        }
        Ok(self.facts.durability)
    }

    /// Where the sets of tables are that only sessions of their own find.
    fn named_sets(&self) -> Vec<SetPlace> {
        let places = self.sets.iter().map(|set| set.place.clone());
        places.filter(|place| *place != SetPlace::Found).collect()
    }

    /// Looks at the tables before the first run, and after the last.
    pub fn look(&mut self) -> Look {
        Look { tier: self.revive().and_then(|()| self.check_tables()), footprint: self.footprint() }
    }

    /// The durability tier from the settings of a new session with the clients' options; full if it cannot connect.
    pub fn tier_of_sessions(&self) -> DurabilityTier {
        let settings = open_session(&self.options, &self.stop).ok();
        let settings = settings.and_then(|mut session| ask_commit_settings(&mut session).ok());
        settings.map_or(DurabilityTier::Full, |settings| settings.tier())
    }

    /// Sizes of the data on the server under test, and its share in shared buffers; `None` if it cannot be inspected.
    /// Shared buffers are read by an extension, which is created only in an own database.
    fn footprint(&mut self) -> Option<Held> {
        self.revive().ok()?;
        let is_own = self.own_server().is_some();
        let buffers = if is_own { Buffercache::Make } else { Buffercache::AsItIs };
        let mut whole: Option<Held> = None;
        for place in self.named_sets() {
            let mut session = self.set_session(&place).ok()?;
            let of_set = held(&mut session, &self.set_scope(&place), buffers).ok()?;
            whole = Some(match whole {
                Some(whole) => whole.with_set(of_set),
                None => of_set,
            });
        }
        if whole.is_some() {
            return whole;
        }
        let place = self.table_scope();
        held(self.elsewhere.as_mut().unwrap_or(&mut self.admin), &place, buffers).ok()
    }
}

/// Variables with the client counts for all SQL of the plan: of this run, and the highest.
fn client_count_variables(prepared: &Prepared, clients: u32) -> Vec<Definition> {
    let number = |name: &str, value: u32| Definition { name: name.to_owned(), value: value.to_string() };
    vec![number("clients", clients), number("max_clients", prepared.bench.max_clients())]
}

/// The state of the data after `reset` of a workload, in a run of `clients` clients.
fn state_after(work: &Work, reset: &Steps, clients: u32) -> ResetState {
    // A false positive costs one more reset, a false negative the right data.
    let asks = reset.texts.iter().any(|of| of.text.replace("max_clients", "").contains("clients"));
    ResetState { workload: work.name.clone(), clients: asks.then_some(clients) }
}

fn could_not_change(error: WireError) -> Problem {
    error.into_problem("could not change the settings of an idle server")
}
