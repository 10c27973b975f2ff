//! Tests the rules of comparisons in blocks, each with a fault that it must find.

use pgdyno_core::{
    facts::ServerFacts,
    measure::{Arm, CellRun},
    results::{ComparedRate, Disturbance},
};

use pgdyno_record::{BlockRecord, Status};

use super::{
    samples::{run, server},
    *,
};
use crate::{
    DoubtKind,
    compare::{floor, judge as compare, looks},
};

/// Kinds of doubt that only comparisons have.
pub const OWN: [DoubtKind; 4] =
    [DoubtKind::BuildDiffers, DoubtKind::TestsDisagree, DoubtKind::DependentBlocks, DoubtKind::OneStart];

/// Input of the rules, which a test may modify.
struct Case {
    a: ServerFacts,
    b: ServerFacts,
    runs: Vec<CellRun>,
    differences: Vec<f64>,
    cores_shared: bool,
    starts: bool,
    complete: bool,
    balance: Option<u64>,
}

fn clean() -> Case {
    let differences = vec![0.05, 0.06, 0.05, 0.04, 0.05, 0.06, 0.04, 0.05];
    let both = differences.iter().flat_map(|d: &f64| [(Arm::A, 1_000.0), (Arm::B, 1_000.0 * d.exp())]);
    let runs = both.map(|(arm, tps)| {
        let mut run = run("tpcb-like", 8, tps);
        run.workload.subject = Some(arm.letter().into());
        run
    });
    Case {
        a: server(),
        b: server(),
        runs: runs.collect(),
        differences: differences.clone(),
        cores_shared: false,
        starts: true,
        complete: true,
        balance: Some(0),
    }
}

fn doubts(case: &Case) -> Vec<Doubt> {
    let subject = |name: &str, server: &ServerFacts| SubjectRecord {
        name: name.into(),
        server: Some(server.clone()),
        own_server: Some(format!("ab-1-{name}")),
        balance: case.balance.map(|violations| samples::balance((1_000, violations))),
        ..SubjectRecord::default()
    };
    let mut record = samples::record(case.runs.clone(), vec![subject("A", &case.a), subject("B", &case.b)]);
    record.plan.thorough = false;
    record.plan.cores_shared = case.cores_shared;
    record.plan.blocks_per_start = case.starts.then_some(2);
    record.plan.scale = Some(8);
    record.status = if case.complete { Status::Complete } else { Status::Partial };
    record.comparison = Some(comparison(case));
    judge(&record)
}

/// The results of A and B in pairs, with the comparison's result and the noise floor of the case.
fn comparison(case: &Case) -> ComparisonRecord {
    let looks = looks(case.differences.len() as u32);
    let block = |(number, pair): (usize, &[CellRun])| {
        BlockRecord::new(number as u32 + 1, Arm::A, 0.0, [pair[0].tps, pair[1].tps])
    };
    ComparisonRecord {
        by: ComparedRate::Tps,
        loads: Vec::new(),
        margin: 0.02,
        blocks: case.runs.chunks_exact(2).enumerate().map(block).collect(),
        block_s: None,
        result: compare(&case.differences, &looks, 0.02),
        more_s: None,
        idle_cpus: None,
        starts: None,
        keep_disturbed: false,
        a_per_s: None,
        b_per_s: None,
        too_disturbed: false,
        floor: floor(&case.differences, looks[looks.len() - 1], 0.03),
        looks,
    }
}

fn kinds(case: &Case) -> Vec<DoubtKind> {
    doubts(case).iter().map(|doubt| doubt.kind).collect()
}

#[test]
fn a_careful_comparison_has_no_doubt() {
    assert_eq!(doubts(&clean()), []);
}

type Fault = (DoubtKind, fn(&mut Case));

#[test]
fn every_fault_gives_its_doubt_and_no_other() {
    let faults: [Fault; 11] = [
        (DoubtKind::BuildDiffers, |case| case.b.build.compiler = Some("clang 19".into())),
        (DoubtKind::TooFewBlocks, |case| case.differences.truncate(5)),
        (DoubtKind::TestsDisagree, |case| [0, 7].into_iter().for_each(|at| case.differences[at] = 0.9)),
        (DoubtKind::DependentBlocks, |case| {
            case.differences = (0..12).map(|at| 0.03 + 0.005 * f64::from(at)).collect();
        }),
        (DoubtKind::OneStart, |case| case.starts = false),
        (DoubtKind::CoresShared, |case| case.cores_shared = true),
        (DoubtKind::Partial, |case| case.complete = false),
        (DoubtKind::UnsteadyBlocks, |case| case.runs[1].tps /= 17.0),
        (DoubtKind::NotChecked, |case| case.balance = None),
        (DoubtKind::BalanceViolated, |case| case.balance = Some(1)),
        (DoubtKind::UnevenCheckpoints, |case| {
            let of_b = case.runs.iter_mut().filter(|run| run.workload.subject.as_deref() == Some("B"));
            of_b.for_each(|run| run.io.as_mut().expect("a sample has it").checkpoints = Some(1));
        }),
    ];
    for (kind, fault) in faults {
        let mut case = clean();
        fault(&mut case);
        let mut found = kinds(&case);
        found.dedup();
        assert_eq!(found, [kind], "{:#?}", doubts(&case));
        assert!(doubts(&case).iter().all(|doubt| doubt.detail.len() > 20 && doubt.advice.ends_with('.')));
    }
}

