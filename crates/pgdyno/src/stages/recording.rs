//! The record of a run while it comes about.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use pgdyno_analysis::{
    Doubt,
    cells::{self, Histograms},
    compare, doubts,
    noise::Noise,
};
use pgdyno_core::{
    facts::{DurabilityTier, Instrument, is_private_setting},
    measure::{Arm, CellRun, Workload},
    problem::Problem,
    stop::Stop,
};
use pgdyno_plan::BalanceCheckMode;
use pgdyno_record::{
    BalanceRecord, ComparisonRecord, ConsistencyRecord, FORMAT, PlanRecord, RunDir, RunRecord, ScriptNoise,
    StageRecord, Status, SubjectsRecord, TimeRecord, ToolRecord, VERSION,
};
use pgdyno_wire::Address;

use super::{Job, Wanted, ab, material, prepare::Prepared, subject::Subject, subjects};
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
    thorough_hint: String,
    cores_shared: bool,
    instrument: Option<Instrument>,
    bundle_pinned: Option<bool>,
    /// The same of the arms of a comparison.
    pub(super) arms_pinned: [Option<bool>; 2],
    /// The same of several subjects.
    pub(super) subjects_pinned: Vec<Option<bool>>,
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
            thorough_hint: prepared.thorough_hint.clone(),
            // Where servers are is not known of commands that bring their own.
            cores_shared: prepared.bench.cpus.shared && !job.servers.is_empty(),
            instrument: prepared.instrument.clone(),
            bundle_pinned: None,
            arms_pinned: [None; 2],
            subjects_pinned: Vec::new(),
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
        self.summarise();
        subjects::conclude(&mut self.record);
        self.record.time = TimeRecord::of(&self.record.stages, &self.record.runs);
        self.record.doubts = match (&self.record.comparison, &self.record.subjects) {
            (Some(comparison), _) => self.judge_comparison(comparison),
            (None, Some(subjects)) => self.judge_subjects(subjects),
            (None, None) => doubts::judge(&self.evidence()),
        };
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

    /// Records the server.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn set_server(&mut self, subject: &Subject) -> Result<(), Problem> {
        self.record.server = Some(subject.facts.clone());
        let public = subject.choices.iter().filter(|choice| !is_private_setting(&choice.name));
        self.record.choices.extend(public.cloned());
        self.bundle_pinned = subject.bundle_pinned;
        self.show()
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
        if let Some(tier) = run.durability.as_ref().map(|of_run| of_run.tier) {
            self.weaken(&run.workload, tier);
        }
        self.record.runs.push(run);
        self.save_in_passing()
    }

    /// Notes what was found at a server when all runs were over: since when it was so is not known, so it holds for all
    /// of them.
    pub fn weaken_all(&mut self, tier: DurabilityTier, is_there: impl Fn(&Workload) -> bool) {
        let mut concerned: Vec<Workload> = Vec::new();
        for run in self.record.runs.iter_mut().filter(|run| is_there(&run.workload)) {
            if let Some(of_run) = run.durability.as_mut().filter(|of_run| of_run.tier < tier) {
                of_run.tier = tier;
                of_run.because.insert(0, format!("{} when all runs were over", tier.short()));
                concerned.push(run.workload.clone());
            }
        }
        concerned.iter().for_each(|workload| self.weaken(workload, tier));
    }

    /// The weakest that was found in any run at a server is what it is said to have.
    fn weaken(&mut self, workload: &Workload, tier: DurabilityTier) {
        let RunRecord { server, comparison, subjects, .. } = &mut self.record;
        let server = match (workload.arm, &workload.subject) {
            (Some(arm), _) => {
                let arm = comparison.as_mut().and_then(|of| of.arms.get_mut(arm.index()));
                arm.and_then(|arm| arm.server.as_mut())
            }
            (None, Some(name)) => {
                let mut list = subjects.iter_mut().flat_map(|subjects| &mut subjects.list);
                list.find(|of| of.name == *name).and_then(|of| of.server.as_mut())
            }
            (None, None) => server.as_mut(),
        };
        server.into_iter().for_each(|server| server.durability = server.durability.max(tier));
    }

    /// Sums the cells up, as far as there are any: those of a comparison over the blocks that its result rests on.
    fn summarise(&mut self) {
        self.record.cells = match &self.record.comparison {
            None => cells::summarise(&self.record.runs, &self.latencies),
            Some(comparison) => {
                let counted = comparison.counted_blocks();
                self.later.retain(|(block, ..)| !comparison.is_same_twice(*block));
                let (now, later): (Vec<_>, Vec<_>) = std::mem::take(&mut self.later)
                    .into_iter()
                    .partition(|(block, ..)| counted.contains(block));
                self.later = later;
                for (_, workload, latency) in now {
                    add_latency(&mut self.latencies, workload, latency);
                }
                cells::summarise(&self.record.counted_runs(), &self.latencies)
            }
        };
        self.record.noise = Noise::of(&self.record.runs).map(Into::into);
        self.record.noise_by_script = ScriptNoise::of(&self.record.runs);
    }

    /// What is known of the run when it is judged.
    fn evidence(&self) -> doubts::Evidence<'_> {
        let record = &self.record;
        doubts::Evidence {
            thorough: record.plan.thorough,
            thorough_hint: Some(&self.thorough_hint),
            complete: record.status == Status::Complete,
            cores_shared: self.cores_shared,
            ceiling: self.ceiling(),
            scale: record.plan.scale,
            server: record.server.as_ref(),
            bundle_pinned: self.bundle_pinned,
            runs: &record.runs,
            cells: &record.cells,
            balance: record.balance.as_ref().map(balance_evidence),
            consistency: record.consistency.as_ref().map(consistency_evidence),
        }
    }

    /// The same with several subjects.
    fn judge_subjects(&self, subjects: &SubjectsRecord) -> Vec<Doubt> {
        let pinned = self.subjects_pinned.iter().copied().chain(std::iter::repeat(None));
        let list = subjects.list.iter().zip(pinned);
        let subjects: Vec<_> = list
            .map(|(of, bundle_pinned)| compare::subjects::SubjectEvidence {
                name: &of.name,
                server: of.server.as_ref(),
                bundle_pinned,
                balance: of.balance.as_ref().map(balance_evidence),
                consistency: of.consistency.as_ref().map(consistency_evidence),
            })
            .collect();
        compare::subjects::judge(&self.evidence(), &subjects)
    }

    fn ceiling(&self) -> Option<doubts::CeilingEvidence<'_>> {
        let (instrument, plan) = (self.instrument.as_ref()?, &self.record.plan);
        Some(doubts::CeilingEvidence { instrument, waiting: plan.waiting.as_deref()?, jobs: plan.jobs })
    }

    /// The same for a comparison.
    fn judge_comparison(&self, comparison: &ComparisonRecord) -> Vec<Doubt> {
        let record = &self.record;
        let arm = |arm: Arm| {
            let Some(of_arm) = comparison.arm(arm) else { return compare::doubts::ArmEvidence::default() };
            compare::doubts::ArmEvidence {
                server: of_arm.server.as_ref(),
                bundle_pinned: self.arms_pinned[arm.index()],
                balance: of_arm.balance.as_ref().map(balance_evidence),
            }
        };
        let rates = comparison.rates();
        compare::doubts::judge(&compare::doubts::Evidence {
            complete: record.status == Status::Complete,
            cores_shared: self.cores_shared,
            ceiling: self.ceiling(),
            scale: record.plan.scale,
            rates: [&rates[0], &rates[1]],
            arms: Arm::BOTH.map(arm),
            runs: &record.runs,
            cells: &record.cells,
            result: comparison.result.as_ref(),
            floor: comparison.floor.as_ref(),
        })
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

fn balance_evidence(balance: &BalanceRecord) -> doubts::CheckEvidence<'_> {
    doubts::CheckEvidence {
        rows_examined: balance.rows_examined,
        violations: balance.violations,
        examples: &balance.examples,
    }
}

