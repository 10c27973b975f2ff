//! Shared by the tests of the whole program: a place with its own servers and runs, and checks of what is left.
//!
//! State lives in a temporary directory; bundles in the default cache, so that they are fetched once.

use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use pgdyno_analysis::DoubtKind;
use pgdyno_core::facts::DurabilityTier;
use pgdyno_record::{Run, RunRecord, Status};
use pgdyno_wire::{Address, ConnectOptions, Session, connect};
use serde_json::Value;

use testkit::Spread;
pub use testkit::{OLDEST, OLDEST_VERSION, left_out};

/// Clusters that others are copied from.
const TEMPLATES: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/clusters");

/// A place for servers that are stopped and removed when the test ends, however it ends.
pub struct Place {
    pub dir: Spread,
    cache: Option<PathBuf>,
    templates: bool,
    repeats_disturbed: bool,
}

impl Place {
    pub fn new() -> Self {
        // The server's user can pass through.
        let dir = Spread::make().expect("a temporary directory can be made");
        Self { dir, cache: None, templates: true, repeats_disturbed: false }
    }

    /// A place whose clusters are all made by `initdb`: what is tested may depend on that, or on how long it takes.
    pub fn with_initdb() -> Self {
        let mut place = Self::new();
        place.templates = false;
        place
    }

    /// A place where comparisons measure blocks again that were disturbed by other load. Elsewhere they count: tests
    /// run side by side.
    pub fn with_disturbed_blocks_repeated() -> Self {
        let mut place = Self::new();
        place.repeats_disturbed = true;
        place
    }

    pub fn with_empty_cache() -> Self {
        let mut place = Self::new();
        (place.cache, place.templates) = (Some(place.path("cache")), false);
        place
    }

    /// What an acknowledged commit to a server with all defaults is worth here.
    pub fn tier(&self) -> DurabilityTier {
        let storage = pgdyno_host::facts::storage(self.dir.path()).expect("it is there");
        DurabilityTier::Full.of_tables(false, storage.is_in_memory())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let program = env!("CARGO_BIN_EXE_pgdyno");
        // Where the tests themselves run by nohup or in the background of a script, signals are ignored; pgdyno would
        // heed that.
        let mut command = match [1, 2, 15].into_iter().any(pgdyno_host::procs::ignores_signal) {
            true => {
                let mut heeding = Command::new("/usr/bin/env");
                heeding.arg("--default-signal=HUP,INT,TERM").arg(program);
                heeding
            }
            false => Command::new(program),
        };
        command
            .args(args)
            .args(patience(args))
            .args((args.first() == Some(&"ab") && !self.repeats_disturbed).then_some("--keep-disturbed"))
            .env("PGDYNO_STATE", self.path("state"))
            .env("PGDYNO_RUNS", self.path("runs"));
        command.stdin(Stdio::null()).current_dir(self.dir.path());
        for (name, _) in env::vars().filter(|(name, _)| name.starts_with("PG") && !name.starts_with("PGDYNO"))
        {
            command.env_remove(name);
        }
        command.envs(self.templates.then_some(("PGDYNO_TEST_TEMPLATES", TEMPLATES)));
        command.envs(self.cache_for(args).map(|cache| ("PGDYNO_CACHE", cache)));
        command
    }

    /// What a command has for a cache; `None` is the default one. Bundles and builds in that are not a test's to free.
    fn cache_for(&self, args: &[&str]) -> Option<PathBuf> {
        let frees = args.first() == Some(&"clean");
        self.cache.clone().or_else(|| frees.then(|| self.path("no-cache")))
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("pgdyno can be run")
    }

    pub fn done(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "pgdyno {args:?}\n{out}{err}");
        out
    }

    pub fn refused(&self, args: &[&str], code: i32) -> String {
        let output = self.run(args);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "pgdyno {args:?}\n{out}{err}");
        assert_eq!(out, "", "results alone belong on stdout");
        err
    }

    pub fn ps(&self) -> Vec<Value> {
        let list: Value = serde_json::from_str(&self.done(&["ps", "--json"])).expect("it is JSON");
        list.as_array().expect("it is a list").clone()
    }

    /// Kills what a test that failed has left detached.
    fn kill_detached(&self) {
        let listed =
            if self.path("state/detached").is_dir() { self.run(&["ps", "--json"]).stdout } else { vec![] };
        let listed: Vec<Value> = serde_json::from_slice(&listed).unwrap_or_default();
        for pid in listed.iter().filter(|one| one["kind"] == "run").filter_map(|one| one["pid"].as_u64()) {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
        }
    }

    pub fn only(&self) -> Value {
        let list = self.ps();
        assert_eq!(list.len(), 1, "{list:?}");
        list[0].clone()
    }
}

