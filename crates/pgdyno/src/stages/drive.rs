//! The measurement: every cell in every block.

use std::{cell::RefCell, sync::Arc};

use pgdyno_core::{
    analysis::{cells::served_from, steady},
    measure::{CellRun, ErrorCount, Interval, StatementSummary, Workload},
    plan::WorkloadPlan,
    problem::Problem,
    script::Scripts,
};
use pgdyno_engine::{Mark, MergedInterval, Phase, Report, Settings, Stop, run};
use pgdyno_postgres::targets::{SqlClients, Workers};

use super::{
    prepare::Prepared,
    recording::Recording,
    subject::Subject,
    watch::{Reading, Watch},
};
use crate::progress::Progress;

/// Length of an interval of the timeline.
const INTERVAL_NS: u64 = 1_000_000_000;
/// Time that attempts under way get at the end of a run.
const DRAIN_NS: u64 = 10_000_000_000;

/// Runs all cells of a workload, then those of the next; blocks go up and down the client counts in turn, so that a
/// drift of the machine meets all cells alike.
///
/// # Errors
/// What ended the measurement early; the runs before are in the record.
pub fn drive(
    prepared: &Prepared,
    subject: &mut Subject,
    recording: &mut Recording,
    stop: &Stop,
    progress: &Progress,
) -> Result<(), Problem> {
    pgdyno_engine::pin_current_thread(&prepared.bench.cpus.driver)
        .map_err(|error| Problem::could_not(format!("could not use the driver's processors: {error}")))?;
    let device = prepared.storage.as_ref().and_then(|storage| storage.device.clone());
    let watch = Watch::new(subject.postmaster, device);
    let mut driving = Driving { prepared, subject, recording, stop, progress, watch };
    progress.seconds(driving.run_s() * prepared.bench.cost.runs as f64);
    for workload in &prepared.plan.workload {
        let script = Arc::new(driving.subject.scripts(workload.script)?);
        for block in 0..prepared.plan.measure.blocks {
            let mut clients = prepared.bench.clients.clone();
            if block % 2 == 1 {
                clients.reverse();
            }
            for clients in clients {
                driving.cell(workload, &script, block, clients)?;
            }
        }
    }
    Ok(())
}

struct Driving<'a> {
    prepared: &'a Prepared,
    subject: &'a mut Subject,
    recording: &'a mut Recording,
    stop: &'a Stop,
    progress: &'a Progress,
    watch: Watch,
}

impl Driving<'_> {
    /// Seconds of one run, without what is between two.
    fn run_s(&self) -> f64 {
        let measure = &self.prepared.plan.measure;
        measure.warmup.as_secs_f64() + measure.duration.as_secs_f64()
    }

    /// One run of one cell: CHECKPOINT, connections, warm-up, measured interval, drain.
    fn cell(
        &mut self,
        plan: &WorkloadPlan,
        script: &Arc<Scripts>,
        block: u32,
        clients: u32,
    ) -> Result<(), Problem> {
        let workload = Workload {
            script: plan.script.name().to_owned(),
            protocol: plan.protocol.name().to_owned(),
            clients,
            rate_per_s: self.prepared.plan.measure.rate,
        };
        let index = self.recording.record.runs.len() as u32;
        self.progress.say(format!("{} {clients} clients, block {}", workload.script, block + 1));
        self.checkpoint()?;
        let sql = SqlClients {
            scripts: Arc::clone(script),
            protocol: plan.protocol,
            scale: self.prepared.bench.scale,
            seed: self.prepared.seed,
            run: index,
        };
        let (workers, connect) =
            sql.connect(&self.subject.options, clients, self.prepared.bench.jobs, self.stop)?;
        let settings = self.settings(script, index);
        let start_s = self.recording.seconds();
        self.recording.dir.begin_run(index, &workload, block, start_s)?;
        let (report, edges) = self.run(workers, &settings, index)?;
        self.recording.dir.end_run()?;
        let run = Finished {
            workload,
            block,
            start_s,
            connect_ns: connect.as_nanos() as u64,
            settings,
            report,
            edges,
        };
        self.keep(run, script)
    }

    /// Starts every interval from the same state; a role that may not CHECKPOINT measures without.
    fn checkpoint(&mut self) -> Result<(), Problem> {
        match self.subject.admin.execute("CHECKPOINT") {
            Err(error) if error.code() != Some("42501") => {
                Err(error.into_problem("could not prepare a run (CHECKPOINT)"))
            }
            _ => Ok(()),
        }
    }

    fn settings(&self, script: &Scripts, index: u32) -> Settings {
        let measure = &self.prepared.plan.measure;
        Settings {
            warmup_ns: measure.warmup.as_nanos(),
            duration_ns: measure.duration.as_nanos(),
            interval_ns: INTERVAL_NS,
            drain_ns: DRAIN_NS,
            rate_per_s: measure.rate,
            seed: self.prepared.seed.wrapping_add(u64::from(index) << 32),
            statements: script.statements().count(),
            cpus: self.prepared.bench.cpus.driver.clone(),
        }
    }

    /// Drives the clients; gives the report, and the readings at the edges of the measured interval.
    fn run(
        &mut self,
        workers: Workers,
        settings: &Settings,
        index: u32,
    ) -> Result<(Report, Option<(Reading, Reading)>), Problem> {
        let version_num = self.subject.facts.version_num;
        let (mut begin, mut end) = (None, None);
        let first_s = f64::from(index) * self.run_s();
        let mut written = Ok(());
        let watch = RefCell::new(&mut self.watch);
        let Self { prepared, recording, progress, subject, .. } = self;
        let on_interval = |interval: &MergedInterval| {
            progress.at_seconds(first_s + (interval.start_ns + interval.duration_ns) as f64 / 1e9);
            let at_s = recording.seconds();
            let observation = watch.borrow_mut().observe(interval, at_s);
            if written.is_ok() && interval.phase != Phase::Drain {
                written = recording
                    .dir
                    .interval(timeline(interval, index), &interval.latency)
                    .and_then(|()| recording.dir.observation(&observation));
            }
        };
        let on_mark = |mark| {
            let reading = watch.borrow().read_all(subject.observed(), version_num);
            match mark {
                Mark::MeasureStart => begin = Some(reading),
                Mark::MeasureEnd => end = Some(reading),
            }
        };
        let report = run(prepared.waiting, workers, settings, self.stop, on_interval, on_mark)
            .map_err(|error| Problem::could_not(format!("the driver failed: {error}")))?;
        written?;
        Ok((report, begin.zip(end)))
    }

    /// Adds a run to the record. A run that stopped within its measured interval is kept with what it had.
    fn keep(&mut self, run: Finished, script: &Scripts) -> Result<(), Problem> {
        let early = run.ended_early(self.stop);
        if run.report.duration_ns > 0 {
            let latency = run.report.latency.clone();
            let run = run.into_run(script);
            self.recording.add_run(run, &latency)?;
        }
        early.map_or(Ok(()), Err)
    }
}

