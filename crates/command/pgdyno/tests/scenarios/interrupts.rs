//! What is left of a measurement that is interrupted: by signals, by kills of either side, by full disks.

use std::{
    collections::BTreeMap,
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use pgdyno_record::{Run, Status};

use crate::common::{
    HANG, Place, admin, brief, holds_together, kill, mounted, processes_of, test_all, text, tiny, wait_until,
    workers_in,
};

/// Stages as the record names them, each with the one before it. `prepare` comes before the first record.
const STAGES: [&str; 7] = ["prepare", "server", "storage check", "load", "measure", "check", "clean up"];

/// A running measurement.
struct Bench<'a> {
    place: &'a Place,
    child: Child,
    stdout: Option<Heard>,
    stderr: Option<Heard>,
}

/// What a measurement that is over has left.
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// What a program has said so far.
struct Heard {
    said: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Heard {
    fn from(mut from: impl Read + Send + 'static) -> Self {
        let said = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&said);
        let reader = thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(bytes @ 1..) = from.read(&mut part) {
                all.lock().expect("nobody panics").extend_from_slice(&part[..bytes]);
            }
        });
        Self { said, reader }
    }

    fn so_far(&self) -> String {
        text(&self.said.lock().expect("nobody panics"))
    }

    /// All of it, when the program has ended.
    fn all(self) -> String {
        let Self { said, reader } = self;
        reader.join().expect("it reads to the end");
        text(&said.lock().expect("nobody panics"))
    }
}

impl<'a> Bench<'a> {
    fn start(place: &'a Place, more: &[&str]) -> Self {
        let own = [&["--pg", "18", "--bundle"], more].concat();
        Self::of(place, &tiny(&own))
    }

    /// A comparison of two servers that is far from its end.
    fn start_ab(place: &'a Place) -> Self {
        let arms = ["ab", "--pg", "18", "--bundle", "--set", "jit=on", "--set", "jit=off", "--blocks", "200"];
        let size = ["--scale", "1", "--clients", "2", "--duration", brief(), "--warmup", "50ms"];
        Self::of(place, &[&arms[..], &size].concat())
    }

    fn of(place: &'a Place, args: &[&str]) -> Self {
        let mut command = place.command(args);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pgdyno can be run");
        let stdout = child.stdout.take().map(Heard::from);
        let stderr = child.stderr.take().map(Heard::from);
        Self { place, child, stdout, stderr }
    }

    /// `run.json` as it is now.
    fn record(&self) -> Option<serde_json::Value> {
        let entries = fs::read_dir(self.place.path("runs")).ok()?.flatten();
        // Before it can be seen, a run has a hidden name.
        let mut seen = entries.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
        let run = seen.find_map(|entry| Some(entry.path().join("run.json")).filter(|path| path.is_file()))?;
        serde_json::from_slice(&fs::read(run).ok()?).ok()
    }

    /// Stages that are over; `None` before the run can be seen.
    fn over(&self) -> Option<Vec<String>> {
        let record = self.record()?;
        let stages = record["stages"].as_array()?.iter();
        Some(stages.map(|stage| stage["name"].as_str().unwrap_or_default().to_owned()).collect())
    }

