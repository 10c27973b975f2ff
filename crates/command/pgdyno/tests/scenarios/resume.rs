//! Runs that are killed and resumed.

use std::{fs, process::Child, thread, time::Duration};

use pgdyno_analysis::DoubtKind;
use pgdyno_core::{measure::CellRun, random::Random};
use pgdyno_record::{Run, RunRecord, Status};
use serde_json::Value;

use super::common::{Place, brief, holds_together, kill, test_all, text, tiny, wait_until, workers_in};

/// One way to measure, and for how long it may be killed.
struct Way {
    name: &'static str,
    args: &'static [&'static str],
}

/// The measuring commands, each far from its end after a second.
const WAYS: [Way; 4] = [
    Way { name: "bench", args: &["bench", "--pg", "18", "--bundle", "--clients", "1,2", "--blocks", "6"] },
    Way {
        name: "ab",
        args: &["ab", "--pg", "18", "--bundle", "--set", "jit=on", "--set", "jit=off", "--blocks", "8"],
    },
    Way {
        name: "run",
        args: &[
            "run",
            "PLAN",
            "--subject",
            "pg=18,bundle",
            "--subject",
            "pg=18,bundle,set:jit=off",
            "--subject",
            "pg=18,bundle,set:work_mem=8MB",
        ],
    },
    Way {
        name: "tpcc",
        args: &[
            "tpcc",
            "run",
            "--pg",
            "18",
            "--bundle",
            "--warehouses",
            "1",
            "--clients",
            "1,2",
            "--blocks",
            "6",
        ],
    },
];

const PLAN: &str = r#"
name = "three"
[data]
scale = 1
[measure]
clients = [1, 2]
duration = "300ms"
warmup = "50ms"
blocks = 2
[[workload]]
script = "tpcb-like"
[[workload]]
script = "select-only"
"#;

/// The command of a way in a place.
fn args(way: &Way, place: &Place) -> Vec<String> {
    let plan = place.path("plan.toml");
    if way.name == "run" {
        fs::write(&plan, PLAN.replace("300ms", brief())).expect("it can be written");
    }
    let short = match way.name {
        "run" => &[][..],
        "ab" => &["--scale", "1", "--clients", "2"][..],
        "tpcc" => &[][..],
        _ => &["--scale", "1", "--driver-cpus", "0"][..],
    };
    // A comparison ends at a run in which nothing was committed, as when the disk stalls for longer than it takes.
    let duration = if way.name == "ab" { "1500ms" } else { brief() };
    let brief = ["--duration", duration, "--warmup", "50ms"];
    let brief = if way.name == "run" { &[][..] } else { &brief };
    let words = way.args.iter().chain(brief).chain(short).map(|word| match *word {
        "PLAN" => plan.display().to_string(),
        word => word.to_owned(),
    });
    words.collect()
}

fn start(place: &Place, args: &[String]) -> Child {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut command = place.command(&args);
    let said = fs::File::create(place.path("stderr")).expect("it can be written");
    command.stdout(std::process::Stdio::null()).stderr(said);
    command.spawn().expect("pgdyno can be run")
}

/// `run.json` of the only run that can be seen, if there is one.
fn record(place: &Place) -> Option<Value> {
    let entries = fs::read_dir(place.path("runs")).ok()?.flatten();
    let mut seen = entries.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    let json = seen.next()?.path().join("run.json");
    serde_json::from_slice(&fs::read(json).ok()?).ok()
}

fn runs_in(record: &Value) -> usize {
    record["runs"].as_array().map_or(0, Vec::len)
}

