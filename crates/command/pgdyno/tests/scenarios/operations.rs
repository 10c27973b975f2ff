//! Loads, copies, checks and probes as recorded runs.

use std::{fs, process::Stdio};

use pgdyno_core::{probe::Probe, units};
use pgdyno_record::{Found, LoadRecord, OperationRecord, Run, Status};
use serde_json::Value;

use crate::common::{OLDEST, Place, admin, kill, text, wait_until};

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
    let shown = place.done(&["show", "last"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("STOPPED") && shown.contains("rows were sent so far"), "{shown}");
    let [operation] = run.record.operations.as_slice() else { panic!("{:?}", run.record.operations) };
    let Found::Load(load) = &operation.found else { panic!("{operation:?}") };
    let kept = load.kept_rows.expect("the server was asked");
    assert!(shown.contains(&format!("the tables kept {} when", units::count(kept))), "{kept}: {shown}");
    assert!(shown.contains("the load did not complete") && !shown.contains("pgdyno resume"), "{shown}");
    let mut session = admin(&place.only());
    let tables = ["accounts", "branches", "tellers"];
    let count = |table| format!("(SELECT count(*) FROM pgbench_{table})");
    let counted =
        session.value(&format!("SELECT {}", tables.map(count).join(" + "))).expect("they can be counted");
    assert_eq!(counted, Some(kept.to_string()));
}