/// Blocks that do not count keep their numbers in the table, and a doubt names blocks by these.
#[test]
fn a_doubt_names_blocks_by_their_numbers() {
    let mut case = clean();
    case.runs.iter_mut().skip(6).for_each(|run| run.tps /= 17.0);
    let mut comparison = comparison(&case);
    comparison.blocks[0].disturbed = Some(Disturbance::OtherLoad { cpus: 1.0 });
    let doubt = super::comparison::unsteady_blocks(&comparison).expect("it fell");
    assert!(doubt.detail.contains("between its blocks 3 and 4"), "{doubt:?}");
    comparison.result = None;
    let doubt = super::comparison::too_few_blocks(&comparison).expect("they are in no whole start");
    assert!(doubt.detail.starts_with("only 7 blocks of A and B, 0 of them in whole starts"), "{doubt:?}");
    comparison.too_disturbed = true;
    let doubt = super::comparison::too_few_blocks(&comparison).expect("they are in no whole start");
    assert!(doubt.advice.contains("--keep-disturbed"), "{doubt:?}");
}

#[test]
fn what_concerns_one_server_names_its_arm() {
    let mut case = clean();
    case.b.build.cflags = Some("-Os".into());
    let found = doubts(&case);
    let small = found.iter().find(|doubt| doubt.kind == DoubtKind::BuildNotOptimised).expect("it is -Os");
    assert!(small.detail.starts_with("B: PostgreSQL 18.4 was compiled with -Os"), "{small:?}");
    let differs = found.iter().find(|doubt| doubt.kind == DoubtKind::BuildDiffers).expect("it does");
    assert!(!differs.detail.contains("version"), "{differs:?}");
}

#[test]
fn a_script_of_ones_own_needs_no_check() {
    let mut case = Case { balance: None, ..clean() };
    case.runs.iter_mut().for_each(|run| run.workload.script = "my.sql".into());
    assert_eq!(kinds(&case), []);
}

#[test]
fn an_external_command_leaves_nothing_to_see() {
    let case = Case { runs: Vec::new(), balance: None, ..clean() };
    assert_eq!(kinds(&case), []);
}

/// Loads are no runs of the driver: what is said of them is in rows, and in blocks.
#[test]
fn doubts_about_loads_have_their_units() {
    let mut case = clean();
    case.runs[1].tps /= 17.0;
    let comparison = ComparisonRecord { by: ComparedRate::LoadedRows, ..comparison(&case) };
    let doubt = super::comparison::unsteady_blocks(&comparison).expect("it fell");
    assert!(doubt.detail.starts_with("Rows loaded per second of B "), "{doubt:?}");
    let blocks = comparison.blocks.len();
    let mut record = samples::record(Vec::new(), Vec::new());
    (record.comparison, record.status) = (Some(comparison), Status::Partial);
    let doubt = super::attempts::partial(&record).expect("it is");
    assert_eq!(doubt.detail, format!("the run did not complete: {blocks} blocks were measured"));
}

#[test]
fn the_rates_of_the_arms_are_those_of_the_blocks_that_count() {
    let case = clean();
    let mut record = samples::record(Vec::new(), Vec::new());
    record.comparison = Some(ComparisonRecord { by: ComparedRate::LoadedRows, ..comparison(&case) });
    crate::analyse(&mut record, &[]);
    let comparison = record.comparison.expect("it stays");
    let counted = comparison.counted_blocks();
    let of_a: Vec<f64> = comparison
        .blocks
        .iter()
        .filter(|of| counted.contains(&(of.number - 1)))
        .map(|of| of.a_per_s)
        .collect();
    let a = comparison.a_per_s.expect("there are blocks");
    assert_eq!((a.count, counted.len()), (of_a.len() as u64, of_a.len()));
    assert!((a.value - of_a.iter().sum::<f64>() / of_a.len() as f64).abs() < 1e-6, "{a:?}");
    assert!(comparison.b_per_s.is_some_and(|b| b.half_width.is_some()));
}
