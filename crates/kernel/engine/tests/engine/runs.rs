//! Whole runs, with targets whose every attempt is known.

use std::{
    fs,
    io::{Read, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use pgdyno_core::{
    measure::{Counts, Outcome},
    stop::Stop,
};
use pgdyno_engine::{
    Client, Event, MergedInterval, NullTarget, Phase, Probe, Report, Settings, SocketDriver, Step, Target,
    run,
};

const SETTINGS: Settings = Settings {
    warmup_ns: 50_000_000,
    ramp_ns: 25_000_000,
    duration_ns: 200_000_000,
    interval_ns: 30_000_000,
    drain_ns: 1_000_000_000,
    rate_per_s: None,
    seed: 1,
    statements: 1,
    cpus: Vec::new(),
};

fn clients<T: Copy>(target: T, workers: usize, each: usize) -> Vec<Vec<Client<T>>> {
    let worker = || (0..each).map(|_| Client { target, io: None }).collect();
    (0..workers).map(|_| worker()).collect()
}

/// Runs, and checks what holds for every run: the counting equation of every interval, of the measured interval and of
/// the whole run, and that intervals follow each other without a gap.
fn checked<T: Target + 'static>(
    driver: SocketDriver,
    workers: Vec<Vec<Client<T>>>,
    settings: &Settings,
    stop: &Stop,
) -> (Report, Vec<Counts>) {
    watched(driver, workers, settings, stop, |_| ())
}

/// Like `checked`, and calls `on_interval` with every interval.
fn watched<T: Target + 'static>(
    driver: SocketDriver,
    workers: Vec<Vec<Client<T>>>,
    settings: &Settings,
    stop: &Stop,
    on_interval: impl Fn(&MergedInterval),
) -> (Report, Vec<Counts>) {
    let mut intervals = Vec::new();
    let mut end_ns = 0;
    let check = |interval: &MergedInterval| {
        assert_eq!(interval.counts.check(), Ok(()));
        assert_eq!(interval.start_ns, end_ns);
        end_ns += interval.duration_ns;
        intervals.push(interval.counts);
        on_interval(interval);
    };
    let report = run(driver, workers, settings, stop, check, |_| ()).expect("the run works");
    assert_eq!(report.counts.check(), Ok(()));
    assert_eq!(report.counts_whole.check(), Ok(()));
    assert_eq!((report.counts_whole.in_flight_at_start, report.counts_whole.in_flight_at_end), (0, 0));
    (report, intervals)
}

#[test]
fn the_null_target_is_counted_to_the_unit() {
    let (report, intervals) =
        checked(SocketDriver::Epoll, clients(NullTarget, 2, 1), &SETTINGS, &Stop::default());
    assert!(report.counts.committed > 1_000);
    assert_eq!(report.counts_whole.scheduled, report.counts_whole.committed);
    // 50 ms of warm-up in two intervals, 200 ms in seven, and the drain.
    assert_eq!(intervals.len(), 10);
    assert_eq!(report.duration_ns, SETTINGS.duration_ns);
    assert_eq!(intervals.iter().map(|i| i.committed).sum::<u64>(), report.counts_whole.committed);
}

/// Target whose every attempt waits a millisecond.
#[derive(Clone, Copy)]
struct Paced;

impl Target for Paced {
    fn step(&mut self, event: Event<'_>, now_ns: u64, probe: &mut Probe) -> Step {
        match event {
            Event::Begin => Step::WaitUntil(now_ns + 1_000_000),
            _ => {
                probe.statement(0, 1_000_000);
                Step::Done(Outcome::Committed)
            }
        }
    }

    fn outgoing(&self) -> &[u8] {
        &[]
    }

    fn abandon(&mut self) -> Outcome {
        Outcome::TimedOut
    }
}

#[test]
fn every_driver_waits_as_long_as_requested() {
    let one = checked(SocketDriver::Epoll, clients(Paced, 1, 1), &SETTINGS, &Stop::default()).0;
    let many = SocketDriver::usable()
        .map(|driver| checked(driver, clients(Paced, 1, 10), &SETTINGS, &Stop::default()).0)
        .collect::<Vec<_>>();
    for report in many.iter().chain([&one]) {
        let latency = report.latency.summary().expect("attempts committed");
        assert!(latency.min_ns >= 999_000, "{latency:?}");
        assert!(report.statements[0].count() > 0);
    }
    // At most 200 attempts a client in 200 ms.
    assert!(one.counts.committed <= 201);
    for many in many {
        assert!((one.counts.committed + 1..=2_010).contains(&many.counts.committed));
    }
}

