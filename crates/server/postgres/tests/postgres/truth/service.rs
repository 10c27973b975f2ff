//! Known service times are reported within 1 %.
//!
//! The server draws service times and measures how long it really took; pgdyno is compared with the latter, so
//! late server threads do no harm. The remaining delay between them is distinguished from a lie by the delays
//! of sleeps on this machine, which are small on a calm one.
//!
//! Seen to fail when the recorder records latencies 2 % too short.

use std::{sync::Mutex, thread, time::Duration};

use pgdyno_core::measure::Latency;
use pgdyno_engine::SocketDriver;
use pgdyno_wire::fake::{FakeServer, usual};
use testkit::{Delays, Distribution};

use super::{
    Drive, MS, alone,
    calm::{Lateness, calmly},
    test_all,
};

/// Random arrivals with clients always free: no bursts, no waiting.
const RATE_PER_S: f64 = 400.0;
const CLIENTS: u32 = 128;

/// Wake-ups of threads per transaction: of the driver when it is due, of the server, and of the driver again.
const WAKE_UPS: f64 = 3.0;

/// pgdyno's report, and service times by the server's clock, shortest first.
struct Seen {
    latency: Latency,
    served: Vec<Duration>,
}

fn measure(distribution: Distribution, driver: SocketDriver) -> Seen {
    let delays = Mutex::new(Delays::new(distribution, 3));
    let server = FakeServer::start(move |request| {
        let delay = delays.lock().expect("nobody panicked").draw();
        usual(request).after(delay)
    });
    let server = server.expect("it listens");
    let drive = Drive {
        options: server.options(None),
        script: "SELECT 1;",
        clients: CLIENTS,
        duration_ns: if test_all() { 20_000 } else { 3_000 } * MS,
        rate_per_s: Some(RATE_PER_S),
        driver,
    };
    let latency = drive.run(|target| target, |_, _| ()).latency;
    // The last answer may arrive before its thread recorded the time.
    let mut served = server.served();
    for _ in 0..500 {
        if served.len() as u64 >= latency.count() {
            break;
        }
        thread::sleep(Duration::from_millis(10));
        served = server.served();
    }
    served.sort_unstable();
    Seen { latency, served }
}

/// Quantile of the service times.
fn served_ns(served: &[Duration], quantile: f64) -> f64 {
    let rank = ((served.len() as f64 * quantile).ceil() as usize).max(1);
    served[rank - 1].as_nanos() as f64
}

/// Reported latency relative to the server's, at a quantile.
fn lateness(latency: &Latency, served: &[Duration], quantile: f64) -> f64 {
    latency.as_histogram().value_at_quantile(quantile) as f64 / served_ns(served, quantile)
}

/// Reported figures more than 1 % off the server's. None may be too short. How much longer they may be depends
/// on the machine: the long form requires 1 % on an idle one, beyond its own lateness.
fn faults(latency: &Latency, served: &[Duration], late: &Lateness) -> Vec<String> {
    let histogram = latency.as_histogram();
    let above = if test_all() && late.alone() { 1.01 } else { f64::INFINITY };
    let mut faults = Vec::new();
    if latency.count() != served.len() as u64 {
        faults.push(format!("{} latencies of {} answers", latency.count(), served.len()));
    }
    let mut compare = |what: String, got_ns: f64, served_ns: f64| {
        let late_ns = WAKE_UPS * late.excess(0.95).as_nanos() as f64;
        if !(served_ns * 0.99..=served_ns * above + late_ns).contains(&got_ns) {
            faults.push(format!("{what} {} ms, {} ms by the server", got_ns / 1e6, served_ns / 1e6));
        }
    };
    for quantile in [0.05, 0.25, 0.5, 0.75, 0.9, 0.95] {
        let got_ns = histogram.value_at_quantile(quantile) as f64;
        compare(format!("p{}", quantile * 100.0), got_ns, served_ns(served, quantile));
    }
    let mean_ns = served.iter().map(|took| took.as_nanos() as f64).sum::<f64>() / served.len() as f64;
    compare("mean".to_owned(), histogram.mean(), mean_ns);
    faults
}

fn is_reported(distribution: Distribution) {
    // In the short form nothing is too long, so that others may make it longer.
    let _alone = test_all().then(alone);
    for driver in SocketDriver::usable() {
        // 1 % of the shortest service time.
        let too_late = distribution.quantile(0.0) / 100;
        let calm = |late: &Lateness| !test_all() || (late.alone() && late.quantile(0.95) < too_late);
        let (seen, late) = calmly(calm, || measure(distribution, driver));
        let Seen { latency, served } = seen;
        assert!(served.len() > 500, "{} answers are too few", served.len());
        assert_eq!(faults(&latency, &served, &late), [""; 0], "{distribution:?} by {driver}");
        // The planted faults: latencies 4 % too short, beyond the lateness of nearly all of them on this
        // machine, and a report without the slowest twentieth.
        let lie = 1.04 * lateness(&latency, &served, 0.05).max(1.0);
        let longer: Vec<_> = served.iter().map(|took| took.mul_f64(lie)).collect();
        assert!(!faults(&latency, &longer, &late).is_empty());
        assert!(!faults(&latency, &served[..served.len() * 19 / 20], &late).is_empty());
    }
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn constant_service_times() {
    is_reported(Distribution::Constant(ms(40)));
}

#[test]
fn bimodal_service_times() {
    is_reported(Distribution::Bimodal { fast: ms(30), slow: ms(120), slow_share: 0.2 });
}

#[test]
fn service_times_with_a_heavy_tail() {
    is_reported(Distribution::HeavyTail { least: ms(30), shape: 1.5, most: ms(800) });
}
