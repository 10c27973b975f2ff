//! The record of a run before it starts: the request, and the facts of this machine.

use std::collections::BTreeMap;

use jiff::Timestamp;
use pgdyno_plan::{Order, SqlText, WorkloadFiles, WorkloadPlan};
use pgdyno_record::{
    ComparisonRecord, LevelsRecord, PlanRecord, RunRecord, SetupRecord, SubjectRecord, TextRecord, TimedLoad,
    WeightedText, WorkloadFilesRecord, WorkloadRecord, redact_sql,
};
use pgdyno_script::Definition;
use pgdyno_wire::Address;
use sha2::{Digest, Sha256};

use crate::{Job, Prepared, Program, SubjectJob, SubjectWork, Wanted, digest::digest};

/// Creates the record of a run before it starts.
pub fn first_record(
    job: &Job,
    prepared: &Prepared,
    program: &Program,
    id: &str,
    now: &Timestamp,
) -> RunRecord {
    let command = command(job, prepared.seed);
    let plan = plan_record(job, prepared);
    RunRecord {
        storage: prepared.storage.clone(),
        instrument: prepared.instrument.clone(),
        subjects: first_subjects(job),
        choices: prepared.bench.choices.clone(),
        material: material(&job.workload_files, &prepared.plan.workload),
        comparison: first_comparison(job),
        levels: first_levels(job),
        declared: prepared.plan.storage.declared(),
        ..RunRecord::begin((id, now), program.record(), command, plan, prepared.host.clone())
    }
}

/// Creates the record of a resumed run: measurements are kept, everything else is determined again.
pub fn resumed_record(job: &Job, prepared: &Prepared, program: &Program, known: RunRecord) -> RunRecord {
    let started = known.started_at.parse().unwrap_or_else(|_| Timestamp::now());
    let fresh = first_record(job, prepared, program, &known.id, &started);
    let comparison = fresh.comparison.map(|fresh| match known.comparison {
        Some(known) => resumed_comparison(known, fresh),
        None => fresh,
    });
    RunRecord {
        started_at: known.started_at,
        plan: PlanRecord { digest: known.plan.digest, ..fresh.plan },
        stages: known.stages,
        starts: known.starts,
        operations: known.operations,
        runs: known.runs,
        resumed: known.resumed,
        profiles: known.profiles,
        comparison,
        ..fresh
    }
}

/// A comparison with the whole blocks of its earlier part.
fn resumed_comparison(known: ComparisonRecord, fresh: ComparisonRecord) -> ComparisonRecord {
    let is_of_block = |load: &TimedLoad| known.blocks.iter().any(|block| block.number == load.block);
    let loads = known.loads.into_iter().filter(is_of_block).collect();
    ComparisonRecord { loads, blocks: known.blocks, block_s: known.block_s, ..fresh }
}

/// Records of the subjects before anything is measured.
fn first_subjects(job: &Job) -> Vec<SubjectRecord> {
    let one = |subject: &SubjectJob| {
        let (script, command) = match &subject.work {
            SubjectWork::Plan | SubjectWork::Load => (None, None),
            SubjectWork::Storage(storage) => (None, Some(storage.words())),
            SubjectWork::Script { work, .. } => (Some(work.name.clone()), None),
            SubjectWork::Command(command) => (None, Some(pgdyno_record::redact(&command.text))),
        };
        let (name, said) = (subject.name.clone(), subject.said.clone());
        SubjectRecord { name, said, script, command, ..SubjectRecord::default() }
    };
    job.subjects.iter().map(one).collect()
}

/// The record of the files before anything runs.
fn material(files: &WorkloadFiles, workloads: &[WorkloadPlan]) -> Option<WorkloadFilesRecord> {
    if !files.is_own() {
        return None;
    }
    let setup = files.setup.as_ref().map(|setup| SetupRecord {
        texts: setup.texts.iter().map(text).collect(),
        variables: variables(&setup.definitions),
    });
    let own = files.work.iter().zip(workloads).filter(|(work, _)| work.is_own());
    let workloads = own.map(|(work, plan)| WorkloadRecord {
        name: work.name.clone(),
        protocol: plan.protocol.name().to_owned(),
        scripts: work.texts.iter().zip(&work.weights).map(weighted).collect(),
        variables: variables(&work.definitions),
        reset: work.reset.as_ref().and_then(|reset| reset.texts.first()).map(text),
    });
    Some(WorkloadFilesRecord { setup, workloads: workloads.collect() })
}

fn weighted((of, &weight): (&SqlText, &u32)) -> WeightedText {
    WeightedText { weight, text: text(of) }
}

