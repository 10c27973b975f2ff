//! `pgdyno ab` from end to end: servers made for it, one that is there, and commands whose results are known.

use std::{fs, path::PathBuf, process::Command};

use crate::common::{Place, admin, holds_together, is_complete, left_out, text, word};
use pgdyno_core::{
    analysis::{DoubtKind, compare::Verdict},
    measure::Arm,
};
use pgdyno_record::{BlockKind, ComparisonRecord, Run, Status};

/// The shortest comparison that has every part.
const TINY: [&str; 10] =
    ["--scale", "1", "--clients", "8", "--duration", "400ms", "--warmup", "50ms", "--aa-blocks", "2"];

fn ab<'a>(more: &[&'a str]) -> Vec<&'a str> {
    ["ab"].iter().chain(&TINY).chain(more).copied().collect()
}

fn compared(run: &Run) -> &ComparisonRecord {
    run.record.comparison.as_ref().expect("it is a comparison")
}

fn verdict(run: &Run) -> Verdict {
    compared(run).result.as_ref().expect("there were blocks").verdict
}

/// Two scripts, of which the second waits 8 ms where the first waits for nothing: what it waits holds it up on a slow
/// machine as well, and leaves enough commits to be judged.
fn scripts(place: &Place) -> [String; 2] {
    [("fast.sql", "SELECT 1;\n"), ("slow.sql", "SELECT pg_sleep(0.008);\n")].map(|(name, sql)| {
        fs::write(place.path(name), sql).expect("it can be written");
        place.path(name).display().to_string()
    })
}

#[test]
fn a_planted_slowdown_is_found_on_two_servers() {
    let place = Place::new();
    let [fast, slow] = scripts(&place);
    let args = ab(&["-f", &fast, "-f", &slow, "--blocks", "8", "--fail-if-slower"]);
    let output = place.run(&args);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{out}{err}");
    assert!(err.contains("2 blocks of A against A show") && err.contains("--fail-if-slower"), "{err}");
    let run = place.only_run();
    is_complete(&run);
    assert_eq!(verdict(&run), Verdict::Slower);
    let comparison = compared(&run);
    let kinds = |kind| comparison.blocks.iter().filter(|block| block.kind == kind).count();
    assert_eq!((kinds(BlockKind::Ab), kinds(BlockKind::Aa)), (8, 2));
    assert!(comparison.floor.is_some());
    let order: String = comparison.blocks.iter().map(|block| block.first.letter()).collect();
    assert_eq!(order, "AABBABBAAB", "A/A blocks go before the first and the fifth block");
    let dirs = comparison.arms.iter().map(|arm| arm.server.as_ref().and_then(|s| s.data_directory.clone()));
    let dirs: Vec<_> = dirs.collect();
    assert!(dirs[0].is_some() && dirs[1].is_some() && dirs[0] != dirs[1], "each arm has a server of its own");
    assert_eq!(comparison.differences, [], "two servers that were asked for alike are alike");
    assert!(run.path.join("server-a.log").is_file() && run.path.join("server-b.log").is_file());
    assert!(out.contains("\n\nB is ") && out.contains(" % slower ["), "{out}");
    every_form_tells_the_answer(&place);
    place.nothing_is_left();
}

fn every_form_tells_the_answer(place: &Place) {
    let show = place.done(&["show", "last"]);
    let answer =
        show.lines().find(|line| line.starts_with("B is ")).expect("it is the first sentence").to_owned();
    for form in ["text", "markdown"] {
        let report = place.done(&["report", "last", "--format", form]).replace('\\', "");
        assert!(report.contains(&answer), "{form}: {report}");
    }
    assert!(place.done(&["report", "last", "--paste"]).contains(&answer));
    assert!(place.done(&["list"]).contains(answer.trim_end_matches('.')));
    let csv = place.done(&["report", "last", "--format", "csv"]);
    assert_eq!(csv.lines().filter(|line| line.contains(",ab,")).count(), 8, "{csv}");
    let html = place.done(&["report", "last", "--out", "-"]);
    assert!(html.contains("id=\"blocks\"") && html.contains("data-src=\"/comparison/result/effect\""));
}

