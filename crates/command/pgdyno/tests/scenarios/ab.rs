//! `pgdyno ab` from end to end: temporary servers, an existing one, and commands whose results are known.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf, process::Command};

use pgdyno_analysis::{DoubtKind, compare::Verdict};
use pgdyno_core::{
    facts::{DurabilityTier, same_build},
    measure::Arm,
    results::{ComparedRate, Fairness, Why},
};
use pgdyno_provision::bundle::{self, Pin, version_num_of};
use pgdyno_record::{ComparisonRecord, Run, Status};

use crate::common::{OLDEST, Place, admin, brief, holds_together, is_complete, left_out, text, word};

/// The shortest comparison that has every part.
fn ab<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let tiny = ["ab", "--scale", "1", "--clients", "8", "--duration", brief(), "--warmup", "50ms"];
    tiny.iter().chain(more).copied().collect()
}

fn compared(run: &Run) -> &ComparisonRecord {
    run.record.comparison.as_ref().expect("it is a comparison")
}

fn verdict(run: &Run) -> Verdict {
    compared(run).result.as_ref().expect("there were blocks").verdict
}

/// Two scripts, of which the second waits 1 ms where the first waits for nothing: what it waits holds it up on a slow
/// machine as well, and leaves enough commits of each client to be judged, also during other tests.
fn scripts(place: &Place) -> [String; 2] {
    [("fast.sql", "SELECT 1;\n"), ("slow.sql", "SELECT pg_sleep(0.001);\n")].map(|(name, sql)| {
        fs::write(place.path(name), sql).expect("it can be written");
        place.path(name).display().to_string()
    })
}

/// The table next to the answer has what the answer rests on.
fn cells_are_those_of_the_blocks(run: &Run) {
    let (rates, counted) = (compared(run).rates(), compared(run).counted_blocks());
    assert_eq!((run.record.cells.len(), rates[0].len()), (2, 8));
    for (cell, rates) in run.record.cells.iter().zip(&rates) {
        let mean = rates.iter().sum::<f64>() / 8.0;
        assert_eq!(cell.tps.count, 8);
        assert!(
            (cell.tps.value / mean - 1.0).abs() < 1e-9,
            "{} TPS in the table, {mean} by blocks",
            cell.tps.value
        );
        let own = run.record.runs.iter().filter(|run| run.workload == cell.workload);
        let own = own.filter(|run| counted.contains(&run.block));
        let samples: u64 = own.filter_map(|run| Some(run.latency.as_ref()?.count)).sum();
        assert_eq!(cell.latency.as_ref().map(|latency| latency.count), Some(samples));
    }
}

fn every_form_has_the_answer(place: &Place) {
    let show = place.done(&["show", "last"]);
    let answer =
        show.lines().find(|line| line.starts_with("B is ")).expect("it is the first sentence").to_owned();
    for form in ["text", "markdown"] {
        let report = place.done(&["report", "last", "--format", form]).replace('\\', "");
        assert!(report.contains(&answer), "{form}: {report}");
    }
    assert!(place.done(&["report", "last", "--paste"]).contains(&answer));
    assert!(place.done(&["list"]).contains(answer.trim_end_matches('.')));
    for (format, lines) in [("csv", 2), ("csv-blocks", 8)] {
        let csv = place.done(&["report", "last", "--format", format]);
        assert_eq!(csv.lines().count(), 1 + lines, "{csv}");
    }
    let html = place.done(&["report", "last", "--out", "-"]);
    assert!(html.contains("id=\"blocks\"") && html.contains("data-src=\"/comparison/result/effect\""));
}

/// Where runs are loads, what drives a workload is refused by name.
#[test]
fn what_no_load_has_is_refused() {
    let place = Place::new();
    for flag in [
        &["-b", "select-only"][..],
        &["--clients", "4"],
        &["-T", "5s"],
        &["--jobs", "2"],
        &["--slots"],
        &["--loaded"],
        &["-M", "simple"],
    ] {
        let ab = ["ab", "--by", "loaded-rows", "--dry-run", "default", "load:jobs=2"];
        let said = place.refused(&[&ab[..], flag].concat(), 2);
        assert!(
            said.contains("with --by loaded-rows every run loads the tables, and nothing else"),
            "{flag:?}: {said}"
        );
    }
    // The sessions that load are not those of clients.
    for more in [
        &["--dsn", "host=/tmp", "--set", "maintenance_work_mem=1MB", "--set", "maintenance_work_mem=2MB"][..],
        &["--dsn", "host=/tmp", "--dsn", "host=/tmp options=-cjit=off"],
    ] {
        let said = place.refused(&[&["ab", "--by", "loaded-rows", "--dry-run"], more].concat(), 2);
        assert!(said.contains("could not compare loads by settings of sessions"), "{more:?}: {said}");
    }
    place.nothing_is_left();
}

