//! `pgdyno run` with several subjects from end to end: the oldest bundle and the newest, side by side.

use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use pgdyno_analysis::{
    DoubtKind,
    compare::{Fairness, Verdict},
};
use pgdyno_core::measure::CellRun;
use pgdyno_record::{LevelsRecord, Run, Status};

use crate::common::{OLDEST, OLDEST_VERSION, Place, brief, holds_together, is_busy_machine, left_out, text};

/// How long a transaction takes is a setting of the server's. There are so many clients and such long pauses that a
/// level has enough commits to be judged, and is held up by the pauses, on a slow machine as well.
const PAUSED: &str = r#"
name = "paused"
[data]
setup_text = "CREATE TABLE seen (number int)"
[[workload]]
name = "pause"
text = "SELECT pg_sleep(current_setting('own.pause')::float8)"
reset = "TRUNCATE seen; INSERT INTO seen SELECT generate_series(1, :clients)"
[measure]
clients = [4, 8]
jobs = 1
duration = "1200ms"
warmup = "50ms"
blocks = 4
"#;

const TPCB: &str = r#"
name = "tpcb"
[[subject]]
name = "one"
pg = "18"
bundle = true
[[subject]]
name = "other"
pg = "18"
bundle = true
[data]
scale = 1
[[workload]]
script = "tpcb-like"
[measure]
clients = [2]
jobs = 1
duration = "300ms"
warmup = "50ms"
blocks = 2
"#;

fn written(place: &Place, plan: &str) -> String {
    let path = place.path("plan.toml");
    fs::write(&path, plan.replace("300ms", brief())).expect("it can be written");
    path.display().to_string()
}

fn levels(run: &Run) -> &LevelsRecord {
    run.record.levels.as_ref().expect("there are several")
}

fn is_done(run: &Run) {
    assert_eq!((run.record.status, &run.record.error), (Status::Complete, &None));
    holds_together(run);
}

fn each_has_a_server_of_its_own(run: &Run) {
    let list = &run.record.subjects;
    let servers: Vec<_> = list.iter().map(|subject| subject.server.as_ref().expect("it was there")).collect();
    let majors: Vec<_> = servers.iter().map(|server| server.version_num / 10_000).collect();
    assert_eq!(majors, [9, 18]);
    let dirs: BTreeSet<_> = servers.iter().map(|server| server.data_directory.clone()).collect();
    assert_eq!(dirs.len(), 2);
    assert!(list.iter().all(|subject| subject.setup.as_ref().is_some_and(|setup| setup.tables == 1)));
    assert_eq!(servers[0].shared_buffers_bytes, servers[1].shared_buffers_bytes, "sized alike");
    let comparable = list[1].comparable.as_ref().expect("it was judged");
    assert_eq!((comparable.verdict, list[0].comparable.is_none()), (Fairness::DiffersBesides, true));
    assert!(comparable.besides.contains(&"compiler".to_owned()), "{comparable:?}");
    assert!(!comparable.besides.iter().any(|name| name.contains("wal_size")), "{comparable:?}");
    assert!(run.record.doubts.iter().any(|doubt| doubt.kind == DoubtKind::BuildDiffers));
    assert!(run.path.join("server-1.log").is_file() && run.path.join("server-2.log").is_file());
}

/// Within a round all run the same cell, right after each other, and neither is always first.
fn subjects_take_turns(run: &Run) {
    let runs = &run.record.runs;
    assert_eq!(runs.len(), 16);
    let mut first = BTreeSet::new();
    for round in runs.chunks(2) {
        let [one, other] = round else { panic!("rounds are of two") };
        let level = |run: &pgdyno_core::measure::CellRun| (run.block, run.workload.clients);
        assert_eq!(level(one), level(other));
        assert_ne!(one.workload.subject, other.workload.subject);
        first.insert(one.workload.subject.clone());
    }
    assert_eq!(first.len(), 2, "each is first at times");
    assert!(runs.iter().all(|run| run.counts.committed > 0 && run.counts.failed == 0));
    let reset = |run: &CellRun| {
        run.data_state.is_some_and(|state| state.rows == Some(u64::from(run.workload.clients)))
    };
    assert!(runs.iter().all(reset), "every run begins with the table as its reset left it");
}