fn consistency_evidence(checked: &ConsistencyRecord) -> doubts::CheckEvidence<'_> {
    doubts::CheckEvidence {
        rows_examined: checked.rows_examined,
        violations: checked.violations,
        examples: &checked.examples,
    }
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
        sync_check: None,
        server: None,
        connection: match job.subjects {
            None => prepared.reached(0).map(|reached| reached.connection.clone()),
            Some(_) => None,
        },
        choices: prepared.bench.choices.clone(),
        stages: Vec::new(),
        time: None,
        load: None,
        held: None,
        material: material::first_record(&prepared.material, &prepared.plan.workload),
        runs: Vec::new(),
        cells: Vec::new(),
        balance: None,
        consistency: None,
        noise: None,
        noise_by_script: Vec::new(),
        pgbench: None,
        comparison: job.compare.as_ref().map(ab::first_record),
        subjects: job.subjects.as_ref().map(subjects::first_record),
        doubts: Vec::new(),
        error: None,
        seal: None,
    }
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
    let checked = |compare: &ab::Compare| (0..job.servers.len()).any(|server| compare.is_checked(server));
    let balance_check = match bench.balance {
        _ if job.compare.as_ref().is_some_and(checked) => "sums",
        BalanceCheckMode::Full | BalanceCheckMode::Touched if job.subjects.is_some() => "sums",
        BalanceCheckMode::Full => "full",
        BalanceCheckMode::Touched => "touched",
        BalanceCheckMode::Off | BalanceCheckMode::Auto => "off",
    };
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
        blocks: job.compare.as_ref().map_or(plan.measure.blocks, ab::Compare::blocks),
        rate_per_s: plan.measure.rate,
        driver_cpus: bench.cpus.driver.clone(),
        server_cpus: bench.cpus.server.clone(),
        thorough: plan.measure.thorough,
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
