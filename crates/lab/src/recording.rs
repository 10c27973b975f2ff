//! The record of a run while it is being measured.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use pgdyno_core::{
    facts::DurabilityTier,
    measure::{CellRun, Histograms, Workload},
    observe::ObserveLevel,
    problem::Problem,
    profile::Profiling,
    units,
};
use pgdyno_observe::{Observers, Span};
use pgdyno_record::{
    BlockRecord, ObserversRecord, ResumedRecord, Run, RunDir, RunRecord, StageRecord, Status,
};

use crate::{
    Event, Events, Job, Lab, Prepared,
    event_log::EventLog,
    first_record::{first_record, resumed_record},
    host::host_of,
    profiles::Profiles,
};

/// The end of an experiment.
#[derive(Debug)]
pub struct Outcome {
    /// The error that ended it early.
    pub result: Result<(), Problem>,
    /// The recorded run; `None` if there was nothing to keep.
    pub recorded: Option<Recorded>,
}

/// A recorded run.
#[derive(Debug)]
pub struct Recorded {
    /// The run directory.
    pub path: PathBuf,
    /// The record.
    pub record: RunRecord,
    /// What could not be written.
    pub unwritten: Option<Problem>,
}

/// The run directory and the contents of its `run.json`.
#[derive(Debug)]
pub struct Recording {
    /// The run directory.
    pub dir: RunDir,
    /// The record so far.
    pub record: RunRecord,
    /// What observes the run.
    pub observers: Observers,
    /// Profiles of the servers' processes.
    pub(crate) profiles: Profiles,
    /// The current stage, as observed.
    stage: Option<Span>,
    /// The event log of the run directory.
    log: EventLog,
    pub(crate) events: Events,
    started: Instant,
    latencies: Vec<(Workload, Histograms)>,
    /// Runs of a comparison that its result does not include yet, each with the number of its block.
    later: Vec<(u32, Workload, Histograms)>,
    /// Whether the run directory is visible: a request that turns out to be wrong leaves none.
    shown: bool,
    /// Whether the sinks know that the run directory is visible.
    announced: bool,
    /// When the record was last written, and how long that took.
    saved: Option<(Instant, Duration)>,
}

