//! One run of one cell.

use std::cell::RefCell;

use pgdyno_analysis::{cells::served_from, steady, tpcc::nopm};
use pgdyno_core::{
    facts::{RunDurability, SessionsSeen},
    measure::{
        CellRun, ErrorCount, Histograms, Interval, IoUse, Retries, ScriptRun, SetRun, SlowAttempt,
        StatementSummary, TpccRun, Waits, Workload,
    },
    observe::Digest,
    problem::Problem,
    stop::Stop,
    tpcc::Shares,
    units,
};
use pgdyno_engine::{Mark, MergedInterval, Phase, Report, ScriptReport, Settings};
use pgdyno_postgres::driving::{Listening, Outcome, Part, Terms};
use pgdyno_record::RunDir;
use pgdyno_script::{Script, Scripts};

use crate::{
    Event, Prepared,
    clients::{Cell, Clients},
    context::Context,
    counters_sampler::Reading,
    profiles::Of,
    recording::{Recording, cell_words, whose},
    sampling::Sampling,
    search_path::where_was_looked,
    slow::SlowLog,
    subject::{Subject, run_state::Ready},
    watch::Observing,
};

/// Length of an interval of the timeline.
const INTERVAL_NS: u64 = 1_000_000_000;
/// Length of a run that ends by the number of its transactions: 100 years.
const UNREACHED_NS: u64 = 100 * 365 * 86_400 * 1_000_000_000;
/// Time for attempts in flight to finish at the end of a run.
const DRAIN_NS: u64 = 10_000_000_000;
/// Why a run has no profile.
const NOT_MEASURED: &str = "the run ended before its measured interval";

/// Executes one run of one cell: warm-up, measured interval, drain; before them CHECKPOINT and connections, unless the
/// clients of the run before are `kept`. In slots they are kept for the next. Returns its index in the record.
///
/// # Errors
/// The error that ended it early; what was measured until then is in the record.
pub fn run(
    context: Context<'_>,
    recording: &mut Recording,
    subject: &mut Subject,
    cell: &Cell<'_>,
    kept: &mut Option<Clients>,
) -> Result<u32, Problem> {
    let Context { prepared, events, .. } = context;
    let Cell { workload, work, block, .. } = cell;
    let index = recording.record.runs.len() as u32;
    let many = units::plural(u64::from(workload.clients), "client");
    events.now(format!("{}{} {many}, block {}", whose(workload), workload.script, block + 1));
    let mut clients = Clients::kept_or_new(context, subject, cell, kept)?;
    let settings = settings(prepared, &clients.ready.scripts, cell);
    let terms = clients.terms(context, cell, &settings);
    let start_s = recording.seconds();
    recording.dir.begin_run(index, workload, *block, start_s)?;
    let ready = clients.ready.clone();
    let slowest = SlowLog::new(&ready.scripts, settings.warmup_ns, subject.pooled);
    recording.follow(subject);
    let seconds = (settings.duration_ns < UNREACHED_NS).then(|| settings.duration_ns as f64 / 1e9);
    let mut sampling = recording.sampling(subject.watched, seconds);
    let driven = drive(context, recording, subject, (&mut clients, &terms), (slowest, &mut sampling))?;
    if let Some(sampled) = sampling.finish_telling(events) {
        // There is one time, unless the measured interval did not begin.
        let sampled = sampled.and_then(|all| all.into_iter().next().ok_or_else(|| NOT_MEASURED.to_owned()));
        recording.add_profile(&Of::Cell((*workload).clone()), sampled);
    }
    recording.dir.end_run()?;
    let same_sessions = !subject.pooled && driven.report.outage.lost == 0;
    let seen = SessionsSeen { same_sessions, ..clients.sessions() };
    let gone = gone(context, subject, cell, &driven.report);
    let weak: Vec<_> = ready.weak.iter().cloned().chain(seen.weaknesses()).collect();
    let run = Finished {
        workload: workload.clone(),
        block: *block,
        max_tries: work.max_tries,
        start_s,
        connect_ns: clients.connect.as_nanos() as u64,
        settings,
        sets: set_runs(&clients, &driven, &ready.scripts),
        ready,
        driven,
        tpcc: clients.tpcc_runs(),
        durability: RunDurability::new(subject.facts.durability, &weak),
        gone,
    };
    *kept = clients.for_next_slot(workload.clients);
    keep(context, recording, run).map(|()| index)
}

