//! No attempt is lost in counting, whatever happens: overload, peers that fall silent, close or all vanish at once as
//! in a restart, reconnects that succeed or fail, attempts that time out, a stop request in the middle.
//!
//! Two ledgers are compared: the engine's, and one that the target keeps of the attempts it began and their outcomes.
//!
//! Seen to fail if the engine forgets the backlog at the end, an attempt that is given up or that of a lost client; if
//! it reports a failure as a commit or a doubt as a failure; and if it forgets the attempt of a client that reconnects,
//! or begins one while it is disconnected.

use std::{
    env,
    io::{self, Read, Write},
    net::Shutdown,
    os::{fd::OwnedFd, unix::net::UnixStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

use pgdyno_core::{
    measure::{Counts, Outage, Outcome},
    stop::Stop,
};
use pgdyno_engine::{Client, Dial, Event, Probe, Report, Settings, SocketDriver, Step, Target, run};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
/// Number of attempts that the trouble of a [`Case`] is a share of.
const OF: u64 = 10_000;

/// Counts kept by the target.
#[derive(Debug, Default)]
struct Ledger {
    begun: AtomicU64,
    outcomes: [AtomicU64; 6],
}

impl Ledger {
    fn ended(&self, outcome: Outcome) -> Outcome {
        self.outcomes[outcome as usize].fetch_add(1, Relaxed);
        outcome
    }

    fn count(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize].load(Relaxed)
    }
}

/// Target that does with every attempt what the next random number says.
struct Erratic {
    ledger: Arc<Ledger>,
    random: u64,
    /// How many of [`OF`] attempts make trouble.
    trouble: u64,
    word: [u8; 1],
    busy: bool,
    /// Whether the client is connected.
    here: bool,
    /// How many of a hundred losses are followed by a reconnect.
    comes_back: u64,
    peers: Peers,
}

impl Erratic {
    /// Draws the next number of SplitMix64.
    fn draw(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.random;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (bits ^ (bits >> 31)) % below
    }

    fn begin(&mut self, now_ns: u64) -> Step {
        assert!(self.here, "no attempt begins without a connection");
        self.ledger.begun.fetch_add(1, Relaxed);
        self.busy = true;
        if self.draw(OF) < self.trouble {
            return self.make_trouble();
        }
        match self.draw(100) {
            0..10 => self.done(Outcome::Committed),
            10..20 => self.done(Outcome::Failed),
            20..35 => Step::WaitUntil(now_ns + self.draw(3 * MS)),
            35..85 => self.say(b'e'),
            _ => self.say(b'd'),
        }
    }

    /// A peer that falls silent, hangs up, or takes all others with it; or a client that gives up by itself.
    fn make_trouble(&mut self) -> Step {
        match self.draw(8) {
            0..3 => self.say(b's'),
            3..5 => self.say(b'c'),
            5 => self.say(b'x'),
            _ => self.last(Outcome::Failed),
        }
    }

    fn say(&mut self, word: u8) -> Step {
        self.word = [word];
        Step::Send
    }

    fn done(&mut self, outcome: Outcome) -> Step {
        self.busy = false;
        Step::Done(self.ledger.ended(outcome))
    }

    fn last(&mut self, outcome: Outcome) -> Step {
        // A connection that closes while nothing is in progress ends no attempt.
        if std::mem::take(&mut self.busy) {
            self.ledger.ended(outcome);
        }
        self.here = false;
        if self.draw(100) < self.comes_back {
            return Step::Reconnect(outcome);
        }
        Step::Last(outcome)
    }
}

impl Target for Erratic {
    fn step(&mut self, event: Event<'_>, now_ns: u64, _probe: &mut Probe) -> Step {
        match event {
            Event::Begin => self.begin(now_ns),
            Event::Received(_) | Event::Woken => self.done(Outcome::Committed),
            Event::Gone(_) => self.last(Outcome::InDoubt),
            Event::Connected => {
                self.here = true;
                Step::Receive
            }
            Event::Sent | Event::Parting => Step::Receive,
        }
    }

    /// Fails one try in four.
    fn dial(&mut self) -> Dial {
        let (peers, fails) = (Arc::clone(&self.peers), self.draw(4) == 0);
        Box::new(move |_| match fails {
            true => Err(io::ErrorKind::ConnectionRefused.into()),
            false => Ok(connection(&peers)),
        })
    }

    fn outgoing(&self) -> &[u8] {
        &self.word
    }

    fn abandon(&mut self) -> Outcome {
        self.busy = false;
        self.ledger.ended(Outcome::TimedOut)
    }
}

/// The peers' ends of all connections.
type Peers = Arc<Mutex<Vec<UnixStream>>>;

fn client(peers: &Peers, ledger: &Arc<Ledger>, random: u64, case: &Case) -> Client<Erratic> {
    let target = Erratic {
        ledger: Arc::clone(ledger),
        random,
        trouble: case.trouble,
        word: [0],
        busy: false,
        here: true,
        comes_back: case.comes_back,
        peers: Arc::clone(peers),
    };
    Client { target, io: Some(connection(peers)) }
}

/// Connects to a peer that answers.
fn connection(peers: &Peers) -> OwnedFd {
    let (ours, mut theirs) = UnixStream::pair().expect("a socket pair");
    peers.lock().expect("nobody panicked").push(theirs.try_clone().expect("a descriptor is left"));
    let all = Arc::clone(peers);
    thread::spawn(move || {
        let mut word = [0];
        while theirs.read_exact(&mut word).is_ok() {
            match word[0] {
                b'd' => thread::sleep(Duration::from_millis(2)),
                b's' => continue,
                b'c' => return end(&theirs),
                b'x' => return all.lock().expect("nobody panicked").iter().for_each(end),
                _ => {}
            }
            if theirs.write_all(&word).is_err() {
                return;
            }
        }
    });
    OwnedFd::from(ours)
}

fn end(stream: &UnixStream) {
    let _ = stream.shutdown(Shutdown::Both); // the peer may have closed it already
}

/// A run and its disturbances.
#[derive(Debug, Clone)]
struct Case {
    seed: u64,
    trouble: u64,
    comes_back: u64,
    workers: usize,
    clients: usize,
    rate_per_s: Option<f64>,
    duration_ms: u64,
    drain_ms: u64,
    stop_after_ms: Option<u64>,
}

fn case() -> impl Strategy<Value = Case> {
    let rate = prop::option::of(prop_oneof![1e2..3e3, 1e4..1e6, Just(1e12)]);
    let stop = prop::option::weighted(0.4, 0u64..80);
    let comes_back = prop_oneof![Just(0), Just(100), 0u64..100];
    // Rare, so that much happens before it, or frequent, so that it happens even on a slow machine.
    let trouble = (prop_oneof![0u64..100, 100u64..2_000], comes_back);
    (any::<u64>(), trouble, 1usize..4, 1usize..5, rate, 20u64..70, 0u64..20, stop).prop_map(
        |(
            seed,
            (trouble, comes_back),
            workers,
            clients,
            rate_per_s,
            duration_ms,
            drain_ms,
            stop_after_ms,
        )| Case {
            seed,
            trouble,
            comes_back,
            workers,
            clients,
            rate_per_s,
            duration_ms,
            drain_ms,
            stop_after_ms,
        },
    )
}

/// The engine's counts and the target's.
struct Books {
    report: Report,
    intervals: Vec<Counts>,
    latencies: u64,
    ledger: Arc<Ledger>,
}

fn carry_out(case: &Case, driver: SocketDriver) -> Books {
    let (peers, ledger) = (Peers::default(), Arc::new(Ledger::default()));
    let clients = case.clients;
    let worker = |w: usize| (0..clients).map(move |c| (w * clients + c) as u64);
    let workers = (0..case.workers)
        .map(|w| worker(w).map(|n| client(&peers, &ledger, case.seed.wrapping_add(n << 40), case)).collect());
    let settings = Settings {
        warmup_ns: 0,
        ramp_ns: 0,
        duration_ns: case.duration_ms * MS,
        interval_ns: 7 * MS,
        drain_ns: case.drain_ms * MS,
        rate_per_s: case.rate_per_s,
        seed: case.seed,
        statements: 0,
        cpus: Vec::new(),
    };
    let stop = Stop::default();
    let asking = case.stop_after_ms.map(|after_ms| {
        let stop = stop.clone();
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(after_ms));
            stop.request("interrupted");
        })
    });
    let (mut intervals, mut latencies) = (Vec::new(), 0);
    let on_interval = |interval: &pgdyno_engine::MergedInterval| {
        intervals.push(interval.counts);
        latencies += interval.latency.count();
    };
    let workers = workers.collect();
    let report = run(driver, workers, &settings, &stop, on_interval, |_| ());
    asking.into_iter().for_each(|asking| asking.join().expect("it asked"));
    peers.lock().expect("nobody panicked").iter().for_each(end);
    Books { report: report.expect("the run works"), intervals, latencies, ledger }
}

