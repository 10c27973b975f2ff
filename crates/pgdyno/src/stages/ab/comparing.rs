//! The comparison's part of the record while it comes about.

use pgdyno_analysis::compare::{self, Comparable, Floor, LoadedData, Side, Verdict, judge, outliers};
use pgdyno_core::{
    facts::{Choice, is_private_setting},
    measure::Arm,
    problem::Problem,
};
use pgdyno_record::{ArmRecord, BlockKind, BlockRecord, ComparisonRecord, RunRecord};

use super::{ArmJob, Compare, Work};
use crate::stages::{prepare::Prepared, recording::Recording, subject::Subject};

/// What is known before anything is measured.
pub fn first_record(compare: &Compare) -> ComparisonRecord {
    ComparisonRecord {
        margin: compare.margin,
        looks: compare.looks.clone(),
        aa_blocks: compare.aa_blocks,
        arms: compare.arms.iter().map(first_of_arm).collect(),
        blocks: Vec::new(),
        block_s: None,
        result: None,
        more_s: None,
        floor: None,
        comparable: None,
        differences: Vec::new(),
    }
}

fn first_of_arm(arm: &ArmJob) -> ArmRecord {
    let (script, command) = match &arm.work {
        Work::Script { name, .. } => (Some(name.clone()), None),
        Work::Command(command) => (None, Some(pgdyno_record::redact(&command.text))),
    };
    ArmRecord { said: arm.said.clone(), script, command, ..ArmRecord::default() }
}

/// Records the servers, in the order of the job, and in what they differ.
///
/// # Errors
/// Where it cannot be written.
pub fn set_servers(
    recording: &mut Recording,
    compare: &Compare,
    prepared: &Prepared,
    servers: Vec<&Subject>,
) -> Result<(), Problem> {
    for arm in Arm::BOTH {
        let Some(subject) = compare.arm(arm).server.map(|at| servers[at]) else { continue };
        recording.arms_pinned[arm.index()] = subject.bundle_pinned;
        let public = subject.choices.iter().filter(|choice| !is_private_setting(&choice.name));
        let choices: Vec<_> = public.cloned().collect();
        let Some(comparison) = &mut recording.record.comparison else { continue };
        comparison.arms[arm.index()].storage = prepared.storage_elsewhere(subject);
        comparison.arms[arm.index()].server = Some(subject.facts.clone());
        comparison.arms[arm.index()].choices = choices;
        let reached = compare.arm(arm).server.and_then(|at| prepared.reached(at));
        comparison.arms[arm.index()].connection = reached.map(|reached| reached.connection.clone());
    }
    if let Some(comparison) = &mut recording.record.comparison
        && let [a, b] = &mut comparison.arms[..]
    {
        recording.record.choices.extend(told_once(a, b, &recording.record.choices));
    }
    judge_subjects(recording, compare, prepared);
    recording.show()
}

/// Says anew whether A and B can be compared, by what is in the record until now.
pub fn judge_subjects(recording: &mut Recording, compare: &Compare, prepared: &Prepared) {
    let [a, b] = Arm::BOTH.map(|arm| side(&recording.record, compare, prepared, arm));
    let (comparable, differences) = match compare.has_one_server() {
        true => Comparable::of_one_server(&a, &b, &compare.asked),
        false => Comparable::judge(&a, &b, &compare.asked),
    };
    if let Some(comparison) = &mut recording.record.comparison {
        (comparison.comparable, comparison.differences) = (Some(comparable), differences);
    }
}

/// What is known of an arm.
fn side<'a>(record: &'a RunRecord, compare: &Compare, prepared: &'a Prepared, arm: Arm) -> Side<'a> {
    let Some(of_arm) = record.comparison.as_ref().and_then(|comparison| comparison.arm(arm)) else {
        return Side::default();
    };
    let data = of_arm.load.as_ref().zip(record.plan.scale).map(|(load, scale)| LoadedData {
        scale,
        rows: load.rows,
        load: load.words(),
        in_buffers: load.prewarm.is_some(),
        size_bytes: load.size_bytes,
        accounts: load.accounts.clone(),
    });
    Side {
        server: of_arm.server.as_ref(),
        connection: of_arm.way(),
        storage: prepared.storage_of(of_arm.server.as_ref(), of_arm.storage.as_ref()),
        data,
        clients: record.plan.clients.first().copied(),
        processors: compare.arm(arm).server.and_then(|server| prepared.processors_of(server)),
        chosen: &of_arm.choices,
    }
}

/// Takes from both arms what was chosen for both alike, and what stands among `known` already; gives the former.
fn told_once(a: &mut ArmRecord, b: &mut ArmRecord, known: &[Choice]) -> Vec<Choice> {
    let same = |one: &Choice, other: &Choice| (&one.name, &one.value) == (&other.name, &other.value);
    for arm in [&mut *a, &mut *b] {
        arm.choices.retain(|choice| !known.iter().any(|known| same(known, choice)));
    }
    let in_both = |choice: &&Choice| b.choices.iter().any(|other| same(other, choice));
    let shared: Vec<_> = a.choices.iter().filter(in_both).cloned().collect();
    for arm in [a, b] {
        arm.choices.retain(|choice| !shared.iter().any(|shared| same(shared, choice)));
    }
    shared
}

/// Changes the record of every arm that has this server.
pub fn set_of_server(
    recording: &mut Recording,
    compare: &Compare,
    server: usize,
    mut set: impl FnMut(&mut ArmRecord),
) {
    let Some(comparison) = &mut recording.record.comparison else { return };
    let arms = compare.arms.iter().zip(&mut comparison.arms);
    arms.filter(|(arm, _)| arm.server == Some(server)).for_each(|(_, record)| set(record));
}

/// Adds a block, and says anew what all of them come to.
///
/// # Errors
/// Where it cannot be written.
pub fn add_block(recording: &mut Recording, block: BlockRecord, block_s: f64) -> Result<(), Problem> {
    let record = &mut recording.record;
    if let Some(comparison) = &mut record.comparison {
        comparison.blocks.push(block);
        comparison.block_s = Some(block_s);
        conclude(comparison, record.runs.iter().map(|run| run.counts.committed).min());
    }
    recording.save()
}

/// Whether there is an answer, so that no more blocks are needed.
pub fn is_settled(recording: &Recording) -> bool {
    let comparison = recording.record.comparison.as_ref();
    comparison.and_then(|comparison| comparison.result.as_ref()).is_some_and(compare::Comparison::is_settled)
}

/// `fewest` are the fewest commits of a run that pgdyno itself drove.
fn conclude(comparison: &mut ComparisonRecord, fewest: Option<u64>) {
    for kind in [BlockKind::Ab, BlockKind::Aa] {
        let wild = outliers(&comparison.ln_ratios(kind));
        let blocks = comparison.blocks.iter_mut().filter(|block| block.kind == kind);
        blocks.zip(wild).for_each(|(block, wild)| block.outlier = wild);
    }
    let result = judge(&comparison.ln_ratios(BlockKind::Ab), &comparison.looks, comparison.margin);
    let result = result.map(|result| result.resting_on(fewest));
    let more = match result.as_ref().map(|result| result.verdict) {
        Some(Verdict::CannotTell { more_blocks }) => more_blocks,
        _ => None,
    };
    comparison.more_s = more.zip(comparison.block_s).map(|(more, block_s)| f64::from(more) * block_s);
    comparison.result = result;
    let last = comparison.looks.last().copied();
    comparison.floor = last.and_then(|last| Floor::of(&comparison.ln_ratios(BlockKind::Aa), last));
}