/// The error if the server was gone when a run ended, and does not come back: an outage that ends is measured like
/// anything else, one that does not leaves nothing to measure.
fn gone(
    Context { stop, events, .. }: Context<'_>,
    subject: &mut Subject,
    cell: &Cell<'_>,
    report: &Report,
) -> Option<Problem> {
    let of = cell_words(&cell.workload);
    let what = |more: &str| Problem::could_not(format!("the server was gone at the end of {of}{more}"));
    let hint = match subject.own_server() {
        Some(_) => "`pgdyno resume` measures this block again. Earlier results are kept",
        None => "start the server; `pgdyno resume` measures this block again. Earlier results are kept",
    };
    if let Some(death) = subject.death().filter(|_| stop.requested()) {
        return Some(what("").detail(death).hint(hint));
    }
    let away = report.outage.lost.saturating_sub(report.outage.made_again);
    if away < u64::from(cell.workload.clients) {
        return None;
    }
    // Clients that gave up waited as long as is waited here.
    if report.clients_lost > 0 {
        return Some(what("").hint(hint));
    }
    events.doing("waiting for the server to come back");
    let problem = subject.await_return().err()?;
    Some(what(" and did not come back").detail(problem.what).hint(hint))
}

pub(crate) fn settings(prepared: &Prepared, script: &Scripts, cell: &Cell<'_>) -> Settings {
    let measure = &prepared.plan.measure;
    let by_time = Settings {
        warmup_ns: measure.warmup.as_nanos(),
        ramp_ns: measure.warmup.as_nanos() / 2,
        duration_ns: measure.duration.as_nanos(),
        interval_ns: INTERVAL_NS,
        drain_ns: DRAIN_NS,
        rate_per_s: measure.rate,
        seed: prepared.seed.wrapping_add(u64::from(cell.draws) << 32),
        statements: script.statements().count(),
        cpus: prepared.bench.cpus.driver.clone(),
    };
    match cell.work.tpcc.and_then(|work| work.transactions) {
        Some(_) => Settings { warmup_ns: 0, ramp_ns: 0, duration_ns: UNREACHED_NS, ..by_time },
        None => by_time,
    }
}

/// An interval for somebody who waits.
fn driven(interval: &MergedInterval) -> Event {
    let (committed, seconds) = (interval.counts.committed, interval.duration_ns as f64 / 1e9);
    let latency_ns_p99 = (committed > 0).then(|| interval.latency.as_histogram().value_at_quantile(0.99));
    Event::Driven { tps: committed as f64 / seconds.max(f64::MIN_POSITIVE), latency_ns_p99 }
}

