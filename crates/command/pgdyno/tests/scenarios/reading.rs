//! `list`, `show` and `report` as a user meets them.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use testkit::fixtures;

struct Runs {
    dir: tempfile::TempDir,
    complete: PathBuf,
}

fn runs() -> Runs {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let complete = fixtures::complete().write(dir.path()).expect("it is written");
    Runs { dir, complete }
}

fn command(runs: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pgdyno"));
    command.arg("--runs").arg(runs).args(args).env_remove("PG_COLOR").env_remove("NO_COLOR");
    command
}

fn pgdyno(runs: &Path, args: &[&str]) -> Output {
    command(runs, args).output().expect("it starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("plain text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("plain text")
}

/// One edited figure: every format of every report says so, and no report is without it.
#[test]
fn an_edited_record_is_shown_as_edited() {
    let runs = runs();
    let forms: [&[&str]; 7] = [
        &["list"],
        &["show"],
        &["report", "--format", "text"],
        &["report", "--format", "markdown"],
        &["report", "--paste"],
        &["report", "--format", "json"],
        &["report", "--out", "-"],
    ];
    let says = |args: &[&str]| stdout(&pgdyno(runs.dir.path(), args)).to_lowercase();
    for args in forms {
        assert!(!says(args).contains("edited"), "{args:?}");
    }
    let file = runs.complete.join("run.json");
    let mut json: serde_json::Value =
        serde_json::from_slice(&fs::read(&file).expect("it is there")).expect("JSON");
    json["cells"][2]["latency"]["p99_ns"] = 1_000.into();
    fs::write(&file, serde_json::to_vec_pretty(&json).expect("JSON")).expect("it can be written");
    for args in forms {
        let said = says(args);
        let words = if args.contains(&"json") { "\"edited\"" } else { "edited after it was recorded" };
        assert!(said.contains(words), "{args:?}: {said}");
    }
    let csv = says(&["report", "--format", "csv"]);
    assert!(csv.lines().skip(1).all(|line| line.ends_with(" edited")), "{csv}");
    assert!(says(&["list", "--json"]).contains("\"edited\""));
    let show = says(&["show", "--full"]);
    assert!(show.contains("not publishable: edited after it was recorded, screening run, "), "{show}");
}

#[test]
fn a_run_can_be_listed_and_shown_in_every_form() {
    let runs = runs();
    let id = runs.complete.file_name().expect("a name").to_str().expect("plain").to_owned();
    let listed = pgdyno(runs.dir.path(), &["list"]);
    assert!(listed.status.success() && stdout(&listed).contains(&id));
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&pgdyno(runs.dir.path(), &["list", "--json"]))).expect("JSON");
    assert_eq!(json[0]["id"], id);
    for (args, want) in [
        (vec!["show"], "THROUGHPUT AND LATENCY"),
        (vec!["show", &id[17..]], "THROUGHPUT AND LATENCY"),
        (vec!["report", "last", "--format", "text"], "THROUGHPUT AND LATENCY"),
        (vec!["report", &id, "--format", "markdown"], "## Doubts (3)"),
        (vec!["report", "--format", "json"], "\"pgdyno-run\""),
        (vec!["show", "--full"], "HOW TO READ THE NUMBERS"),
        (vec!["report", "--format", "csv"], "tps_low_per_s,"),
        (vec!["report", "--format", "csv-blocks"], "run_id,status,"),
        (vec!["report", "--paste"], "noise floor: "),
        (vec!["report", "--out", "-"], "<!DOCTYPE html>"),
    ] {
        let output = pgdyno(runs.dir.path(), &args);
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        assert!(stdout(&output).contains(want), "{args:?}: {}", stdout(&output));
        assert!(!stdout(&output).contains('\x1b'), "{args:?}");
    }
    let coloured = command(runs.dir.path(), &["show"]).env("PG_COLOR", "always").output().expect("it starts");
    assert!(stdout(&coloured).contains('\x1b'));
    let refused = command(runs.dir.path(), &["show"]).env("PG_COLOR", "always").env("NO_COLOR", "1").output();
    assert!(!stdout(&refused.expect("it starts")).contains('\x1b'));
}

#[test]
fn the_page_is_written_and_may_be_written_again() {
    let runs = runs();
    let page = runs.complete.join("report.html");
    for _ in 0..2 {
        let output = pgdyno(runs.dir.path(), &["report"]);
        assert_eq!(stdout(&output).trim_end(), page.display().to_string(), "{}", stderr(&output));
    }
    assert!(fs::read_to_string(&page).expect("it is there").contains("Latency over time"));
}

#[test]
fn no_foreign_file_is_overwritten_and_no_link_followed() {
    let runs = runs();
    let foreign = runs.dir.path().join("notes.html");
    fs::write(&foreign, "mine").expect("a file");
    let link = runs.complete.join("report.html");
    symlink(&foreign, &link).expect("a link");
    let named = pgdyno(runs.dir.path(), &["report", "--out", foreign.to_str().expect("plain")]);
    let linked = pgdyno(runs.dir.path(), &["report"]);
    for (output, why) in [(named, "is not an HTML report of pgdyno"), (linked, "symbolic link")] {
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(why) && stderr(&output).contains("hint: "), "{}", stderr(&output));
    }
    assert_eq!(fs::read_to_string(&foreign).expect("it is there"), "mine");
    let nowhere = pgdyno(runs.dir.path(), &["report", "--out", "/no/such/place.html"]);
    assert_eq!(nowhere.status.code(), Some(3), "{}", stderr(&nowhere));
}

#[test]
fn a_wrong_name_gets_a_hint() {
    let runs = runs();
    let output = pgdyno(runs.dir.path(), &["show", "20261121"]);
    assert_eq!(output.status.code(), Some(2));
    let id = runs.complete.file_name().expect("a name").to_str().expect("plain").to_owned();
    assert!(
        stderr(&output).contains("hint: did you mean ") && stderr(&output).contains(&id),
        "{}",
        stderr(&output)
    );
    let unlike = stderr(&pgdyno(runs.dir.path(), &["show", "nothing"]));
    assert!(unlike.contains("hint: `pgdyno list` shows all"), "nothing is like it: {unlike}");
    let none = pgdyno(&runs.dir.path().join("none"), &["show"]);
    assert_eq!(none.status.code(), Some(2));
    let empty = pgdyno(&runs.dir.path().join("none"), &["list"]);
    assert!(empty.status.success() && stderr(&empty).contains("no run"));
}

/// `pgdyno show | head -1`: the reader goes away, and that is no failure.
#[test]
fn a_closed_pipe_is_no_failure() {
    let runs = runs();
    for args in [&["show"][..], &["list"], &["report", "--format", "csv"], &["report", "--out", "-"]] {
        let mut child = command(runs.dir.path(), args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        assert_eq!(stderr(&output), "");
    }
}

#[test]
fn a_broken_timeline_costs_only_the_charts_over_time() {
    let runs = runs();
    fs::write(runs.complete.join("timeline.ndjson"), "{}\n").expect("a file");
    let output = pgdyno(runs.dir.path(), &["report"]);
    assert!(output.status.success() && stderr(&output).contains("warning: no charts over time"));
    let page = fs::read_to_string(runs.complete.join("report.html")).expect("it is there");
    assert!(page.contains("Latency distribution") && !page.contains("Latency over time"));
}
