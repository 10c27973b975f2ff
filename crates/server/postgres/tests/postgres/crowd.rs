//! Memory of the driver with many clients on one thread, and its growth.
//!
//! Driver and fake server run as two processes (this program again): what is measured is the memory of a process, which
//! must be that of the driver alone, not of the server or of other tests.

#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::{
    env, fs,
    io::{BufRead, BufReader, Lines},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use pgdyno_core::{measure::Outcome, stop::Stop};
use pgdyno_engine::{Client, Event, Paced, Probe, Settings, SocketDriver, Step, Target, run};
use pgdyno_postgres::targets::{Link, SqlClients, SqlTarget};
use pgdyno_script::{Builtin, Protocol};
use pgdyno_wire::{
    Address, ConnectOptions,
    fake::{FakeServer, usual},
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use testkit::left_out;

/// Set for the processes that are the server and the driver.
const IS_PART: &str = "PGDYNO_TEST_CROWD";
/// Most memory per client: 300 MiB for 10,000.
const CLIENT_BYTES: u64 = (300 << 20) / 10_000;
/// Most growth of memory in the second half of a run, by fluctuation of the allocator's pages.
const GROWTH_BYTES: u64 = 512 << 10;
/// File descriptors in addition to those of the connections.
const OTHER_FILES: u64 = 64;
const SECOND_NS: u64 = 1_000_000_000;
const INTERVAL_NS: u64 = SECOND_NS / 2;
/// Commits of an interval that counts; two such intervals reveal a client that hoards memory.
const COMMITS: u64 = 200;
/// Longest run, if nothing observed ends it earlier.
const LIMIT_NS: u64 = 600 * SECOND_NS;

/// This program again, to run one of its ignored tests.
fn again(test: &str) -> Command {
    let mut process = Command::new(env::current_exe().expect("this program has a name"));
    process.args(["--exact", &format!("crowd::{test}"), "--ignored"]).env(IS_PART, "1");
    process
}

/// The fake server in its own process, which ends when its standard input is closed.
struct Server {
    process: Child,
    /// Kept open until the process has ended, which otherwise could not report its test result.
    _said: Lines<BufReader<ChildStdout>>,
    options: ConnectOptions,
}

impl Server {
    fn start() -> Self {
        let mut process = again("the_server_of_the_crowd")
            .arg("--nocapture")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program can be started again");
        let mut said = BufReader::new(process.stdout.take().expect("it is a pipe")).lines();
        let place = |line: String| line.split_once("listening in ").map(|(_, dir)| dir.to_owned());
        let dir = said.by_ref().map_while(Result::ok).find_map(place).expect("it says where it listens");
        let options = ConnectOptions {
            connect_timeout: Duration::from_secs(60),
            ..ConnectOptions::local(Address::Unix(Path::new(&dir).to_owned(), 5432), "me")
        };
        Self { process, _said: said, options }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let ended = self.process.wait();
        assert!(std::thread::panicking() || ended.is_ok_and(|status| status.success()));
    }
}

#[test]
#[ignore = "the driver of the crowd starts it as a process of its own"]
fn the_server_of_the_crowd() {
    if env::var_os(IS_PART).is_none() {
        return;
    }
    raise_file_limit(u64::MAX);
    let server = FakeServer::start(usual).expect("it listens");
    server.keep_nothing();
    println!("listening in {}", server.socket_dir().expect("it is a socket").display());
    // Waits until the parent goes away.
    let _ = std::io::stdin().read_line(&mut String::new());
}

/// Raises the limit of open files up to the hard limit; returns the limit.
fn raise_file_limit(wanted: u64) -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX);
    let current = Some(wanted.min(most).max(limit.current.unwrap_or(u64::MAX)));
    let raised = setrlimit(Resource::Nofile, Rlimit { current, maximum: limit.maximum });
    assert!(raised.is_ok() || limit.current.is_none_or(|current| current >= wanted), "{raised:?}");
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Resident memory of this process in bytes.
fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("Linux has it");
    let kib: Option<u64> = line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok());
    kib.expect("a number") << 10
}

/// The planted fault: a client that keeps some memory of every transaction.
struct Hoarding {
    target: Paced<Link<SqlTarget>>,
    hoard: Vec<[u64; 512]>,
    hoards: bool,
    /// Number of clients that have run their script once, and whether this one has.
    warm: Arc<AtomicU32>,
    is_warm: bool,
}

impl Target for Hoarding {
    fn step(&mut self, event: Event<'_>, now_ns: u64, probe: &mut Probe) -> Step {
        let step = self.target.step(event, now_ns, probe);
        if step == Step::Done(Outcome::Committed) {
            if !std::mem::replace(&mut self.is_warm, true) {
                self.warm.fetch_add(1, Ordering::Relaxed);
            }
            if self.hoards {
                self.hoard.push([now_ns; 512]);
            }
        }
        step
    }

    fn outgoing(&self) -> &[u8] {
        self.target.outgoing()
    }

