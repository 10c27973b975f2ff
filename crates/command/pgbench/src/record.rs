//! `--record`: saves the run as a run directory, for `list`, `show` and `report`.

mod terms;
mod watching;

use std::{collections::BTreeSet, path::PathBuf, time::Instant};

use jiff::Timestamp;
use pgdyno_analysis::steady;
use pgdyno_core::{
    facts::{ConnectionFacts, RunDurability, ServerFacts, ServerSource, SessionsSeen, Transport, Weakness},
    host::Inventory,
    measure::{CellRun, Histograms, StatementSummary, Workload},
    problem::Problem,
};
use pgdyno_engine::{Mark, MergedInterval, Phase, Report};
use pgdyno_lab::{
    Program,
    cell::{errors, timeline},
    counters_sampler::{CountersSampler, Reading},
    host::host_of,
    instrument,
    profiles::{Of, Profiles},
    sampling::Sampling,
    server_storage,
    slow::SlowLog,
    watch::of_session,
};
use pgdyno_observe::Watched;
use pgdyno_postgres::{
    load::finds_unlogged,
    observe::{postmaster_of, server_facts, weak_routines},
    targets::Sessions,
};
use pgdyno_record::{PlanRecord, RunDir, RunRecord, Status, SubjectRecord, command_line, redact_sql};
use pgdyno_script::{Action, Script, Scripts};
use pgdyno_wire::{Address, ConnectOptions, Session};

use super::{
    options::Options,
    results::Results,
    saving::{Saving, WriteReport},
    say::{ExitResult, NAME, Say},
};
use terms::{add_results, pgbench_record, plan_record, short_name, statement};
use watching::Watching;

/// Facts of the server, read over the connection that pgbench itself makes.
#[derive(Debug, Default)]
struct Observed {
    server: Option<ServerFacts>,
    connection: Option<ConnectionFacts>,
    postmaster: Option<u32>,
    pooled: bool,
    transport: &'static str,
    /// The server as observers see it.
    watched: Option<Watched>,
}

/// Record of a run that has not begun. It is made before the first connection.
#[derive(Debug)]
pub struct PendingRecord {
    dir: RunDir,
    program: Program,
    write_report: WriteReport,
    started: Instant,
    started_at: Timestamp,
    seen: Observed,
    /// Words of the scripts, in lower case.
    words: BTreeSet<String>,
    /// What weakens a commit, or may, in the scripts and in functions that they call.
    weak: Vec<Weakness>,
    /// Settings of sessions at the start and at the end.
    sessions: Sessions,
}

impl PendingRecord {
    /// Creates the run directory if `--record` is given. It becomes visible with [`PendingRecord::begin`].
    ///
    /// # Errors
    /// The directory cannot be created; already printed.
    pub fn open(
        say: &Say,
        options: &Options,
        scripts: &Scripts,
        saving: &Saving,
    ) -> ExitResult<Option<Self>> {
        if !options.extras.record {
            return Ok(None);
        }
        let Saving { lab, write_report } = saving;
        let runs = options.extras.runs.as_deref().unwrap_or(&lab.runs);
        let started_at = Timestamp::now();
        match RunDir::create(runs, NAME, started_at) {
            Ok(dir) => Ok(Some(Self {
                dir,
                program: lab.program,
                write_report: *write_report,
                started: Instant::now(),
                started_at,
                seen: Observed::default(),
                words: scripts.words(&options.define),
                weak: scripts.weaknesses(&options.define),
                sessions: Sessions::default(),
            })),
            Err(problem) => fail(say, &problem),
        }
    }

    /// Collects the settings of the clients' sessions.
    pub fn sessions(&self) -> Sessions {
        self.sessions.clone()
    }