/// Runs that write start from the same state, every commit is found again, and two builds are not called two versions.
#[test]
fn the_oldest_bundle_against_the_newest() {
    let place = Place::new();
    // No run may wait for the disk from its beginning to its end: there would be no result.
    let args =
        ab(&["--pg", "9.6", "--pg", "18", "--bundle", "--set", "fsync=off", "--blocks", "3", "--json"]);
    let printed: serde_json::Value = serde_json::from_str(&place.done(&args)).expect("it is JSON");
    let run = place.only_run();
    is_complete(&run);
    assert_eq!(printed, run.json);
    let comparison = compared(&run);
    for arm in Arm::BOTH {
        let own = run.record.runs.iter().filter(|run| run.workload.arm == Some(arm));
        let committed: u64 = own.map(|run| run.counts_whole.committed).sum();
        let balance = comparison.arms[arm.index()].balance.as_ref().expect("it was checked");
        assert_eq!((balance.violations, balance.history_rows, balance.committed), (0, committed, committed));
        assert!(committed > 0 && balance.rows_examined > committed);
    }
    let versions: Vec<_> = comparison
        .arms
        .iter()
        .filter_map(|arm| arm.server.as_ref())
        .map(|server| server.version_num / 10_000)
        .collect();
    assert_eq!(versions, [9, 18]);
    let kinds: Vec<_> = run.record.doubts.iter().map(|doubt| doubt.kind).collect();
    assert!(
        kinds.contains(&DoubtKind::BuildDiffers) && kinds.contains(&DoubtKind::TooFewBlocks),
        "{kinds:?}"
    );
    assert!(comparison.differences.iter().any(|difference| difference.what == "build"));
    assert!(comparison.differences.iter().all(|difference| difference.what != "version"));
    place.nothing_is_left();
}

/// One server that is there, named once for both arms: it is one subject, and nothing of us stays in it.
#[test]
fn two_scripts_at_a_server_that_is_there() {
    let place = Place::new();
    place.done(&["up", "there"]);
    let server = place.only();
    let [fast, slow] = scripts(&place);
    let dsn =
        format!("host={} port={} user=postgres dbname=postgres", word(&server, "socket_dir"), server["port"]);
    place.done(&ab(&["--dsn", &dsn, "-f", &slow, "-f", &fast, "--blocks", "3"]));
    let run = place.only_run();
    holds_together(&run);
    assert_eq!(verdict(&run), Verdict::Faster);
    assert_eq!(run.record.plan.server, "external");
    let loads = run.record.stages.iter().filter(|stage| stage.name == "load").count();
    assert_eq!(loads, 1);
    let left = admin(&server).value("SELECT count(*) FROM pg_namespace WHERE nspname = 'pgdyno'");
    assert_eq!(left.expect("it can be asked").as_deref(), Some("0"));
}

/// A command that prints one known result after the other, whatever the machine does.
fn known_results(place: &Place, name: &str, results: &[f64]) -> String {
    let list = place.path(name);
    let lines: String = results.iter().map(|result| format!("tps = {result}\n")).collect();
    fs::write(&list, lines).expect("it can be written");
    format!("head -n 1 {0}; sed -i 1d {0}", list.display())
}

/// Status and record of a comparison of known results, with the place where it was made.
fn by_commands(a: &[f64], b: &[f64], more: &[&str]) -> (Option<i32>, Run, Place) {
    let place = Place::new();
    let commands = [known_results(&place, "a", a), known_results(&place, "b", b)];
    let args = ["ab", "--command", &commands[0], "--command", &commands[1], "--aa-blocks", "0"];
    let output = place.run(&[&args[..], more].concat());
    (output.status.code(), place.only_run(), place)
}

/// Eight results with the scatter of a real machine.
const NOISE: [f64; 8] = [1.004, 0.993, 1.011, 0.998, 0.989, 1.006, 1.002, 0.997];

#[test]
fn the_same_against_the_same_is_never_faster_or_slower() {
    let a = NOISE.map(|noise| 1_000.0 * noise);
    let mut b = a;
    b.rotate_left(3);
    let (code, run, place) = by_commands(&a, &b, &["--blocks", "8"]);
    assert_eq!((code, verdict(&run)), (Some(0), Verdict::NoDifference));
    assert_eq!(run.record.doubts, []);
    is_shown_without_servers(&place);
    let (code, run, _) = by_commands(&a, &b, &["--blocks", "8", "--margin", "0.1%"]);
    assert_eq!(code, Some(0));
    assert!(matches!(verdict(&run), Verdict::CannotTell { more_blocks: Some(_) }), "{:?}", verdict(&run));
}