    fn abandon(&mut self) -> Outcome {
        self.target.abandon()
    }
}

/// Memory of a run.
#[derive(Debug)]
struct Memory {
    before_bytes: u64,
    /// Resident bytes at the end of every interval after all clients have run their script once.
    intervals_bytes: Vec<u64>,
    committed: u64,
}

impl Memory {
    fn most_bytes(&self) -> u64 {
        self.intervals_bytes.iter().copied().max().unwrap_or(0)
    }

    /// Growth of the second half over the first.
    fn growth_bytes(&self) -> u64 {
        let (first, second) = self.intervals_bytes.split_at(self.intervals_bytes.len() / 2);
        let most = |part: &[u64]| part.iter().copied().max().unwrap_or(0);
        most(second).saturating_sub(most(first))
    }
}

fn crowd(server: &Server, driver: SocketDriver, clients: u32, intervals: u64, hoards: bool) -> Memory {
    let before_bytes = resident_bytes();
    let script = Arc::new(Builtin::TpcbLike.scripts());
    let settings = Settings {
        warmup_ns: 0,
        ramp_ns: 0,
        duration_ns: LIMIT_NS,
        interval_ns: INTERVAL_NS,
        drain_ns: 30 * SECOND_NS,
        rate_per_s: None,
        seed: 1,
        statements: script.statements().count(),
        cpus: Vec::new(),
    };
    let sql = SqlClients { scale: 100, ..SqlClients::new(script, Protocol::Prepared) };
    let stop = Stop::default();
    let (workers, _) = sql.connect(&server.options, clients, 1, &stop).expect("they connect");
    let warm = Arc::new(AtomicU32::new(0));
    let hoarding = |Client { target, io }| {
        let warm = Arc::clone(&warm);
        Client { target: Hoarding { target, hoard: Vec::new(), hoards, warm, is_warm: false }, io }
    };
    let workers: Vec<_> =
        workers.into_iter().map(|clients| clients.into_iter().map(hoarding).collect::<Vec<_>>()).collect();
    let mut intervals_bytes = Vec::new();
    let mut all_are_warm = false;
    let on_interval = |interval: &pgdyno_engine::MergedInterval| {
        // From the next interval on, as all buffers have their size then. One without work proves nothing.
        let counts = all_are_warm && interval.counts.committed >= COMMITS;
        if counts && intervals_bytes.len() < intervals as usize {
            intervals_bytes.push(resident_bytes());
        }
        all_are_warm = warm.load(Ordering::Relaxed) == clients;
        if intervals_bytes.len() == intervals as usize {
            stop.request("enough");
        }
    };
    let report = run(driver, workers, &settings, &stop, on_interval, |_| ()).expect("the run works");
    assert_eq!(report.stopped.as_deref(), Some("enough"), "{:?}", report.counts_whole);
    assert_eq!((report.clients_lost, report.counts_whole.failed), (0, 0), "{:?}", report.errors);
    Memory { before_bytes, intervals_bytes, committed: report.counts_whole.committed }
}

fn fits(clients: u32, intervals: u64) {
    let wanted = u64::from(clients) + OTHER_FILES;
    let allowed = raise_file_limit(wanted);
    if allowed < wanted {
        let why = format!("{clients} clients need {wanted} open files, and the hard limit is {allowed}");
        return left_out(&why);
    }
    let server = Server::start();
    for driver in SocketDriver::usable() {
        let memory = crowd(&server, driver, clients, intervals, false);
        let taken_bytes = memory.most_bytes().saturating_sub(memory.before_bytes);
        eprintln!(
            "{clients} clients by {driver}: {} KiB resident, {} bytes a client, {} transactions",
            memory.most_bytes() >> 10,
            taken_bytes / u64::from(clients),
            memory.committed
        );
        assert!(memory.committed >= u64::from(clients), "{memory:?}");
        assert!(taken_bytes < CLIENT_BYTES * u64::from(clients), "{driver}: {memory:?}");
        assert!(memory.most_bytes() < 300 << 20, "{driver}: {memory:?}");
        assert!(memory.growth_bytes() < GROWTH_BYTES, "{driver}: {memory:?}");
    }
    let hoarded = crowd(&server, SocketDriver::best(), clients, intervals, true);
    assert!(hoarded.growth_bytes() > GROWTH_BYTES, "a driver that grows is found: {hoarded:?}");
}

#[test]
#[ignore = "many_clients_fit_on_one_thread starts it as a process of its own"]
fn the_driver_of_the_crowd() {
    if env::var_os(IS_PART).is_none() {
        return;
    }
    if env::var_os("PGDYNO_TEST_ALL").is_some() {
        fits(10_000, 40);
    }
    fits(1_000, 4);
}

#[test]
fn many_clients_fit_on_one_thread() {
    // What is left out is reported on standard error.
    let driver = again("the_driver_of_the_crowd").stderr(Stdio::inherit()).output();
    let driver = driver.expect("this program can be started again");
    assert!(driver.status.success(), "{}", String::from_utf8_lossy(&driver.stdout));
}