/// On a busy machine a server may say nothing for longer than its users would wait.
fn patience(args: &[&str]) -> &'static [&'static str] {
    match args.first() == Some(&"up") && !args.contains(&"--start-limit") {
        true => &["--start-limit", "900"],
        false => &[],
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.kill_detached();
        let output = self.run(&["down", "--all", "--remove"]);
        let left = processes_of(self.dir.path());
        if !thread::panicking() {
            assert!(output.status.success(), "{}", text(&output.stderr));
            assert_eq!(left, Vec::<u32>::new(), "a server was left running");
        }
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Processes whose arguments name a directory under this one: postmasters and what makes clusters.
pub fn processes_of(dir: &Path) -> Vec<u32> {
    let dir = dir.display().to_string();
    processes(|pid| {
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        text(&arguments).split('\0').any(|word| word.starts_with(&dir))
    })
}

/// Processes that work in a directory under this one: a server's children too.
pub fn workers_in(dir: &Path) -> Vec<u32> {
    processes(|pid| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(dir)))
}

fn processes(wanted: impl Fn(&u32) -> bool) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("it is there").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(wanted).collect()
}

pub fn word<'a>(server: &'a Value, key: &str) -> &'a str {
    server[key].as_str().unwrap_or_default()
}

pub fn kill(pid: u64, signal: &str) {
    let done = Command::new("kill").args([signal, &pid.to_string()]).status().expect("kill can be run");
    assert!(done.success());
}

/// What only a hang takes, also on a machine so busy that a server needs a minute to start.
pub const HANG: Duration = Duration::from_secs(900);

/// Waits for something within a bound that only a hang exceeds.
pub fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < HANG, "not within {HANG:?}: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

pub fn am_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

/// Whether a test runs in its long form; says so if it does not.
pub fn test_all() -> bool {
    let all = env::var_os("PGDYNO_TEST_ALL").is_some();
    if !all {
        left_out("the long form: set PGDYNO_TEST_ALL for it");
    }
    all
}

/// Length of a short run. On a machine so busy that a thread may wait for its processor as long as a short run takes,
/// it is longer: a run in which nothing was done has no result.
pub fn brief() -> &'static str {
    if is_busy_machine() { "1500ms" } else { "300ms" }
}

/// Whether more than four threads want each processor, so that one may wait for it longer than a short run takes.
pub fn is_busy_machine() -> bool {
    let load = fs::read_to_string("/proc/loadavg").expect("it is there");
    let load: f64 = load.split(' ').next().and_then(|word| word.parse().ok()).expect("a number");
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    load > 4.0 * cpus as f64
}

/// The shortest measurement that has every part, with more flags or others.
pub fn tiny<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let pairs = [
        ["--scale", "1"],
        ["--clients", "2"],
        ["--duration", brief()],
        ["--warmup", "50ms"],
        ["--blocks", "2"],
    ];
    let kept = pairs.iter().filter(|[flag, _]| !more.contains(flag)).flatten();
    ["bench", "--quick"].iter().chain(kept).chain(more).copied().collect()
}

impl Place {
    /// The runs that can be seen, oldest first.
    pub fn runs(&self) -> Vec<Run> {
        let listed = pgdyno_record::list(&self.path("runs")).expect("it can be listed");
        let open = |path: &Path| pgdyno_record::open(path).expect("what is seen can be read");
        let runs: Vec<_> = listed.iter().map(|run| open(&run.path)).collect();
        runs.iter().for_each(says_the_same_again);
        runs
    }

