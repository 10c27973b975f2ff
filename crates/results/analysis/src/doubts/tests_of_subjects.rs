//! Tests the rules with several subjects.

use pgdyno_core::{facts::ServerFacts, measure::CellRun};

use super::{
    samples::{run, server},
    *,
};
use crate::{
    DoubtKind,
    compare::{Levels, levels},
};
use pgdyno_record::LevelsRecord;

/// Kinds of doubt that only several subjects have.
pub const OWN: [DoubtKind; 1] = [DoubtKind::BaselineAlone];

fn kinds(runs: &[CellRun], servers: [&ServerFacts; 2]) -> Vec<(DoubtKind, String)> {
    let subject = |name: &str, server: &ServerFacts| SubjectRecord {
        name: name.into(),
        server: Some(server.clone()),
        ..SubjectRecord::default()
    };
    let record = samples::record(runs.to_vec(), vec![subject("old", servers[0]), subject("new", servers[1])]);
    judge(&record).into_iter().map(|doubt| (doubt.kind, doubt.detail)).collect()
}

fn runs() -> Vec<CellRun> {
    let of = |subject: &str, block| {
        let mut run = run("select-only", 4, 1_000.0);
        run.workload.subject = Some(subject.to_owned());
        CellRun { block, ..run }
    };
    (0..5).flat_map(|block| [of("old", block), of("new", block)]).collect()
}

#[test]
fn a_careful_run_has_no_doubt() {
    assert_eq!(kinds(&runs(), [&server(), &server()]), []);
}

#[test]
fn what_concerns_a_server_is_said_with_its_name() {
    let mut other = server();
    other.build.cflags = Some("-O0".into());
    let found = kinds(&runs(), [&server(), &other]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].0 == DoubtKind::BuildDiffers && found[0].1.starts_with("old and new were built"));
    assert!(found[1].0 == DoubtKind::BuildNotOptimised && found[1].1.starts_with("new: "));
}

#[test]
fn blocks_that_jump_are_seen_by_subject() {
    let mut runs = runs();
    runs.iter_mut().filter(|run| run.block > 2).for_each(|run| {
        run.tps *= if run.workload.subject.as_deref() == Some("new") { 3.0 } else { 1.0 };
    });
    let found = kinds(&runs, [&server(), &server()]);
    assert_eq!(found.len(), 1, "{found:?}");
    let detail = "TPS of new select-only/4 rose from 1,000 to 3,000 between its blocks 3 and 4";
    assert_eq!(found[0], (DoubtKind::UnsteadyBlocks, detail.to_owned()));
}

/// Two others are a tenth faster than the baseline and like each other; or one of them is faster still.
#[test]
fn a_baseline_that_differs_from_all_others_is_doubted() {
    let found = |factors: [f64; 3]| {
        let names = ["first", "second", "third"];
        let of = |(block, clients): (u32, u32)| {
            let noise = [1.002, 0.999, 1.001, 0.998, 1.0][(block + clients) as usize % 5];
            names.into_iter().zip(factors).map(move |(name, factor)| {
                let tps = 1_000.0 * factor * if factor == 1.0 { 1.0 } else { noise };
                let mut run = run("select-only", clients, tps);
                run.workload.subject = Some(name.to_owned());
                CellRun { block, ..run }
            })
        };
        let levels_of = |block| [(block, 4), (block, 8)];
        let runs: Vec<_> = (0..5).flat_map(levels_of).flat_map(of).collect();
        let subject = |name: &str| SubjectRecord { name: name.into(), ..SubjectRecord::default() };
        let mut record = samples::record(runs, names.map(subject).into());
        let Levels { scripts, list } = levels(&record.runs, &names, 0.02);
        record.levels = Some(LevelsRecord { margin: 0.02, judged: 2, scripts, list });
        judge(&record).into_iter().find(|doubt| doubt.kind == DoubtKind::BaselineAlone)
    };
    let doubt = found([1.0, 1.1, 1.1]).expect("both others are faster");
    assert!(doubt.detail.starts_with("in select-only all other subjects differ from first"), "{doubt:?}");
    assert!(found([1.0, 0.9, 0.9]).is_some());
    assert_eq!((found([1.0, 1.1, 1.3]), found([1.0, 1.1, 1.0]), found([1.0, 1.1, 0.9])), (None, None, None));
}

#[test]
fn too_few_blocks_are_seen_by_subject() {
    let runs: Vec<_> = runs().into_iter().filter(|run| run.block < 4).collect();
    let found = kinds(&runs, [&server(), &server()]);
    assert_eq!(found.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [DoubtKind::TooFewBlocks]);
}