/// What a session cannot be given is refused by name, before anything is made.
#[test]
fn what_sessions_of_a_running_server_cannot_have_is_refused() {
    let place = Place::new();
    place.done(&["up", "main", "--pg", "18", "--bundle"]);
    let refused = |more: &[&str], code: i32| {
        place.refused(&[&["ab", "--dry-run", "-b", "select-only"], more].concat(), code)
    };
    for (setting, code, why) in [
        (
            "shared_buffers=1GB",
            2,
            "could not set shared_buffers for A: a server takes it only when it starts",
        ),
        ("fsync=off", 2, "could not set fsync for A: it is the same for all sessions of a server"),
        ("jti=off", 2, "could not set jti for A: the server has no such setting"),
        ("work_mem=lots", 3, "could not connect as the clients of A: "),
    ] {
        let (name, _) = setting.split_once('=').expect("it has a value");
        let other = format!("{name}=2");
        let said = refused(&["--server", "main", "--set", setting, "--set", &other], code);
        assert!(said.contains(why), "{said}");
    }
    let server = place.only();
    let socket = word(&server, "socket_dir");
    std::os::unix::fs::symlink(socket, place.path("s")).expect("it can be made");
    let same = place.path("s").display().to_string();
    let [one, other] = [socket, &same]
        .map(|host| format!("host={host} port={} user=postgres dbname=postgres", server["port"]));
    let said = refused(&["--dsn", &one, "--dsn", &other], 2);
    assert!(
        said.contains("could not use database postgres for A and for B: it is reached in two ways"),
        "{said}"
    );
    place.done(&["down", "main", "--remove"]);
}

/// What is said of bundles before they are fetched is what they report themselves.
fn are_as_the_lock_says(run: &Run) {
    for server in run.record.subjects.iter().filter_map(|arm| arm.server.as_ref()) {
        let pins = bundle::pins();
        let of = |pin: &Pin| version_num_of(&pin.version) == server.version_num;
        let pin = pins.into_iter().find(of).expect("it is pinned");
        // Nobody knows the flags of the one of 9.5.
        let known = pin.build.cflags.as_ref().map(|_| true);
        assert_eq!(same_build(&pin.build, &server.build), known, "{pin:?} {:?}", server.build);
    }
}

/// Programs that report a version, and how they were compiled, as far as anybody looks before they are started.
fn programs(place: &Place, name: &str, version: &str, compiler: &str, flags: &str) -> String {
    let bin = place.path(name);
    fs::create_dir_all(&bin).expect("it can be made");
    let answer = format!("#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\nexit 0\n");
    let compiled = format!("\0PostgreSQL {version} on x86_64-pc-linux-gnu, compiled by {compiler}, 64-bit\0");
    for program in ["postgres", "initdb"] {
        let script = place.path("script");
        fs::write(&script, format!("{answer}{compiled}-Wall -Wmissing-prototypes {flags}\0"))
            .expect("written");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("it is ours");
        // By another process: what this one has open for writing cannot be run.
        let copied = Command::new("cp").arg("-p").arg(&script).arg(bin.join(program)).status();
        assert!(copied.is_ok_and(|status| status.success()));
    }
    bin.display().to_string()
}

const DEBIAN: &str = "gcc (Debian 12.2.0-14+deb12u1) 12.2.0";

