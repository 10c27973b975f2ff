//! Merges the intervals and totals of all workers.

use std::collections::BTreeMap;

use pgdyno_core::{
    measure::{CommandTally, Counts, Latency, Outage, Precision, Slowest, Tally},
    stop::Stop,
};

use crate::{
    EngineError, ErrorTally, LoadStep, MergedInterval, Phase, Report, ScriptReport, Settings, Timeline,
    report::{IntervalReport, WorkerReport},
    silence::{longest_ns, of_both},
    steps::StepSums,
    worker_channel::Spare,
};

/// Merges the intervals of all workers.
pub(crate) struct Collector {
    timeline: Timeline,
    /// Number of every worker's intervals; `u32::MAX` while the worker runs.
    intervals: Vec<u32>,
    open: BTreeMap<u32, (usize, MergedInterval)>,
    measured: Counts,
    whole: Counts,
    duration_ns: u64,
    cpu_ns: Vec<u64>,
    waited_ns: Option<u64>,
    rates_per_s: Vec<f64>,
    tally: Tally,
    steps: StepSums,
}

impl Collector {
    pub(crate) fn new(timeline: Timeline, workers: usize, steps: &[LoadStep]) -> Self {
        Self {
            timeline,
            intervals: vec![u32::MAX; workers],
            open: BTreeMap::new(),
            measured: Counts::default(),
            whole: Counts::default(),
            duration_ns: 0,
            cpu_ns: vec![0; workers],
            waited_ns: Some(0),
            rates_per_s: Vec::new(),
            tally: Tally::default(),
            steps: StepSums::new(steps, timeline),
        }
    }

    /// Adds one worker's interval, and returns its histograms emptied for reuse.
    pub(crate) fn take(&mut self, worker: usize, report: IntervalReport) -> Result<Spare, EngineError> {
        let IntervalReport { index, last, interval } = report;
        interval.counts.check().map_err(|imbalance| EngineError::Miscounted { index, imbalance })?;
        if interval.phase == Phase::Measured {
            self.cpu_ns[worker] += interval.cpu_ns;
            self.waited_ns = sum(self.waited_ns, interval.waited_ns);
        }
        if last {
            self.intervals[worker] = index + 1;
        }
        let (seen, merged) = self.open.entry(index).or_insert_with(|| (0, MergedInterval::empty(&interval)));
        merged.add(&interval);
        *seen += 1;
        let MergedInterval { mut latency, mut slowest, .. } = interval;
        latency.clear();
        slowest.clear();
        Ok(Spare { latency, slowest })
    }

    /// Notes that a worker has ended after this many intervals.
    pub(crate) fn ended(&mut self, worker: usize, intervals: u32) {
        self.intervals[worker] = intervals;
    }

    /// The oldest open interval, once every worker that reached it has closed it.
    pub(crate) fn next_complete(&mut self) -> Option<MergedInterval> {
        let (&index, &(seen, _)) = self.open.first_key_value()?;
        let expected = self.intervals.iter().filter(|&&intervals| intervals > index).count();
        if seen < expected {
            return None;
        }
        let (_, (_, merged)) = self.open.pop_first()?;
        self.close(&merged);
        Some(merged)
    }

    fn close(&mut self, merged: &MergedInterval) {
        self.whole.then(&merged.counts);
        if merged.phase != Phase::WarmUp {
            self.tally.merge(&merged.tally);
        }
        if merged.phase != Phase::Measured {
            return;
        }
        if self.duration_ns == 0 {
            self.measured.in_flight_at_start = merged.counts.in_flight_at_start;
        }
        self.measured.then(&merged.counts);
        self.steps.interval(merged);
        self.duration_ns += merged.duration_ns;
        if merged.duration_ns > 0 {
            self.rates_per_s.push(merged.counts.committed as f64 * 1e9 / merged.duration_ns as f64);
        }
    }

    pub(crate) fn finish(self, reports: Vec<WorkerReport>, settings: &Settings, stop: &Stop) -> Report {
        let measure_ns = self.timeline.measure_ns;
        let (mut report, mut steps) = self.totals(settings.statements, stop);
        report.silences = common(reports.iter().map(|worker| &worker.recorded.silences));
        report.longest_silence_ns = longest_ns(&report.silences);
        let end_ns = reports.iter().map(|worker| worker.end_ns).max().unwrap_or(0);
        report.elapsed_ns = end_ns.saturating_sub(measure_ns);
        reports.iter().for_each(|worker| steps.worker(&worker.recorded.steps));
        reports.into_iter().for_each(|worker| report.add(worker));
        report.steps = steps.finish();
        report
    }