/// Lists what does not add up.
fn faults(books: &Books) -> Vec<String> {
    let Books { report, intervals, latencies, ledger } = books;
    let whole = &report.counts_whole;
    let mut faults = Vec::new();
    let mut same = |what: &str, one: u64, other: u64| {
        if one != other {
            faults.push(format!("{what}: {one}, {other}"));
        }
    };
    let mut sum = Counts::default();
    for counts in intervals {
        same(
            "both sides of an interval",
            counts.scheduled + counts.in_flight_at_start,
            counts.ended() + counts.in_flight_at_end,
        );
        same("in flight from one interval to the next", sum.in_flight_at_end, counts.in_flight_at_start);
        sum.then(counts);
    }
    same("both sides of the run", whole.scheduled, whole.ended());
    same("the intervals together", sum.scheduled, whole.scheduled);
    same("in flight at the ends", whole.in_flight_at_start + whole.in_flight_at_end, 0);
    same("begun", ledger.begun.load(Relaxed), whole.scheduled - whole.never_started);
    same("committed", ledger.count(Outcome::Committed), whole.committed);
    same("failed", ledger.count(Outcome::Failed), whole.failed);
    same("timed out", ledger.count(Outcome::TimedOut), whole.timed_out);
    same("in doubt", ledger.count(Outcome::InDoubt), whole.in_doubt);
    same("skipped", 0, whole.skipped);
    let outage = &report.outage;
    same("more made again than lost", outage.made_again.saturating_sub(outage.lost), 0);
    same("longer for one than for all", outage.longest_ns.saturating_sub(outage.clients_ns), 0);
    same("latencies of the run", report.latency.count(), whole.committed);
    same("latencies of the intervals", *latencies, whole.committed);
    faults
}