/// Runs the clients. Those that can begin another run stay, if that is wanted.
fn drive(
    Context { prepared, stop, events, .. }: Context<'_>,
    recording: &mut Recording,
    subject: &mut Subject,
    (clients, terms): (&mut Clients, &Terms),
    (slowest, sampling): (SlowLog<'_>, &mut Sampling),
) -> Result<Driven, Problem> {
    let mut intervals = Intervals::new(recording.record.runs.len() as u32, slowest);
    let (mut begin, mut end) = (None, None);
    let mut observed = Observing::of(subject);
    let first_s = f64::from(intervals.run) * prepared.run_s;
    let subject = RefCell::new(subject);
    let mut on_interval = |interval: &MergedInterval| {
        events.measured(first_s + (interval.start_ns + interval.duration_ns) as f64 / 1e9);
        if interval.phase != Phase::Drain {
            events.send(&driven(interval));
        }
        if let Some(death) = subject.borrow().death() {
            stop.request(death);
        }
        intervals.add(interval, &mut recording.dir);
    };
    let mut on_mark = |mark| {
        if mark == Mark::MeasureEnd {
            sampling.stop();
            observed.end(&recording.observers);
        }
        let reading = subject.borrow_mut().read_counters();
        match mark {
            Mark::MeasureStart => {
                begin = Some(reading);
                observed.begin(&recording.observers);
                sampling.start();
            }
            Mark::MeasureEnd => end = Some(reading),
        }
    };
    let listening = Listening { on_interval: &mut on_interval, on_mark: &mut on_mark };
    let Clients { parts, processes, .. } = clients;
    let Outcome { whole, each } =
        pgdyno_postgres::driving::run(parts, processes.as_mut(), terms, stop, listening)?;
    let Intervals { slowest, written, retries, rows, seconds, .. } = intervals;
    written?;
    let (waits, observed) = observed.found();
    Ok(Driven {
        report: whole,
        each,
        edges: begin.zip(end),
        retries,
        rows,
        seconds,
        slowest: slowest.worst(),
        waits,
        observed,
    })
}

/// What is written and summed up of a run while its intervals arrive.
struct Intervals<'a> {
    /// Index of the run.
    run: u32,
    slowest: SlowLog<'a>,
    /// The first error of the run directory; nothing is written after it.
    written: Result<(), Problem>,
    /// Retries within the measured interval.
    retries: u64,
    /// Rows of the measured interval.
    rows: u64,
    /// The largest latencies of the slowest seconds after the warm-up.
    seconds: Vec<u64>,
}

impl<'a> Intervals<'a> {
    fn new(run: u32, slowest: SlowLog<'a>) -> Self {
        Self { run, slowest, written: Ok(()), retries: 0, rows: 0, seconds: Vec::new() }
    }

    fn add(&mut self, interval: &MergedInterval, dir: &mut RunDir) {
        let slow = self.slowest.of(interval);
        if interval.phase == Phase::Measured {
            self.retries += interval.tally.retries;
            self.rows += interval.tally.rows;
        }
        if interval.phase != Phase::WarmUp {
            keep_slowest(&mut self.seconds, interval.latency.max_ns());
        }
        if interval.phase == Phase::Drain {
            dir.drain(interval.start_ns, interval.duration_ns, slow);
        } else if self.written.is_ok() {
            self.written = dir.interval(timeline(interval, self.run), &interval.latency, slow);
        }
    }
}

/// Seconds whose largest latency is kept.
const SLOWEST_SECONDS: usize = 10;

/// Adds the largest latency of a second to the largest ones, in descending order.
fn keep_slowest(seconds: &mut Vec<u64>, largest_ns: Option<u64>) {
    seconds.extend(largest_ns);
    seconds.sort_unstable_by(|a, b| b.cmp(a));
    seconds.truncate(SLOWEST_SECONDS);
}

/// Adds a run to the record. A run that stopped within its measured interval keeps what it had.
fn keep(
    Context { stop, events, .. }: Context<'_>,
    recording: &mut Recording,
    run: Finished,
) -> Result<(), Problem> {
    let early = run.ended_early(stop).or_else(|| run.gone.clone()).or_else(|| run.all_failed());
    if let (1.., None) = (unanswered(&run.driven.report), &early) {
        let many = units::plural(unanswered(&run.driven.report), "transaction");
        let (cell, drain_s) = (run.cell(), DRAIN_NS / 1_000_000_000);
        events.warning(&format!(
            "{many} of {cell} got no answer within {drain_s} s of the end of the run, and {} given up",
            if many.starts_with("1 ") { "was" } else { "were" }
        ));
    }
    if run.driven.report.duration_ns > 0 {
        let of_scripts = run.driven.report.by_script.iter().map(|script| script.latency.clone());
        let of_sets = run.driven.each.iter().map(|set| set.latency.clone());
        let latency = Histograms {
            whole: run.driven.report.latency.clone(),
            scripts: of_scripts.collect(),
            sets: of_sets.collect(),
        };
        let run = run.into_run();
        if !run.ended_by_outage {
            events.send(&recorded(recording.record.runs.len() as u32, &run));
        }
        recording.add_run(run, latency)?;
    }
    early.map_or(Ok(()), Err)
}

