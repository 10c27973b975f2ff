//! `--record`: the run as a run directory, which `list`, `show` and `report` read like any other.

mod terms;

use std::{collections::BTreeSet, path::PathBuf, time::Instant};

use jiff::Timestamp;
use pgdyno_analysis::{cells::Histograms, steady};
use pgdyno_core::{
    facts::{ConnectionFacts, RunDurability, ServerFacts, ServerSource, SessionsSeen, Transport, Weakness},
    measure::{CellRun, StatementSummary, Workload},
    problem::Problem,
};
use pgdyno_engine::{Mark, MergedInterval, Phase, Report};
use pgdyno_lab::{
    Lab, Program,
    cell::{errors, timeline},
    counters_sampler::{CountersSampler, Reading},
    instrument, server_storage,
    slow::SlowLog,
};
use pgdyno_postgres::{
    load::finds_unlogged,
    observe::{postmaster_of, server_facts, weak_routines},
    targets::Sessions,
};
use pgdyno_record::{
    FORMAT, PlanRecord, RunDir, RunRecord, Status, SubjectRecord, VERSION, command_line, redact_sql,
};
use pgdyno_report::Document;
use pgdyno_script::{Action, Script, Scripts};
use pgdyno_wire::{Address, Session};

use super::{
    options::Options,
    results::Results,
    say::{ExitResult, NAME, Say},
};
use terms::{asked, came_to, plan, short_name, statement};

/// What was found of a server, without a connection beyond pgbench's own.
#[derive(Debug, Default)]
struct Seen {
    server: Option<ServerFacts>,
    connection: Option<ConnectionFacts>,
    postmaster: Option<u32>,
    pooled: bool,
    transport: &'static str,
}

/// A run directory that is wanted, from before the first connection on.
#[derive(Debug)]
pub struct Wanted {
    dir: RunDir,
    program: Program,
    started: Instant,
    started_at: Timestamp,
    seen: Seen,
    /// What the scripts name, in small letters.
    words: BTreeSet<String>,
    /// What in them, and in functions that they lead to, weakens a commit or may.
    weak: Vec<Weakness>,
    /// What sessions had at the start and at the end.
    sessions: Sessions,
}

impl Wanted {
    /// Makes the directory, where one is asked for. It is seen from [`Wanted::begin`] on.
    ///
    /// # Errors
    /// It cannot be made; said already.
    pub fn open(say: &Say, options: &Options, scripts: &Scripts, lab: &Lab) -> ExitResult<Option<Self>> {
        if !options.extras.record {
            return Ok(None);
        }
        let runs = options.extras.runs.as_deref().unwrap_or(&lab.runs);
        let started_at = Timestamp::now();
        match RunDir::create(runs, NAME, started_at) {
            Ok(dir) => Ok(Some(Self {
                dir,
                program: lab.program,
                started: Instant::now(),
                started_at,
                seen: Seen::default(),
                words: scripts.words(&options.define),
                weak: scripts.weaknesses(&options.define),
                sessions: Sessions::default(),
            })),
            Err(problem) => told(say, &problem),
        }
    }

    /// Where the settings of the clients' sessions go.
    pub fn sessions(&self) -> Sessions {
        self.sessions.clone()
    }

    /// Looks at the server over the session that sets the run up. What cannot be seen stays absent.
    pub fn look(&mut self, session: &mut Session) {
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
        // Of a pooler nothing more is known than that there is one.
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
        self.weak.extend(weak_routines(session, &self.words).unwrap_or_default());
        self.seen = Seen { server, connection, postmaster, pooled, transport };
    }