fn is_shown_without_servers(place: &Place) {
    let report = place.done(&["show", "last"]);
    assert!(report.contains("No difference that matters: B "), "{report}");
    assert!(report.contains("the commands bring their own servers"), "{report}");
}

#[test]
fn known_differences_are_found_as_they_are() {
    let a = NOISE.map(|noise| 1_000.0 * noise);
    let slower = a.map(|result| result * 0.9);
    let (code, run, _) = by_commands(&a, &slower, &["--blocks", "8"]);
    assert_eq!((code, verdict(&run)), (Some(0), Verdict::Slower), "slower is a result, no failure");
    let effect = compared(&run).result.as_ref().expect("there is one").effect;
    assert!((effect + 0.1).abs() < 1e-9, "{effect}");
    let (code, ..) = by_commands(&a, &slower, &["--blocks", "8", "--fail-if-slower"]);
    assert_eq!(code, Some(1));
    let (code, run, _) = by_commands(&slower, &a, &["--blocks", "8", "--fail-if-slower"]);
    assert_eq!((code, verdict(&run)), (Some(0), Verdict::Faster));
}

/// An answer at the first look ends it: there are eight results, and sixteen blocks were allowed.
#[test]
fn an_answer_ends_it() {
    let a = NOISE.map(|noise| 1_000.0 * noise);
    let (code, run, _) = by_commands(&a, &a.map(|result| result * 1.3), &[]);
    assert_eq!((code, verdict(&run)), (Some(0), Verdict::Faster));
    assert_eq!(compared(&run).blocks.len(), 8);
}

#[test]
fn a_command_that_fails_keeps_what_was_measured() {
    // The third result is not there.
    let (code, run, _) = by_commands(&[1.0, 1.0], &[1.0, 1.0], &["--blocks", "3"]);
    assert_eq!((code, run.record.status), (Some(3), Status::Stopped));
    assert_eq!(compared(&run).blocks.len(), 2);
    assert!(matches!(verdict(&run), Verdict::CannotTell { more_blocks: Some(1) }), "{:?}", verdict(&run));
    let place = Place::new();
    for (a, b, words) in [
        ("echo tps = 1", "echo no server >&2; exit 3", "no server"),
        ("echo tps = 1", "echo hello", "it printed no result"),
        ("echo tps = 0", "echo tps = 1", "A did nothing in block 1"),
    ] {
        let said = place.run(&["ab", "--command", a, "--command", b, "--blocks", "3", "--aa-blocks", "0"]);
        assert_eq!(said.status.code(), Some(3));
        assert!(text(&said.stderr).contains(words), "{}", text(&said.stderr));
    }
}

/// pgbench against pgbench at servers made for them, found by the environment.
#[test]
fn a_command_finds_the_server_of_its_arm() {
    let pgbench = ["/usr/lib/postgresql/15/bin/pgbench", "/usr/bin/pgbench"].map(PathBuf::from);
    // Debian's wrapper in /usr/bin stays where the programs of all versions are gone.
    let runs =
        |path: &&PathBuf| Command::new(path).arg("--version").output().is_ok_and(|of| of.status.success());
    let Some(pgbench) = pgbench.iter().find(runs) else {
        left_out("there is no pgbench on this machine");
        return;
    };
    let place = Place::new();
    let arm =
        |more: &str| format!("{more}command={} -n -S -T 1 -c {{clients}} -j {{jobs}}", pgbench.display());
    let (a, b) = (arm("set:jit=on,"), arm("set:jit=off,"));
    place.done(&["ab", "--scale", "1", "--clients", "2", "--blocks", "3", "--aa-blocks", "0", &a, &b]);
    let run = place.only_run();
    holds_together(&run);
    assert!(compared(&run).blocks.iter().all(|block| block.a_per_s > 0.0 && block.b_per_s > 0.0));
    let jit = compared(&run).differences.iter().find(|difference| difference.what == "jit");
    assert_eq!(jit.and_then(|jit| jit.b.as_deref()), Some("off"));
    place.nothing_is_left();
}