/// The event for a recorded run.
fn recorded(index: u32, run: &CellRun) -> Event {
    let cell = format!("{}{}", whose(&run.workload), run.workload.cell());
    Event::RunRecorded { run: index, cell, block: run.block, tps: run.tps }
}

/// The result of driving the clients.
struct Driven {
    report: Report,
    /// The report of each set of tables, if there are several.
    each: Vec<Report>,
    /// Readings at both edges of the measured interval.
    edges: Option<(Reading, Reading)>,
    /// Retries within the measured interval.
    retries: u64,
    /// Rows of the measured interval.
    rows: u64,
    /// The largest latencies of the slowest seconds.
    seconds: Vec<u64>,
    slowest: Vec<SlowAttempt>,
    waits: Option<Waits>,
    observed: Option<Digest>,
}

/// A finished run.
struct Finished {
    workload: Workload,
    block: u32,
    max_tries: u32,
    start_s: f64,
    connect_ns: u64,
    settings: Settings,
    ready: Ready,
    driven: Driven,
    sets: Vec<SetRun>,
    /// TPC-C in each set of tables.
    tpcc: Vec<TpccRun>,
    durability: RunDurability,
    /// The error if the server was gone at the end.
    gone: Option<Problem>,
}

impl Finished {
    /// The cell in words, for messages.
    fn cell(&self) -> String {
        cell_words(&self.workload)
    }

    /// The error if no further run is possible.
    fn ended_early(&self, stop: &Stop) -> Option<Problem> {
        let (report, cell) = (&self.driven.report, self.cell());
        if stop.requested() {
            let why = report.stopped.clone().or_else(|| stop.reason()).unwrap_or_default();
            return Some(
                Problem::could_not(format!("stopped in {cell}: {why}")).hint(
                    where_was_looked(&self.ready.options, &why)
                        .unwrap_or_else(|| "earlier results are kept".to_owned()),
                ),
            );
        }
        if report.clients_lost > 0 {
            let lost =
                format!("{} clients{} ended before {cell} did", report.clients_lost, self.sets_of_lost());
            return Some(
                Problem::could_not(report.errors.why(&lost))
                    .detail(format!("{} transactions are in doubt", report.counts_whole.in_doubt))
                    .hint("the server's log may say more; earlier results are kept"),
            );
        }
        self.silent().map(|words| {
            Problem::could_not(words)
                .detail(format!("{} got no answer", units::plural(unanswered(report), "transaction")))
                .hint(
                    "check for locks, a stopped server process (SIGSTOP) or a stalled disk; transactions that take \
                     longer need a longer --duration. Earlier results are kept",
                )
        })
    }

    /// The sets of tables that lost clients, if there are several.
    fn sets_of_lost(&self) -> String {
        let sets = self.sets.iter().zip(&self.driven.each);
        let lost: Vec<_> =
            sets.filter(|(_, report)| report.clients_lost > 0).map(|(set, _)| set.name.as_str()).collect();
        if lost.is_empty() { String::new() } else { format!(" of {}", lost.join(", ")) }
    }