    /// Reads facts of the server over the session that sets the run up. Unknown ones stay absent.
    pub fn inspect_server(&mut self, session: &mut Session, options: &ConnectOptions) {
        let postmaster = postmaster_of(session);
        let answer = session.value("SELECT pg_catalog.pg_backend_pid()").ok().flatten();
        let pooled = answer.and_then(|text| text.parse().ok()) != Some(session.backend_pid());
        let unlogged = finds_unlogged(session).unwrap_or(false);
        let server = server_facts(session, ServerSource::External, None).ok();
        let server = server.map(|facts| {
            let data_directory = facts.data_directory.filter(|_| postmaster.is_some());
            let facts = server_storage::with_storage(ServerFacts { data_directory, ..facts });
            let in_memory = server_storage::has_tables_in_memory(session, &facts).unwrap_or(false);
            ServerFacts { durability: facts.durability.of_tables(unlogged, in_memory), ..facts }
        });
        let standby = session.value("SELECT pg_catalog.pg_is_in_recovery()").ok().flatten();
        // Behind a pooler nothing is known of the connection to the server.
        let is_unix = matches!(session.address(), Address::Unix(..));
        let connection = standby.filter(|_| !pooled).map(|standby| ConnectionFacts {
            transport: Some(if is_unix { Transport::UnixSocket } else { Transport::Tcp }),
            encryption: session.encryption(),
            pooler: None,
            standby: standby == "t",
            separate_admin: false,
        });
        let transport = if is_unix { "unix" } else { "tcp" };
        self.sessions.begin(session);
        let watched =
            server.as_ref().filter(|_| !pooled).map(|facts| of_session(session, facts, options, &[]));
        self.weak.extend(weak_routines(session, &self.words).unwrap_or_default());
        self.seen = Observed { server, connection, postmaster, pooled, transport, watched };
    }

    /// Begins to observe the server.
    fn watch(&mut self, say: &Say, options: &Options) -> ExitResult<Watching> {
        let level = options.extras.observe.unwrap_or_default();
        let watching = Watching::begin(level, self.started, &mut self.dir, self.seen.watched.take());
        watching.or_else(|problem| fail(say, &problem))
    }

    /// The server, as far as it is known.
    fn subject(&self) -> SubjectRecord {
        SubjectRecord {
            name: "server".to_owned(),
            server: self.seen.server.clone(),
            connection: self.seen.connection.clone(),
            ..SubjectRecord::default()
        }
    }

    /// The record before anything is measured.
    fn first_record(&self, options: &Options, scripts: &Scripts, scale: i64, host: Inventory) -> RunRecord {
        let begun = (self.dir.id(), &self.started_at);
        // Neither driver nor server is pinned to CPUs.
        let cores_shared = self.seen.postmaster.is_some();
        let plan = PlanRecord { cores_shared, ..plan_record(options, scale, self.seen.transport) };
        let mut record = RunRecord {
            instrument: instrument::kept(&host, &self.program),
            subjects: vec![self.subject()],
            pgbench: Some(pgbench_record(options, scripts)),
            ..RunRecord::begin(begun, self.program.record(), command(options), plan, host)
        };
        record.host = host_of(&record);
        record
    }

    /// Begins the run, and makes its directory visible.
    ///
    /// # Errors
    /// The record cannot be written; already printed.
    pub fn begin<'a>(
        mut self,
        say: &Say,
        options: &'a Options,
        scripts: &'a Scripts,
        scale: i64,
    ) -> ExitResult<Recorder<'a>> {
        let unreadable = |error| say.fatal(format!("could not read the facts of this machine: {error}"));
        let host = pgdyno_host::facts::host().or_else(unreadable)?;
        let record = self.first_record(options, scripts, scale, host);
        let saved = self.dir.save(&record);
        let start_s = self.started.elapsed().as_secs_f64();
        let workload = workload(options, scripts);
        saved
            .and_then(|()| self.dir.begin_run(0, &workload, 0, start_s))
            .or_else(|problem| fail(say, &problem))?;
        let watching = self.watch(say, options)?;
        let seconds = Some(f64::from(options.time_s)).filter(|seconds| *seconds > 0.0);
        Ok(Recorder {
            slowest: SlowLog::new(scripts, options.extras.warmup_ns, self.seen.pooled),
            sampler: CountersSampler::new(self.seen.postmaster),
            sampling: watching.sampling(options.extras.profile, seconds, self.dir.place()),
            watching,
            pending: self,
            record,
            workload,
            start_s,
            edges: (None, None),
            failed: None,
        })
    }
}

/// A run being recorded.
#[derive(Debug)]
pub struct Recorder<'a> {
    pending: PendingRecord,
    record: RunRecord,
    workload: Workload,
    /// Start of the run, in seconds since the start of the program.
    start_s: f64,
    sampler: CountersSampler,
    watching: Watching,
    sampling: Sampling,
    edges: (Option<Reading>, Option<Reading>),
    slowest: SlowLog<'a>,
    /// The first write error.
    failed: Option<Problem>,
}