impl Recording {
    /// Creates the run directory and checks that it is writable. It becomes visible when the first stage has succeeded.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn begin(job: &Job, prepared: &Prepared, lab: &Lab, events: &Events) -> Result<Self, Problem> {
        let (now, started) = (Timestamp::now(), Instant::now());
        let dir = RunDir::create(&lab.runs, &prepared.plan.name, now)?;
        let record = first_record(job, prepared, &lab.program, dir.id(), &now);
        let measure = &prepared.plan.measure;
        Ok(Self::new(dir, record, (started, measure.observe), events)?.profiled(measure.profile))
    }

    /// The recording with profiles, if they are wanted.
    #[must_use]
    pub fn profiled(self, wanted: Profiling) -> Self {
        Self { profiles: Profiles::new(wanted, self.record.profiles.len()), ..self }
    }

    /// The recording of a run in its directory, which is observed from now on.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn new(
        mut dir: RunDir,
        mut record: RunRecord,
        (started, level): (Instant, ObserveLevel),
        events: &Events,
    ) -> Result<Self, Problem> {
        let observations = match level {
            ObserveLevel::None => None,
            ObserveLevel::Host | ObserveLevel::All => Some(dir.observation_log()?),
        };
        let log = EventLog::new(dir.event_log()?, started);
        events.add(log.clone());
        record.host = host_of(&record);
        Ok(Self {
            dir,
            record,
            observers: Observers::begin(level, started, observations, Some(events.onlooker())),
            profiles: Profiles::default(),
            stage: None,
            log,
            events: events.clone(),
            started,
            latencies: Vec::new(),
            later: Vec::new(),
            shown: false,
            announced: false,
            saved: None,
        })
    }

    /// Continues the record of a run. Incomplete rounds are measured again, because the runs of one round belong
    /// together in time.
    ///
    /// # Errors
    /// Another process is writing the record, or it could not be read or written.
    pub fn resume(
        job: &Job,
        prepared: &Prepared,
        lab: &Lab,
        run: &Run,
        events: &Events,
    ) -> Result<Self, Problem> {
        let now = Timestamp::now();
        let latencies = run.run_latencies()?;
        let mut record = without_begun_start(run.record.clone());
        let kept = whole_rounds(&record, latencies.len());
        record.runs.truncate(kept);
        let dir = RunDir::reopen(&run.path, &record)?;
        let age = dir.age();
        record.resumed.push(ResumedRecord {
            at: now.to_string(),
            at_s: age.as_secs_f64(),
            ended_by: run.record.error.clone(),
            first_run: kept as u32,
            dropped_runs: (run.record.runs.len() - kept) as u32,
        });
        let record = resumed_record(job, prepared, &lab.program, record);
        let started = Instant::now().checked_sub(age).unwrap_or_else(Instant::now);
        let measure = &prepared.plan.measure;
        let recording = Self::new(dir, record, (started, measure.observe), events)?;
        let mut recording = recording.profiled(measure.profile);
        recording.shown = true;
        for (at, of_run) in latencies.into_iter().take(kept).enumerate() {
            let (block, workload) =
                (recording.record.runs[at].block, recording.record.runs[at].workload.clone());
            recording.add_latency_of(block, workload, of_run.histograms);
        }
        recording.save()?;
        Ok(recording)
    }

    /// Seconds since the start of the run.
    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Writes `run.json`, with the cells and doubts so far: a killed run remains readable.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn save(&mut self) -> Result<(), Problem> {
        if !self.shown {
            return Ok(());
        }
        let begin = Instant::now();
        self.sum_up();
        pgdyno_analysis::analyse(&mut self.record, &self.latencies);
        let saved = self.dir.save(&self.record);
        self.saved = Some((Instant::now(), begin.elapsed()));
        if saved.is_ok() && !std::mem::replace(&mut self.announced, true) {
            self.events.send(&Event::DirectoryShown { path: self.dir.path().to_path_buf() });
        }
        saved
    }

    /// Writes `run.json` after a run, unless that would take too much time: a record grows with its runs, and writing
    /// one of a thousand runs takes a tenth of a second. A later run writes the rest, or the end of the stage.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn save_in_passing(&mut self) -> Result<(), Problem> {
        match self.saved {
            Some((at, took)) if !is_worth_it(at.elapsed(), took) => Ok(()),
            _ => self.save(),
        }
    }

    /// Ends the recording: saves the record for the last time, and gives all files their final names. A run directory
    /// that holds nothing worth keeping is removed.
    ///
    /// # Errors
    /// The directory cannot be removed.
    pub fn end(mut self, result: Result<(), Problem>) -> Result<Outcome, Problem> {
        if let Err(problem) = &result
            && self.record.resumed.is_empty()
            && recorded_nothing(&self.record)
            && !(points_to_log(problem) && self.dir.keeps_log())
        {
            self.log.close();
            self.observers.end();
            self.dir.discard()?;
            return Ok(Outcome { result, recorded: None });
        }
        let result = result.and_then(|()| all_measured(&self.record));
        self.record.status = if result.is_ok() { Status::Complete } else { Status::Stopped };
        self.record.error = result.as_ref().err().map(|problem| problem.what.clone());
        self.record.finished_at = Some(Timestamp::now().to_string());
        let path = self.dir.path().to_path_buf();
        self.shown = true;
        self.end_observers();
        let saved = self.save();
        self.log.close();
        let unwritten = saved.and(self.dir.finish(&self.record).map(drop)).err();
        Ok(Outcome { result, recorded: Some(Recorded { path, record: self.record, unwritten }) })
    }

    /// Ends the observers before their file gets its final name. What they could not write does not end the run.
    fn end_observers(&mut self) {
        let level = self.observers.level();
        let Some(ended) = self.observers.end() else { return };
        if let Some(why) = ended.unwritten {
            self.events.warning(&format!("not all observations could be written: {why}"));
        }
        let (over_s, cost, dropped_lines) = (ended.over_s, ended.cost, ended.dropped_lines);
        let clocks = ended.clocks;
        self.record.observers = Some(ObserversRecord { level, over_s, cost, dropped_lines, clocks });
    }

    /// Makes the run directory visible with the next write of the record, before the first stage is over.
    pub fn show(&mut self) {
        self.shown = true;
    }

    /// Begins a stage, and returns its start in seconds since that of the run.
    pub fn begin_stage(&mut self, name: &str) -> f64 {
        self.events.send(&Event::StageBegan { stage: name.to_owned() });
        self.stage = self.observers.span(&[]);
        self.seconds()
    }

    /// Ends and records a stage. Its success makes the run directory visible, as a partial run.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn end_stage(&mut self, name: &str, start_s: f64, succeeded: bool) -> Result<(), Problem> {
        let duration_s = self.seconds() - start_s;
        self.events.send(&Event::StageEnded { stage: name.to_owned(), duration_s });
        let observed = self.stage.take().and_then(Span::digest).map(Box::new);
        self.record.stages.push(StageRecord { name: name.to_owned(), start_s, duration_s, observed });
        self.shown |= succeeded;
        self.save()
    }

    /// Adds a run of a cell.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn add_run(&mut self, run: CellRun, latency: Histograms) -> Result<(), Problem> {
        self.dir.latencies_of_run(self.record.runs.len() as u32, &run, &latency)?;
        if !run.ended_by_outage {
            self.add_latency_of(run.block, run.workload.clone(), latency);
        }
        let tier = run.durability.as_ref().map(|of_run| of_run.tier);
        if let Some((place, tier)) = self.record.place_of(&run.workload).zip(tier) {
            self.weaken(place, tier);
        }
        self.record.runs.push(run);
        self.save_in_passing()
    }

    /// Adds the latencies of a run to its cell; in a comparison, once its result includes the block.
    fn add_latency_of(&mut self, block: u32, workload: Workload, latency: Histograms) {
        match self.record.comparison {
            Some(_) => self.later.push((block, workload, latency)),
            None => add_latency(&mut self.latencies, workload, latency),
        }
    }

    /// Records a durability tier that a server had after all runs. It applies to all of them, because the time of the
    /// change is unknown.
    pub fn weaken_all(&mut self, tier: DurabilityTier, is_there: impl Fn(usize) -> bool) {
        let places: Vec<_> = self.record.runs.iter().map(|run| self.record.place_of(&run.workload)).collect();
        let runs = self.record.runs.iter_mut().zip(&places);
        let there = runs.filter_map(|(run, place)| Some((run, place.filter(|place| is_there(*place))?)));
        let mut concerned = Vec::new();
        for (run, place) in there {
            if let Some(of_run) = run.durability.as_mut().filter(|of_run| of_run.tier < tier) {
                of_run.tier = tier;
                of_run.because.insert(0, format!("{} when all runs were over", tier.short()));
                concerned.push(place);
            }
        }
        concerned.into_iter().for_each(|place| self.weaken(place, tier));
    }

    /// Lowers the tier of a subject: its server has the weakest tier found in any run.
    fn weaken(&mut self, place: usize, tier: DurabilityTier) {
        let server = self.record.subjects.get_mut(place).and_then(|subject| subject.server.as_mut());
        server.into_iter().for_each(|server| server.durability = server.durability.max(tier));
    }

    /// Adds the latencies of the blocks that a comparison now includes to their cells.
    fn sum_up(&mut self) {
        pgdyno_analysis::mark_disturbed(&mut self.record);
        let Some(comparison) = &self.record.comparison else { return };
        let counted = comparison.counted_blocks();
        let (now, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.later).into_iter().partition(|(block, ..)| counted.contains(block));
        self.later = later;
        for (_, workload, latency) in now {
            add_latency(&mut self.latencies, workload, latency);
        }
    }
}

