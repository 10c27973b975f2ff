//! Reported latencies of a server with known service times. A busy machine may be late, but no latency may be reported
//! too short; upper bounds hold in the long form only. How precise they are on a calm machine is tested in `service`.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use pgdyno_core::{measure::Latency, stop::Stop};
use pgdyno_engine::{Report, Settings, SocketDriver, run};
use pgdyno_postgres::targets::SqlClients;
use pgdyno_script::{Protocol, Scripts};
use pgdyno_wire::fake::{FakeServer, usual};
use testkit::{Delays, Distribution};

use super::{MS, alone, at_most, test_all};

fn drive(server: &FakeServer, script: &str, clients: u32, duration_ms: u64) -> Report {
    let script = Arc::new(Scripts::one("test", script).expect("it is a script"));
    let settings = Settings {
        warmup_ns: 0,
        ramp_ns: 0,
        duration_ns: duration_ms * MS,
        interval_ns: 500 * MS,
        drain_ns: 2_000 * MS,
        rate_per_s: None,
        seed: 5,
        statements: script.statements().count(),
        cpus: Vec::new(),
    };
    let sql = SqlClients::new(script, Protocol::Prepared);
    let (workers, _) =
        sql.connect(&server.options(None), clients, 1, &Stop::default()).expect("they connect");
    let report = run(SocketDriver::best(), workers, &settings, &Stop::default(), |_| (), |_| ())
        .expect("the run works");
    report.counts_whole.check().expect("nothing is lost in counting");
    assert_eq!(report.counts_whole.failed, 0);
    report
}

/// Minimum and median in milliseconds, for any number of samples.
fn least_and_median(latency: &Latency) -> (f64, f64) {
    let histogram = latency.as_histogram();
    (histogram.min() as f64 / MS as f64, histogram.value_at_quantile(0.5) as f64 / MS as f64)
}

#[test]
fn a_constant_service_time_is_reported_as_it_is() {
    let _alone = alone();
    let server = FakeServer::start(|request| usual(request).after(Duration::from_millis(5)));
    let report = drive(&server.expect("it listens"), "SELECT 1;", 4, 600);
    let (least, median) = least_and_median(&report.latency);
    assert!(least >= 4.9, "{least} ms, where the server takes 5");
    assert!((5.0..at_most(25.0)).contains(&median), "{median} ms, where the server takes 5");
    // Little's law for four clients that always wait.
    let busy_ms =
        report.latency.count() as f64 * report.latency.summary().expect("samples").mean_ns / MS as f64;
    let waited = 1_500.0..at_most(2_700.0);
    assert!(waited.contains(&busy_ms), "{busy_ms} ms of waiting in 600 ms with 4 clients");
}

#[test]
fn every_statement_has_its_own_latency() {
    let _alone = alone();
    let server = FakeServer::start(|request| {
        let delay_ms = match request.sql.trim_end_matches(';') {
            "SELECT 1" => 2,
            "SELECT 2" => 30,
            _ => 10,
        };
        usual(request).after(Duration::from_millis(delay_ms))
    });
    let report = drive(&server.expect("it listens"), "SELECT 1;\nSELECT 2;\nSELECT 3;\n", 2, 1_000);
    let statements: Vec<_> = report.statements.iter().map(least_and_median).collect();
    let [(first, _), (second, _), (third, _)] = statements[..] else {
        panic!("three statements: {statements:?}")
    };
    assert!(first >= 1.9 && second >= 29.9 && third >= 9.9, "{statements:?}");
    let are_in_order = statements[0].1 < statements[2].1 && statements[2].1 < statements[1].1;
    assert!(are_in_order || !test_all(), "{statements:?}");
    let (whole, _) = least_and_median(&report.latency);
    assert!(whole >= 41.8, "{whole} ms for 2 + 30 + 10");
}

/// As many latencies must be long as slow answers were drawn by the server.
#[test]
fn slow_answers_are_as_many_as_there_were() {
    let _alone = alone();
    let ms = Duration::from_millis;
    for distribution in [
        Distribution::Bimodal { fast: ms(1), slow: ms(40), slow_share: 0.2 },
        Distribution::HeavyTail { least: ms(1), shape: 1.2, most: ms(200) },
    ] {
        let drawn = Arc::new(Mutex::new((Delays::new(distribution, 3), Vec::new())));
        let log = Arc::clone(&drawn);
        let server = FakeServer::start(move |request| {
            let mut log = log.lock().expect("nobody panicked");
            let delay = log.0.draw();
            log.1.push(delay);
            usual(request).after(delay)
        });
        let report = drive(&server.expect("it listens"), "SELECT 1;", 4, 800);
        let drawn = drawn.lock().expect("nobody panicked");
        assert_eq!(report.latency.count(), drawn.1.len() as u64);
        for limit_ms in [2, 10, 39] {
            let slow = drawn.1.iter().filter(|delay| **delay >= ms(limit_ms)).count() as u64;
            let reported = report.latency.as_histogram().count_between(limit_ms * MS, u64::MAX);
            assert!(
                slow > 0 && reported >= slow,
                "{distribution:?}: {reported} of {slow} over {limit_ms} ms"
            );
        }
    }
}