    /// Shows the directory, as that of a run that has begun.
    ///
    /// # Errors
    /// It cannot be written; said already.
    pub fn begin<'a>(
        mut self,
        say: &Say,
        options: &'a Options,
        scripts: &'a Scripts,
        scale: i64,
    ) -> ExitResult<Recorder<'a>> {
        let host = match pgdyno_host::facts::host() {
            Ok(host) => host,
            Err(error) => return say.fatal(format!("could not read the facts of this machine: {error}")),
        };
        let subject = SubjectRecord {
            name: "server".to_owned(),
            server: self.seen.server.clone(),
            connection: self.seen.connection.clone(),
            ..SubjectRecord::default()
        };
        let record = RunRecord {
            format: FORMAT.to_owned(),
            version: VERSION,
            status: Status::Partial,
            id: self.dir.id().to_owned(),
            tool: self.program.record(),
            command: command(options),
            started_at: self.started_at.to_string(),
            finished_at: None,
            // Neither side is kept to processors of its own.
            plan: PlanRecord {
                cores_shared: self.seen.postmaster.is_some(),
                ..plan(options, scale, self.seen.transport)
            },
            instrument: instrument::kept(&host, &self.program),
            host,
            storage: None,
            subjects: vec![subject],
            choices: Vec::new(),
            stages: Vec::new(),
            runs: Vec::new(),
            cells: Vec::new(),
            noise: None,
            noise_by_script: Vec::new(),
            comparison: None,
            levels: None,
            time: None,
            material: None,
            pgbench: Some(asked(options, scripts)),
            doubts: Vec::new(),
            error: None,
            resumed: Vec::new(),
            seal: None,
        };
        let saved = self.dir.save(&record);
        let start_s = self.started.elapsed().as_secs_f64();
        let workload = workload(options, scripts);
        saved
            .and_then(|()| self.dir.begin_run(0, &workload, 0, start_s))
            .or_else(|problem| told(say, &problem))?;
        Ok(Recorder {
            slowest: SlowLog::new(scripts, options.extras.warmup_ns, self.seen.pooled),
            sampler: CountersSampler::new(self.seen.postmaster, None),
            wanted: self,
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
    wanted: Wanted,
    record: RunRecord,
    workload: Workload,
    /// When its first transaction was due, in seconds since the program began.
    start_s: f64,
    sampler: CountersSampler,
    edges: (Option<Reading>, Option<Reading>),
    slowest: SlowLog<'a>,
    /// The first thing that could not be written.
    failed: Option<Problem>,
}

impl Recorder<'_> {
    /// Writes an interval.
    pub fn interval(&mut self, interval: &MergedInterval) {
        let at_s = self.wanted.started.elapsed().as_secs_f64();
        let slow = self.slowest.of(interval);
        let observation = self.sampler.observe(interval, at_s);
        let dir = &mut self.wanted.dir;
        if interval.phase == Phase::Drain {
            dir.drain(interval.start_ns, interval.duration_ns, slow);
        } else if self.failed.is_none() {
            let written = dir.interval(timeline(interval, 0), &interval.latency, slow);
            self.failed = written.and_then(|()| dir.observation(&observation)).err();
        }
    }

    /// Reads processors at an edge of the measured interval.
    pub fn mark(&mut self, mark: Mark) {
        match mark {
            Mark::MeasureStart => self.edges.0 = Some(self.sampler.read()),
            Mark::MeasureEnd => self.edges.1 = Some(self.sampler.read()),
        }
    }

    /// Writes what the run came to; gives the directory, or `None` where nothing was measured and none is kept.
    ///
    /// # Errors
    /// What could not be written, and where the rest is; said already.
    pub fn finish(mut self, say: &Say, results: &Results<'_>) -> ExitResult<Option<PathBuf>> {
        let path = self.wanted.dir.path().to_path_buf();
        let ended = self.wanted.dir.end_run();
        let failed = self.failed.take().map_or(ended, Err);
        let written = failed.and_then(|()| self.write(results));
        written.or_else(|problem| {
            told(
                say,
                &problem.detail(format!("what could be written of the record is in {}", path.display())),
            )
        })
    }

    /// What a commit of the run was worth; not known where the server's own tier is not.
    fn durability(&self, report: &Report) -> Option<RunDurability> {
        let Wanted { seen, weak, sessions, .. } = &self.wanted;
        // A connection that was made anew may be to a server that was started anew.
        let same_sessions = !seen.pooled && report.outage.lost == 0;
        let sessions = SessionsSeen { same_sessions, ..sessions.seen() };
        let found: Vec<_> = weak.iter().cloned().chain(sessions.weaknesses()).collect();
        Some(RunDurability::new(seen.server.as_ref()?.durability, &found))
    }

    fn write(self, results: &Results<'_>) -> Result<Option<PathBuf>, Problem> {
        let (report, options) = (results.report, results.options);
        let durability = self.durability(report);
        let Self { mut wanted, mut record, workload, start_s, edges, slowest, .. } = self;
        let server = record.subjects[0].server.as_mut();
        if let Some((server, of_run)) = server.zip(durability.as_ref()) {
            server.durability = server.durability.max(of_run.tier);
        }
        if report.duration_ns > 0 {
            let run = CellRun {
                slowest: slowest.worst(),
                durability,
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
            return wanted.dir.discard().map(|()| None);
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
            came_to(pgbench, results);
        }
        let latencies: Histograms = report.latency.clone().into();
        record.runs.first().map_or(Ok(()), |run| wanted.dir.latencies_of_run(0, run, &latencies))?;
        pgdyno_record::analyse(&mut record, &[(workload, latencies)]);
        let path = wanted.dir.finish(&record)?;
        let timeline = pgdyno_record::open(&path)?.timeline()?.items;
        let html = pgdyno_report::html(&Document::new(&record, &timeline));
        let page = path.join("report.html");
        pgdyno_record::write_atomically(&page, html.as_bytes())
            .map_err(|error| Problem::could_not(format!("could not write {}: {error}", page.display())))?;
        Ok(Some(path))
    }
}

fn told<T>(say: &Say, problem: &Problem) -> ExitResult<T> {
    say.error(&problem.what);
    problem.detail.iter().for_each(|detail| say.detail(detail));
    problem.hint.iter().for_each(|hint| say.hint(hint));
    Err(1)
}

/// The command line with the seed, so that it draws the same numbers again.
fn command(options: &Options) -> String {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let seeded = words.iter().any(|word| word.starts_with("--random-seed"));
    let line = redact_sql(&command_line(&words));
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
        latency: report.latency.summary(),
        lag: options.rate_per_s.and_then(|_| report.lag.summary()),
        statements: statements(results.scripts, report),
        scripts: Vec::new(),
        tpcc: None,
        nopm: None,
        slowest: Vec::new(),
        connect_ns: results.connect_ns,
        cpu: pgdyno_core::measure::CpuUse::default(),
        // Counters of the server would take a connection that pgbench does not make.
        io: None,
        served_from: None,
        steady: steady::judge(&report.rates_per_s),
        errors: errors(report),
        data_state: None,
        reset_s: None,
        checkpoint_s: None,
        durability: None,
        waits: None,
        outage: Some(report.outage).filter(|outage| outage.lost > 0),
        idle: None,
        workload,
    }
}

/// The statements of a transaction, where every transaction has the same: QPS follows from them.
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

/// Name of the cell: the script, or all of them with their weights.
fn workload(options: &Options, scripts: &Scripts) -> Workload {
    let weighted =
        |chosen: &super::options::Chosen| format!("{}@{}", short_name(&chosen.name), chosen.weight);
    let script = match (&options.scripts[..], scripts.len()) {
        ([only], _) => short_name(&only.name),
        (several, _) => several.iter().map(weighted).collect::<Vec<_>>().join(" + "),
    };
    Workload {
        script,
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
    fn statements_are_known_where_every_transaction_has_the_same() {
        let report = |text: &str| {
            let scripts = Scripts::one("mine", text).expect("a script");
            branches(scripts.get(0))
        };
        assert!(!report("SELECT 1;\nSELECT 2;\n"));
        assert!(report("\\if 1\nSELECT 1;\n\\endif\n"));
    }
}