#[test]
fn an_open_loop_counts_what_no_client_was_free_for() {
    // One client that takes a millisecond can begin about 200 of some 4,000 attempts.
    let settings = Settings { rate_per_s: Some(20_000.0), warmup_ns: 0, ..SETTINGS };
    for driver in SocketDriver::usable() {
        let report = checked(driver, clients(Paced, 1, 1), &settings, &Stop::default()).0;
        let whole = report.counts_whole;
        assert!((3_200..4_800).contains(&whole.scheduled), "{whole:?}");
        assert!(whole.committed <= 201 && whole.never_started > 3_000, "{whole:?}");
        // Latency counts from the instant an attempt was due, so that it includes the backlog.
        assert!(report.latency.summary().expect("attempts committed").max_ns > 50_000_000);
        assert!(report.lag.summary().expect("attempts lagged").max_ns > 50_000_000);
    }
}

/// What the client gets done in the interval is the backlog of the warm-up: of what fell due in the interval nothing is
/// known.
#[test]
fn a_backlog_from_the_warm_up_is_no_latency_of_the_interval() {
    let settings = Settings { rate_per_s: Some(20_000.0), ..SETTINGS };
    let (report, _) = checked(SocketDriver::best(), clients(Paced, 1, 1), &settings, &Stop::default());
    assert!(report.counts.committed > 50, "{:?}", report.counts);
    assert_eq!((report.latency.count(), report.lag.count()), (0, 0));
}

#[test]
fn an_absurd_rate_ends_on_time() {
    for driver in SocketDriver::usable() {
        let settings = Settings { rate_per_s: Some(1e12), ..SETTINGS };
        let (report, _) = checked(driver, clients(Paced, 1, 1), &settings, &Stop::default());
        assert!(report.counts_whole.scheduled as f64 > 0.2 * 1e12);
        assert!(report.counts_whole.committed > 0);
    }
}

/// Target that sends a byte and waits for its echo; a commit is in doubt while it waits.
#[derive(Clone, Copy)]
struct Echo;

impl Target for Echo {
    fn step(&mut self, event: Event<'_>, _now_ns: u64, probe: &mut Probe) -> Step {
        match event {
            Event::Begin => Step::Send,
            Event::Received(bytes) => {
                assert_eq!(bytes, b"x");
                Step::Done(Outcome::Committed)
            }
            Event::Gone(_) => {
                probe.error("connection", "gone");
                Step::Last(Outcome::InDoubt)
            }
            _ => Step::Receive,
        }
    }

    fn outgoing(&self) -> &[u8] {
        b"x"
    }

    fn abandon(&mut self) -> Outcome {
        Outcome::InDoubt
    }
}

/// A client whose peer echoes this many bytes, and then closes or, with `hang`, falls silent.
fn echo_client(answers: usize, hang: bool) -> (Client<Echo>, thread::JoinHandle<()>) {
    let (ours, mut theirs) = UnixStream::pair().expect("a socket pair");
    let peer = thread::spawn(move || {
        let mut byte = [0];
        for _ in 0..answers {
            if theirs.read_exact(&mut byte).is_err() || theirs.write_all(&byte).is_err() {
                return;
            }
        }
        if hang {
            let _ = theirs.read_to_end(&mut Vec::new());
        }
    });
    (Client { target: Echo, io: Some(OwnedFd::from(ours)) }, peer)
}

/// Target that waits for echoes, and counts how often its thread went to sleep between two of its attempts.
struct Sleeper {
    attempts: u64,
    asleep_before: u64,
    asleep_between: Arc<AtomicU64>,
}

impl Sleeper {
    const FIRST: u64 = 10;
    const LAST: u64 = 110;

    /// Voluntary context switches of this thread (`proc_pid_status(5)`).
    fn asleep() -> u64 {
        let status = fs::read_to_string("/proc/thread-self/status").expect("procfs is mounted");
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.expect("the kernel counts context switches").trim().parse().expect("a number")
    }
}