/// What was written so far survives a kill.
#[test]
fn a_killed_load_leaves_what_it_wrote() {
    let (place, run) = load_ended_by("-KILL");
    assert_eq!(run.record.status, Status::Partial);
    let [operation] = run.record.operations.as_slice() else { panic!("{:?}", run.record.operations) };
    assert_eq!((operation.duration_s, operation.passed), (None, None));
    let shown = place.done(&["show", "last"]);
    assert!(shown.contains("PARTIAL") && shown.contains("rows were sent so far"), "{shown}");
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

/// Only what a load made is dropped, and only on request.
#[test]
fn what_a_load_made_can_be_dropped() {
    let place = with_server("18");
    let mut session = crate::common::admin(&place.only());
    let drop = ["load", "drop", "--server", "main"];
    let none = place.refused(&drop, 2);
    assert!(none.contains("none is known in schema \"public\""), "{none}");
    place.done(&["load", "tpcb", "--server", "main", "--scale", "1", "--partitions", "3", "--no-record"]);
    let said = place.done(&drop);
    assert!(said.contains("nothing was changed") && said.contains("schema \"public\""), "{said}");
    let yes = [&drop[..], &["--yes"]].concat();
    session.execute("CREATE VIEW mine AS SELECT count(*) FROM pgbench_accounts").expect("it can be made");
    let refused = place.refused(&yes, 3);
    assert!(refused.contains("2BP01") && refused.contains("mine"), "{refused}");
    let count = "SELECT count(*) FROM pgbench_accounts";
    assert_eq!(session.value(count).expect("they are there").as_deref(), Some("100000"));
    session.execute("DROP VIEW mine").expect("it is there");
    let said = place.done(&yes);
    assert!(said.starts_with("dropped tpcb at scale 1"), "{said}");
    let left = "SELECT count(*) FROM pg_catalog.pg_class WHERE relname ~ '^(pgbench_|task_)'";
    assert_eq!(session.value(left).expect("it can be asked").as_deref(), Some("0"));
    // Tables of the same names that somebody else made are not a load.
    place.done(&["load", "tpcb", "--server", "main", "--scale", "1", "--no-record"]);
    let replace = "DROP TABLE pgbench_history; CREATE TABLE pgbench_history (mine int)";
    session.execute(replace).expect("it can be replaced");
    let refused = place.refused(&yes, 2);
    assert!(refused.contains("the tables are not those of the load"), "{refused}");
    place.done(&["down", "main", "--remove"]);
}

/// A plan with every stage; `more` are its last lines.
fn plan_of_stages(more: &str) -> String {
    let measure = format!(
        "[measure]\nclients = [1]\nduration = \"{}\"\nwarmup = \"50ms\"\nblocks = 1\n",
        crate::common::brief()
    );
    let stages = "load, verify, probe ddl, probe depth, prewarm, probe count, drive, probe sizes";
    let stage = |name: &str| {
        let more = if name == "probe count" { "parallel = [0]\nrepeats = 1\n" } else { "" };
        format!("[[stage]]\ndo = \"{name}\"\n{more}")
    };
    let stages: String = stages.split(", ").map(stage).collect();
    format!("name = \"article\"\n[data]\nscale = 1\n{measure}{stages}{more}")
}

const SELECT_ONLY: &str = "[[workload]]\nscript = \"select-only\"\n";

/// One file and one record hold what is done by hand over days; each operation at its time.
fn stages_of_a_plan_are_in_one_record(pg: &str) {
    let place = Place::new();
    let questions = "[[stage]]\ndo = \"probe first-touch\"\nlimit = 5\n\
                     [[stage]]\ndo = \"probe partitions\"\nrepeats = 1\n\
                     [[stage]]\ndo = \"probe ddl\"\ncommit = true\nsessions = 2\nrepeats = 1\n";
    let plan = plan_of_stages(&format!("{questions}{SELECT_ONLY}"));
    fs::write(place.path("plan.toml"), plan).expect("it can be written");
    let run = ["run", "plan.toml", "--pg", pg, "--bundle"];
    let foretold = place.command(&[&run[..], &["--dry-run"]].concat()).output().expect("pgdyno can be run");
    let unknown =
        "plus the time of `probe ddl`, `prewarm`, `probe count`, `probe first-touch`, `probe partitions`";
    let foretold = text(&foretold.stderr);
    assert!(foretold.contains(unknown), "{foretold}");
    let said = place.done(&[&run[..], &["--full"]].concat());
    let record = last(&place).record;
    let names: Vec<_> = record.operations.iter().map(|operation| operation.name.as_str()).collect();
    let before_runs = ["verify", "probe ddl", "probe depth", "prewarm", "probe count"];
    let after_runs = ["probe sizes", "probe first-touch", "probe partitions", "probe ddl"];
    assert_eq!(names, [&before_runs[..], &after_runs[..]].concat());
    let Found::Probe(Probe::Ddl(committed)) = &record.operations[8].found else { panic!("it is DDL") };
    assert!(
        committed.committed && committed.tables[0].statements[0].commit_seconds.len() == 1,
        "{committed:?}"
    );
    let driven = record.runs.first().expect("it was driven").start_s;
    let before = |operation: &&OperationRecord| operation.start_s < driven;
    assert_eq!(record.operations.iter().filter(before).count(), 5);
    assert!(record.operations.iter().all(|operation| operation.duration_s.is_some()));
    let passed =
        |name: &str| record.operations.iter().find(|one| one.name == name).and_then(|one| one.passed);
    assert_eq!((passed("verify"), passed("prewarm"), passed("probe ddl")), (Some(true), Some(true), None));
    assert!(record.subjects[0].load.as_ref().is_some_and(|load| load.prewarm.is_none()), "a stage does it");
    for title in ["VERIFICATION BEFORE THE RUNS", "DDL BEFORE THE RUNS", "SIZES AFTER THE RUNS"] {
        assert!(said.contains(title), "{title}: {said}");
    }
    place.nothing_is_left();
}

#[test]
fn stages_of_a_plan_on_the_newest_server_are_in_one_record() {
    stages_of_a_plan_are_in_one_record("18");
}

/// A plan may drive nothing; then its tables are loaded and probed.
#[test]
fn a_plan_without_workloads_loads_and_probes() {
    let place = Place::new();
    let plan = "name = \"loaded\"\n[data]\nscaleup = { rows = 5000 }\n[[stage]]\ndo = \"load\"\n[[stage]]\n\
                do = \"verify\"\n[[stage]]\ndo = \"probe sizes\"\ntables = [\"test\", \"log\"]\n";
    fs::write(place.path("plan.toml"), plan).expect("it can be written");
    let output = place.run(&["run", "plan.toml", "--pg", "18", "--bundle"]);
    let said = text(&output.stderr) + &text(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("nothing is driven") && said.contains("load, then verify, then"), "{said}");
    let record = last(&place).record;
    assert!(record.runs.is_empty() && record.operations.len() == 2, "{:?}", record.operations);
    assert_eq!(record.subjects[0].load.as_ref().map(|load| load.rows), Some(5_000));
    let Found::Probe(Probe::Sizes(sizes)) = &record.operations[1].found else { panic!("they are sizes") };
    assert_eq!(sizes.tables.len(), 2, "{sizes:?}");
    assert!(place.done(&["show", "last"]).contains("5,000"), "the report shows what was loaded");
    place.nothing_is_left();
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn stages_of_a_plan_on_the_oldest_server_are_in_one_record() {
        stages_of_a_plan_are_in_one_record(OLDEST);
    }

    /// Each subject has its own operations, and a difference makes the run fail.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn stages_of_several_subjects_are_distinguished() {
        let place = Place::new();
        fs::write(place.path("spoil.sql"), "DELETE FROM pgbench_accounts WHERE aid = 1;\n").expect("it can");
        let plan = plan_of_stages(SELECT_ONLY).replace("scale = 1", "scale = 1\nsetup = \"spoil.sql\"");
        fs::write(place.path("plan.toml"), plan).expect("it can be written");
        let subjects = ["--subject", "pg=18,bundle", "--subject", "pg=17,bundle"];
        let output = place.run(&[&["run", "plan.toml"][..], &subjects].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("the stage `verify` found differences"), "{said}");
        let record = last(&place).record;
        let of =
            |name: &str| record.operations.iter().filter(|one| one.subject.as_deref() == Some(name)).count();
        let names: Vec<_> = record.subjects.iter().map(|subject| subject.name.clone()).collect();
        assert_eq!(names.iter().map(|name| of(name)).collect::<Vec<_>>(), [6, 6]);
        let html = fs::read_to_string(last(&place).path.join("report.html")).expect("it is written");
        assert!(html.contains("before the runs") && html.contains("DDL of "), "{names:?}");
        place.nothing_is_left();
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_load_into_the_oldest_server_is_recorded() {
        load_is_recorded(OLDEST);
    }
}
