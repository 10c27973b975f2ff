//! The record of a run while it is being measured.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use pgdyno_core::measure::Histograms;
use pgdyno_core::{
    facts::DurabilityTier,
    measure::{CellRun, Workload},
    problem::Problem,
    stop::Stop,
};
use pgdyno_record::{ResumedRecord, Run, RunDir, RunRecord, StageRecord};

use crate::{
    Event, Events, Job, Lab, Prepared,
    event_log::EventLog,
    first_record::{first_record, resumed_record},
};

/// The run directory and the contents of its `run.json`.
#[derive(Debug)]
pub struct Recording {
    /// The run directory.
    pub dir: RunDir,
    /// The record so far.
    pub record: RunRecord,
    /// The event log of the run directory.
    log: EventLog,
    events: Events,
    started: Instant,
    latencies: Vec<(Workload, Histograms)>,
    /// Runs of a comparison that its result does not include yet, each with the number of its block.
    later: Vec<(u32, Workload, Histograms)>,
    /// Whether the run directory is visible: a request that turns out to be wrong leaves none.
    shown: bool,
    /// When the record was last written, and how long that took.
    saved: Option<(Instant, Duration)>,
}

impl Recording {
    /// Creates the run directory and checks that it is writable. It is visible from [`Recording::show`] on.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn begin(job: &Job, prepared: &Prepared, lab: &Lab, events: &Events) -> Result<Self, Problem> {
        let (now, started) = (Timestamp::now(), Instant::now());
        let mut dir = RunDir::create(&lab.runs, &prepared.plan.name, now)?;
        let record = first_record(job, prepared, &lab.program, dir.id(), &now);
        let log = EventLog::new(dir.event_log()?, started);
        events.add(log.clone());
        Ok(Self {
            dir,
            record,
            log,
            events: events.clone(),
            started,
            latencies: Vec::new(),
            later: Vec::new(),
            shown: false,
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
        let kept = whole_rounds(&run.record, latencies.len());
        let mut record = RunRecord { runs: run.record.runs[..kept].to_vec(), ..run.record.clone() };
        let mut dir = RunDir::reopen(&run.path, &record)?;
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
        let log = EventLog::new(dir.event_log()?, started);
        events.add(log.clone());
        let mut recording = Self {
            dir,
            record,
            log,
            events: events.clone(),
            started,
            latencies: Vec::new(),
            later: Vec::new(),
            shown: true,
            saved: None,
        };
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

    /// Makes the run directory visible, with what is known so far, as a partial run.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn show(&mut self) -> Result<(), Problem> {
        self.shown = true;
        self.save()
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
        saved
    }

    /// Writes `run.json` after a run, unless that would take too much time: a record grows with its runs, and writing
    /// one of a thousand runs takes a tenth of a second. A later run writes the rest, or the end of the stage.
    fn save_in_passing(&mut self) -> Result<(), Problem> {
        match self.saved {
            Some((at, took)) if !is_worth_it(at.elapsed(), took) => Ok(()),
            _ => self.save(),
        }
    }

    /// Ends the recording: saves the record for the last time and gives all files their final names. Returns the path
    /// of the directory, the record, and what could not be written.
    pub fn finish(mut self) -> (PathBuf, RunRecord, Result<(), Problem>) {
        let path = self.dir.path().to_path_buf();
        let shown = self.show();
        self.log.close();
        let kept = shown.and(self.dir.finish(&self.record).map(drop));
        (path, self.record, kept)
    }

    /// Removes the run directory, which holds nothing worth keeping.
    ///
    /// # Errors
    /// The directory cannot be removed.
    pub fn discard(self) -> Result<(), Problem> {
        self.log.close();
        self.dir.discard()
    }

    /// Runs one stage and records its duration, also on failure. No stage starts after a request to stop.
    ///
    /// # Errors
    /// The error of the stage, or that a stop was requested.
    pub fn stage<R>(
        &mut self,
        name: &str,
        stop: &Stop,
        work: impl FnOnce(&mut Self) -> Result<R, Problem>,
    ) -> Result<R, Problem> {
        if stop.requested() {
            let why = stop.reason().unwrap_or_default();
            return Err(Problem::could_not(format!("stopped before the stage `{name}`: {why}")));
        }
        let start_s = self.begin_stage(name);
        let result = work(self);
        self.add_stage(name, start_s);
        let saved = self.save();
        let result = result?;
        saved.map(|()| result)
    }

    /// Runs a stage regardless of requests to stop.
    pub fn stage_always<R>(&mut self, name: &str, work: impl FnOnce() -> R) -> R {
        let start_s = self.begin_stage(name);
        let result = work();
        self.add_stage(name, start_s);
        result
    }

    /// Reports that a stage begins; returns the time in seconds since the start of the run.
    fn begin_stage(&self, name: &str) -> f64 {
        self.events.send(&Event::StageBegan { stage: name.to_owned() });
        self.seconds()
    }

    fn add_stage(&mut self, name: &str, start_s: f64) {
        let duration_s = self.seconds() - start_s;
        self.events.send(&Event::StageEnded { stage: name.to_owned(), duration_s });
        self.record.stages.push(StageRecord { name: name.to_owned(), start_s, duration_s });
    }

    /// Adds a run of a cell.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn add_run(&mut self, run: CellRun, latency: Histograms) -> Result<(), Problem> {
        self.dir.latencies_of_run(self.record.runs.len() as u32, &run, &latency)?;
        self.add_latency_of(run.block, run.workload.clone(), latency);
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
        let Some(comparison) = &self.record.comparison else { return };
        let counted = comparison.counted_blocks();
        self.later.retain(|(block, ..)| !comparison.is_aa_block(*block));
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

/// Number of runs that are kept when a run is resumed: those of whole rounds, as far as their latencies are known.
fn whole_rounds(record: &RunRecord, latencies: usize) -> usize {
    let known = record.runs.len().min(latencies);
    match &record.comparison {
        Some(comparison) => {
            let blocks = comparison.blocks.len() as u32;
            record.runs[..known].iter().take_while(|run| run.block < blocks).count()
        }
        None => known - known % record.subjects.len().max(1),
    }
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
