//! Histories of synthetic runs, whose sessions scatter as requested.

use pgdyno_record::{SetupRecord, Status, TextRecord, WorkloadFilesRecord};
use testkit::fixtures;

use super::*;
use crate::steady::tests::Normal;

/// A run that began at this minute, all of whose cells are faster than usual by this factor.
fn run(minute: i64, factor: f64) -> RunRecord {
    let mut record = fixtures::complete().record;
    let began = Timestamp::from_second(1_790_000_000 + 60 * minute).expect("it is a time");
    record.started_at = began.to_string();
    record.id = format!("run-{minute}");
    record.cells.iter_mut().for_each(|cell| cell.tps.value *= factor);
    record
}

/// Sessions an hour apart, with these differences in ln(TPS) and noise.
fn hourly(levels: &[f64], noise: f64, normal: &mut Normal) -> Vec<RunRecord> {
    let one = |(hour, level): (usize, &f64)| run(60 * hour as i64, (level + noise * normal.draw()).exp());
    levels.iter().enumerate().map(one).collect()
}

fn found(records: &[RunRecord]) -> History {
    history(records, &Asked::default()).expect("there are runs")
}

#[test]
fn a_change_is_dated_and_what_changed_then_is_named() {
    let mut normal = Normal::seeded(1);
    let mut levels = [0.0; 14];
    levels[8..].fill(-0.041);
    let mut records = hourly(&levels, 0.004, &mut normal);
    records[8..].iter_mut().for_each(|record| record.host.kernel.release = "6.1.0-31-amd64".into());
    let history = found(&records);
    assert_eq!((history.sessions.len(), history.by), (14, HistoryAxis::Time));
    for script in &history.scripts {
        let [change] = &script.changes[..] else { panic!("one change: {:?}", script.changes) };
        assert_eq!((change.session, &change.at), (9, &records[8].started_at));
        assert!(change.low < -0.04 && -0.04 < change.high && change.p < 0.01, "{change:?}");
        assert_eq!(change.changed, ["kernel: 6.1.0-28-amd64 → 6.1.0-31-amd64"]);
        assert_eq!(script.over_mean.len(), 14);
    }
    assert_eq!(found(&records[..8]).scripts[0].changes, []);
}

#[test]
fn runs_close_to_each_other_are_one_session() {
    let records = [run(0, 1.0), run(5, 1.1), run(26, 1.0)];
    let history = found(&records);
    let runs: Vec<_> = history.sessions.iter().map(|session| session.runs.len()).collect();
    assert_eq!(runs, [2, 1]);
    let tps = &history.scripts[0].cells[0].tps;
    assert!((tps[0] / tps[1] - 1.1f64.sqrt()).abs() < 1e-9, "{tps:?}");
    assert_eq!(history.scripts[0].cells[0].another_session, None, "two sessions say too little");
}

#[test]
fn what_is_not_comparable_is_left_out_with_its_reason() {
    let mut records = vec![run(0, 1.0), run(60, 1.0), run(120, 1.0), run(180, 1.0), run(240, 1.0)];
    records[0].plan.scale = Some(7);
    records[1].status = Status::Stopped;
    records[2].host.memory.total_bytes *= 2;
    let server = records[3].subjects[0].server.as_mut().expect("the fixture has one");
    server.build.cflags = Some("-O3".into());
    let history = found(&records);
    assert_eq!(history.sessions.len(), 1);
    let why: Vec<_> = history.left_out.iter().map(|one| one.why.as_str()).collect();
    assert_eq!(why.len(), 4, "{why:?}");
    assert!(why[0].starts_with("scale 7, not "), "{why:?}");
    assert_eq!(why[1], "it did not complete");
    assert!(why[2].starts_with("machine ") && why[3].starts_with("build "), "{why:?}");
    assert_eq!(super::history(&records[1..2], &Asked::default()), None);
    let other = Asked { plan: Some("mine"), ..Asked::default() };
    assert_eq!(super::history(&records, &other), None);
}

/// The same names with other SQL, or another value of a variable, are another plan.
#[test]
fn other_sql_is_another_plan() {
    let with = |minute: i64, sha256: &str, rows: &str| {
        let text = TextRecord { name: "s.sql".into(), sha256: sha256.into(), text: String::new() };
        let variables = [("rows".to_owned(), rows.to_owned())].into();
        let setup = Some(SetupRecord { texts: vec![text], variables });
        let material = Some(WorkloadFilesRecord { setup, workloads: Vec::new() });
        RunRecord { material, ..run(minute, 1.0) }
    };
    let history =
        found(&[with(0, "aa", "10"), with(60, "bb", "10"), with(120, "bb", "11"), with(180, "bb", "11")]);
    let why: Vec<_> = history.left_out.iter().map(|one| one.why.as_str()).collect();
    assert_eq!(why, ["SQL aa rows=10, not bb rows=11", "SQL bb rows=10, not bb rows=11"]);
    assert_eq!(history.sessions.len(), 2);
}

#[test]
fn builds_are_compared_by_their_sessions() {
    let mut normal = Normal::seeded(2);
    let mut records = hourly(&[0.0, 0.0, 0.0, 0.0, 0.05, 0.05, 0.05, 0.05, 0.2], 0.004, &mut normal);
    let set = |records: &mut [RunRecord], version: &str| {
        for server in records.iter_mut().filter_map(|record| record.subjects[0].server.as_mut()) {
            server.version = version.into();
        }
    };
    set(&mut records[4..8], "19.0");
    set(&mut records[8..], "20.0");
    let history = history(&records, &Asked { by_build: true, ..Asked::default() }).expect("there are runs");
    assert!(history.scripts.iter().all(|script| script.changes.is_empty()));
    let of_first: Vec<_> =
        history.builds.iter().filter(|one| one.script == history.scripts[0].script).collect();
    assert_eq!(of_first.len(), 2);
    assert!(of_first[0].significant && (of_first[0].effect - 0.051).abs() < 0.01, "{of_first:?}");
    assert!(of_first[1].low.is_none() && !of_first[1].significant, "one session has no scatter");
}

/// The interval for another session holds the next one, where a bench by itself (± 2 % of its own blocks) would not.
#[test]
fn another_session_is_where_it_is_expected() {
    let mut normal = Normal::seeded(3);
    let (mut inside, mut all) = (0, 0);
    for _ in 0..200 {
        let records: Vec<RunRecord> = (0..4)
            .map(|session| {
                let mut record = run(60 * session, (0.05 * normal.draw()).exp());
                record.cells.iter_mut().for_each(|cell| cell.tps.value *= (0.012 * normal.draw()).exp());
                record
            })
            .collect();
        let history = found(&records[..3]);
        let cells = history.scripts.iter().flat_map(|script| &script.cells);
        for (cell, next) in cells.zip(&records[3].cells) {
            let half = cell.another_session.expect("three sessions");
            inside +=
                u32::from((next.tps.value / cell.mean_tps).ln().abs() <= (half / cell.mean_tps).ln_1p());
            all += 1;
        }
    }
    let share = f64::from(inside) / f64::from(all);
    assert!(share >= 0.93, "{share}");
}