fn add_latency(sums: &mut Vec<(Workload, Histograms)>, workload: Workload, latency: Histograms) {
    match sums.iter_mut().find(|(of, _)| *of == workload) {
        Some((_, sum)) => sum.add(&latency),
        None => sums.push((workload, latency)),
    }
}

/// Largest share of time spent on writing the record between two runs, as 1 in N.
const SAVING_SHARE: u32 = 100;

/// Longest time before the record is written again, however slow the disk was the last time.
const LONGEST_UNSAVED: Duration = Duration::from_secs(5);

/// Whether to write again, given the age of the last write and its duration.
fn is_worth_it(ago: Duration, took: Duration) -> bool {
    ago >= (took * SAVING_SHARE).min(LONGEST_UNSAVED)
}

/// The record without the blocks of a comparison that belong to a start that is not whole, and without that start: one
/// start is one observation, and its other blocks would be measured on another.
fn without_begun_start(mut record: RunRecord) -> RunRecord {
    let Some((comparison, blocks)) = record.comparison.as_mut().zip(record.plan.blocks_per_start) else {
        return record;
    };
    let of_last = |block: &&BlockRecord| block.start == Some(record.starts.len() as u32);
    if comparison.undisturbed().filter(of_last).count() < blocks as usize {
        let begun = record.starts.len() as u32;
        comparison.blocks.retain(|block| block.start != Some(begun));
        record.starts.pop();
    }
    record
}