impl Recorder<'_> {
    /// Writes an interval.
    pub fn interval(&mut self, interval: &MergedInterval) {
        let slow = self.slowest.of(interval);
        let dir = &mut self.pending.dir;
        if interval.phase == Phase::Drain {
            dir.drain(interval.start_ns, interval.duration_ns, slow);
        } else if self.failed.is_none() {
            self.failed = dir.interval(timeline(interval, 0), &interval.latency, slow).err();
        }
    }

    /// Reads CPU counters at the start and the end of the measured interval.
    pub fn mark(&mut self, mark: Mark) {
        match mark {
            Mark::MeasureStart => {
                self.edges.0 = Some(self.sampler.read());
                self.watching.begin_interval();
                self.sampling.start();
            }
            Mark::MeasureEnd => {
                self.sampling.stop();
                self.watching.end_interval();
                self.edges.1 = Some(self.sampler.read());
            }
        }
    }

    /// Writes the results. Returns the directory, or `None` if nothing was measured and none is kept.
    ///
    /// # Errors
    /// The record cannot be written; already printed.
    pub fn finish(mut self, say: &Say, results: &Results<'_>) -> ExitResult<Option<PathBuf>> {
        let path = self.pending.dir.path().to_path_buf();
        let ended = self.pending.dir.end_run();
        let failed = self.failed.take().map_or(ended, Err);
        let profiled = if results.report.duration_ns > 0 { self.keep_profile(say, results) } else { Ok(()) };
        let written = failed.and(profiled).and_then(|()| self.write(results));
        written.or_else(|problem| {
            fail(say, &problem.detail(format!("the incomplete record is in {}", path.display())))
        })
    }

    /// Adds the profile to the record. One that is missing is said, and no error.
    fn keep_profile(&mut self, say: &Say, results: &Results<'_>) -> Result<(), Problem> {
        let Some(sampled) = std::mem::take(&mut self.sampling).finish() else { return Ok(()) };
        let mut profiles = Profiles::new(results.options.extras.profile, 0);
        let of = Of::Cell(self.workload.clone());
        let each: Vec<_> = match sampled {
            Ok(all) => all.into_iter().map(Ok).collect(),
            Err(why) => vec![Err(why)],
        };
        for one in each {
            let place = (&mut self.record.profiles, &self.pending.dir);
            if let Some(why) = profiles.add(place, &of, one)? {
                say.warning(format!("the profile is missing, or not complete: {why}"));
            }
        }
        Ok(())
    }

    /// Durability of the run's commits; `None` if the server's own tier is unknown.
    fn durability(&self, report: &Report) -> Option<RunDurability> {
        let PendingRecord { seen, weak, sessions, .. } = &self.pending;
        // After a reconnect the server may have been restarted with other settings.
        let same_sessions = !seen.pooled && report.outage.lost == 0;
        let sessions = SessionsSeen { same_sessions, ..sessions.take() };
        let found: Vec<_> = weak.iter().cloned().chain(sessions.weaknesses()).collect();
        Some(RunDurability::new(seen.server.as_ref()?.durability, &found))
    }

    fn write(self, results: &Results<'_>) -> Result<Option<PathBuf>, Problem> {
        let (report, options) = (results.report, results.options);
        let durability = self.durability(report);
        let Self { mut pending, mut record, workload, start_s, edges, slowest, watching, .. } = self;
        let (waits, observed, observers) = watching.found();
        record.observers = observers;
        let server = record.subjects[0].server.as_mut();
        if let Some((server, of_run)) = server.zip(durability.as_ref()) {
            server.durability = server.durability.max(of_run.tier);
        }
        if report.duration_ns > 0 {
            let run = CellRun {
                slowest: slowest.worst(),
                durability,
                waits,
                observed: observed.map(Box::new),
                cpu: edges
                    .0
                    .zip(edges.1)
                    .map(|(begin, end)| end.cpu_since(&begin, report))
                    .unwrap_or_default(),
                ..run(results, workload.clone(), start_s)
            };
            record.runs.push(run);
        }
        if record.runs.is_empty() {
            return pending.dir.discard().map(|()| None);
        }
        let lost = (report.clients_lost > 0)
            .then(|| report.errors.why(&format!("{} clients were aborted", report.clients_lost)));
        record.error = report.stopped.clone().or(lost);
        record.status = if record.error.is_some() { Status::Stopped } else { Status::Complete };
        record.finished_at = Some(Timestamp::now().to_string());
        if options.time_s == 0 {
            record.plan.duration_ns = report.duration_ns;
        }
        if let Some(pgbench) = &mut record.pgbench {
            add_results(pgbench, results);
        }
        let latencies: Histograms = report.latency.clone().into();
        record.runs.first().map_or(Ok(()), |run| pending.dir.latencies_of_run(0, run, &latencies))?;
        pgdyno_analysis::analyse(&mut record, &[(workload, latencies)]);
        let write_report = pending.write_report;
        let path = pending.dir.finish(&record)?;
        write_report(&record, &path)?;
        Ok(Some(path))
    }
}