fn slower_at_every_level(run: &Run) {
    let subjects = levels(run);
    let found: Vec<_> = subjects
        .list
        .iter()
        .map(|level| (level.clients, level.blocks, level.result.as_ref().map(|result| result.verdict)))
        .collect();
    assert_eq!(found, [(4, 4, Some(Verdict::Slower)), (8, 4, Some(Verdict::Slower))]);
    assert_eq!(subjects.judged, 2);
    assert!(subjects.list.iter().all(|level| level.effect.is_some_and(|effect| effect < -0.3)));
}

fn time_and_waits_are_kept(run: &Run) {
    let time = run.record.time.expect("there are runs");
    let parts = [time.server_s, time.load_s, time.starts_s, time.reset_s, time.warmup_s, time.measured_s];
    assert!(parts.iter().all(|part| *part > 0.0), "{time:?}");
    let sum: f64 = parts.iter().sum::<f64>() + time.checkpoint_s + time.connect_s + time.rest_s;
    assert!((sum - time.whole_s).abs() < 1e-6, "{time:?}");
    for cell in &run.record.cells {
        let waits = cell.waits.as_ref().expect("somebody looked");
        // Nearly all of their time they sleep, whatever the version calls that.
        assert!(waits.looks > 0 && waits.sessions > 0, "{waits:?}");
        assert!(waits.sessions <= waits.looks * u64::from(cell.workload.clients), "{waits:?}");
    }
    let of_18 = run.record.cells.iter().filter(|cell| cell.workload.clients == 8);
    let of_18 = of_18.filter_map(|cell| cell.waits.as_ref()).flat_map(|waits| &waits.events);
    assert!(of_18.into_iter().any(|event| event.event == "Timeout:PgSleep"), "18 shows that they sleep");
}

/// Counting rows, as the log shows it.
const COUNT: &str = "SELECT pg_catalog.sum(n) FROM (SELECT pg_catalog.count(*)";

/// The log of a server, which is compressed if it is long: a fast machine logs more statements.
fn log_of(run: &Run, name: &str) -> String {
    let path = run.path.join(name);
    fs::read_to_string(&path).unwrap_or_else(|_| {
        let unpacked = Command::new("gzip").arg("-dc").arg(path.with_extension("log.gz")).output();
        let unpacked = unpacked.expect("gzip is there");
        assert!(unpacked.status.success(), "{name} was kept: {}", text(&unpacked.stderr));
        text(&unpacked.stdout)
    })
}

/// The statements by which pgdyno quiesced a server or its data, in the order of the log.
fn put_to_rest(run: &Run, log: &str) -> Vec<String> {
    let log = log_of(run, log);
    let statements = log.lines().filter_map(|line| line.split_once("statement: ")).map(|(_, sql)| sql);
    let words = ["CHECKPOINT", "TRUNCATE pgbench_history", "TRUNCATE log", "VACUUM pgbench_"];
    let kept = statements.filter_map(|sql| match sql.starts_with(COUNT) {
        true => Some("count"),
        false => words.iter().any(|word| sql.starts_with(word)).then_some(sql),
    });
    kept.map(str::to_owned).collect()
}

/// The same without a CHECKPOINT that comes after another and a count alone: where a machine takes its time between two
/// runs, pgdyno makes one more.
fn put_to_rest_in_time(run: &Run, log: &str) -> Vec<String> {
    let mut needed: Vec<String> = Vec::new();
    for done in put_to_rest(run, log) {
        let last = needed.iter().rev().find(|before| *before != "count");
        if done != "CHECKPOINT" || last.is_none_or(|last| last != "CHECKPOINT") {
            needed.push(done);
        }
    }
    needed
}

/// Whether the servers reloaded settings while they ran: turning autovacuum off and on is all that pgdyno changes.
fn were_reloaded(run: &Run) -> [bool; 2] {
    ["server-1.log", "server-2.log"].map(|name| {
        let log = log_of(run, name);
        log.contains("received SIGHUP")
    })
}