/// Nothing is fetched to say it: the cache is empty, and stays so.
#[test]
fn builds_that_differ_are_said_before_anything_is_done() {
    let place = Place::with_empty_cache();
    let [old, new] = [("old", "15.19"), ("new", "18.6")]
        .map(|(name, version)| programs(&place, name, version, DEBIAN, "-O2"));
    let said = |args: &[&str]| {
        let output = place.run(&[args, &["--dry-run"]].concat());
        assert!(output.status.success() && output.stdout.is_empty(), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    let (a, b) = (format!("bindir={old}"), "pg=18,bundle");
    let err = said(&["ab", &a, b]);
    assert!(err.contains(&format!("PostgreSQL 15.19, installed in {old}; started for this run")), "{err}");
    assert!(err.contains("PostgreSQL 18.6, embedded bundle, fetched first (about 15 MB)"), "{err}");
    assert!(err.contains("warning: the programs are not built alike"), "{err}");
    assert!(
        err.contains("A is PostgreSQL 15.19 (gcc 12.2.0, -O2); B is PostgreSQL 18.6 (gcc-7.5.0, -Os)"),
        "{err}"
    );
    assert!(
        err.contains("hint: for matching programs use embedded bundles (--pg 15 --pg 18 --bundle), or"),
        "{err}"
    );
    assert!(
        err.contains("pgdyno build pg15 --source postgresql-15.19.tar.bz2 && pgdyno build pg18"),
        "{err}"
    );
    assert!(err.contains(") and use --build pg15 --build pg18"), "{err}");
    // What is offered is alike, and so are two that are installed.
    for alike in
        [&["ab", "--pg", "15", "--pg", "18", "--bundle"][..], &["ab", "--bindir", &old, "--bindir", &new]]
    {
        let err = said(alike);
        assert!(!err.contains("not built alike") && err.contains("PostgreSQL 15.19, "), "{err}");
    }
    let err = said(&["ab", "--pg", "9.6", "--pg", "18", "--bundle"]);
    assert!(
        err.contains("A is PostgreSQL 9.6.24 (gcc-4.4.7, -O2)")
            && err.contains("hint: for matching programs make builds (pgdyno build pg18 "),
        "{err}"
    );
    let path = place.path("plan.toml");
    fs::write(&path, "name = \"two\"\n[[workload]]\nscript = \"select-only\"\n").expect("it can be written");
    let path = path.display().to_string();
    let err = said(&["run", &path, "--subject", &a, "--subject", b]);
    assert!(err.contains("pg=18,bundle is PostgreSQL 18.6 (gcc-7.5.0, -Os)"), "{err}");
    let like = "use embedded bundles (--subject pg=15,bundle --subject pg=18,bundle), or make builds (";
    assert!(err.contains(like), "{err}");
    assert!(!place.path("cache").exists() && !place.path("runs").exists());
    place.nothing_is_left();
}

#[test]
fn more_clients_than_branches_are_said_before() {
    let place = Place::new();
    let dry = |more: &[&str]| text(&place.run(&[&ab(more)[..], &["--dry-run"]].concat()).stderr);
    let two = ["--set", "jit=on", "--set", "jit=off"];
    let err = dry(&two);
    assert!(err.contains("warning: scale 1 has fewer branches than there are clients (8)"), "{err}");
    assert!(!dry(&[&two[..], &["-b", "select-only"]].concat()).contains("branches"));
    let of_each = |a: &str, b: &str| {
        text(&place.run(&["ab", "--scale", "4", "--dry-run", a, b]).stderr).contains("fewer branches")
    };
    assert!(of_each("clients=2", "clients=8") && of_each("clients=8", "clients=2"));
    assert!(!of_each("clients=8,builtin=select-only", "clients=4"), "only B updates branches");
    let few = "clients=30,set:max_connections=20";
    let err = place.refused(&["ab", "--dry-run", "clients=40", few], 3);
    assert!(err.contains("B: 30 clients are more than the server's max_connections (20)"), "{err}");
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
    let args = ["ab", "--command", &commands[0], "--command", &commands[1]];
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

/// What the report of a comparison without an answer prints continues it: the looks that it had stay, and those that
/// are added are stricter than a new comparison's.
#[test]
fn a_comparison_without_an_answer_is_continued_by_the_command_in_its_report() {
    let twice = |by: f64| NOISE.iter().chain(&NOISE).map(|noise| 1_000.0 * noise * by).collect::<Vec<_>>();
    let (a, mut b) = (twice(1.0), twice(1.004));
    b.rotate_left(3);
    let (_, run, place) = by_commands(&a, &b, &["--blocks", "8", "--margin", "0.1%"]);
    let first = compared(&run).looks.clone();
    let Verdict::CannotTell { more_blocks: Some(_) } = verdict(&run) else { panic!("{:?}", verdict(&run)) };
    let refused = place.refused(&["resume"], 2);
    assert!(refused.contains("without an answer") && refused.contains("--more-blocks"), "{refused}");
    let refused = place.refused(&["resume", "--more-blocks", "193"], 2);
    assert!(refused.contains("201 blocks are more than 200"), "{refused}");

    let shown = place.done(&["show"]);
    let command = shown.lines().find(|line| line.contains("resume ")).expect("it is printed");
    let words = format!("pgdyno resume {} --more-blocks ", run.record.id);
    assert!(command.starts_with(&words), "{shown}");
    assert!(place.done(&["show", "--full"]).contains(command), "the whole report has it, too");
    // As many as there are known results for.
    place.done(&["resume", &run.record.id, "--more-blocks", "8"]);
    let run = place.only_run();
    holds_together(&run);
    let found = compared(&run);
    assert_eq!((found.blocks.len(), run.record.plan.blocks, run.record.resumed.len()), (16, 16, 1));
    assert_eq!((found.looks.len(), &found.looks[..1]), (3, &first[..]));
    assert!(found.looks[2].alpha < found.looks[0].alpha / 2.0, "{:?}", found.looks);
    assert_eq!(found.result.as_ref().map(|result| result.blocks), Some(16));
}

fn is_shown_without_servers(place: &Place) {
    let report = place.done(&["show", "last", "--full"]);
    assert!(report.contains("No difference that matters: B "), "{report}");
    assert!(report.contains("the commands start their own servers"), "{report}");
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

/// With one look all blocks are measured though the answer is clear before, and the report's command repeats it so.
#[test]
fn one_look_measures_all_blocks() {
    let a: Vec<_> = NOISE.iter().chain(&NOISE).map(|noise| 1_000.0 * noise).collect();
    let b: Vec<_> = a.iter().map(|result| result * 1.3).collect();
    let (code, run, place) = by_commands(&a, &b, &["--one-look"]);
    assert_eq!((code, verdict(&run)), (Some(0), Verdict::Faster));
    let found = compared(&run);
    let looks: Vec<_> = found.looks.iter().map(|look| look.blocks).collect();
    assert_eq!((found.blocks.len(), looks), (16, vec![16]));
    assert!(place.done(&["show", "--full"]).contains("--one-look"), "it is a part of the command");
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
        let said = place.run(&["ab", "--command", a, "--command", b, "--blocks", "3"]);
        assert_eq!(said.status.code(), Some(3));
        assert!(text(&said.stderr).contains(words), "{}", text(&said.stderr));
    }
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    /// One existing server, named once for both arms: it is one subject, and nothing of pgdyno stays in it.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn two_scripts_at_a_server_that_is_there() {
        let place = Place::new();
        place.done(&["up", "there"]);
        let server = place.only();
        let [fast, slow] = scripts(&place);
        let dsn = format!(
            "host={} port={} user=postgres dbname=postgres",
            word(&server, "socket_dir"),
            server["port"]
        );
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

    /// Two ways of loading: each run is a load, whose rows per second and stages are kept, and what was loaded last is
    /// verified.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn ways_of_loading_are_compared_by_rows_per_second() {
        let place = Place::new();
        let ways = ["default", "load:partitions=40,load:fillfactor=20"];
        place.done(
            &[&["ab", "--bundle", "--by", "loaded-rows", "--scale", "2", "--blocks", "3"], &ways[..]]
                .concat(),
        );
        let run = place.runs().remove(0);
        is_complete(&run);
        let comparison = compared(&run);
        assert_eq!((comparison.blocks.len(), comparison.loads.len(), run.record.runs.len()), (3, 6, 0));
        for load in &comparison.loads {
            let block = &comparison.blocks[load.block as usize - 1];
            let rate = if load.arm == Arm::A { block.a_per_s } else { block.b_per_s };
            assert_eq!((load.rows, rate), (200_022, load.rows as f64 / load.duration_s));
            let stages: f64 = load.stages.iter().map(|stage| stage.duration_s).sum();
            assert!((stages - load.duration_s).abs() < 1e-9, "{load:?}");
        }
        let verified: Vec<_> = run.record.operations.iter().map(|one| (&*one.name, one.passed)).collect();
        assert_eq!(verified, [("verify", Some(true)), ("verify", Some(true))]);
        assert_eq!(comparison.by, ComparedRate::LoadedRows);
        let report = place.done(&["report", "last", "--format", "text"]);
        assert!(
            report.contains("LOADS") && report.contains("compared by rows loaded per second"),
            "{report}"
        );
        assert_eq!(comparison.a_per_s.as_ref().map(|of| of.count), Some(3));
        assert!(report.contains("ROWS LOADED PER SECOND"), "{report}");
        assert!(
            comparison.result.as_ref().is_some_and(|result| result.effect < 0.0),
            "partitions cost time: {comparison:?}"
        );
    }

    /// Two settings of sessions on one server, by flags and by connection strings; a script shows which arm has which.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn settings_of_sessions_are_compared_on_one_running_server() {
        let place = Place::new();
        place.done(&["up", "main", "--pg", "18", "--bundle"]);
        fs::write(
            place.path("asks.sql"),
            "SELECT CASE current_setting('work_mem') WHEN '1MB' THEN pg_sleep(0) ELSE pg_sleep(0.002) END;\n",
        )
        .expect("it can be written");
        let size = ["-f", "asks.sql", "--clients", "2", "-T", brief(), "--warmup", "50ms", "--blocks", "3"];
        let server = place.only();
        let dsn = |options: &str| {
            let socket = word(&server, "socket_dir");
            format!("host={socket} port={} user=postgres dbname=postgres {options}", server["port"])
        };
        let [one, other] = [dsn("options=-cwork_mem=1MB"), dsn("options=-cwork_mem=2MB")];
        let tier = ["--set", "synchronous_commit=off", "--set", "synchronous_commit=on"];
        for way in [
            &["--server", "main", "--set", "work_mem=1MB", "--set", "work_mem=2MB"][..],
            &["--dsn", &one, "--dsn", &other],
            &[&["--server", "main", "--set", "work_mem=1MB", "--set", "work_mem=2MB", "--slots"], &tier[..]]
                .concat(),
        ] {
            place.done(&[&["ab"], way, &size[..]].concat());
            let run = place.runs().pop().expect("it was recorded");
            let subjects = &run.record.subjects;
            let comparable = subjects[1].comparable.as_ref().expect("it is judged");
            assert_eq!(comparable.verdict, Fairness::AlikeButForWhatWasAsked, "{way:?}: {comparable:?}");
            assert!(comparable.asked.contains(&"work_mem".to_owned()), "{way:?}: {comparable:?}");
            let [fast, slow] = [0, 1].map(|arm: usize| run.record.cells[arm].tps.value);
            assert!(fast > 1.5 * slow, "{way:?}: A sleeps for nothing: {fast} and {slow} TPS");
            let tiers =
                [0, 1].map(|arm: usize| subjects[arm].server.as_ref().map(|server| server.durability));
            let expected = if way.contains(&"synchronous_commit=off") {
                DurabilityTier::AsyncCommit
            } else {
                DurabilityTier::Full
            };
            assert_eq!(tiers, [Some(expected), Some(DurabilityTier::Full)], "{way:?}");
        }
        place.done(&["down", "main", "--remove"]);
    }

    /// TPC-C is compared by its New-Orders, and the tables of both arms are consistent afterwards.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn tpcc_is_compared_by_new_orders() {
        let place = Place::new();
        let plan = "name = \"orders\"\n[data]\ntpcc = { warehouses = 1 }\n[measure]\nclients = [2]\n\
                    duration = \"1500ms\"\nwarmup = \"100ms\"\n[[workload]]\ntpcc = {}\n";
        fs::write(place.path("orders.toml"), plan).expect("it can be written");
        let file = place.path("orders.toml").display().to_string();
        let args = ["ab", "--plan", &file, "--pg", "18", "--bundle", "--blocks", "3", "--by", "new-orders"];
        let out = place.done(&[&args[..], &["default", "default"]].concat());
        let run = place.only_run();
        holds_together(&run);
        let block = &compared(&run).blocks[0];
        let of_a = run.record.runs.iter().find(|run| run.workload.subject.as_deref() == Some("A"));
        let nopm = of_a.and_then(|run| run.nopm).expect("it is TPC-C");
        assert!((block.a_per_s - nopm / 60.0).abs() < 1e-9, "{block:?}, {nopm}");
        for arm in &run.record.subjects {
            assert_eq!(arm.consistency.as_ref().map(|found| found.violations), Some(0));
        }
        assert!(
            out.split_whitespace().collect::<Vec<_>>().join(" ").contains("by New-Orders per second"),
            "{out}"
        );
        place.nothing_is_left();
    }

    /// Blocks that are added are in whole starts of servers that are made again.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_comparison_of_two_servers_is_continued_by_whole_starts() {
        let place = Place::new();
        let is_open = |run: &Run| matches!(verdict(run), Verdict::CannotTell { .. });
        // Equal servers are called different one time in twenty.
        let open = (1..=5).find_map(|seed: u32| {
            let seed = seed.to_string();
            let equal = ["--pg", "18", "--bundle", "default", "default", "--margin", "0.1%"];
            place.done(&ab(&[&equal[..], &["--blocks", "8", "--seed", &seed]].concat()));
            place.runs().pop().filter(is_open)
        });
        let before = open.expect("one of five has no answer").record;
        assert_eq!(before.plan.blocks_per_start, Some(2));
        place.done(&["resume", &before.id, "--more-blocks", "3"]);
        let run = place.runs().into_iter().find(|run| run.record.id == before.id).expect("it is there");
        let comparison = compared(&run);
        assert_eq!(comparison.undisturbed().count(), 12, "three blocks are two starts");
        assert_eq!(run.record.runs[..before.runs.len()], before.runs[..], "what was measured stays");
        assert!(run.record.starts.len() >= 6, "{:?}", run.record.starts);
        assert_eq!(run.record.resumed[0].first_run as usize, before.runs.len());
        place.nothing_is_left();
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_planted_slowdown_is_found_on_two_servers() {
        let place = Place::new();
        let [fast, slow] = scripts(&place);
        let args = ab(&["-f", &fast, "-f", &slow, "--blocks", "8", "--fail-if-slower"]);
        let output = place.run(&args);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{out}{err}");
        assert!(err.contains("--fail-if-slower"), "{err}");
        let run = place.only_run();
        is_complete(&run);
        assert_eq!(verdict(&run), Verdict::Slower);
        let comparison = compared(&run);
        assert!(comparison.floor.as_ref().is_some_and(|floor| floor.blocks == 8));
        let order: String = comparison.blocks.iter().map(|block| block.first.letter()).collect();
        assert_eq!(order, "ABBABAAB");
        let dirs =
            run.record.subjects.iter().map(|arm| arm.server.as_ref().and_then(|s| s.data_directory.clone()));
        let dirs: Vec<_> = dirs.collect();
        assert!(
            dirs[0].is_some() && dirs[1].is_some() && dirs[0] != dirs[1],
            "each arm has a server of its own"
        );
        assert_eq!(run.record.subjects[1].differences, [], "two servers requested alike are alike");
        cells_are_those_of_the_blocks(&run);
        assert!(run.path.join("server-1.log").is_file() && run.path.join("server-2.log").is_file());
        assert!(out.contains("\n\nB is ") && out.contains(" % slower ["), "{out}");
        every_form_has_the_answer(&place);
        place.nothing_is_left();
    }

    /// Tables and clients differ because that was asked, nothing else does, and no server gets the tables of the other.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn arms_have_tables_and_clients_of_their_own() {
        let place = Place::new();
        let tiny =
            ["ab", "--pg", "18", "--bundle", "--scale", "1", "-b", "select-only", "--duration", brief()];
        let rest = ["--warmup", "50ms", "--blocks", "8", "--restart", "always"];
        let arms = ["clients=2,load:fillfactor=50", "clients=4,load:partitions=2,load:partition-method=hash"];
        let args = [&tiny[..], &rest, &arms].concat();
        let dry = text(&place.run(&[&args[..], &["--dry-run"]].concat()).stderr);
        let dry: Vec<_> = dry.split_whitespace().collect();
        let dry = dry.join(" ");
        assert!(dry.contains("A 2 clients and B 4 clients at scale 1"), "{dry}");
        assert!(dry.contains("tables A: one COPY per table, fill factor 50 %"), "{dry}");
        assert!(dry.contains("tables B: COPY in chunks, 2 partitions by hash"), "{dry}");
        place.done(&args);
        let run = place.only_run();
        is_complete(&run);
        let loads: Vec<_> =
            run.record.subjects.iter().filter_map(|arm| arm.load.as_ref()?.terms.clone()).collect();
        let options = loads.iter().map(|of| (of.options.fillfactor, of.options.partitions));
        assert_eq!(options.collect::<Vec<_>>(), [(Some(50), Some(0)), (Some(100), Some(2))]);
        assert_eq!(run.record.plan.clients, [2, 4]);
        for (arm, clients) in Arm::BOTH.into_iter().zip([2, 4]) {
            let own =
                run.record.runs.iter().filter(|run| run.workload.subject.as_deref() == Some(arm.letter()));
            assert!(own.clone().count() == 8 && own.clone().all(|run| run.workload.clients == clients));
        }
        assert!(
            run.record.starts.len() == 4 && run.record.starts.iter().all(|start| start.data_shift.is_none())
        );
        let differences = &run.record.subjects[1].differences;
        assert!(differences.iter().all(|row| row.why == Some(Why::Asked)), "{differences:?}");
        let names: Vec<_> = differences.iter().map(|row| row.what.as_str()).collect();
        let expected =
            ["clients", "load", "partitions", "storage options", "partition method", "size of the data"];
        assert_eq!(names, expected);
        let comparable = run.record.subjects[1].comparable.as_ref().expect("it was judged");
        assert_eq!(comparable.verdict, Fairness::AlikeButForWhatWasAsked);
        let in_buffers =
            run.record.subjects.iter().all(|arm| arm.load.as_ref().is_some_and(|of| of.prewarm.is_some()));
        assert!(in_buffers, "both fit");
        place.nothing_is_left();
    }

    /// pgbench against pgbench at servers made for them, found by the environment.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_command_finds_the_server_of_its_arm() {
        let pgbench = ["/usr/lib/postgresql/15/bin/pgbench", "/usr/bin/pgbench"].map(PathBuf::from);
        // Debian's wrapper in /usr/bin stays where the programs of all versions are gone.
        let runs = |path: &&PathBuf| {
            Command::new(path).arg("--version").output().is_ok_and(|of| of.status.success())
        };
        let Some(pgbench) = pgbench.iter().find(runs) else {
            left_out("there is no pgbench on this machine");
            return;
        };
        let place = Place::new();
        let arm =
            |more: &str| format!("{more}command={} -n -S -T 1 -c {{clients}} -j {{jobs}}", pgbench.display());
        let (a, b) = (arm("set:jit=on,"), arm("set:jit=off,"));
        place.done(&["ab", "--scale", "1", "--clients", "2", "--blocks", "3", &a, &b]);
        let run = place.only_run();
        holds_together(&run);
        assert!(compared(&run).blocks.iter().all(|block| block.a_per_s > 0.0 && block.b_per_s > 0.0));
        let jit = run.record.subjects[1].differences.iter().find(|difference| difference.what == "jit");
        assert_eq!(jit.and_then(|jit| jit.b.as_deref()), Some("off"));
        place.nothing_is_left();
    }

    /// A plan with a table and a script of its own runs on both servers, which pass on their data.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_plan_of_its_own_is_compared_on_two_servers() {
        let place = Place::new();
        let plan = format!(
            "name = \"mine\"\n[data]\nsetup_text = \"CREATE TABLE t AS SELECT generate_series(1, 100) AS n\"\n\
             [measure]\nduration = \"{}\"\nwarmup = \"50ms\"\n[[workload]]\nname = \"count\"\nclients = [2]\n\
             text = \"SELECT count(*) FROM t;\"\n",
            brief()
        );
        fs::write(place.path("mine.toml"), &plan).expect("it can be written");
        let file = place.path("mine.toml").display().to_string();
        let arms = ["--set", "jit=on", "--set", "jit=off"];
        place
            .done(&[&["ab", "--plan", &file, "--pg", "18", "--bundle", "--blocks", "3"], &arms[..]].concat());
        let run = place.only_run();
        holds_together(&run);
        assert_eq!((compared(&run).blocks.len(), run.record.runs.len()), (3, 6));
        assert!(
            run.record.runs.iter().all(|run| run.workload.script == "count" && run.workload.clients == 2)
        );
        let setup = run.record.subjects.iter().map(|arm| arm.setup.as_ref().map(|done| done.tables));
        assert_eq!(setup.collect::<Vec<_>>(), [Some(1), Some(1)]);
        let other = place.refused(&[&["ab", "--plan", &file, "-b", "select-only"], &arms[..]].concat(), 2);
        assert!(other.contains("could not use --builtin: the plan has its own tables or scripts"), "{other}");
        let by = place.refused(&[&["ab", "--plan", &file, "--by", "new-orders"], &arms[..]].concat(), 2);
        assert!(by.contains("only TPC-C has them"), "{by}");
        place.nothing_is_left();
    }

    /// At one existing server client counts may differ, and tables may not.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn two_client_counts_at_a_server_that_is_there() {
        let place = Place::new();
        place.done(&["up", "there"]);
        let server = place.only();
        let dsn = format!(
            "host={} port={} user=postgres dbname=postgres",
            word(&server, "socket_dir"),
            server["port"]
        );
        let tiny =
            ["ab", "--scale", "4", "--duration", brief(), "--warmup", "50ms", "--blocks", "3", "--dsn", &dsn];
        let shared = place.refused(&[&tiny[..], &["load:unlogged", "default"]].concat(), 2);
        assert!(shared.contains("both are on one existing server, which is loaded once"), "{shared}");
        place.done(&[&tiny[..], &["--clients", "1", "--clients", "4"]].concat());
        let run = place.only_run();
        holds_together(&run);
        let of = |letter: &str| {
            let own = run.record.runs.iter().filter(|run| run.workload.subject.as_deref() == Some(letter));
            own.map(|run| run.workload.clients).collect::<Vec<_>>()
        };
        assert_eq!((of("A"), of("B")), (vec![1; 3], vec![4; 3]));
        let rows = run.record.subjects[1].differences.iter();
        let rows: Vec<_> = rows.map(|row| (row.what.as_str(), row.b.as_deref(), row.why)).collect();
        assert_eq!(rows, [("clients", Some("4"), Some(Why::Asked))]);
    }

    /// Runs that write start from the same state, every commit is found again, and two builds are not called two
    /// versions.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn the_oldest_bundle_against_the_newest() {
        let place = Place::new();
        // No run may wait for the disk from its beginning to its end: there would be no result.
        let args =
            ab(&["--pg", OLDEST, "--pg", "18", "--bundle", "--set", "fsync=off", "--blocks", "3", "--json"]);
        let printed: serde_json::Value = serde_json::from_str(&place.done(&args)).expect("it is JSON");
        let run = place.only_run();
        is_complete(&run);
        assert_eq!(printed, run.json);
        for arm in Arm::BOTH {
            let own =
                run.record.runs.iter().filter(|run| run.workload.subject.as_deref() == Some(arm.letter()));
            let practice = run.record.starts.iter().flat_map(|start| &start.practice);
            let practice = practice.filter(|of| of.subject == arm.letter()).map(|of| of.committed);
            let committed: u64 = own.map(|run| run.counts_whole.committed).chain(practice).sum();
            let balance = run.record.subjects[arm.index()].balance.as_ref().expect("it was checked");
            assert_eq!(
                (balance.violations, balance.history_rows, balance.committed),
                (0, committed, committed)
            );
            assert!(committed > 0 && balance.rows_examined > committed);
        }
        let versions: Vec<_> = run
            .record
            .subjects
            .iter()
            .filter_map(|arm| arm.server.as_ref())
            .map(|server| server.version_num / 10_000)
            .collect();
        assert_eq!(versions, [9, 18]);
        are_as_the_lock_says(&run);
        let kinds: Vec<_> = run.record.doubts.iter().map(|doubt| doubt.kind).collect();
        assert!(
            kinds.contains(&DoubtKind::BuildDiffers) && kinds.contains(&DoubtKind::TooFewBlocks),
            "{kinds:?}"
        );
        assert!(run.record.subjects[1].differences.iter().any(|difference| difference.what == "build"));
        assert!(run.record.subjects[1].differences.iter().all(|difference| difference.what != "version"));
        place.nothing_is_left();
    }

    /// Of two sizes of shared buffers the tables fit into one: both servers read them in, and that is no difference.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn both_servers_begin_with_as_much_in_buffers_as_they_hold() {
        let place = Place::new();
        let sizes = ["--set", "shared_buffers=8MB", "--set", "shared_buffers=128MB", "-b", "select-only"];
        place.done(&ab(&[&sizes[..], &["--blocks", "3"]].concat()));
        let run = place.only_run();
        is_complete(&run);
        let read: Vec<_> = run
            .record
            .subjects
            .iter()
            .map(|arm| arm.load.as_ref().map(|load| load.prewarm.is_some()))
            .collect();
        assert_eq!(read, [Some(true), Some(true)]);
        let differing: Vec<_> =
            run.record.subjects[1].differences.iter().map(|difference| difference.what.as_str()).collect();
        assert!(
            !differing.contains(&"data in buffers") && differing.contains(&"shared_buffers"),
            "{differing:?}"
        );
    }
}