/// Prints a problem, and fails with status 1.
fn fail<T>(say: &Say, problem: &Problem) -> ExitResult<T> {
    say.error(&problem.what);
    problem.detail.iter().for_each(|detail| say.detail(detail));
    problem.hint.iter().for_each(|hint| say.hint(hint));
    Err(1)
}

/// Command line with the seed, so that it can be repeated with the same random numbers.
fn command(options: &Options) -> String {
    let args: Vec<String> = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let seeded = args.iter().any(|arg| arg.starts_with("--random-seed"));
    let line = redact_sql(&command_line(&args));
    if seeded { line } else { format!("{line} --random-seed={}", options.seed) }
}

fn run(results: &Results<'_>, workload: Workload, start_s: f64) -> CellRun {
    let (report, options) = (results.report, results.options);
    CellRun {
        block: 0,
        start_s: start_s + options.extras.warmup_ns as f64 / 1e9,
        warmup_ns: options.extras.warmup_ns,
        duration_ns: report.duration_ns,
        counts: report.counts,
        counts_whole: report.counts_whole,
        tps: report.counts.committed as f64 * 1e9 / report.duration_ns as f64,
        // Its tally continues after the measured interval.
        rows: None,
        latency: report.latency.summary(),
        slowest_seconds_ns: Vec::new(),
        longest_silence_ns: Some(report.longest_silence_ns),
        lag: options.rate_per_s.and_then(|_| report.lag.summary()),
        statements: statements(results.scripts, report),
        scripts: Vec::new(),
        tpcc: None,
        sets: Vec::new(),
        nopm: None,
        retries: None,
        slowest: Vec::new(),
        connect_ns: results.connect_ns,
        cpu: pgdyno_core::measure::CpuUse::default(),
        // Reading the server's counters needs a connection that pgbench does not make.
        io: None,
        served_from: None,
        steady: steady::judge(&report.rates_per_s),
        errors: errors(report),
        data_state: None,
        reset_s: None,
        checkpoint_s: None,
        durability: None,
        waits: None,
        observed: None,
        outage: Some(report.outage).filter(|outage| outage.lost > 0),
        ended_by_outage: false,
        idle: None,
        workload,
    }
}

/// Statements of a transaction, if they are the same for all transactions; QPS follows from them.
fn statements(scripts: &Scripts, report: &Report) -> Vec<StatementSummary> {
    let mut all = scripts.iter();
    match (all.next(), all.next()) {
        (Some(only), None) if !branches(only) => {
            let pairs = only.statements().zip(&report.statements);
            pairs.map(|(sql, latency)| statement(&sql.label, Some(latency))).collect()
        }
        _ => Vec::new(),
    }
}

fn branches(script: &Script) -> bool {
    script.commands.iter().any(|command| matches!(command.action, Action::If(_)))
}

/// Workload of the cell, named by its script, or by all scripts with their weights.
fn workload(options: &Options, scripts: &Scripts) -> Workload {
    let weighted =
        |chosen: &super::options::Chosen| format!("{}@{}", short_name(&chosen.name), chosen.weight);
    let script = match (&options.scripts[..], scripts.len()) {
        ([only], _) => short_name(&only.name),
        (several, _) => several.iter().map(weighted).collect::<Vec<_>>().join(" + "),
    };
    Workload {
        script,
        builtin: None,
        protocol: options.protocol.name().to_owned(),
        clients: options.clients,
        rate_per_s: options.rate_per_s,
        subject: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_known_if_every_transaction_has_the_same() {
        let report = |text: &str| {
            let scripts = Scripts::one("mine", text).expect("a script");
            branches(scripts.get(0))
        };
        assert!(!report("SELECT 1;\nSELECT 2;\n"));
        assert!(report("\\if 1\nSELECT 1;\n\\endif\n"));
    }
}
