//! Loads, copies, checks and probes as recorded runs.

use std::{fs, process::Stdio};

use pgdyno_core::probe::Probe;
use pgdyno_record::{Found, LoadRecord, OperationRecord, Run, Status};
use serde_json::Value;

use crate::common::{Place, kill, text, wait_until};

/// A place with a running server of the newest major.
fn with_server(pg: &str) -> Place {
    let place = Place::new();
    place.done(&["up", "main", "--pg", pg, "--bundle"]);
    place
}

fn only_operation(run: &Run) -> &OperationRecord {
    assert_eq!(run.record.status, Status::Complete, "{:?}", run.record.error);
    assert!(run.path.join("report.html").is_file() && run.record.runs.is_empty());
    let [operation] = run.record.operations.as_slice() else { panic!("{:?}", run.record.operations) };
    assert!(operation.duration_s.is_some_and(|seconds| seconds > 0.0));
    operation
}

fn loaded(run: &Run) -> &LoadRecord {
    match &only_operation(run).found {
        Found::Load(load) => load,
        other => panic!("{other:?}"),
    }
}

/// The run that was recorded last.
fn last(place: &Place) -> Run {
    let mut runs = place.runs();
    runs.sort_by(|a, b| a.record.started_at.cmp(&b.record.started_at));
    runs.pop().expect("there is one")
}

fn load_is_recorded(pg: &str) {
    let place = with_server(pg);
    let json = place.done(&["load", "tpcb", "--server", "main", "--scale", "3", "--jobs", "2", "--json"]);
    let run = last(&place);
    assert_eq!(serde_json::from_str::<Value>(&json).expect("it is run.json")["id"], run.record.id);
    let load = loaded(&run);
    assert_eq!((load.rows, run.record.plan.scale, run.record.plan.jobs), (300_033, Some(3), 2));
    assert_eq!(load.progress.iter().map(|at| at.rows).sum::<u64>(), load.rows);
    let written: u64 = load.progress.iter().filter_map(|at| at.wal_bytes).sum();
    assert!(written > 30_000_000 && load.size_bytes > 40_000_000, "{load:?}");
    assert!(load.stages.iter().all(|stage| stage.rows_per_s.is_some_and(|rate| rate > 0.0)), "{load:?}");
    assert_eq!(load.verification.as_ref().map(|of| (of.rows, of.passed())), Some((300_033, true)));
    assert_eq!(only_operation(&run).passed, Some(true));
    let listed = place.done(&["list"]);
    assert!(listed.contains("Loaded 300,033 rows"), "{listed}");
    let shown = place.done(&["show", "last"]);
    assert!(shown.contains("\nLOAD\n") && shown.contains("primary keys"), "{shown}");
    let refused = place.refused(&["resume", "last"], 2);
    assert!(refused.contains("it is complete"), "{refused}");

    // Rows that are wrong are recorded as that.
    let server = place.only();
    let mut admin = crate::common::admin(&server);
    admin.execute("DELETE FROM pgbench_accounts WHERE aid = 77").expect("it is there");
    let verify = place.run(&["load", "verify", "--server", "main"]);
    assert_eq!(verify.status.code(), Some(1), "{}", text(&verify.stderr));
    let run = last(&place);
    assert_eq!(only_operation(&run).passed, Some(false));
    let Found::Verification(found) = &only_operation(&run).found else { panic!("it is a verification") };
    assert_eq!((found.rows, found.passed()), (300_032, false));

    let before = place.runs().len();
    place.run(&["load", "verify", "--server", "main", "--no-record"]);
    assert_eq!(place.runs().len(), before);
}

#[test]
fn a_load_into_the_newest_server_is_recorded() {
    load_is_recorded("18");
}

/// A place with a load that a signal ended after it had written rows, and the run that is left.
fn load_ended_by(signal: &str) -> (Place, Run) {
    let place = with_server("18");
    let flags = ["load", "tpcb", "--server", "main", "--scale", "60", "--jobs", "1", "--method", "chunks"];
    let mut command = place.command(&flags);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("pgdyno can be run");
    let so_far = |place: &Place| -> u64 {
        let runs = fs::read_dir(place.path("runs")).into_iter().flatten().flatten();
        let rows = runs.filter_map(|run| {
            let json: Value = serde_json::from_slice(&fs::read(run.path().join("run.json")).ok()?).ok()?;
            json.pointer("/operations/0/found/load/rows")?.as_u64()
        });
        rows.sum()
    };
    wait_until("rows are in the record", || so_far(&place) > 0);
    kill(u64::from(child.id()), signal);
    child.wait().expect("it has ended");
    let run = last(&place);
    (place, run)
}

/// What was written so far is in the record of a load that was stopped.
#[test]
fn a_stopped_load_leaves_what_it_wrote() {
    let (place, run) = load_ended_by("-INT");
    assert_eq!(run.record.status, Status::Stopped);
    let shown = place.done(&["show", "last"]);
    assert!(shown.contains("STOPPED") && shown.contains("rows were loaded so far"), "{shown}");
}

/// What was written so far survives a kill.
#[test]
fn a_killed_load_leaves_what_it_wrote() {
    let (place, run) = load_ended_by("-KILL");
    assert_eq!(run.record.status, Status::Partial);
    let [operation] = run.record.operations.as_slice() else { panic!("{:?}", run.record.operations) };
    assert_eq!((operation.duration_s, operation.passed), (None, None));
    let shown = place.done(&["show", "last"]);
    assert!(shown.contains("PARTIAL") && shown.contains("rows were loaded so far"), "{shown}");
    let refused = place.refused(&["resume", "last"], 2);
    assert!(refused.contains("load … --resume"), "{refused}");
}

/// A probe is recorded as it is printed.
#[test]
fn probes_and_prewarm_are_recorded() {
    let place = with_server("18");
    place.done(&["load", "tpcb", "--server", "main", "--scale", "1", "--no-record"]);
    assert!(place.runs().is_empty(), "it was not to be recorded");
    for kind in ["ddl", "count", "depth", "sizes"] {
        let json = place.done(&["probe", kind, "--server", "main", "--json"]);
        let printed: Probe = serde_json::from_str(&json).expect("it is the probe");
        let run = last(&place);
        assert_eq!(only_operation(&run).name, format!("probe {kind}"));
        assert_eq!(only_operation(&run).found, Found::Probe(printed));
    }
    place.done(&["prewarm", "--server", "main"]);
    assert_eq!(only_operation(&last(&place)).passed, Some(true));
    place.done(&["load", "copy", "--server", "main", "--into-schemas", "1"]);
    let run = last(&place);
    let Found::Copies(copies) = &only_operation(&run).found else { panic!("they are copies") };
    assert!(copies.iter().all(|copy| copy.duration_s.is_some_and(|seconds| seconds > 0.0)), "{copies:?}");
    assert_eq!(place.runs().len(), 6);
}

/// Without a place for run directories the way out is named, and nothing is begun.
#[test]
fn a_run_directory_that_cannot_be_made_ends_it_before() {
    let place = with_server("18");
    fs::write(place.path("file"), "").expect("it can be written");
    let runs = place.path("file").display().to_string();
    let said = place.refused(&["load", "tpcb", "--server", "main", "--scale", "1", "--runs", &runs], 3);
    assert!(said.contains("--no-record leaves none"), "{said}");
    let none = place.refused(&["load", "verify", "--server", "main", "--no-record"], 2);
    assert!(none.contains("no load is known"), "{none}");
}

mod long {
    use super::*;

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_load_into_the_oldest_server_is_recorded() {
        load_is_recorded("9.6");
    }
}