    /// The only run that drove something: loads and probes before it are recorded as well.
    pub fn only_run(&self) -> Run {
        let mut runs = self.runs();
        runs.retain(|run| run.record.operations.is_empty());
        assert_eq!(runs.len(), 1, "{:?}", runs.iter().map(|run| &run.path).collect::<Vec<_>>());
        let run = runs.remove(0);
        keep(&run);
        run
    }

    /// Frees what servers left.
    pub fn cleaned(&self) {
        self.done(&["clean", "--yes"]);
    }

    /// Nothing of a server is left: no process, nothing in `ps`, no data.
    pub fn nothing_is_left(&self) {
        assert_eq!(self.ps(), Vec::<Value>::new());
        assert_eq!(processes_of(self.dir.path()), Vec::<u32>::new());
        assert_eq!(workers_in(self.dir.path()), Vec::<u32>::new());
        let data = fs::read_dir(self.path("state/servers")).map(|dir| {
            let names = dir.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
            names.filter(|name| !name.ends_with(".lock")).collect::<Vec<_>>()
        });
        assert_eq!(data.unwrap_or_default(), Vec::<String>::new());
    }
}

/// An administrator's session with a server of `ps`.
pub fn admin(server: &Value) -> Session {
    let port = server["port"].as_u64().expect("it has one") as u16;
    let address = Address::Unix(word(server, "socket_dir").into(), port);
    connect(&ConnectOptions::local(address, "postgres")).expect("it takes connections")
}

/// Holds a run to what every run directory promises: its schemas, and that every attempt is accounted for.
pub fn holds_together(run: &Run) {
    let schemas = pgdyno_record::schemas();
    let lines = |name: &str| {
        let text = fs::read_to_string(run.path.join(name))
            .or_else(|_| fs::read_to_string(run.path.join(format!("{name}.partial"))));
        // A torn last line belongs to a run that was killed.
        let whole = text.unwrap_or_default();
        let whole: Vec<String> =
            whole.split_inclusive('\n').filter(|l| l.ends_with('\n')).map(str::to_owned).collect();
        whole.iter().map(|line| serde_json::from_str(line).expect("it is JSON")).collect::<Vec<Value>>()
    };
    for (schema, values) in [
        (&schemas[0].1, vec![run.json.clone()]),
        (&schemas[1].1, lines(pgdyno_record::TIMELINE)),
        (&schemas[2].1, lines("observations.ndjson")),
        (&schemas[3].1, lines(pgdyno_record::SLOWEST_ATTEMPTS)),
        (&schemas[4].1, lines(pgdyno_record::EVENTS)),
    ] {
        let validator = jsonschema::validator_for(schema).expect("it is a schema");
        for value in values {
            assert!(validator.is_valid(&value), "{:?}", validator.iter_errors(&value).next());
        }
    }
    let edited = run.record.doubts.iter().find(|doubt| doubt.kind == DoubtKind::Edited);
    assert_eq!(edited, None, "its seal fits, and its figures agree");
    for cell in &run.record.runs {
        cell.counts.check().expect("the measured interval adds up");
        cell.counts_whole.check().expect("the whole run adds up");
        assert_eq!((cell.counts_whole.in_flight_at_start, cell.counts_whole.in_flight_at_end), (0, 0));
        // The slowest attempt is the longest latency, within a bucket of the histogram.
        let longest_ns = cell.latency.as_ref().map(|latency| latency.max_ns as f64);
        let slowest_ns = cell.slowest.first().map(|slow| slow.latency_ns as f64);
        assert_eq!(longest_ns.is_some(), slowest_ns.is_some());
        if let (Some(longest_ns), Some(slowest_ns)) = (longest_ns, slowest_ns) {
            assert!((longest_ns / slowest_ns - 1.0).abs() < 0.002, "{longest_ns} ns, {slowest_ns} ns");
        }
    }
    for line in run.timeline().expect("it can be read").items {
        line.counts.check().expect("an interval adds up");
    }
}

/// What must hold of a complete run.
pub fn is_complete(run: &Run) {
    let RunRecord { status, error, finished_at, stages, .. } = &run.record;
    assert_eq!((status, error), (&Status::Complete, &None));
    assert!(finished_at.is_some());
    let done: Vec<_> = stages.iter().map(|stage| stage.name.as_str()).collect();
    let mut expected = vec!["server", "load", "measure", "check", "clean up"].into_iter().peekable();
    for name in &done {
        let _ = expected.next_if_eq(name); // there may be stages between
    }
    assert_eq!(expected.next(), None, "{done:?}");
    holds_together(run);
    assert!(run.path.join("report.html").is_file());
}