/// Number of runs that are kept when a run is resumed: those of whole rounds, as far as their latencies are known
/// and the server was there.
fn whole_rounds(record: &RunRecord, latencies: usize) -> usize {
    let known = record.measured_runs().len().min(latencies);
    match &record.comparison {
        Some(comparison) => {
            let blocks = comparison.blocks.len() as u32;
            record.runs[..known].iter().take_while(|run| run.block < blocks).count()
        }
        None => known - known % record.subjects.len().max(1),
    }
}

/// A load that took at least this long is kept even if the run failed.
const LONG_LOAD_S: f64 = 60.0;

/// Whether an incomplete run has nothing to keep: no result, and no long load that finished.
fn recorded_nothing(record: &RunRecord) -> bool {
    let mut loads = record.stages.iter().filter(|stage| ["load", "setup"].contains(&stage.name.as_str()));
    !record.measured_anything() && !loads.any(|stage| stage.duration_s >= LONG_LOAD_S)
}

/// Whether the server itself was in trouble, so that its log is worth keeping.
fn points_to_log(problem: &Problem) -> bool {
    // Insufficient resources, system errors, corruption, and messages that name the server's log.
    const SIGNS: [&str; 5] =
        ["(SQLSTATE 53", "(SQLSTATE 58", "(SQLSTATE XX", "server.log", "the server's log"];
    let texts = [Some(&problem.what), problem.detail.as_ref(), problem.hint.as_ref()];
    texts.into_iter().flatten().any(|text| SIGNS.iter().any(|sign| text.contains(sign)))
}

/// Fails if a cell committed nothing: there would be nothing to report.
fn all_measured(record: &RunRecord) -> Result<(), Problem> {
    let commits = |workload: &Workload| -> u64 {
        let of_cell = record.runs.iter().filter(|run| run.workload == *workload);
        of_cell.map(|run| run.counts.committed).sum()
    };
    let Some(empty) = record.runs.iter().find(|run| commits(&run.workload) == 0) else { return Ok(()) };
    let what = format!("no transaction was committed in {}", cell_words(&empty.workload));
    let problem = Problem::could_not(what);
    Err(match empty.errors.iter().max_by_key(|error| error.count) {
        Some(error) => problem
            .detail(format!("{}: {} ({})", units::plural(error.count, "error"), error.message, error.code))
            .hint("the other results are kept"),
        None => problem
            .hint("a run must be longer than its transactions take (--duration); the other results are kept"),
    })
}

/// Prefix with the subject of a run, for messages.
pub fn whose(workload: &Workload) -> String {
    workload.subject.as_ref().map(|whose| format!("{whose}: ")).unwrap_or_default()
}

/// A cell in words, for messages.
pub fn cell_words(workload: &Workload) -> String {
    let clients = units::plural(u64::from(workload.clients), "client");
    format!("{}{} with {clients}", whose(workload), workload.script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_takes_at_most_a_hundredth_of_the_time() {
        let ms = Duration::from_millis;
        assert!(is_worth_it(ms(500), ms(5)) && !is_worth_it(ms(499), ms(5)));
        assert!(is_worth_it(ms(0), ms(0)));
        // With runs of 1 s, a small record is written after each, one that takes 30 ms after every third. A disk that
        // once stalled for 2 s delays the next write by seconds, not minutes.
        let runs_between = |took| (1..).find(|runs| is_worth_it(ms(1_000) * *runs, took)).expect("some time");
        assert_eq!([ms(4), ms(30), ms(2_000)].map(runs_between), [1, 3, 5]);
    }
}