    /// What follows from the intervals alone, for scripts with so many statements, and the steps.
    pub(crate) fn totals(self, statements: usize, stop: &Stop) -> (Report, StepSums) {
        let busiest_ns = self.cpu_ns.iter().copied().max().unwrap_or(0);
        let report = Report {
            duration_ns: self.duration_ns,
            counts: self.measured,
            counts_whole: self.whole,
            latency: Latency::lazy(Precision::Run),
            lag: Latency::lazy(Precision::Run),
            statements: (0..statements).map(|_| Latency::new(Precision::Run)).collect(),
            errors: ErrorTally::default(),
            clients_lost: 0,
            outage: Outage::default(),
            cpu_ns: self.cpu_ns.iter().sum(),
            waited_ns: self.waited_ns,
            busiest_worker: busiest_ns as f64 / self.duration_ns.max(1) as f64,
            rates_per_s: self.rates_per_s,
            longest_silence_ns: 0,
            silences: Vec::new(),
            stopped: stop.reason(),
            elapsed_ns: 0,
            tally: self.tally,
            scripts: Vec::new(),
            by_script: Vec::new(),
            commands: Vec::new(),
            connects: (0, 0),
            steps: Vec::new(),
        };
        (report, self.steps)
    }
}

/// The sum of two times, if both are known.
fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    Some(one?.saturating_add(other?))
}

/// The times in which none had a commit.
fn common<'a>(mut each: impl Iterator<Item = &'a Vec<(u64, u64)>>) -> Vec<(u64, u64)> {
    let Some(first) = each.next() else { return Vec::new() };
    each.fold(first.clone(), |all, one| of_both(&all, one))
}

impl MergedInterval {
    /// An interval like the first of a worker, without attempts.
    fn empty(first: &Self) -> Self {
        Self {
            phase: first.phase,
            start_ns: first.start_ns,
            clock_ns: first.clock_ns,
            duration_ns: 0,
            counts: Counts::default(),
            latency: Latency::lazy(Precision::Interval),
            slowest: Slowest::default(),
            tally: Tally::default(),
            cpu_ns: 0,
            waited_ns: Some(0),
        }
    }

    fn add(&mut self, report: &Self) {
        self.duration_ns = self.duration_ns.max(report.duration_ns);
        self.counts += report.counts;
        self.latency.add(&report.latency);
        self.slowest.merge(&report.slowest);
        self.tally.merge(&report.tally);
        self.cpu_ns += report.cpu_ns;
        self.waited_ns = sum(self.waited_ns, report.waited_ns);
    }
}

impl Report {
    fn add(&mut self, worker: WorkerReport) {
        let WorkerReport { recorded, probe, clients_lost, .. } = worker;
        self.latency.add(&recorded.latency);
        self.lag.add(&recorded.lag);
        for (whole, one) in self.statements.iter_mut().zip(&probe.statements) {
            whole.add(one);
        }
        self.errors.merge(probe.errors);
        self.clients_lost += clients_lost;
        self.scripts.resize(recorded.scripts.len(), Tally::default());
        self.scripts.iter_mut().zip(&recorded.scripts).for_each(|(whole, one)| whole.merge(one));
        self.by_script.resize_with(recorded.by_script.len(), ScriptReport::default);
        self.by_script.iter_mut().zip(&recorded.by_script).for_each(|(whole, one)| whole.merge(one));
        self.commands.resize(probe.commands.len(), CommandTally::default());
        self.commands.iter_mut().zip(&probe.commands).for_each(|(whole, one)| whole.merge(one));
        self.connects.0 += probe.connects;
        self.connects.1 += probe.connect_ns;
    }

    /// Adds what the intervals of runs that began together do not have.
    pub(crate) fn add_runs(&mut self, runs: &[&Self]) {
        runs.iter().for_each(|run| self.add_run(run));
        self.silences = common(runs.iter().map(|run| &run.silences));
        self.longest_silence_ns = longest_ns(&self.silences);
        self.busiest_worker = runs.iter().map(|run| run.busiest_worker).fold(0.0, f64::max);
        self.elapsed_ns = runs.iter().map(|run| run.elapsed_ns).max().unwrap_or(0);
        // All connect to one server: no client was connected at most as long as none of any run.
        self.outage.none_ns = runs.iter().map(|run| run.outage.none_ns).min().unwrap_or(0);
    }

    fn add_run(&mut self, run: &Self) {
        self.latency.add(&run.latency);
        self.lag.add(&run.lag);
        self.statements.iter_mut().zip(&run.statements).for_each(|(whole, one)| whole.add(one));
        self.errors.merge(run.errors.clone());
        self.clients_lost += run.clients_lost;
        self.outage.merge(&run.outage);
        self.stopped = self.stopped.take().or_else(|| run.stopped.clone());
        self.scripts.resize(run.scripts.len(), Tally::default());
        self.scripts.iter_mut().zip(&run.scripts).for_each(|(whole, one)| whole.merge(one));
        self.by_script.resize_with(run.by_script.len(), ScriptReport::default);
        self.by_script.iter_mut().zip(&run.by_script).for_each(|(whole, one)| whole.merge(one));
        self.commands.resize(run.commands.len(), CommandTally::default());
        self.commands.iter_mut().zip(&run.commands).for_each(|(whole, one)| whole.merge(one));
        self.connects.0 += run.connects.0;
        self.connects.1 += run.connects.1;
    }
}