impl Target for Sleeper {
    fn step(&mut self, event: Event<'_>, now_ns: u64, probe: &mut Probe) -> Step {
        if matches!(event, Event::Begin) {
            self.attempts += 1;
            match self.attempts {
                Self::FIRST => self.asleep_before = Self::asleep(),
                Self::LAST => {
                    self.asleep_between.store(Self::asleep() - self.asleep_before, Ordering::Relaxed);
                }
                _ => {}
            }
        }
        Echo.step(event, now_ns, probe)
    }

    fn outgoing(&self) -> &[u8] {
        Echo.outgoing()
    }

    fn abandon(&mut self) -> Outcome {
        Echo.abandon()
    }
}

/// The server takes the request, works, and answers. A blocking receive would also be woken by the taking: on a Unix
/// socket it waits in the same queue as writers that wait for room.
#[test]
fn a_single_client_sleeps_once_for_every_answer() {
    for driver in SocketDriver::usable() {
        let (ours, mut theirs) = UnixStream::pair().expect("a socket pair");
        let peer = thread::spawn(move || {
            let mut byte = [0];
            while theirs.read_exact(&mut byte).is_ok() {
                thread::sleep(Duration::from_millis(1));
                if theirs.write_all(&byte).is_err() {
                    return;
                }
            }
        });
        let asleep = Arc::new(AtomicU64::new(0));
        let target = Sleeper { attempts: 0, asleep_before: 0, asleep_between: Arc::clone(&asleep) };
        let client = Client { target, io: Some(OwnedFd::from(ours)) };
        // Long enough for a busy machine; stopped once there are enough answers.
        let settings = Settings { duration_ns: 60_000_000_000, ..SETTINGS };
        let (stop, mut committed) = (Stop::default(), 0);
        let enough = |interval: &MergedInterval| {
            committed += interval.counts.committed;
            if committed > Sleeper::LAST {
                stop.request("enough was seen");
            }
        };
        run(driver, vec![vec![client]], &settings, &stop, enough, |_| ()).expect("the run works");
        peer.join().expect("the peer ended");
        // Ticks end waits, too.
        let (asleep, answers) = (asleep.load(Ordering::Relaxed), Sleeper::LAST - Sleeper::FIRST);
        assert!((answers / 2..answers * 3 / 2).contains(&asleep), "{driver}: {asleep} for {answers} answers");
    }
}

/// Target with a message far larger than a socket holds, every byte of which comes back while it is still being sent.
struct Bulk {
    message: Vec<u8>,
    back: usize,
    sent: bool,
}

impl Bulk {
    fn step(&mut self) -> Step {
        if self.sent && self.back == self.message.len() {
            (self.sent, self.back) = (false, 0);
            return Step::Done(Outcome::Committed);
        }
        Step::Receive
    }
}

impl Target for Bulk {
    fn step(&mut self, event: Event<'_>, _now_ns: u64, _probe: &mut Probe) -> Step {
        match event {
            Event::Begin => return Step::Send,
            Event::Sent => self.sent = true,
            Event::Received(bytes) => self.back += bytes.len(),
            _ => return Step::Last(Outcome::InDoubt),
        }
        self.step()
    }

    fn outgoing(&self) -> &[u8] {
        &self.message
    }

    fn abandon(&mut self) -> Outcome {
        Outcome::InDoubt
    }
}

/// The peer of such a client: it reads no further until the client has read the echo.
fn bulk_client() -> (Client<Bulk>, thread::JoinHandle<()>) {
    let (ours, mut theirs) = UnixStream::pair().expect("a socket pair");
    let peer = thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(bytes @ 1..) = theirs.read(&mut buffer) {
            if theirs.write_all(&buffer[..bytes]).is_err() {
                return;
            }
        }
    });
    let target = Bulk { message: vec![7; 64 << 20], back: 0, sent: false };
    (Client { target, io: Some(OwnedFd::from(ours)) }, peer)
}