fn of_autovacuum(run: &Run) -> &str {
    let choice = run.record.choices.iter().find(|choice| choice.name == "autovacuum");
    &choice.expect("it is among the choices").value
}

/// A place in another file system than that of the other servers, with room for one.
fn elsewhere() -> Option<tempfile::TempDir> {
    let shm = Path::new("/dev/shm");
    let facts = pgdyno_host::facts::storage(shm).ok()?;
    let has_room = facts.filesystem.as_deref() == Some("tmpfs") && facts.available_bytes >= 1 << 30;
    let dir = has_room.then(|| tempfile::tempdir_in(shm))?.ok()?;
    // The server's user must be able to pass through.
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    Some(dir)
}

fn storage_of_each_is_kept(run: &Run, dir: &Path) {
    let [first, second] = &run.record.subjects[..] else { panic!("there are two") };
    assert!(first.storage.is_none() && first.sync_check.is_some(), "it is that of the run");
    let storage = second.storage.as_ref().expect("it is another one");
    assert_eq!((storage.filesystem.as_deref(), Path::new(&storage.path)), (Some("tmpfs"), dir));
    let checked = second.sync_check.as_ref().expect("it was checked, too");
    assert!(Path::new(&checked.path).starts_with(dir), "{checked:?}");
    let row = second.differences.iter().find(|row| row.what == "storage").expect("it is listed");
    assert!(row.b.as_ref().is_some_and(|text| text.starts_with("tmpfs on ")), "{row:?}");
    let comparable = second.comparable.as_ref().expect("it was judged");
    assert!(comparable.asked.contains(&"storage".to_owned()), "the place was given: {comparable:?}");
}

