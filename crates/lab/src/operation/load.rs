//! A load as a recorded operation: the record has what was written so far, also if the load is killed.

use pgdyno_core::{observe::Digest, problem::Problem};
use pgdyno_observe::profile::Recorded;
use pgdyno_observe::{Observers, Span};
use pgdyno_postgres::load::{
    BulkLoad, BulkOutcome, BulkProgress, Entry, Job, LoadSample, StageTime, Survey, Verified,
};
use pgdyno_record::{Found, LoadProgressRecord, LoadRecord, LoadStageRecord, LoadTerms, OperationRecord};
use pgdyno_rows::load::{Stage, Way, tasks};

use super::{Operations, ahead::LoadAhead};
use crate::{Event, Events, profiles::Of, recording::Recording, records, sampling::Sampling};

/// Most intervals of a load in the record: then two and two become one.
const MOST_INTERVALS: usize = 600;

/// A load that was entered.
#[derive(Debug)]
pub struct LoadTask<'a> {
    /// The load in the server, and what was found there.
    pub entered: &'a (Job, Survey),
    /// How this process takes part.
    pub entry: Entry,
    /// Connections that work at the same time.
    pub streams: u64,
    /// The last stage that is wanted.
    pub until: Stage,
    /// Whether all rows are compared at the end.
    pub wants_proof: bool,
    /// Seconds that stages may take, by those of earlier loads; none where no such load is known.
    pub expected: &'a [(Stage, f64)],
}

/// Executes a load.
///
/// # Errors
/// A task of the load failed.
pub fn load(
    operations: &mut Operations,
    bulk: &mut BulkLoad<'_>,
    task: &LoadTask<'_>,
) -> Result<BulkOutcome, Problem> {
    let Operations { recording, events } = operations;
    let (job, survey) = task.entered;
    let rows = job.plan.rows_total();
    let wanted = (task.until, task.wants_proof);
    let mut ahead = LoadAhead::new(&job.plan, wanted, task.expected);
    let Some(recording) = recording else {
        return bulk.run(job, survey, wanted, &mut |at| {
            send(events, rows, &at);
            ahead.learn(&at, events);
        });
    };
    let start_s = recording.begin_stage("load");
    let mut progress = Progress::default();
    let mut stages = StagesSeen::default();
    begin(recording, task, start_s);
    let expected_s: f64 = task.expected.iter().map(|(_, seconds)| seconds).sum();
    let mut sampling = recording.sampling(None, Some(expected_s).filter(|seconds| *seconds > 0.0));
    let outcome = bulk.run(job, survey, wanted, &mut |at| {
        send(events, rows, &at);
        ahead.learn(&at, events);
        if let BulkProgress::Stage(stage) = &at {
            stages.begin(*stage, (&recording.observers, &mut sampling));
        }
        if let BulkProgress::Sample(sample) = at {
            progress.add(sample);
            so_far(recording, &progress);
            // What cannot be written now is written at the end, which reports the error; the load continues.
            let _ = recording.save_in_passing();
        }
    });
    sampling.stop();
    stages.end();
    profile(recording, (stages.begun.as_slice(), task.until), sampling.finish_telling(events));
    if let Ok(outcome) = &outcome {
        end(recording, task, outcome, (progress, stages));
    }
    let _ = recording.end_stage("load", start_s, outcome.is_ok());
    outcome
}

/// What observers saw in each stage of a load.
#[derive(Debug, Default)]
struct StagesSeen {
    /// In the order in which they began; one may begin again.
    begun: Vec<Stage>,
    current: Option<(Stage, Span)>,
    seen: Vec<(Stage, Digest)>,
}

impl StagesSeen {
    /// Begins a stage, with which the one before ends.
    fn begin(&mut self, stage: Stage, (observers, sampling): (&Observers, &mut Sampling)) {
        if self.begun.last() != Some(&stage) {
            self.end();
            self.begun.push(stage);
            sampling.start();
            self.current = observers.span(&[]).map(|span| (stage, span));
        }
    }

    fn end(&mut self) {
        let ended = self.current.take();
        self.seen.extend(ended.and_then(|(stage, span)| Some((stage, span.digest()?))));
    }

    fn take(&mut self, stage: Stage) -> Option<Digest> {
        let at = self.seen.iter().position(|(of, _)| *of == stage)?;
        Some(self.seen.swap_remove(at).1)
    }
}

