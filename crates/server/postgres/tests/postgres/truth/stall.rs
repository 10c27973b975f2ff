//! A stall of all backends appears in the latency of an open loop as users experience it, measured from due times.
//!
//! A stall of S in a run of T at load rho (arrivals over capacity): an arrival t after its beginning waits for
//! the rest of it and then for the backlog, S - t + t rho. The share 1 - q of arrivals with the longest waits
//! came within (1 - q) T of the beginning; so p_q = S - (1 - q) T (1 - rho).
//!
//! Seen to fail when the recorder measures from the begin of transactions: p99 is 2 ms instead of 765.

use std::{
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use super::{Drive, alone, at_most, calm::calmly, test_all};
use pgdyno_core::measure::{Latency, Outcome, Precision};
use pgdyno_engine::{Event, Paced, Probe, Report, SocketDriver, Step, Target};
use pgdyno_postgres::targets::{Link, SqlTarget};
use pgdyno_wire::fake::{FakeServer, usual};

/// A run with a stall.
#[derive(Debug, Clone, Copy)]
struct Case {
    stall_s: f64,
    run_s: f64,
    rate_per_s: f64,
    clients: u32,
    service_s: f64,
}

/// A rate that a slow machine can sustain, and fewer clients than one in a hundred transactions; otherwise p99
/// would show the stall whatever is recorded.
const SHORT: Case = Case { stall_s: 0.8, run_s: 4.0, rate_per_s: 400.0, clients: 4, service_s: 0.002 };
const LONG: Case = Case { stall_s: 2.0, run_s: 60.0, rate_per_s: 1_000.0, clients: 16, ..SHORT };

/// The lie that hides a stall: latencies from the begin of a transaction instead of its due time.
struct FromBegin {
    target: Paced<Link<SqlTarget>>,
    begin_ns: u64,
    log: Arc<Mutex<Latency>>,
}

impl Target for FromBegin {
    fn step(&mut self, event: Event<'_>, now_ns: u64, probe: &mut Probe) -> Step {
        if matches!(event, Event::Begin) {
            self.begin_ns = now_ns;
        }
        let step = self.target.step(event, now_ns, probe);
        if step == Step::Done(Outcome::Committed) {
            self.log.lock().expect("nobody panicked").record(now_ns - self.begin_ns);
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

/// A measured run: pgdyno's report, latencies from the begin, and the mean service time in seconds.
struct Seen {
    report: Report,
    from_begin: Latency,
    service_s: f64,
}

fn measure(case: Case, driver: SocketDriver) -> Seen {
    // All answers are held back until then, as if all backends waited for one lock or one disk.
    let until = Arc::new(Mutex::new(Instant::now()));
    let held = Arc::clone(&until);
    let server = FakeServer::start(move |request| {
        let until = *held.lock().expect("nobody panicked");
        thread::sleep(until.saturating_duration_since(Instant::now()));
        usual(request).after(Duration::from_secs_f64(case.service_s))
    });
    let server = server.expect("it listens");
    let log = Arc::new(Mutex::new(Latency::new(Precision::Run)));
    let drive = Drive {
        options: server.options(None),
        script: "SELECT 1;",
        clients: case.clients,
        duration_ns: (case.run_s * 1e9) as u64,
        rate_per_s: Some(case.rate_per_s),
        driver,
    };
    let report = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_secs_f64(0.3 * case.run_s));
            let stall = Duration::from_secs_f64(case.stall_s);
            *until.lock().expect("nobody panicked") = Instant::now() + stall;
        });
        drive.run(|target| FromBegin { target, begin_ns: 0, log: Arc::clone(&log) }, |_, _| ())
    });
    let usual_s: Vec<_> =
        server.served().iter().map(Duration::as_secs_f64).filter(|s| *s < case.stall_s / 2.0).collect();
    let service_s = usual_s.iter().sum::<f64>() / usual_s.len() as f64;
    let from_begin = log.lock().expect("nobody panicked").clone();
    Seen { report, from_begin, service_s }
}

/// Faults in the latency of a run with a stall: too short, or in the long form, which needs a calm machine, too long.
fn faults(case: Case, service_s: f64, latency: &Latency) -> Vec<String> {
    let rho = case.rate_per_s * service_s / f64::from(case.clients);
    let expected_s = case.stall_s - 0.01 * case.run_s * (1.0 - rho);
    let seconds = |quantile| latency.as_histogram().value_at_quantile(quantile) as f64 / 1e9;
    let (p50_s, p99_s, max_s) = (seconds(0.5), seconds(0.99), seconds(1.0));
    let mut faults = Vec::new();
    let most = at_most(1.05);
    if !(0.95..=most).contains(&(p99_s / expected_s)) {
        faults.push(format!("p99 {p99_s:.3} s, {expected_s:.3} s by the closed form"));
    }
    if !(0.95..=most).contains(&(max_s / case.stall_s)) {
        faults.push(format!("max {max_s:.3} s, where all stood still for {} s", case.stall_s));
    }
    if test_all() && p50_s > 0.1 * case.stall_s {
        faults.push(format!("p50 {p50_s:.3} s, where most had nothing to do with the stall"));
    }
    faults
}

fn a_stall_shows(case: Case, driver: SocketDriver) {
    let _alone = alone();
    let too_late = Duration::from_secs_f64(0.03 * case.stall_s);
    let (seen, late) = calmly(|late| late.most() < too_late, || measure(case, driver));
    let latency = &seen.report.latency;
    assert!(latency.count() as f64 > 0.9 * case.rate_per_s * case.run_s, "{:?}", seen.report.counts_whole);
    assert_eq!(faults(case, seen.service_s, latency), [""; 0], "{driver}, machine late by {:?}", late.most());
    // The planted fault: measured from their begin, only transactions in flight saw the stall.
    assert!(!faults(case, seen.service_s, &seen.from_begin).is_empty());
    let p99_ns = |latency: &Latency| latency.as_histogram().value_at_quantile(0.99);
    assert!(p99_ns(&seen.from_begin) < p99_ns(latency) / 2);
    assert!(seen.from_begin.as_histogram().max() as f64 > 0.5 * case.stall_s * 1e9);
}

#[test]
fn a_stall_of_all_backends_shows_by_epoll() {
    a_stall_shows(SHORT, SocketDriver::Epoll);
}

#[test]
fn a_stall_of_all_backends_shows_by_what_is_chosen() {
    a_stall_shows(SHORT, SocketDriver::best());
}

#[test]
#[ignore = "takes long: `cargo xtask test-all` runs it"]
fn a_stall_of_2_s_in_60_s_shows() {
    SocketDriver::usable().for_each(|driver| a_stall_shows(LONG, driver));
}