#[test]
fn what_cannot_be_is_said_before_anything_begins() {
    let place = Place::new();
    let path = written(&place, PAUSED);
    let small = "pg=18,set:max_connections=12";
    let err = place.refused(&["run", &path, "--subject", "pg=18", "--subject", small], 3);
    assert!(err.contains(small) && err.contains("max_connections (12"), "{err}");
    let err = place.refused(&["run", &path, "--subject", "pg=18", "--subject", "builtin=select-only"], 2);
    assert!(err.contains("the plan defines the workload"), "{err}");
    let dry = place.run(&["run", &path, "--subject", "pg=15", "--subject", "pg=18", "--dry-run"]);
    let err = text(&dry.stderr);
    assert!(
        dry.status.success() && err.contains("server  pg=15: ") && err.contains("takes   about"),
        "{err}"
    );
    // The directories of all of them are named.
    let places = ["first", "second", "wal"].map(|name| place.path(name).display().to_string());
    let [first, second, wal] = &places;
    let subjects = [format!("pg=18,bundle,data={first}"), format!("pg=18,bundle,data={second},waldir={wal}")];
    let dry = place.run(&["run", &path, "--subject", &subjects[0], "--subject", &subjects[1], "--dry-run"]);
    let err = text(&dry.stderr);
    let dirs = format!(" in {first}, {second} and {wal}, removed at the end");
    assert!(dry.status.success() && err.contains(&dirs), "{err}");
    place.nothing_is_left();
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_planted_slowdown_is_found_at_every_level() {
        let place = Place::new();
        // What a busy machine adds to every pause is the same for both and hides their difference, so they pause
        // longer.
        let (duration, pauses) = match is_busy_machine() {
            true => ("6s", ["0.02", "0.08"]),
            false => ("1200ms", ["0.004", "0.016"]),
        };
        let path = written(&place, &PAUSED.replace("1200ms", duration));
        let words = [
            format!("pg={OLDEST},set:own.pause={}", pauses[0]),
            format!("pg=18,set:own.pause={}", pauses[1]),
        ];
        let words = words.each_ref().map(String::as_str);
        let args = ["run", &path, "--bundle", "--subject", words[0], "--subject", words[1], "--seed", "3"];
        let output = place.run(&args);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{out}{err}");
        assert!(err.contains("16 (8 of each subject)") && err.contains(words[1]), "{err}");
        let run = place.only_run();
        is_done(&run);
        each_has_a_server_of_its_own(&run);
        subjects_take_turns(&run);
        slower_at_every_level(&run);
        time_and_waits_are_kept(&run);
        assert!(out.contains("slower") && out.contains("COMPARED WITH THE BASELINE"), "{out}");
        let csv = place.done(&["report", &run.record.id, "--format", "csv"]);
        assert!(
            csv.contains(&format!(",{OLDEST_VERSION},")) && csv.contains(&format!(",\"{}\"", words[0])),
            "{csv}"
        );
        place.nothing_is_left();
    }

    /// Tables in which subjects differ are the question, and are shown in the report.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn subjects_differ_in_their_tables() {
        let place = Place::new();
        let path = written(&place, TPCB);
        let words = ["pg=18,bundle", "pg=18,bundle,load:partitions=4,load:fillfactor=80"];
        let args = ["run", &path, "--subject", words[0], "--subject", words[1], "--seed", "5", "--full"];
        let said = place.done(&args);
        let run = place.only_run();
        is_done(&run);
        let parts = |at: usize| {
            let load = run.record.subjects[at].load.as_ref().expect("it was loaded");
            load.accounts.as_ref().expect("it was looked at").partitions
        };
        assert_eq!([parts(0), parts(1)], [0, 4]);
        let comparable = run.record.subjects[1].comparable.as_ref().expect("it was judged");
        assert!(comparable.besides.is_empty(), "{comparable:?}");
        assert!(said.contains("4 partitions") && said.contains("fill factor 80 %"), "{said}");
        place.nothing_is_left();
    }

    /// What a reset throws away is not written out first, and a reset that nothing came after is not done again.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_reset_follows_its_run_at_once() {
        let place = Place::new();
        let data = "[data]\nsetup_text = \"CREATE TABLE log (number int)\"\n[[workload]]\nname = \"insert\"\n\
                    text = \"INSERT INTO log VALUES (1)\"\nreset = \"TRUNCATE log\"\n";
        let plan = TPCB.replace("[data]\nscale = 1\n[[workload]]\nscript = \"tpcb-like\"\n", data);
        let path = written(&place, &plan.replace("[2]", "[1, 2]"));
        place.done(&["run", &path, "--seed", "8", "--set", "log_statement=all"]);
        let run = place.only_run();
        is_done(&run);
        // The first is a practice run. The CHECKPOINT before it has something to write; before the others nothing came
        // after the last. Rows are counted before it as well as before a run, so that this has nothing left to write.
        let first = ["count", "CHECKPOINT", "TRUNCATE log", "count", "CHECKPOINT"];
        let after_run = ["TRUNCATE log", "count", "CHECKPOINT"];
        let of_others = [&["count"][..], &after_run].concat().repeat(4);
        let expected = [&first, &after_run[..], &of_others].concat();
        assert_eq!(put_to_rest_in_time(&run, "server-1.log"), expected);
        assert_eq!(put_to_rest_in_time(&run, "server-2.log"), expected);
        for cell in &run.record.runs {
            assert_eq!(cell.data_state.and_then(|state| state.rows), Some(0));
            // Of a disk that is busy a commit may come after the interval.
            assert!(cell.reset_s.is_some_and(|s| s > 0.0) && cell.counts_whole.committed > 0);
        }
        place.nothing_is_left();
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn autovacuum_that_was_asked_for_is_left_alone() {
        let second_place = elsewhere();
        let place = Place::new();
        let path = written(&place, TPCB);
        let elsewhere = second_place.as_ref().map(|dir| dir.path().join("data"));
        let place_of_data =
            elsewhere.as_ref().map(|dir| format!(",data={}", dir.display())).unwrap_or_default();
        let second = format!("bundle,pg=18,set:Autovacuum_naptime=50{place_of_data}");
        let logged = ["--set", "log_statement=all"];
        let args = ["run", &path, "--subject", "bundle,pg=18", "--subject", &second, "--seed", "5"];
        place.done(&[&args[..], &logged].concat());
        let run = place.only_run();
        is_done(&run);
        let done = put_to_rest(&run, "server-2.log");
        assert!(done.contains(&"VACUUM pgbench_tellers".to_owned()), "{done:?}");
        assert!(
            !done.contains(&"VACUUM pgbench_accounts".to_owned()),
            "they are left to autovacuum: {done:?}"
        );
        let twice = ["CHECKPOINT", "CHECKPOINT"];
        assert!(
            done.windows(2).any(|pair| pair == twice),
            "what it does is written out before a run: {done:?}"
        );
        assert_eq!((of_autovacuum(&run), were_reloaded(&run)), ("as requested", [false, false]));
        match elsewhere {
            Some(dir) => storage_of_each_is_kept(&run, &dir),
            None => left_out("there is no second file system with room"),
        }
        place.nothing_is_left();
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn kept_data_have_their_autovacuum_back() {
        let place = Place::new();
        let path = written(&place, TPCB);
        place.done(&["run", &path, "--keep", "--seed", "6"]);
        let run = place.only_run();
        is_done(&run);
        assert_eq!((of_autovacuum(&run), were_reloaded(&run)), ("off after the load", [true, true]));
        for subject in &run.record.subjects {
            let data = subject.server.as_ref().and_then(|server| server.data_directory.clone());
            let conf = Path::new(&data.expect("it is ours")).join("postgresql.auto.conf");
            let conf = fs::read_to_string(conf).expect("it was kept");
            assert!(!conf.contains("autovacuum"), "{conf}");
        }
    }

    /// Every run begins with tables as the load left them, and leaves nothing to be written while another one is
    /// measured.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn tables_are_put_back_and_written_out_after_every_run() {
        let place = Place::new();
        let path = written(&place, TPCB);
        place.done(&["run", &path, "--seed", "7", "--set", "log_statement=all"]);
        let run = place.only_run();
        is_done(&run);
        let of_run = [
            "TRUNCATE pgbench_history",
            "VACUUM pgbench_branches",
            "VACUUM pgbench_tellers",
            "VACUUM pgbench_accounts",
            "CHECKPOINT",
        ];
        // Of a practice run, and of one in each of two blocks.
        let expected = [&["CHECKPOINT"], &of_run[..], &of_run[..], &of_run[..]].concat();
        assert_eq!(put_to_rest_in_time(&run, "server-1.log"), expected);
        assert_eq!(put_to_rest_in_time(&run, "server-2.log"), expected);
        for cell in &run.record.runs {
            assert!(cell.reset_s.is_some_and(|s| s > 0.0) && cell.checkpoint_s.is_some_and(|s| s > 0.0));
            let idle = cell.idle.expect("the other one is here, too");
            assert!(idle.written_bytes.is_some(), "{idle:?}");
        }
        let tables = run.record.choices.iter().find(|choice| choice.name == "TPC-B tables");
        assert!(
            tables.is_some_and(|choice| choice.value.starts_with("history emptied, the others vacuumed"))
        );
        assert_eq!(run.record.plan.balance_check, "sums");
        place.nothing_is_left();
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn the_data_of_each_subject_of_a_plan_is_checked() {
        let place = Place::new();
        let path = written(&place, TPCB);
        place.done(&["run", &path, "--seed", "4"]);
        let run = place.only_run();
        is_done(&run);
        assert_eq!(run.record.names(), ["one", "other"]);
        for subject in &run.record.subjects {
            let balance = subject.balance.as_ref().expect("it was checked");
            let own =
                run.record.runs.iter().filter(|run| run.workload.subject.as_ref() == Some(&subject.name));
            let practice = run.record.starts.iter().flat_map(|start| &start.practice);
            let practice = practice.filter(|of| of.subject == subject.name).map(|of| of.committed);
            let committed: u64 = own.map(|run| run.counts_whole.committed).chain(practice).sum();
            assert_eq!((balance.violations, balance.committed), (0, committed));
            assert!(balance.history_rows == committed && balance.mode == "sums" && committed > 0);
        }
        let other = run.record.subjects[1].comparable.as_ref().expect("it was judged");
        assert_eq!((other.verdict, &run.record.subjects[1].differences), (Fairness::Alike, &vec![]));
        place.nothing_is_left();
    }
}