    /// Why the server counts as unresponsive: it answered no client at all, or none from the middle of the measured
    /// interval to the end of the drain. The next run would hang in the same way.
    fn silent(&self) -> Option<String> {
        let (report, cell) = (&self.driven.report, self.cell());
        let whole = &report.counts_whole;
        let unanswered = unanswered(report);
        if unanswered > 0 && whole.committed + whole.failed == 0 {
            let seconds = units::duration((self.settings.warmup_ns + report.elapsed_ns) as f64 / 1e9);
            return Some(format!("the server answered nothing in {cell} for {seconds}"));
        }
        let rates = &report.rates_per_s;
        let silent = rates.iter().rev().take_while(|rate| **rate == 0.0).count();
        let stopped = unanswered >= u64::from(self.workload.clients)
            && report.counts.failed == 0
            && silent >= rates.len().div_ceil(2);
        stopped.then(|| {
            let silent_ns =
                silent as u64 * INTERVAL_NS + report.elapsed_ns.saturating_sub(report.duration_ns);
            let seconds = units::duration(silent_ns as f64 / 1e9);
            format!("the server stopped answering in {cell}: not one answer in the last {seconds}")
        })
    }

    /// The error if the run ended normally but executed not one transaction successfully.
    fn all_failed(&self) -> Option<Problem> {
        let report = &self.driven.report;
        let counts = &report.counts_whole;
        if counts.committed > 0 || counts.failed == 0 {
            return None;
        }
        let (code, message, count) = report.errors.iter().max_by_key(|(_, _, count)| *count)?;
        let cell = self.workload.cell();
        let problem = Problem::could_not(format!("every transaction of {cell} failed: {message}"));
        let hint = where_was_looked(&self.ready.options, code);
        let problem = problem.hint(hint.unwrap_or_else(|| {
            "correct the script, the tables or the server's settings, and measure again".to_owned()
        }));
        let seen =
            format!("{} failed, {count} times with {code}", units::plural(counts.failed, "transaction"));
        Some(problem.detail(match never_done(&self.ready.scripts, report) {
            Some(statement) => format!("{seen}, at: {statement}"),
            None => seen,
        }))
    }

    fn into_run(self) -> CellRun {
        let Self {
            workload,
            block,
            max_tries,
            start_s,
            connect_ns,
            settings,
            ready,
            driven,
            sets,
            tpcc,
            durability,
            gone,
        } = self;
        let of_sets = sets.into_iter().zip(&tpcc);
        let sets = of_sets.map(|(set, tpcc)| SetRun { shares: tpcc.shares, ..set }).collect();
        let tpcc = tpcc.into_iter().reduce(with_set);
        let script = &*ready.scripts;
        let Driven { report, edges, retries, rows, seconds, slowest, waits, observed, .. } = driven;
        let cpu = edges.as_ref().map(|(begin, end)| end.cpu_since(begin, &report)).unwrap_or_default();
        let io = edges.as_ref().and_then(|(begin, end)| end.io_since(begin));
        let device_written_bytes = observed.as_ref().and_then(Digest::written_bytes);
        let io = io.map(|io| IoUse { device_written_bytes, ..io });
        // Statements per transaction are known only if every transaction executes all of them.
        let alike = script.len() == 1 && !script.iter().any(Script::has_branches);
        let labels = script.statements().filter(|_| alike).map(|sql| sql.label.clone());
        let statements = labels.zip(&report.statements);
        let scripts = script_runs(script, &report);
        CellRun {
            block,
            start_s: start_s + settings.warmup_ns as f64 / 1e9,
            warmup_ns: settings.warmup_ns,
            duration_ns: report.duration_ns,
            counts: report.counts,
            counts_whole: report.counts_whole,
            tps: report.counts.committed as f64 * 1e9 / report.duration_ns as f64,
            rows: Some(rows),
            latency: report.latency.summary(),
            slowest_seconds_ns: seconds,
            longest_silence_ns: Some(report.longest_silence_ns),
            // A closed loop has no samples of lag.
            lag: report.lag.summary(),
            statements: statements
                .map(|(statement, latency)| StatementSummary { statement, latency: latency.summary() })
                .collect(),
            nopm: tpcc.as_ref().and_then(|_| nopm(&scripts, report.duration_ns)),
            scripts,
            tpcc,
            sets,
            retries: (max_tries != 1).then_some(Retries { max_tries, retries }),
            slowest,
            connect_ns,
            served_from: io.as_ref().and_then(|io| served_from(io, report.counts.committed)),
            cpu,
            io,
            steady: steady::judge(&report.rates_per_s),
            errors: errors(&report),
            data_state: ready.data_state,
            reset_s: ready.reset_s,
            checkpoint_s: Some(ready.checkpoint_s),
            durability: Some(durability),
            waits,
            observed: observed.map(|digest| Box::new(digest.with_rates(&report.rates_per_s))),
            outage: Some(report.outage).filter(|outage| outage.lost > 0),
            ended_by_outage: gone.is_some(),
            idle: None,
            workload,
        }
    }
}