fn variables(definitions: &[Definition]) -> BTreeMap<String, String> {
    definitions.iter().map(|one| (one.name.clone(), redact_sql(&one.value))).collect()
}

fn text(of: &SqlText) -> TextRecord {
    let hash = Sha256::digest(of.text.as_bytes());
    TextRecord {
        name: of.name.clone(),
        sha256: hash.iter().map(|byte| format!("{byte:02x}")).collect(),
        text: redact_sql(&of.text),
    }
}

/// Record of a comparison before anything is measured; `None` for other questions.
fn first_comparison(job: &Job) -> Option<ComparisonRecord> {
    let compare = job.comparison()?;
    Some(ComparisonRecord {
        by: compare.by,
        margin: job.plan.measure.margin.share(),
        looks: compare.looks.clone(),
        blocks: Vec::new(),
        loads: Vec::new(),
        block_s: None,
        result: None,
        more_s: None,
        idle_cpus: None,
        starts: None,
        keep_disturbed: compare.keep_disturbed,
        a_per_s: None,
        b_per_s: None,
        too_disturbed: false,
        floor: None,
    })
}

/// Record of several subjects' levels before anything is measured; `None` with one subject, and for a comparison.
fn first_levels(job: &Job) -> Option<LevelsRecord> {
    let margin = job.plan.measure.margin.share();
    let levels = LevelsRecord { margin, judged: 0, scripts: Vec::new(), list: Vec::new() };
    (job.has_several() && job.comparison().is_none()).then_some(levels)
}

/// The command line with the seed, so that it reproduces the same rows and the same schedule.
fn command(job: &Job, seed: u64) -> String {
    match job.seed_given {
        true => job.command.clone(),
        false => format!("{} --seed {seed}", job.command),
    }
}

/// The resolved plan, without address, user or secret.
pub fn plan_record(job: &Job, prepared: &Prepared) -> PlanRecord {
    let (plan, bench) = (&prepared.plan, &prepared.bench);
    let (server, transport) = match job.servers.first() {
        None => ("none", "none"),
        Some(Wanted::Own(_)) => ("own", "unix"),
        Some(Wanted::External(external)) => match external.drive.address() {
            Address::Unix(..) => ("external", "unix"),
            Address::Tcp(..) => ("external", "tcp"),
        },
    };
    let balance_check = prepared.balance_checks.iter().flatten().next().map_or("off", |mode| mode.name());
    PlanRecord {
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
        blocks_per_start: prepared.blocks_per_start,
        slots: job.has_slots(),
        rate_per_s: plan.measure.rate,
        driver_cpus: bench.cpus.driver.clone(),
        server_cpus: bench.cpus.server.clone(),
        // Commands that bring their own servers may run them on any CPU.
        cores_shared: bench.cpus.shared && !job.servers.is_empty(),
        thorough: plan.measure.thorough,
        thorough_hint: Some(prepared.thorough_hint.clone()),
        digest: Some(digest(job)),
        balance_check: balance_check.to_owned(),
        server: server.to_owned(),
        transport: transport.to_owned(),
        given_order: plan.measure.order == Order::Given,
        ..PlanRecord::new(&plan.name, &plan.description)
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_analysis::compare::{ComparedRate, looks};
    use pgdyno_plan::{Plan, advice::bench::Level};

    use super::*;
    use crate::{Compare, Question};

    fn job(question: Question) -> Job {
        let text = "name = \"x\"\n[[workload]]\nscript = \"select-only\"\n[measure]\nmargin = \"5%\"\n";
        let plan = Plan::from_toml(text, "x.toml").expect("it is a plan");
        Job {
            workload_files: WorkloadFiles::without_files(&plan).expect("built-in scripts alone"),
            plan,
            trust: false,
            level: Level::Screening,
            servers: Vec::new(),
            subjects: vec![SubjectJob::only(), SubjectJob::only()],
            question,
            command: String::new(),
            seed_given: false,
            keep: false,
            allow_host_changes: false,
        }
    }

    #[test]
    fn the_margin_of_a_plan_is_that_of_its_verdicts() {
        let levels = job(Question::Levels);
        assert_eq!(first_levels(&levels).expect("two subjects").margin, 0.05);
        assert_eq!(first_comparison(&levels), None);
        let compare = job(Question::Comparison(Compare {
            looks: looks(16),
            by: ComparedRate::Tps,
            keep_disturbed: false,
            slots: false,
            fail_if_slower: false,
        }));
        assert_eq!(first_comparison(&compare).expect("a comparison").margin, 0.05);
        assert_eq!(first_levels(&compare), None);
    }
}