    /// The current stage, by what is over.
    fn stage(&self) -> &'static str {
        let Some(over) = self.over() else {
            // The run can be seen from the end of `server` on, the server itself from its beginning.
            let server =
                fs::read_dir(self.place.path("state/servers")).is_ok_and(|mut all| all.next().is_some());
            return if server { "server" } else { "prepare" };
        };
        let is_over = |stage: &&&str| over.iter().any(|name| name == **stage);
        STAGES[1..].iter().rev().find(is_over).map_or(STAGES[1], |last| {
            let at = STAGES.iter().position(|stage| stage == last).expect("it is one of them");
            STAGES.get(at + 1).copied().unwrap_or("report")
        })
    }

    fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("it is ours").is_none()
    }

    /// Waits until a stage has begun.
    fn reach(&mut self, stage: &str) {
        let position = |stage: &str| STAGES.iter().position(|known| *known == stage).unwrap_or(STAGES.len());
        let begin = Instant::now();
        while position(self.stage()) < position(stage) && self.is_running() {
            assert!(begin.elapsed() < HANG, "not within {HANG:?}: {stage}");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until some runs of cells are in the record.
    fn measured(&mut self, runs: usize) {
        wait_until("something was measured", || {
            self.record()
                .is_some_and(|record| record["runs"].as_array().is_some_and(|list| list.len() >= runs))
        });
    }

    fn signal(&self, signal: &str) {
        kill(u64::from(self.child.id()), signal);
    }

    /// Presses Ctrl-C, and waits until it is handled: two at the same time would count as one.
    fn interrupt(&self) {
        self.signal("-INT");
        wait_until("Ctrl-C is obeyed", || {
            self.stderr.as_ref().is_some_and(|heard| heard.so_far().contains("stopping"))
        });
    }

    fn postmaster(&self) -> u64 {
        self.place.only()["pid"].as_u64().expect("it runs")
    }

    /// Waits for its end, within a bound that only a hang exceeds.
    fn end(mut self) -> Ended {
        wait_until("pgdyno ends", || !self.is_running());
        let code = self.child.wait().expect("it is ours").code();
        let read = |heard: Option<Heard>| heard.map(Heard::all).unwrap_or_default();
        Ended { code, stdout: read(self.stdout.take()), stderr: read(self.stderr.take()) }
    }
}

impl Ended {
    /// It ended as documented for what could not be completed: exit status 3, one sentence, what is kept.
    fn could_not(&self, words: &[&str]) {
        let said = &self.stderr;
        assert_eq!(self.code, Some(3), "{said}");
        assert_eq!(said.matches("error: ").count(), 1, "{said}");
        assert!(!said.contains("panicked"), "{said}");
        words.iter().for_each(|words| assert!(said.contains(words), "{words}: {said}"));
    }
}

/// The run is kept as stopped, and everything in it holds together.
fn kept_as_stopped(place: &Place, at_least: usize) {
    let run = place.only_run();
    assert_eq!(run.record.status, Status::Stopped);
    assert!(run.record.error.is_some() && run.record.finished_at.is_some());
    assert!(run.record.runs.len() >= at_least, "{} runs", run.record.runs.len());
    assert!(run.path.join("report.html").is_file());
    holds_together(&run);
}

#[test]
fn ctrl_c_while_loading_leaves_nothing_running() {
    let place = Place::new();
    let mut bench = Bench::start(&place, &["--scale", "30"]);
    bench.reach("load");
    bench.signal("-INT");
    let ended = bench.end();
    ended.could_not(&["stopping; the measurements so far are kept", "stopped"]);
    assert_eq!(ended.stdout, "", "nothing was measured, nothing is reported");
    // A load of a minute, as on a busy machine, is worth keeping.
    let is_long = |run: &Run| run.record.stages.iter().any(|s| s.name == "load" && s.duration_s >= 60.0);
    let kept = place.runs();
    assert!(kept.iter().all(is_long), "nothing was measured, nothing is kept: {}", ended.stderr);
    place.nothing_is_left();
}

/// `timeout` sends its signal to the process and to its group: that is nobody's second Ctrl-C.
#[test]
fn a_signal_to_process_and_group_is_one() {
    let place = Place::new();
    let mut bench = Bench::start(&place, &["--blocks", "200"]);
    bench.measured(2);
    ["-TERM", "-TERM", "-INT"].iter().for_each(|signal| bench.signal(signal));
    let ended = bench.end();
    ended.could_not(&["stopped", "partial record: "]);
    assert!(!ended.stderr.contains("exited immediately"), "{}", ended.stderr);
    kept_as_stopped(&place, 2);
    place.nothing_is_left();
}

/// A server that does not answer keeps the first Ctrl-C waiting; the second waits for nothing.
#[test]
fn the_second_ctrl_c_ends_at_once() {
    let place = Place::new();
    let mut bench = Bench::start(&place, &["--blocks", "200"]);
    bench.measured(2);
    let postmaster = bench.postmaster();
    kill(postmaster, "-STOP");
    bench.interrupt();
    // What comes within a second is the same signal.
    thread::sleep(Duration::from_millis(1_100));
    assert!(bench.is_running(), "a server that does not stop is waited for");
    bench.signal("-INT");
    let ended = bench.end();
    kill(postmaster, "-CONT");
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("exited immediately"), "{}", ended.stderr);
    after_a_kill(&place, "the second Ctrl-C");
}