/// A file system of a test alone, in memory. Dropping it takes it away.
pub struct Small(pub tempfile::TempDir);

impl Small {
    /// One of this many MiB. On `None` the test must end: see [`mounted`].
    pub fn mount(mib: u64) -> Option<Self> {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        // Not `then_some`, which would make one to be taken away where none was mounted.
        mounted(dir.path(), &format!("size={mib}m")).then(|| Self(dir))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let gone = Command::new("umount").arg("-l").arg(self.0.path()).status();
        assert!(thread::panicking() || gone.is_ok_and(|status| status.success()), "{:?} is mounted", self.0);
    }
}

/// Set for a test that runs in its own user namespace.
const IN_NAMESPACE: &str = "PGDYNO_TEST_IN_NAMESPACE";

/// Mounts a file system in memory. Where this process may not, the whole test runs once more as a process that may: in
/// a user namespace of its own, as the same user. It has passed then, or is left out where nobody but root may mount;
/// either way the calling test ends at `false`.
pub fn mounted(dir: &Path, options: &str) -> bool {
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(dir).stderr(Stdio::null());
    if mount.status().is_ok_and(|status| status.success()) {
        return true;
    }
    assert!(
        env::var_os(IN_NAMESPACE).is_none(),
        "nothing can be mounted at {dir:?} in a namespace of our own"
    );
    let mut probe = in_namespace("mount");
    probe.args(["-t", "tmpfs", "tmpfs"]).arg(env::temp_dir());
    // Servers of root run as another user, whom a namespace of root's own does not know.
    match !am_root() && probe.output().is_ok_and(|output| output.status.success()) {
        true => run_in_namespace(),
        false => left_out("this user may mount nothing, nor in a user namespace"),
    }
    false
}

/// A program that may mount, for nobody else to see.
fn in_namespace(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-current-user", "--keep-caps", "--mount"])
        .arg(program)
        .env(IN_NAMESPACE, "1");
    command
}

/// Runs the test of this thread as a separate process, in a namespace.
fn run_in_namespace() {
    let thread = thread::current();
    let test = thread.name().expect("a test has a thread of its name");
    let mut again = in_namespace(env::current_exe().expect("this program has a name"));
    let output = again
        .args(["--exact", test, "--nocapture", "--include-ignored"])
        .output()
        .expect("it has just been tried");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{test}, in a namespace\n{out}{err}");
}

/// Directory for copies of runs, whose reports somebody wants to look at after the tests.
const KEEP: &str = "PGDYNO_TEST_KEEP";

/// Copies a run to where runs are wanted, in a directory called like the test.
fn keep(run: &Run) {
    let Some(kept) = env::var_os(KEEP) else { return };
    let test = thread::current().name().unwrap_or("test").replace("::", "-");
    let to = Path::new(&kept).join(format!("{test}-{}", run.record.id));
    fs::create_dir_all(&to).expect("runs can be kept there");
    // Some tests put a directory where a file should be.
    let files = fs::read_dir(&run.path).expect("it is there").flatten();
    for file in files.filter(|file| file.path().is_file()) {
        fs::copy(file.path(), to.join(file.file_name())).expect("there is room");
    }
}

/// What a complete run said of itself follows from its record alone.
fn says_the_same_again(run: &Run) {
    if run.record.status != pgdyno_record::Status::Complete {
        return;
    }
    let mut again = run.record.clone();
    let latencies = run.run_latencies().expect("they can be read");
    let latencies = pgdyno_analysis::latencies_of_cells(&again, latencies);
    pgdyno_analysis::analyse(&mut again, &latencies);
    let [said, again] = [&run.record, &again].map(|of| serde_json::to_string_pretty(of).expect("plain data"));
    let differing = said.lines().zip(again.lines()).find(|(said, again)| said != again);
    assert!(said == again, "judged again, a run says something else: {differing:?}");
}