/// A run that is over.
struct Finished {
    workload: Workload,
    block: u32,
    start_s: f64,
    connect_ns: u64,
    settings: Settings,
    report: Report,
    edges: Option<(Reading, Reading)>,
}

impl Finished {
    /// Why nothing can come after this run.
    fn ended_early(&self, stop: &Stop) -> Option<Problem> {
        let report = &self.report;
        let cell = format!("{} with {} clients", self.workload.script, self.workload.clients);
        if stop.requested() {
            let why = report.stopped.clone().or_else(|| stop.reason()).unwrap_or_default();
            return Some(
                Problem::could_not(format!("stopped in {cell}: {why}"))
                    .hint("what was measured before is kept"),
            );
        }
        let (code, message, count) = report.errors.iter().max_by_key(|(_, _, count)| *count)?;
        (report.clients_lost > 0).then(|| {
            Problem::could_not(format!("{} connections were lost in {cell}: {message}", report.clients_lost))
                .detail(format!("{count} times {code}; {} transactions are in doubt", report.counts_whole.in_doubt))
                .hint("look at the server's log: did it crash, or was it stopped? What was measured before is kept")
        })
    }

    fn into_run(self, script: &Scripts) -> CellRun {
        let Self { workload, block, start_s, connect_ns, settings, report, edges } = self;
        let cpu = edges.as_ref().map(|(begin, end)| end.cpu_since(begin, &report)).unwrap_or_default();
        let io = edges.as_ref().and_then(|(begin, end)| end.io_since(begin));
        let labels = script.statements().map(|sql| sql.label.clone());
        let statements = labels.zip(&report.statements);
        CellRun {
            block,
            start_s: start_s + settings.warmup_ns as f64 / 1e9,
            warmup_ns: settings.warmup_ns,
            duration_ns: report.duration_ns,
            counts: report.counts,
            counts_whole: report.counts_whole,
            tps: report.counts.committed as f64 * 1e9 / report.duration_ns as f64,
            latency: report.latency.summary(),
            lag: workload.rate_per_s.and_then(|_| report.lag.summary()),
            statements: statements
                .map(|(statement, latency)| StatementSummary { statement, latency: latency.summary() })
                .collect(),
            connect_ns,
            served_from: io.as_ref().and_then(|io| served_from(io, report.counts.committed)),
            cpu,
            io,
            steady: steady::judge(&report.rates_per_s),
            errors: errors(&report),
            workload,
        }
    }
}

fn errors(report: &Report) -> Vec<ErrorCount> {
    let error = |(code, message, count): (&str, &str, u64)| ErrorCount {
        code: code.to_owned(),
        message: message.to_owned(),
        count,
    };
    report.errors.iter().map(error).collect()
}

fn timeline(interval: &MergedInterval, run: u32) -> Interval {
    Interval {
        run,
        start_ns: interval.start_ns,
        duration_ns: interval.duration_ns,
        warm_up: interval.phase == Phase::WarmUp,
        counts: interval.counts,
        latency: interval.latency.summary(),
    }
}