/// After pgdyno was killed: no server or one that `ps` shows, no run or one that can be read, and `clean` frees it all.
fn after_a_kill(place: &Place, when: &str) {
    wait_until(&format!("no server works on ({when})"), || {
        let state = place.path("state");
        processes_of(&state).is_empty() && workers_in(&state).is_empty()
    });
    for server in place.ps() {
        assert!(server["pid"].is_null(), "{when}: {server}");
    }
    for run in place.runs() {
        holds_together(&run);
        place.done(&["show", &run.record.id]);
        place.done(&["report", &run.record.id, "--format", "csv"]);
    }
    place.done(&["list"]);
    place.cleaned();
    let left = fs::read_dir(place.path("state/servers")).into_iter().flatten().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert_eq!((place.ps(), left), (Vec::new(), Vec::new()), "{when}");
}

/// Instants of a linear congruential sequence.
struct Instants(u64);

impl Instants {
    fn new() -> Self {
        let given = std::env::var("PGDYNO_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| u64::from(std::process::id()));
        println!("PGDYNO_TEST_SEED={seed}");
        Self(seed)
    }

    /// An instant from 0 to `length`.
    fn within(&mut self, length: Duration) -> Duration {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        length.mul_f64((self.0 >> 40) as f64 / f64::from(1 << 24))
    }
}

/// How long every stage takes here.
fn lengths() -> BTreeMap<String, Duration> {
    let place = Place::with_initdb();
    let ended = Bench::start(&place, &[]).end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let stages = place.only_run().record.stages;
    let mut lengths: BTreeMap<_, _> =
        stages.into_iter().map(|stage| (stage.name, Duration::from_secs_f64(stage.duration_s))).collect();
    lengths.insert("prepare".to_owned(), Duration::from_millis(8));
    lengths
}

/// Kills pgdyno at an instant within a stage, and gives the stage that it hit.
fn killed_in(stage: &str, delay: Duration) -> &'static str {
    let place = Place::with_initdb();
    let mut bench = Bench::start(&place, &[]);
    bench.reach(stage);
    thread::sleep(delay);
    bench.child.kill().expect("it is ours");
    bench.child.wait().expect("it can be collected");
    let hit = bench.stage();
    println!("killed {delay:?} after the beginning of `{stage}`, in `{hit}`");
    after_a_kill(&place, hit);
    if !["prepare", "server", "report"].contains(&hit) {
        assert_eq!(place.only_run().record.status, Status::Partial);
    }
    hit
}

#[test]
fn a_killed_server_is_reported_and_what_was_measured_is_kept() {
    let place = Place::new();
    let mut bench = Bench::start(&place, &["--blocks", "200"]);
    bench.measured(2);
    kill(bench.postmaster(), "-9");
    let ended = bench.end();
    ended.could_not(&["hint: ", "partial record: "]);
    println!("{}", ended.stderr);
    kept_as_stopped(&place, 2);
    place.nothing_is_left();
}