/// TPC-C in one more set of tables.
fn with_set(mut whole: TpccRun, set: TpccRun) -> TpccRun {
    whole.sets = Some(whole.sets.unwrap_or(1) + 1);
    whole.warehouses += set.warehouses;
    whole.load_constant_known &= set.load_constant_known;
    whole.shares.merge(&set.shares);
    whole
}

/// The results of each set of tables, if there are several.
fn set_runs(clients: &Clients, driven: &Driven, scripts: &Scripts) -> Vec<SetRun> {
    // All count over the interval that they have in common, so that their rates add up.
    let duration_ns = driven.report.duration_ns.max(1);
    let one = |(part, report): (&Part, &Report)| {
        let of_scripts = script_runs(scripts, report);
        SetRun {
            name: part.name.clone().unwrap_or_default(),
            warehouses: part.warehouses,
            clients: part.share.clients,
            driver: part.driver,
            counts: report.counts,
            counts_whole: report.counts_whole,
            tps: report.counts.committed as f64 * 1e9 / duration_ns as f64,
            nopm: nopm(&of_scripts, duration_ns),
            latency: report.latency.summary(),
            scripts: of_scripts,
            load_constant_known: part.tpcc.as_ref().is_some_and(|tpcc| tpcc.load_constant_known),
            shares: Shares::default(), // taken with all counts of the run
            errors: errors(report),
        }
    };
    clients.parts.iter().zip(&driven.each).filter(|(part, _)| part.name.is_some()).map(one).collect()
}

/// The statement at which every transaction of a script failed: the first that never succeeded. Unknown for several
/// scripts and for scripts with branches.
fn never_done<'a>(scripts: &'a Scripts, report: &Report) -> Option<&'a str> {
    if scripts.len() != 1 || scripts.iter().any(Script::has_branches) {
        return None;
    }
    let mut all = scripts.statements().zip(&report.statements);
    all.find(|(_, latency)| latency.count() == 0).map(|(sql, _)| sql.label.as_str())
}

/// Transactions without an answer on connections that stayed open.
fn unanswered(report: &Report) -> u64 {
    let whole = &report.counts_whole;
    if report.outage.lost > 0 { 0 } else { whole.timed_out + whole.in_doubt }
}

/// Results of each script, if there are several.
fn script_runs(scripts: &Scripts, report: &Report) -> Vec<ScriptRun> {
    let one = |(script, of): (&Script, &ScriptReport)| ScriptRun {
        name: script.name.clone(),
        committed: of.committed,
        rolled_back: of.rolled_back,
        failed: of.failed,
        retries: of.retries,
        p90_ns: of.latency.quantile_ns(0.9),
        latency: of.latency.summary(),
    };
    scripts.iter().zip(&report.by_script).map(one).collect()
}

/// The first error of each kind, with its count.
pub fn errors(report: &Report) -> Vec<ErrorCount> {
    let error = |(code, message, count): (&str, &str, u64)| ErrorCount {
        code: code.to_owned(),
        message: message.to_owned(),
        count,
        longest_ns: report.errors.longest_ns(code),
    };
    report.errors.iter().map(error).collect()
}

/// One line of the timeline.
pub fn timeline(interval: &MergedInterval, run: u32) -> Interval {
    Interval {
        run,
        start_ns: interval.start_ns,
        duration_ns: interval.duration_ns,
        warm_up: interval.phase == Phase::WarmUp,
        counts: interval.counts,
        latency: interval.latency.summary(),
    }
}