/// Totals over all cases: a test whose disturbances never came would prove nothing.
static SEEN: Mutex<Counts> = Mutex::new(Counts {
    scheduled: 0,
    in_flight_at_start: 0,
    committed: 0,
    failed: 0,
    skipped: 0,
    timed_out: 0,
    in_doubt: 0,
    never_started: 0,
    in_flight_at_end: 0,
});

/// Outages over all cases.
static OUTAGES: Mutex<Outage> =
    Mutex::new(Outage { lost: 0, made_again: 0, refused: 0, clients_ns: 0, longest_ns: 0, none_ns: 0 });

#[test]
fn every_attempt_is_accounted_for_whatever_happens() {
    let cases = if env::var_os("PGDYNO_TEST_ALL").is_some() { 400 } else { 40 };
    // Cases are random: until every kind of disturbance has come up, more are drawn, each time by a new runner, since a
    // runner counts the cases of all its runs.
    for _ in 0..10 {
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
            cases,
            max_shrink_iters: 0,
            failure_persistence: None,
            ..ProptestConfig::default()
        });
        let held = runner.run(&case(), |case| {
            for driver in SocketDriver::usable() {
                let books = carry_out(&case, driver);
                prop_assert_eq!(faults(&books), Vec::<String>::new(), "{:?}", driver);
                *SEEN.lock().expect("nobody panicked") += books.report.counts_whole;
                OUTAGES.lock().expect("nobody panicked").merge(&books.report.outage);
            }
            Ok(())
        });
        held.unwrap_or_else(|error| panic!("{error}"));
        if every_disturbance_was_seen() {
            return;
        }
    }
    panic!("a disturbance never came: {SEEN:?} {OUTAGES:?}");
}

fn every_disturbance_was_seen() -> bool {
    let seen = SEEN.lock().expect("nobody panicked");
    let outages = OUTAGES.lock().expect("nobody panicked");
    let ends = [seen.committed, seen.failed, seen.timed_out, seen.in_doubt, seen.never_started];
    let losses = [outages.lost, outages.made_again, outages.refused, outages.none_ns];
    ends.iter().chain(&losses).all(|count| *count > 0) && outages.made_again < outages.lost
}

/// Every planted deviation of one unit is found.
#[test]
fn a_single_attempt_too_few_or_too_many_is_found() {
    let case = Case {
        seed: 11,
        trouble: 0,
        comes_back: 0,
        workers: 2,
        clients: 3,
        rate_per_s: Some(20_000.0),
        duration_ms: 60,
        drain_ms: 20,
        stop_after_ms: None,
    };
    type Fault = fn(&mut Books);
    let tampered: [Fault; 8] = [
        |books| books.intervals[2].committed += 1,
        |books| books.intervals[3].scheduled -= 1,
        // Moved into the next interval, so that the sum is right.
        |books| {
            books.intervals[1].scheduled += 1;
            books.intervals[1].in_flight_at_end += 1;
            books.intervals[2].scheduled -= 1;
        },
        |books| {
            books.intervals.remove(4);
        },
        |books| books.report.counts_whole.never_started -= 1,
        // A failure reported as a commit, on both sides of the equation.
        |books| {
            books.report.counts_whole.failed -= 1;
            books.report.counts_whole.committed += 1;
        },
        |books| {
            books.ledger.begun.fetch_add(1, Relaxed);
        },
        |books| books.latencies -= 1,
    ];
    for driver in SocketDriver::usable() {
        assert_eq!(faults(&carry_out(&case, driver)), Vec::<String>::new());
    }
    for (number, tamper) in tampered.into_iter().enumerate() {
        let mut books = carry_out(&case, SocketDriver::best());
        tamper(&mut books);
        assert!(!faults(&books).is_empty(), "fault {number} was not found");
    }
}