/// Records the profiles of the stages that began, or why there are none.
fn profile(
    recording: &mut Recording,
    (begun, until): (&[Stage], Stage),
    sampled: Option<Result<Vec<Recorded>, String>>,
) {
    let of = |stage: Stage| Of::Stage(stage.name().to_owned());
    match sampled {
        Some(Ok(all)) => {
            let stages = begun.iter().zip(all);
            stages.for_each(|(stage, sampled)| recording.add_profile(&of(*stage), Ok(sampled)));
        }
        // It is the same for all.
        Some(Err(why)) => recording.add_profile(&of(begun.first().copied().unwrap_or(until)), Err(why)),
        None => {}
    }
}

/// Puts a running load into the record.
fn begin(recording: &mut Recording, task: &LoadTask<'_>, start_s: f64) {
    let plan = &task.entered.0.plan;
    let by_server = plan.way == Way::Server;
    let load = LoadRecord {
        terms: Some(LoadTerms::new(plan, task.streams)),
        copy_format: if by_server { "none" } else { "text" }.to_owned(),
        freeze: plan.way == Way::Stream,
        ..LoadRecord::default()
    };
    let found = Found::Load(Box::new(load));
    let name = "load".to_owned();
    let record = OperationRecord { name, subject: None, start_s, duration_s: None, passed: None, found };
    recording.record.operations.push(record);
    recording.show();
    // What cannot be written now is written with the next sample. Building keys has none for hours.
    let _ = recording.save();
}

/// Records how many rows the tables kept of a load that ended early.
pub fn kept(operations: &mut Operations, rows: u64) {
    if let Some(recording) = &mut operations.recording {
        change(recording, |load, _| load.kept_rows = Some(rows));
    }
}

/// Changes the record of the running load.
fn change(recording: &mut Recording, change: impl FnOnce(&mut LoadRecord, &mut Option<bool>)) {
    let Some(operation) = recording.record.operations.last_mut() else { return };
    if let Found::Load(load) = &mut operation.found {
        change(load, &mut operation.passed);
    }
}

fn so_far(recording: &mut Recording, progress: &Progress) {
    change(recording, |load, _| {
        load.rows = progress.rows;
        load.progress.clone_from(&progress.intervals);
    });
}

fn end(
    recording: &mut Recording,
    task: &LoadTask<'_>,
    outcome: &BulkOutcome,
    (progress, mut seen): (Progress, StagesSeen),
) {
    let all = tasks(&task.entered.0.plan).len() as u64;
    let alone = task.entry == Entry::New && outcome.tasks == all;
    let seconds_s = |which: &dyn Fn(Stage) -> bool| -> f64 {
        outcome.stages.iter().filter(|time| which(time.stage)).map(|time| time.seconds).sum()
    };
    let copy_s = seconds_s(&|stage| stage == Stage::Copy);
    let each_s = |amount: u64| (copy_s > 0.0 && amount > 0).then(|| amount as f64 / copy_s);
    let (verification, unverified) = match &outcome.proof {
        Verified::Here(proof) => (Some(records::verification(task.entered.0.plan.set, proof, None)), None),
        Verified::Elsewhere => (None, Some("verified by another process")),
        Verified::Later => (None, Some("not verified yet: `pgdyno load verify` compares all rows")),
        Verified::Unfinished => (None, Some("ended before its last stage, as requested: --resume continues")),
    };
    let duration_s = recording.seconds();
    change(recording, |load, passed| {
        *passed = verification.as_ref().map(|verification| verification.passed());
        load.rows = outcome.rows;
        load.rows_per_s = each_s(outcome.rows);
        load.copy_bytes = outcome.copy_bytes;
        load.copy_bytes_per_s = each_s(outcome.copy_bytes).map(|rate| rate as u64);
        load.copy_s = copy_s;
        load.vacuum_s = seconds_s(&|stage| matches!(stage, Stage::Vacuum | Stage::Analyze));
        load.index_s = seconds_s(&|stage| stage > Stage::Analyze);
        let stage = |time: &StageTime| LoadStageRecord {
            observed: seen.take(time.stage).map(Box::new),
            ..records::stage(time, alone.then_some(outcome.rows))
        };
        load.stages = outcome.stages.iter().map(stage).collect();
        load.key_workers = Some(records::key_workers(&outcome.workers));
        load.size_bytes = outcome.size_bytes;
        load.duration_s = Some(outcome.duration_s);
        load.tasks = Some(outcome.tasks);
        load.progress = progress.intervals;
        load.verification = verification;
        load.unverified = unverified.map(str::to_owned);
    });
    if let Some(operation) = recording.record.operations.last_mut() {
        operation.duration_s = Some(duration_s - operation.start_s);
    }
}

