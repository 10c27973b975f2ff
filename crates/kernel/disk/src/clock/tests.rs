use pgdyno_core::problem::ProblemKind;

use super::*;

/// A clock that advances by these steps, over and over.
fn stepping(steps_ns: &[i64]) -> impl FnMut() -> u64 {
    let (mut at_ns, mut steps) = (1_000_000_u64, steps_ns.iter().cycle());
    move || {
        let step_ns = *steps.next().expect("it has no end");
        at_ns = at_ns.checked_add_signed(step_ns).expect("it stays in range");
        at_ns
    }
}

#[test]
fn a_loop_ends_with_the_first_reading_at_its_end() {
    let run = call_for(Duration::from_micros(10), &Stop::default(), stepping(&[30, 70]));
    assert_eq!((run.calls, run.duration_ns), (200, 10_000));
    let report = report(&run, 28.0, None);
    assert_eq!((report.per_loop_ns, report.per_call_ns), (50.0, 28.0));
    assert_eq!((report.resolution_ns, report.max_ns, report.below_1us_share), (Some(30), 70, 1.0));
}

#[test]
fn steps_back_are_counted_and_do_not_end_the_loop() {
    let run = call_for(Duration::from_micros(10), &Stop::default(), stepping(&[100, 100, -50]));
    let report = report(&run, 28.0, None);
    assert!(report.backwards > 60 && report.max_backwards_ns == Some(50), "{report:?}");
    assert_eq!(report.histogram.len(), 1);
}

/// The clock of this machine agrees with the calls that were counted: differences add up to the duration.
#[test]
fn a_measurement_adds_up() {
    let request = ClockRequest { duration: Duration::from_millis(50) };
    let report = measure(&request, &Stop::default()).expect("every Linux has this clock");
    let counted: u64 = report.histogram.iter().map(|bucket| bucket.count).sum();
    assert_eq!(counted + report.backwards, report.calls);
    let least: u64 = report.histogram.iter().map(|bucket| bucket.count * bucket.from_ns).sum();
    let most: u64 = report.histogram.iter().map(|bucket| bucket.count * bucket.to_ns).sum();
    assert!(report.backwards > 0 || (least..=most).contains(&report.duration_ns), "{report:?}");
    assert!(report.duration_ns >= 50_000_000 && report.per_call_ns > 0.0);
    assert!(report.quantile_ns(0.5) <= report.quantile_ns(0.999));
}

#[test]
fn wrong_requests_and_stops_are_reported() {
    let none = measure(&ClockRequest { duration: Duration::ZERO }, &Stop::default());
    assert_eq!(none.expect_err("it is 0").kind, ProblemKind::WrongRequest);
    let stop = Stop::default();
    stop.request("a test");
    let stopped = measure(&ClockRequest::default(), &stop).expect_err("it was stopped");
    assert_eq!(stopped.kind, ProblemKind::CouldNotComplete);
}

#[test]
fn a_stop_ends_the_loop() {
    let (stop, mut reading, mut calls) = (Stop::default(), stepping(&[10]), 0);
    let run = call_for(Duration::from_secs(3_600), &stop, || {
        calls += 1;
        if calls == 5_000 {
            stop.request("a test");
        }
        reading()
    });
    assert_eq!(run.calls, 2 * u64::from(CALLS_BETWEEN_CHECKS));
}
