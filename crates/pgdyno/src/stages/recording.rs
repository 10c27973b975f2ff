//! The record of a run while it comes about.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use pgdyno_analysis::cells::Histograms;
use pgdyno_core::{
    facts::DurabilityTier,
    measure::{CellRun, Workload},
    problem::Problem,
    stop::Stop,
};
use pgdyno_record::{
    ComparisonRecord, FORMAT, LevelsRecord, PlanRecord, RunDir, RunRecord, StageRecord, Status,
    SubjectRecord, ToolRecord, VERSION,
};
use pgdyno_wire::Address;

use super::{Compare, Job, SubjectJob, SubjectWork, Wanted, load, material, prepare::Prepared};
use crate::context::{COMMIT, Context};

/// The run directory and what will stand in its `run.json`.
#[derive(Debug)]
pub struct Recording {
    /// The run directory.
    pub dir: RunDir,
    /// The record so far.
    pub record: RunRecord,
    started: Instant,
    latencies: Vec<(Workload, Histograms)>,
    /// Those of a comparison's runs that its result does not rest on until now, each with the number of its block.
    later: Vec<(u32, Workload, Histograms)>,
    /// Whether the run directory can be seen: a request that turns out to be wrong leaves none.
    shown: bool,
    /// When it was last written, and how long that took.
    saved: Option<(Instant, Duration)>,
}

