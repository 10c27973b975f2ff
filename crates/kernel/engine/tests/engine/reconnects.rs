//! A run continues while clients reconnect.

use std::{
    io::{self, Read, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

use pgdyno_core::{measure::Outcome, stop::Stop};
use pgdyno_engine::{Client, Dial, Event, Probe, Report, Settings, SocketDriver, Step, Target, run};

const MS: u64 = 1_000_000;

/// Makes a connection on the `n`-th try of a run.
type Connect = Arc<dyn Fn(u64, &Stop) -> io::Result<()> + Send + Sync>;

/// Target that waits for an echo; with `loses` it loses its connection once, in its first attempt.
struct Echo {
    loses: bool,
    connect: Connect,
    tries: u64,
    done: Arc<AtomicU64>,
}

impl Target for Echo {
    fn step(&mut self, event: Event<'_>, _now_ns: u64, _probe: &mut Probe) -> Step {
        match event {
            Event::Begin if std::mem::take(&mut self.loses) => Step::Reconnect(Outcome::Failed),
            Event::Begin => Step::Send,
            Event::Received(_) => {
                self.done.fetch_add(1, SeqCst);
                Step::Done(Outcome::Committed)
            }
            Event::Gone(_) => Step::Reconnect(Outcome::Failed),
            _ => Step::Receive,
        }
    }

    fn outgoing(&self) -> &[u8] {
        b"x"
    }

    fn dial(&mut self) -> Dial {
        self.tries += 1;
        let (connect, tries) = (Arc::clone(&self.connect), self.tries);
        Box::new(move |stop| connect(tries, stop).map(|()| echoing()))
    }

    fn abandon(&mut self) -> Outcome {
        Outcome::TimedOut
    }
}

/// Connects to a peer that sends back what it gets.
fn echoing() -> OwnedFd {
    let (ours, mut theirs) = UnixStream::pair().expect("a socket pair");
    thread::spawn(move || {
        let mut word = [0];
        while theirs.read_exact(&mut word).is_ok() && theirs.write_all(&word).is_ok() {}
    });
    ours.into()
}

/// Drives clients on one worker, the first of which loses its connection; `done` counts their commits.
fn drive(
    driver: SocketDriver,
    clients: usize,
    settings: &Settings,
    done: &Arc<AtomicU64>,
    connect: Connect,
) -> Report {
    let client = |number: usize| {
        let (connect, done) = (Arc::clone(&connect), Arc::clone(done));
        let target = Echo { loses: number == 0, connect, tries: 0, done };
        Client { target, io: Some(echoing()) }
    };
    let workers = vec![(0..clients).map(client).collect()];
    let stop = Stop::default();
    let report = run(driver, workers, settings, &stop, |_| (), |_| ()).expect("the run works");
    report.counts_whole.check().expect("nothing is lost in counting");
    report
}

fn settings(duration_ms: u64, rate_per_s: Option<f64>) -> Settings {
    Settings {
        warmup_ns: 0,
        ramp_ns: 0,
        duration_ns: duration_ms * MS,
        interval_ns: 20 * MS,
        drain_ns: 10_000 * MS,
        rate_per_s,
        seed: 3,
        statements: 0,
        cpus: Vec::new(),
    }
}

/// The connection comes only after the other client has continued: never, if connecting blocks the loop.
#[test]
fn others_continue_while_a_client_connects() {
    for driver in SocketDriver::usable() {
        let done = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&done);
        let others_went_on = move |_, _: &Stop| {
            let (before, begin) = (seen.load(SeqCst), Instant::now());
            while seen.load(SeqCst) < before + 10 {
                if begin.elapsed() > Duration::from_secs(600) {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                thread::sleep(Duration::from_millis(1));
            }
            Ok(())
        };
        let report = drive(driver, 2, &settings(1_500, None), &done, Arc::new(others_went_on));
        let outage = report.outage;
        assert_eq!(
            (outage.lost, outage.made_again, outage.refused, outage.none_ns),
            (1, 1, 0, 0),
            "{driver}"
        );
        assert!(report.counts_whole.committed >= 10 && report.counts_whole.failed == 1, "{report:?}");
    }
}

/// In an open loop attempts fall due while no client is connected, and wait.
#[test]
fn an_outage_shows_in_what_fell_due_meanwhile() {
    const OUTAGE: Duration = Duration::from_millis(300);
    for driver in SocketDriver::usable() {
        let done = Arc::default();
        let slow = Arc::new(|_, _: &Stop| {
            thread::sleep(OUTAGE);
            Ok(())
        });
        let report = drive(driver, 1, &settings(600, Some(1_000.0)), &done, slow);
        let outage_ns = OUTAGE.as_nanos() as u64;
        assert!(report.outage.none_ns >= outage_ns && report.outage.longest_ns >= outage_ns, "{report:?}");
        // 600 on average, 300 of them in the outage; 100 less would be four standard deviations.
        assert!((500..700).contains(&report.counts_whole.scheduled), "{driver:?}: {report:?}");
        let max_ns = report.latency.summary().expect("something was committed").max_ns;
        assert!(max_ns > outage_ns * 9 / 10, "{driver:?}: {max_ns}");
    }
}

/// In a closed loop nothing falls due meanwhile; only the time without a connection shows the outage.
#[test]
fn tries_that_fail_are_made_again() {
    for driver in SocketDriver::usable() {
        let done = Arc::default();
        let third = Arc::new(|tries, _: &Stop| match tries {
            ..3 => Err(io::ErrorKind::ConnectionRefused.into()),
            _ => Ok(()),
        });
        let report = drive(driver, 1, &settings(700, None), &done, third);
        let outage = report.outage;
        assert_eq!((outage.lost, outage.made_again, outage.refused), (1, 1, 2), "{driver:?}");
        // 10 ms and 20 ms less a quarter, and no sooner than 20 ms after the try before.
        assert!(outage.none_ns >= 35 * MS, "{driver:?}: {outage:?}");
        assert!(report.counts_whole.committed > 0 && report.counts_whole.failed == 1, "{report:?}");
    }
}

/// A server that does not answer does not delay the end of a run.
#[test]
fn the_end_waits_for_no_connection() {
    for driver in SocketDriver::usable() {
        let done = Arc::default();
        let never = Arc::new(|_, stop: &Stop| {
            while !stop.requested() {
                thread::sleep(Duration::from_millis(1));
            }
            Err(io::ErrorKind::TimedOut.into())
        });
        let begin = Instant::now();
        let settings = Settings { drain_ns: 3_600_000 * MS, ..settings(400, Some(500.0)) };
        let report = drive(driver, 1, &settings, &done, never);
        assert!(begin.elapsed() < Duration::from_secs(600), "the drain would last an hour");
        let whole = report.counts_whole;
        assert_eq!((whole.failed, whole.committed, report.outage.made_again), (1, 0, 0), "{driver:?}");
        assert_eq!(whole.never_started, whole.scheduled - 1, "{driver:?}");
        assert!(report.outage.none_ns >= 80 * MS && report.stopped.is_none(), "{driver:?}: {report:?}");
    }
}

/// Target that waits for an instant in its first attempt and loses its connection meanwhile; in the second it waits for
/// its peer.
struct Sleeper {
    attempts: u64,
    woken: Arc<AtomicU64>,
}

impl Target for Sleeper {
    fn step(&mut self, event: Event<'_>, now_ns: u64, _probe: &mut Probe) -> Step {
        match event {
            Event::Begin => {
                self.attempts += 1;
                if self.attempts == 1 { Step::WaitUntil(now_ns + 100 * MS) } else { Step::Receive }
            }
            Event::Woken => {
                self.woken.fetch_add(1, SeqCst);
                Step::Done(Outcome::Committed)
            }
            Event::Gone(_) => Step::Reconnect(Outcome::Failed),
            _ => Step::Receive,
        }
    }

    fn outgoing(&self) -> &[u8] {
        b""
    }

    fn dial(&mut self) -> Dial {
        Box::new(|_| {
            let (ours, theirs) = UnixStream::pair()?;
            std::mem::forget(theirs); // silent, and never closed
            Ok(ours.into())
        })
    }

    fn abandon(&mut self) -> Outcome {
        Outcome::TimedOut
    }
}

/// Seen to fail if the timer of the lost attempt woke the next one.
#[test]
fn an_attempt_is_not_woken_for_the_one_before_it() {
    for driver in SocketDriver::usable() {
        let woken = Arc::new(AtomicU64::new(0));
        let (ours, theirs) = UnixStream::pair().expect("a socket pair");
        drop(theirs);
        let target = Sleeper { attempts: 0, woken: Arc::clone(&woken) };
        let workers = vec![vec![Client { target, io: Some(ours.into()) }]];
        let settings = Settings { drain_ns: MS, ..settings(300, None) };
        let report =
            run(driver, workers, &settings, &Stop::default(), |_| (), |_| ()).expect("the run works");
        let counts = report.counts_whole;
        assert_eq!((counts.failed, counts.timed_out, counts.committed), (1, 1, 0), "{driver}");
        assert_eq!(woken.load(SeqCst), 0, "{driver}");
    }
}