/// Sends the progress of a load of so many rows to the sinks.
pub fn send(events: &Events, rows: u64, at: &BulkProgress) {
    match at {
        BulkProgress::Stage(Stage::Copy) => events.counting("rows", rows, "rows"),
        BulkProgress::Stage(stage) => events.doing(stage.name()),
        BulkProgress::Rows(done) => events.counted(*done),
        BulkProgress::Sample(_) => {}
        BulkProgress::Doing { stage, words } => {
            events.send(&Event::Working { what: format!("{}: {words}", stage.name()) });
        }
        BulkProgress::Waits { stage, pids } => events.note(waits(*stage, pids)),
        BulkProgress::Proving => events.doing("comparing counts and checksums"),
    }
}

fn waits(stage: Stage, pids: &[u32]) -> String {
    let many = if pids.len() == 1 { "" } else { "es" };
    let pids: Vec<_> = pids.iter().map(u32::to_string).collect();
    format!(
        "{}: waits for server process{many} {}, running all tasks that are left; where a loader is gone for good, free \
         them by SELECT pg_terminate_backend(PID)",
        stage.name(),
        pids.join(", ")
    )
}

/// The intervals of a load, in bounded memory.
#[derive(Debug, Default)]
struct Progress {
    intervals: Vec<LoadProgressRecord>,
    rows: u64,
    /// Samples that become one interval, as a power of two.
    each: u32,
    /// Samples in the last interval.
    in_last: u32,
}

impl Progress {
    fn add(&mut self, sample: LoadSample) {
        self.rows += sample.rows;
        let LoadSample { start_s, end_s, rows, wal_bytes } = sample;
        let one = LoadProgressRecord { start_s, end_s, rows, rows_per_s: 0.0, wal_bytes };
        let whole = self.each.max(1);
        match self.intervals.last_mut().filter(|_| self.in_last < whole) {
            Some(last) => *last = joined(*last, one),
            None => {
                self.intervals.push(joined(LoadProgressRecord { end_s: start_s, rows: 0, ..one }, one));
                self.in_last = 0;
            }
        }
        self.in_last += 1;
        if self.intervals.len() > MOST_INTERVALS && self.in_last == whole {
            self.intervals = self.intervals.chunks(2).map(pair).collect();
            self.each = whole * 2;
            // Their number was odd: the last interval stayed alone, and has half of what it takes.
            self.in_last = whole;
        }
    }
}

fn pair(two: &[LoadProgressRecord]) -> LoadProgressRecord {
    match two {
        [a, b] => joined(*a, *b),
        rest => rest[0],
    }
}

/// Two intervals, of which the second follows the first, as one.
fn joined(a: LoadProgressRecord, b: LoadProgressRecord) -> LoadProgressRecord {
    let (rows, seconds) = (a.rows + b.rows, b.end_s - a.start_s);
    let is_empty = a.end_s <= a.start_s;
    LoadProgressRecord {
        start_s: a.start_s,
        end_s: b.end_s,
        rows,
        rows_per_s: if seconds > 0.0 { rows as f64 / seconds } else { 0.0 },
        wal_bytes: if is_empty { b.wal_bytes } else { a.wal_bytes.zip(b.wal_bytes).map(|(a, b)| a + b) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A day and more: nothing is lost, and the record stays small.
    #[test]
    fn intervals_of_a_long_load_are_joined_and_lose_nothing() {
        let mut progress = Progress::default();
        for second in 0..100_000_u32 {
            let (start_s, rows) = (f64::from(second), u64::from(second % 7));
            progress.add(LoadSample { start_s, end_s: start_s + 1.0, rows, wal_bytes: Some(3) });
        }
        let intervals = &progress.intervals;
        assert!(intervals.len() <= MOST_INTERVALS + 1 && intervals.len() > MOST_INTERVALS / 3);
        let rows: u64 = (0..100_000_u64).map(|second| second % 7).sum();
        assert_eq!((intervals.iter().map(|at| at.rows).sum::<u64>(), progress.rows), (rows, rows));
        assert_eq!(intervals.iter().filter_map(|at| at.wal_bytes).sum::<u64>(), 300_000);
        assert!(intervals.windows(2).all(|two| two[0].end_s == two[1].start_s));
        assert_eq!((intervals[0].start_s, intervals.last().map(|at| at.end_s)), (0.0, Some(100_000.0)));
        for at in intervals {
            assert!((at.rows_per_s * (at.end_s - at.start_s) - at.rows as f64).abs() < 1e-6, "{at:?}");
        }
    }
}