#[test]
fn a_message_that_no_socket_holds_goes_out_while_its_answer_comes_in() {
    // The end of an interval, or of the drain, wakes a driver too: too seldom for this test.
    let settings = Settings { interval_ns: 10_000_000_000, drain_ns: 20_000_000_000, ..SETTINGS };
    for driver in SocketDriver::usable() {
        for clients in [1, 2] {
            let (clients, peers): (Vec<_>, Vec<_>) = (0..clients).map(|_| bulk_client()).unzip();
            let (report, _) = checked(driver, vec![clients], &settings, &Stop::default());
            assert!(report.counts_whole.committed > 0, "{driver}: {:?}", report.counts_whole);
            assert_eq!((report.counts_whole.in_doubt, report.clients_lost), (0, 0), "{driver}");
            peers.into_iter().for_each(|peer| peer.join().expect("the peer ended"));
        }
    }
}

#[test]
fn a_lost_client_leaves_its_attempt_in_doubt_and_the_others_continue() {
    for driver in SocketDriver::usable() {
        let (lost, lost_peer) = echo_client(10, false);
        let (kept, kept_peer) = echo_client(usize::MAX, false);
        let (other_worker, other_peer) = echo_client(5, false);
        let (report, _) =
            checked(driver, vec![vec![lost, kept], vec![other_worker]], &SETTINGS, &Stop::default());
        assert_eq!(report.clients_lost, 2);
        assert_eq!(report.counts_whole.in_doubt, 2);
        assert_eq!(report.errors.iter().collect::<Vec<_>>(), [("connection", "gone", 2)]);
        assert!(report.counts.committed > 0, "the client that was kept works in the measured interval");
        for peer in [lost_peer, kept_peer, other_peer] {
            peer.join().expect("the peer ended");
        }
    }
}

#[test]
fn a_run_whose_clients_are_all_lost_ends() {
    for driver in SocketDriver::usable() {
        let (lost, peer) = echo_client(10, false);
        let endless = Settings { duration_ns: 3_600_000_000_000, ..SETTINGS };
        let (report, _) = checked(driver, vec![vec![lost]], &endless, &Stop::default());
        assert_eq!((report.counts_whole.committed, report.counts_whole.in_doubt), (10, 1));
        // The reason is the clients' error, which may be another than a lost connection.
        assert_eq!(report.stopped.as_deref(), Some("every client ended: gone (connection)"));
        peer.join().expect("the peer ended");

        // Attempts that would have fallen due in the rest of the hour are not counted.
        let (lost, peer) = echo_client(10, false);
        let open = Settings { rate_per_s: Some(1_000.0), ..endless };
        let (report, _) = checked(driver, vec![vec![lost]], &open, &Stop::default());
        assert!(report.counts_whole.scheduled < 1_000_000, "{:?}", report.counts_whole);
        peer.join().expect("the peer ended");
    }
}

#[test]
fn a_silent_server_is_given_up_after_the_drain() {
    let settings = Settings { drain_ns: 50_000_000, ..SETTINGS };
    let check = |report: Report, peer: thread::JoinHandle<()>| {
        assert_eq!((report.counts_whole.committed, report.counts_whole.in_doubt), (3, 1));
        peer.join().expect("the peer ended");
    };
    for driver in SocketDriver::usable() {
        let (silent, peer) = echo_client(3, true);
        check(checked(driver, vec![vec![silent]], &settings, &Stop::default()).0, peer);
    }
}

#[test]
fn a_request_to_stop_ends_an_endless_run_with_what_was_measured() {
    for driver in SocketDriver::usable() {
        let endless = Settings { duration_ns: 3_600_000_000_000, ..SETTINGS };
        let stop = Stop::default();
        let ask = |interval: &MergedInterval| {
            if interval.phase == Phase::Measured && interval.counts.committed > 0 {
                stop.request("interrupted");
                stop.request("a later reason");
            }
        };
        let (report, _) = watched(driver, clients(Paced, 2, 3), &endless, &stop, ask);
        assert_eq!(report.stopped.as_deref(), Some("interrupted"));
        assert!(report.counts.committed > 0);
    }
}

/// Two workers with three clients each, all steps from one seed: the seed alone decides an open loop's schedule.
#[test]
fn the_same_seed_gives_the_same_number_of_arrivals() {
    for driver in SocketDriver::usable() {
        let settings = Settings { rate_per_s: Some(5_000.0), seed: 42, ..SETTINGS };
        let due =
            || checked(driver, clients(Paced, 2, 3), &settings, &Stop::default()).0.counts_whole.scheduled;
        assert_eq!(due(), due());
    }
}