impl Recording {
    /// Makes the run directory and proves that it can be written. It is seen from [`Recording::show`] on.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn begin(job: &Job, prepared: &Prepared, context: &Context) -> Result<Self, Problem> {
        let now = Timestamp::now();
        let dir = RunDir::create(&context.runs, &prepared.plan.name, now)?;
        let record = first_record(job, prepared, dir.id(), &now);
        Ok(Self {
            dir,
            record,
            started: Instant::now(),
            latencies: Vec::new(),
            later: Vec::new(),
            shown: false,
            saved: None,
        })
    }

    /// Seconds since the start of the run.
    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Shows the run directory, with what is known so far as a partial run.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn show(&mut self) -> Result<(), Problem> {
        self.shown = true;
        self.save()
    }

    /// Writes `run.json` as it is now, with cells and doubts of what was measured until now: a run that is killed can
    /// be read as far as it came.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn save(&mut self) -> Result<(), Problem> {
        if !self.shown {
            return Ok(());
        }
        let begin = Instant::now();
        self.sum_up();
        pgdyno_record::analyse(&mut self.record, &self.latencies);
        let saved = self.dir.save(&self.record);
        self.saved = Some((Instant::now(), begin.elapsed()));
        saved
    }

    /// The same after a run, unless that took too much of the time: a record grows with its runs, and one of a thousand
    /// takes a tenth of a second. What is not written now is written with a later run, at the latest at the end of the
    /// stage.
    fn save_in_passing(&mut self) -> Result<(), Problem> {
        match self.saved {
            Some((at, took)) if !is_worth_it(at.elapsed(), took) => Ok(()),
            _ => self.save(),
        }
    }

    /// Carries out one stage and records how long it took, also where it failed. None begins after a request to stop.
    ///
    /// # Errors
    /// The stage's own, or that a stop was requested.
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
        let start_s = self.seconds();
        let result = work(self);
        self.add_stage(name, start_s);
        let saved = self.save();
        let result = result?;
        saved.map(|()| result)
    }

    /// A stage that is carried out whatever happened before.
    pub fn stage_always<R>(&mut self, name: &str, work: impl FnOnce() -> R) -> R {
        let start_s = self.seconds();
        let result = work();
        self.add_stage(name, start_s);
        result
    }

    fn add_stage(&mut self, name: &str, start_s: f64) {
        let duration_s = self.seconds() - start_s;
        self.record.stages.push(StageRecord { name: name.to_owned(), start_s, duration_s });
    }

    /// Adds a run of a cell.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn add_run(&mut self, run: CellRun, latency: Histograms) -> Result<(), Problem> {
        match self.record.comparison {
            Some(_) => self.later.push((run.block, run.workload.clone(), latency)),
            None => add_latency(&mut self.latencies, run.workload.clone(), latency),
        }
        let tier = run.durability.as_ref().map(|of_run| of_run.tier);
        if let Some((place, tier)) = self.record.place_of(&run.workload).zip(tier) {
            self.weaken(place, tier);
        }
        self.record.runs.push(run);
        self.save_in_passing()
    }

    /// Notes what was found at a server when all runs were over: since when it was so is not known, so it holds for all
    /// of them.
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

    /// The weakest that was found in any run of a subject is what its server is said to have.
    fn weaken(&mut self, place: usize, tier: DurabilityTier) {
        let server = self.record.subjects.get_mut(place).and_then(|subject| subject.server.as_mut());
        server.into_iter().for_each(|server| server.durability = server.durability.max(tier));
    }

    /// Adds the latencies of the runs that a comparison rests on by now to those of their cells.
    fn sum_up(&mut self) {
        let Some(comparison) = &self.record.comparison else { return };
        let counted = comparison.counted_blocks();
        self.later.retain(|(block, ..)| !comparison.is_same_twice(*block));
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

/// Most of the time that is given to writing the record between two runs: 1 in so many.
const SAVING_SHARE: u32 = 100;

/// Longest time that a run is in its stream alone: a disk that stood still for one writing says nothing of the next.
const LONGEST_UNSAVED: Duration = Duration::from_secs(5);

/// Whether to write what took so long to write, so long ago.
fn is_worth_it(ago: Duration, took: Duration) -> bool {
    ago >= (took * SAVING_SHARE).min(LONGEST_UNSAVED)
}

fn first_record(job: &Job, prepared: &Prepared, id: &str, now: &Timestamp) -> RunRecord {
    RunRecord {
        format: FORMAT.to_owned(),
        version: VERSION,
        status: Status::Partial,
        id: id.to_owned(),
        tool: ToolRecord { version: env!("CARGO_PKG_VERSION").to_owned(), commit: COMMIT.to_owned() },
        command: command(job, prepared.seed),
        started_at: now.to_string(),
        finished_at: None,
        plan: plan_record(job, prepared),
        host: prepared.host.clone(),
        storage: prepared.storage.clone(),
        instrument: prepared.instrument.clone(),
        subjects: first_subjects(job),
        choices: prepared.bench.choices.clone(),
        stages: Vec::new(),
        time: None,
        material: material::first_record(&prepared.material, &prepared.plan.workload),
        runs: Vec::new(),
        cells: Vec::new(),
        noise: None,
        noise_by_script: Vec::new(),
        pgbench: None,
        comparison: job.comparison().map(first_comparison),
        levels: (job.has_several() && job.comparison().is_none()).then(first_levels),
        doubts: Vec::new(),
        error: None,
        seal: None,
    }
}

/// What is known of the subjects before anything is measured.
fn first_subjects(job: &Job) -> Vec<SubjectRecord> {
    let one = |subject: &SubjectJob| {
        let (script, command) = match &subject.work {
            SubjectWork::Plan => (None, None),
            SubjectWork::Script { work, .. } => (Some(work.name.clone()), None),
            SubjectWork::Command(command) => (None, Some(pgdyno_record::redact(&command.text))),
        };
        let (name, said) = (subject.name.clone(), subject.said.clone());
        SubjectRecord { name, said, script, command, ..SubjectRecord::default() }
    };
    job.subjects.iter().map(one).collect()
}

/// What is known of a comparison before anything is measured.
fn first_comparison(compare: &Compare) -> ComparisonRecord {
    ComparisonRecord {
        margin: compare.margin,
        looks: compare.looks.clone(),
        aa_blocks: compare.aa_blocks,
        blocks: Vec::new(),
        block_s: None,
        result: None,
        more_s: None,
        floor: None,
    }
}

/// A difference of levels within ± this share does not matter.
const MARGIN: f64 = 0.02;

fn first_levels() -> LevelsRecord {
    LevelsRecord { margin: MARGIN, judged: 0, list: Vec::new() }
}

/// The command line with the seed, so that it gives the same rows and the same schedule again.
fn command(job: &Job, seed: u64) -> String {
    match job.seed_given {
        true => job.command.clone(),
        false => format!("{} --seed {seed}", job.command),
    }
}

/// The plan as carried out, without address, user or secret.
fn plan_record(job: &Job, prepared: &Prepared) -> PlanRecord {
    let (plan, bench) = (&prepared.plan, &prepared.bench);
    let (server, transport) = match job.servers.first() {
        None => ("none", "none"),
        Some(Wanted::Own(_)) => ("own", "unix"),
        Some(Wanted::External(external)) => match external.drive.address() {
            Address::Unix(..) => ("external", "unix"),
            Address::Tcp(..) => ("external", "tcp"),
        },
    };
    let modes = (0..job.servers.len()).filter_map(|server| load::check_mode(job, prepared, server));
    let balance_check = modes.map(load::CheckMode::name).next().unwrap_or("off");
    PlanRecord {
        name: plan.name.clone(),
        description: plan.description.clone(),
        seed: prepared.seed,
        scale: bench.scale,
        clients: bench.clients.clone(),
        jobs: bench.jobs,
        waiting: Some(prepared.waiting.name().to_owned()),
        duration_ns: plan.measure.duration.as_nanos(),
        warmup_ns: plan.measure.warmup.as_nanos(),
        blocks: job
            .comparison()
            .and_then(|compare| compare.looks.last())
            .map_or(plan.measure.blocks, |look| look.blocks),
        rate_per_s: plan.measure.rate,
        driver_cpus: bench.cpus.driver.clone(),
        server_cpus: bench.cpus.server.clone(),
        // Where servers are is not known of commands that bring their own.
        cores_shared: bench.cpus.shared && !job.servers.is_empty(),
        thorough: plan.measure.thorough,
        thorough_hint: Some(prepared.thorough_hint.clone()),
        balance_check: balance_check.to_owned(),
        server: server.to_owned(),
        transport: transport.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundredth_of_the_time_at_most_is_given_to_writing() {
        let ms = Duration::from_millis;
        assert!(is_worth_it(ms(500), ms(5)) && !is_worth_it(ms(499), ms(5)));
        assert!(is_worth_it(ms(0), ms(0)));
        // A run of 1 s: a small record is written after each, one that takes 30 ms after every third. A disk that stood
        // still for 2 s while it was written holds nothing back for minutes.
        let runs_between = |took| (1..).find(|runs| is_worth_it(ms(1_000) * *runs, took)).expect("some time");
        assert_eq!([ms(4), ms(30), ms(2_000)].map(runs_between), [1, 3, 5]);
    }
}