/// Kills the backend of a client, once one works.
fn kill_a_backend(place: &Place) {
    let clients = "SELECT pid FROM pg_stat_activity WHERE application_name = 'pgdyno' \
                   AND query ~ '^SELECT abalance' AND pid <> pg_backend_pid() ORDER BY backend_start DESC";
    let mut session = admin(&place.only());
    let mut client = None;
    wait_until("a client works", || {
        client = session.value(clients).ok().flatten().and_then(|pid| pid.parse().ok());
        client.is_some()
    });
    kill(client.expect("there is one"), "-9");
}

/// A small file system in memory, for disks that fill up.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// On `None` the test is to end: see [`mounted`].
    pub fn new(place: &Place, name: &str, mib: u32) -> Option<Self> {
        let dir = place.path(name);
        fs::create_dir(&dir).expect("it can be made");
        mounted(&dir, &format!("size={mib}m,mode=755")).then(|| Self(dir))
    }

    /// Takes its free space, down to what is left for later.
    pub fn fill(&self, left_mib: u64) {
        use std::io::Write;
        let name = format!("ballast-{left_mib}");
        let mut ballast = fs::File::create(self.0.join(name)).expect("it can be made");
        let free = || pgdyno_host::facts::storage(&self.0).expect("it is there").available_bytes;
        for step in [1 << 20, 4096] {
            let bytes = vec![0; step];
            while free() > (left_mib << 20) && ballast.write_all(&bytes).is_ok() {}
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn a_disk_too_small_is_refused_before_anything_is_written() {
    let place = Place::new();
    let Some(disk) = SmallDisk::new(&place, "disk", 40) else { return };
    let ended = Bench::start(&place, &["--data", &shown(&disk.0.join("data"))]).end();
    ended.could_not(&["needs about", "hint: "]);
    assert_eq!(place.runs().len(), 0);
    assert_eq!(fs::read_dir(&disk.0).expect("it is there").count(), 0);
    place.nothing_is_left();
}

#[test]
fn a_full_disk_under_the_runs_is_named() {
    let place = Place::new();
    let Some(disk) = SmallDisk::new(&place, "runs", 4) else { return };
    disk.fill(0);
    let ended = Bench::start(&place, &[]).end();
    ended.could_not(&["could not write", "No space left on device", "hint: "]);
    assert_eq!(place.runs().len(), 0);
    place.nothing_is_left();

    fs::remove_file(disk.0.join("ballast-0")).expect("it is ours");
    let mut bench = Bench::start(&place, &["--blocks", "200"]);
    bench.measured(2);
    disk.fill(0);
    let ended = bench.end();
    println!("{}", ended.stderr);
    ended.could_not(&["could not write", "No space left on device", "hint: ", "partial record: "]);
    assert!(
        ended.stdout.starts_with("stopped after ") && ended.stdout.contains("select-only"),
        "what was measured is printed: {}",
        ended.stdout
    );
    let run = place.only_run();
    assert!(run.record.runs.len() >= 2 && run.record.status != Status::Complete);
    holds_together(&run);
    place.nothing_is_left();
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_kill_in_any_stage_leaves_nothing_hidden() {
        let mut instants = Instants::new();
        let lengths = lengths();
        let all = test_all();
        let mut hits: BTreeMap<&str, u32> = BTreeMap::new();
        for stage in STAGES.iter().filter(|stage| all || **stage != "prepare") {
            let wanted = if all { 3 } else { 1 };
            let mut length = lengths[*stage];
            for _ in 0..20 {
                let delay = instants.within(length);
                let hit = killed_in(stage, delay);
                *hits.entry(hit).or_default() += 1;
                // A stage may be over before its kill comes: then an earlier instant is drawn, where all are wanted.
                if hit != *stage {
                    length = delay;
                }
                if !all || hits.get(stage).is_some_and(|hits| *hits >= wanted) {
                    break;
                }
            }
        }
        println!("{hits:?}");
        if all {
            assert!(STAGES.iter().all(|stage| hits.get(stage).is_some_and(|hits| *hits >= 2)), "{hits:?}");
            assert!(hits.values().sum::<u32>() >= 20, "{hits:?}");
        }
    }

    /// A server that recovers by itself: the run completes and says what happened, and nothing is lost.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_server_that_recovers_is_driven_on() {
        let place = Place::new();
        // A run is long enough for the recovery on a busy machine too: one in which nothing succeeded is an error.
        let more = ["--blocks", "1", "--duration", "10s", "--set", "restart_after_crash=on"];
        let mut bench = Bench::start(&place, &more);
        bench.measured(1);
        kill_a_backend(&place);
        let ended = bench.end();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(ended.stdout.contains("connections were lost"), "{}", ended.stdout);
        let run = place.only_run();
        assert_eq!((run.record.status, run.record.runs.len()), (Status::Complete, 2));
        let outages: Vec<_> = run.record.runs.iter().filter_map(|run| run.outage).collect();
        let [outage] = outages[..] else { panic!("{outages:?}") };
        // Recovery may take longer than what is left of the run, for one client or for both.
        let in_time = outage.made_again == 2 || outage.made_again < 2 && outage.refused > 0;
        assert!(outage.lost == 2 && in_time, "{outage:?}");
        let whole = run.record.runs.iter().filter(|run| run.outage.is_none());
        assert!(whole.into_iter().all(|run| run.counts.committed > 0));
        let balance = run.record.subjects[0].balance.as_ref().expect("it was checked");
        assert_eq!(balance.violations, 0, "{:?}", balance.examples);
        holds_together(&run);
        place.nothing_is_left();
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_signal_while_measuring_keeps_what_was_measured() {
        for signal in ["-INT", "-TERM", "-HUP"] {
            let place = Place::new();
            let mut bench = Bench::start(&place, &["--blocks", "200"]);
            bench.measured(2);
            bench.signal(signal);
            let ended = bench.end();
            ended.could_not(&["stopped", "partial record: "]);
            // A short report: the whole one is in the run directory.
            assert!(ended.stdout.starts_with("stopped after "), "{}", ended.stdout);
            assert!(
                ended.stdout.contains("the whole report:") && ended.stdout.lines().count() <= 50,
                "{}",
                ended.stdout
            );
            kept_as_stopped(&place, 2);
            place.nothing_is_left();
        }
    }

    /// Both servers of a comparison are frozen: the second Ctrl-C waits for neither.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn the_second_ctrl_c_ends_a_comparison_at_once() {
        let place = Place::new();
        let mut bench = Bench::start_ab(&place);
        bench.measured(2);
        let servers: Vec<u64> =
            place.ps().iter().map(|server| server["pid"].as_u64().expect("it runs")).collect();
        assert_eq!(servers.len(), 2);
        servers.iter().for_each(|server| kill(*server, "-STOP"));
        bench.interrupt();
        // What comes within a second is the same signal.
        thread::sleep(Duration::from_millis(1_100));
        assert!(bench.is_running(), "a server that does not stop is waited for");
        bench.signal("-INT");
        let ended = bench.end();
        servers.iter().for_each(|server| kill(*server, "-CONT"));
        assert_eq!(ended.code, Some(3), "{}", ended.stderr);
        assert!(ended.stderr.contains("exited immediately"), "{}", ended.stderr);
        after_a_kill(&place, "the second Ctrl-C of a comparison");
    }

    /// A signal that is ignored from the start stays ignored: `nohup` means what it says.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn nohup_lets_a_run_continue() {
        let place = Place::new();
        let args = tiny(&["--pg", "18", "--bundle", "--blocks", "200"]);
        let plain = place.command(&args);
        let mut command = Command::new("nohup");
        command.arg(env!("CARGO_BIN_EXE_pgdyno")).args(&args).stdin(Stdio::null());
        plain.get_envs().for_each(|(name, value)| match value {
            Some(value) => drop(command.env(name, value)),
            None => drop(command.env_remove(name)),
        });
        command.current_dir(place.dir.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("nohup can be run");
        let (stdout, stderr) = (child.stdout.take().map(Heard::from), child.stderr.take().map(Heard::from));
        let mut bench = Bench { place: &place, child, stdout, stderr };
        bench.measured(2);
        bench.signal("-HUP");
        let so_far = bench.record().map_or(0, |record| record["runs"].as_array().map_or(0, Vec::len));
        bench.measured(so_far + 3);
        assert!(bench.is_running());
        bench.signal("-TERM");
        let ended = bench.end();
        ended.could_not(&["stopped", "partial record: "]);
        kept_as_stopped(&place, so_far + 3);
        place.nothing_is_left();
    }

    /// A disk that fills up while the server is made, while rows are loaded, or while cells are measured.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_full_disk_under_the_data_is_named() {
        for stage in ["storage check", "load", "measure"] {
            let place = Place::new();
            let Some(disk) = SmallDisk::new(&place, "disk", 1500) else { return };
            let data = shown(&disk.0.join("data"));
            let mut bench =
                Bench::start(&place, &["--data", &data, "--scale", "3", "--blocks", "9", "--duration", "1s"]);
            // The reserved space is used up by now, and the rest fills quickly.
            bench.reach("storage check");
            disk.fill(200);
            bench.reach(stage);
            disk.fill(0);
            let ended = bench.end();
            println!("{stage}: {}", ended.stderr);
            ended.could_not(&[&format!("the disk of {data} is full"), "hint: free space there"]);
            // A server that found no room has said so in its log.
            match place.runs().len() {
                0 => assert!(!ended.stderr.contains("SQLSTATE 53100"), "{}", ended.stderr),
                _ => kept_as_stopped(&place, 0),
            }
            place.nothing_is_left();
            assert!(!Path::new(&data).exists(), "what was made there is gone");
        }
    }

    /// Of a comparison all whole blocks are kept, and both servers go.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn ctrl_c_keeps_the_blocks_of_a_comparison() {
        let place = Place::new();
        let mut bench = Bench::start_ab(&place);
        bench.measured(5);
        bench.signal("-INT");
        let ended = bench.end();
        ended.could_not(&["stopped", "partial record: "]);
        assert!(ended.stdout.contains("Partial run"), "{}", ended.stdout);
        kept_as_stopped(&place, 5);
        let run = place.only_run();
        let comparison = run.record.comparison.as_ref().expect("it is a comparison");
        assert!(comparison.blocks.len() >= 2, "{} blocks", comparison.blocks.len());
        assert!(comparison.blocks.iter().all(|block| block.a_per_s > 0.0 && block.b_per_s > 0.0));
        place.nothing_is_left();
    }

    /// A terminal that is gone: what is said cannot be written, and the request to stop is obeyed all the same.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_signal_is_obeyed_when_nobody_reads_stderr_any_more() {
        for signal in ["-HUP", "-INT"] {
            let place = Place::new();
            let mut command = place.command(&tiny(&["--pg", "18", "--bundle", "--blocks", "200"]));
            let mut child =
                command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pgdyno can be run");
            drop(child.stderr.take());
            let stdout = child.stdout.take().map(Heard::from);
            let mut bench = Bench { place: &place, child, stdout, stderr: None };
            bench.measured(2);
            bench.signal(signal);
            let ended = bench.end();
            assert_eq!(ended.code, Some(3), "{}", ended.stdout);
            assert!(ended.stdout.starts_with("stopped after "), "{}", ended.stdout);
            kept_as_stopped(&place, 2);
            place.nothing_is_left();
        }
    }

    /// A server that pgdyno made does not start again by itself: a crash ends its run.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_killed_backend_is_reported_and_what_was_measured_is_kept() {
        let place = Place::new();
        let mut bench = Bench::start(&place, &["--blocks", "200"]);
        bench.measured(2);
        kill_a_backend(&place);
        let ended = bench.end();
        ended.could_not(&["hint: ", "partial record: "]);
        println!("{}", ended.stderr);
        kept_as_stopped(&place, 2);
        place.nothing_is_left();
    }
}