/// Runs that were measured so far, by the log of events, which has each as soon as it is over.
fn measured(place: &Place) -> usize {
    let entries = fs::read_dir(place.path("runs")).into_iter().flatten().flatten();
    let logs = entries.map(|run| run.path().join("events.ndjson.partial"));
    let texts = logs.filter_map(|log| fs::read_to_string(log).ok());
    texts.map(|text| text.matches(r#""event":"run-recorded""#).count()).sum()
}

/// Kills a measurement after this many runs and some time.
fn kill_after(place: &Place, args: &[String], runs: usize, more: Duration) -> RunRecord {
    let mut child = start(place, args);
    wait_until("something was measured, or it ended", || {
        let seen = record(place).is_some() && measured(place) >= runs;
        seen || child.try_wait().expect("it is ours").is_some()
    });
    thread::sleep(more);
    let ended = child.try_wait().expect("it is ours");
    let said = || fs::read_to_string(place.path("stderr")).expect("it is there");
    assert_eq!(ended, None, "it works when it is killed: {}", said());
    kill(u64::from(child.id()), "-KILL");
    child.wait().expect("it is ours");
    // The servers die with the program.
    wait_until("no server works on", || workers_in(&place.path("state")).is_empty());
    place.only_run().record
}

/// Resumes the only run; it must complete.
fn resumed(place: &Place) -> Run {
    let output = place.run(&["resume"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let run = place.only_run();
    assert_eq!(run.record.status, Status::Complete, "{said}");
    holds_together(&run);
    run
}

/// What was measured is kept, and what the database holds is what the driver counted since.
fn continues_from(killed: &RunRecord, run: &Run) {
    let [again] = &run.record.resumed[..] else { panic!("it was resumed once: {:?}", run.record.resumed) };
    let kept = again.first_run as usize;
    assert_eq!(kept + again.dropped_runs as usize, killed.runs.len());
    assert_eq!(run.record.runs[..kept], killed.runs[..kept]);
    for subject in &run.record.subjects {
        let [balance, conditions] = [
            subject.balance.as_ref().map(|of| of.violations),
            subject.consistency.as_ref().map(|of| of.violations),
        ];
        assert!(balance.or(conditions).is_some(), "{} was checked", subject.name);
        assert_eq!([balance.unwrap_or(0), conditions.unwrap_or(0)], [0, 0], "{subject:?}");
    }
    if let Some(comparison) = &run.record.comparison {
        // Both runs of a block are of one session.
        let blocks = |runs: &[CellRun]| runs.iter().map(|run| run.block).collect::<Vec<_>>();
        let (before, after) = (blocks(&run.record.runs[..kept]), blocks(&run.record.runs[kept..]));
        assert!(before.iter().all(|block| !after.contains(block)), "{before:?} {after:?}");
        assert_eq!(run.record.runs.len(), 2 * comparison.blocks.len());
    }
}

/// A number between 0 and `below`, another one for each way and `draw`.
fn drawn(way: &Way, draw: u64, below: u64) -> u64 {
    let seed = std::env::var("PGDYNO_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(18);
    Random::stream(seed, draw as u32, way.name.len() as u32).next_bits() % below
}

/// Kills a way at drawn instants, each time resumed to its end.
fn kills(way: &Way, kills: u64) {
    for draw in 0..kills {
        let place = Place::new();
        let args = args(way, &place);
        let runs = 1 + drawn(way, 10 * draw, 7) as usize;
        let more = Duration::from_millis(drawn(way, 10 * draw + 1, 500));
        println!("{}: killed {more:?} after run {runs}", way.name);
        let killed = kill_after(&place, &args, runs, more);
        continues_from(&killed, &resumed(&place));
        place.nothing_is_left();
    }
}

fn how_many() -> u64 {
    if test_all() { 5 } else { 1 }
}

#[test]
fn a_run_can_be_judged_again() {
    let place = Place::new();
    place.done(&tiny(&["--pg", "18", "--bundle"]));
    let (shown, again) = (place.done(&["show"]), place.run(&["analyse"]));
    assert_eq!(text(&again.stderr), "", "by the same rules nothing changes");
    let body = |text: &str| text.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(body(&text(&again.stdout)) >= body(&shown), "{shown}");
    let run = place.only_run();
    let json: Value = serde_json::from_str(&place.done(&["analyse", "--json"])).expect("it is JSON");
    assert_eq!(json["cells"], run.json["cells"]);
    assert_eq!(json["doubts"], run.json["doubts"]);
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    /// A server that goes and does not come back: nothing counts the block that it left, and it is measured again.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_block_whose_server_went_for_good_is_measured_again() {
        let place = Place::new();
        place.done(&["up", "main", "--pg", "18", "--bundle"]);
        place.done(&["load", "tpcb", "--server", "main", "--scale", "1", "--no-record"]);
        let flags = ["bench", "--quick", "--server", "main", "--loaded", "--clients", "2", "--blocks", "3"];
        let flags = flags.into_iter().chain(["--warmup", "50ms", "--duration", "3s"]).map(str::to_owned);
        let mut child = start(&place, &flags.collect::<Vec<_>>());
        wait_until("a run is measured", || measured(&place) >= 1);
        // Within the next run.
        thread::sleep(Duration::from_millis(1_500));
        place.done(&["down", "main"]);
        assert_eq!(child.wait().expect("it ends").code(), Some(3));
        let said = fs::read_to_string(place.path("stderr")).expect("it was written");
        assert!(
            said.contains("the server was gone at the end of") && said.contains("did not come back"),
            "{said}"
        );
        let run = place.only_run();
        holds_together(&run);
        let (last, before) = run.record.runs.split_last().expect("there are runs");
        assert!(last.ended_by_outage && last.outage.is_some_and(|of| of.lost == 2 && of.made_again == 0));
        assert!(
            !before.is_empty() && before.iter().all(|run| !run.ended_by_outage && run.counts.committed > 0)
        );
        let counted = |record: &RunRecord| record.cells.iter().map(|cell| cell.tps.count).sum::<u64>();
        assert_eq!(counted(&run.record), before.len() as u64);
        let lines = place.done(&["report", "last", "--format", "csv-blocks"]).lines().count();
        assert_eq!(lines, 1 + before.len(), "a header, and the blocks that count");
        let shown = place.done(&["show", "last"]).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains("The last one does not count: the server was gone"), "{shown}");

        place.done(&["up", "main"]);
        place.done(&["resume", "last"]);
        let resumed = place.only_run();
        holds_together(&resumed);
        let RunRecord { status, runs, resumed: sessions, doubts, .. } = &resumed.record;
        assert_eq!((*status, sessions[0].dropped_runs), (Status::Complete, 1));
        assert!(
            runs.iter().all(|run| !run.ended_by_outage && run.outage.is_none() && run.counts.committed > 0)
        );
        assert_eq!(counted(&resumed.record), runs.len() as u64);
        let kept = runs.iter().zip(before).all(|(now, then)| now.counts_whole == then.counts_whole);
        assert!(kept, "what was measured stays");
        // Neither the server nor its tables are the resumption's doing.
        let found =
            doubts.iter().find(|doubt| doubt.kind == DoubtKind::Resumed).expect("there is such a doubt");
        assert!(found.detail.ends_with("afterwards, at another time"), "{}", found.detail);
        place.done(&["down", "main", "--remove"]);
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn three_subjects_that_are_killed_continue() {
        kills(&WAYS[2], how_many());
    }

    /// Clients and tables of each arm are those of the killed run.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_comparison_of_different_tables_that_is_killed_continues() {
        const ARMS: &[&str] =
            &["ab", "--pg", "18", "--bundle", "--blocks", "8", "clients=1,load:fillfactor=50", "default"];
        let place = Place::new();
        let args = args(&Way { name: "ab", args: ARMS }, &place);
        let killed = kill_after(&place, &args, 3, Duration::ZERO);
        let run = resumed(&place);
        continues_from(&killed, &run);
        let loads = run.record.subjects.iter().filter_map(|arm| arm.load.as_ref()?.terms.as_ref());
        assert_eq!(loads.map(|of| of.options.fillfactor).collect::<Vec<_>>(), [Some(50), Some(100)]);
        let is_right = |run: &CellRun| match run.workload.subject.as_deref() {
            Some("A") => run.workload.clients == 1,
            _ => run.workload.clients == 2,
        };
        assert!(run.record.runs.iter().all(is_right));
        place.nothing_is_left();
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_comparison_that_is_killed_continues() {
        kills(&WAYS[1], how_many());
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn tpcc_that_is_killed_continues() {
        kills(&WAYS[3], how_many());
    }

    /// A run killed while it loads has measured nothing, and a run stopped twice was resumed twice.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_run_may_be_killed_while_it_loads_and_stopped_after_that() {
        let place = Place::new();
        let args = args(&WAYS[0], &place);
        let killed = kill_after(&place, &args, 0, Duration::ZERO);
        assert_eq!(killed.runs.len(), 0);
        let mut child = start(&place, &["resume".to_owned()]);
        wait_until("it measures", || record(&place).is_some_and(|record| runs_in(&record) >= 1));
        kill(u64::from(child.id()), "-INT");
        assert_eq!(child.wait().expect("it is ours").code(), Some(3));
        assert_eq!(place.only_run().record.status, Status::Stopped);
        let run = resumed(&place);
        assert_eq!(run.record.resumed.len(), 2);
        let why = run.record.resumed[1].ended_by.as_deref();
        assert!(why.is_some_and(|why| why.contains("stopped")), "{why:?}");
        let first = run.record.resumed[1].first_run;
        assert!(first >= 1 && (first as usize) < run.record.runs.len(), "{first}");
        place.nothing_is_left();
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn what_cannot_be_resumed_is_refused_by_name() {
        let place = Place::new();
        place.done(&tiny(&["--pg", "18", "--bundle"]));
        let said = place.refused(&["resume"], 2);
        assert!(said.contains("it is complete"), "{said}");
        let said = place.refused(&["resume", "nothing"], 2);
        assert!(said.contains("nothing"), "{said}");

        let place = Place::new();
        // One server is enough: what is refused does not depend on how many there are.
        let args = args(&Way { name: "run", args: &["run", "PLAN", "--pg", "18", "--bundle"] }, &place);
        kill_after(&place, &args, 1, Duration::ZERO);
        let path = place.path("plan.toml");
        let plan = fs::read_to_string(&path).expect("it is there");
        fs::write(&path, plan.replace("blocks = 2", "blocks = 4")).expect("it can be written");
        let said = place.refused(&["resume"], 2);
        assert!(said.contains("the plan has changed: blocks was 2 and is 4"), "{said}");
        fs::write(&path, plan.replace("tpcb-like", "simple-update")).expect("it can be written");
        let said = place.refused(&["resume"], 2);
        assert!(said.contains("has changed since it was begun"), "{said}");
        fs::write(&path, &plan).expect("it can be written");
        // Two at the same time: the second is refused, and the first completes.
        let mut first = start(&place, &["resume".to_owned()]);
        wait_until("the first continues", || {
            record(&place)
                .is_some_and(|record| record["resumed"].as_array().is_some_and(|all| !all.is_empty()))
        });
        // However late the second one is, the first has not ended.
        kill(u64::from(first.id()), "-STOP");
        let refused = place.run(&["resume"]);
        kill(u64::from(first.id()), "-CONT");
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(3), "{said}");
        assert!(said.contains("another pgdyno is writing to it"), "{said}");
        assert_eq!(first.wait().expect("it is ours").code(), Some(0));
        place.nothing_is_left();
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_bench_that_is_killed_continues() {
        kills(&WAYS[0], how_many());
    }
}
