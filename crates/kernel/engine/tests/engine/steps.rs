//! Runs whose load changes in steps, with a target whose every attempt is known.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use pgdyno_core::{
    measure::{Counts, Outcome},
    stop::Stop,
};
use pgdyno_engine::{
    Bookkeeping, Client, Event, Listeners, Load, LoadStep, MergedInterval, Phase, Probe, Report, Settings,
    SocketDriver, Step, Target, run_keeping,
};

const MS: u64 = 1_000_000;

const SETTINGS: Settings = Settings {
    warmup_ns: 30 * MS,
    ramp_ns: 0,
    duration_ns: 300 * MS,
    interval_ns: 35 * MS,
    drain_ns: 1_000 * MS,
    rate_per_s: None,
    seed: 3,
    statements: 0,
    cpus: Vec::new(),
};

/// Target whose every attempt waits a millisecond and counts how many do so at once.
#[derive(Clone, Default)]
struct Paced {
    at_once: Arc<AtomicU32>,
    most: Arc<AtomicU32>,
}

impl Target for Paced {
    fn step(&mut self, event: Event<'_>, now_ns: u64, _: &mut Probe) -> Step {
        if let Event::Begin = event {
            let at_once = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(at_once, Ordering::SeqCst);
            return Step::WaitUntil(now_ns + MS);
        }
        self.at_once.fetch_sub(1, Ordering::SeqCst);
        Step::Done(Outcome::Committed)
    }

    fn outgoing(&self) -> &[u8] {
        &[]
    }

    fn abandon(&mut self) -> Outcome {
        Outcome::TimedOut
    }
}

/// Runs and checks what holds for all steps: they add up to the measured interval, every one satisfies both equations,
/// and no interval crosses the edge of a step. A stop is requested in the step of number `stop_in`.
fn checked(target: &Paced, workers: &[usize], steps: Vec<LoadStep>, stop_in: Option<usize>) -> Report {
    let ends_ns: Vec<u64> = steps
        .iter()
        .scan(SETTINGS.warmup_ns, |end_ns, step| {
            *end_ns += step.duration_ns;
            Some(*end_ns)
        })
        .collect();
    let stop_from_ns = stop_in.map(|step| ends_ns[step - 1]);
    let stop = Stop::default();
    let settings = Settings { duration_ns: steps.iter().map(|step| step.duration_ns).sum(), ..SETTINGS };
    let mut on_interval = |interval: &MergedInterval| {
        if stop_from_ns.is_some_and(|from_ns| interval.start_ns >= from_ns) {
            stop.request("enough");
        }
        let end_ns = interval.start_ns + interval.duration_ns;
        let cut = |&edge_ns: &u64| interval.start_ns < edge_ns && edge_ns < end_ns;
        assert!(interval.phase == Phase::Drain || !ends_ns.iter().any(cut), "{interval:?}");
        if interval.phase == Phase::WarmUp {
            target.most.store(0, Ordering::SeqCst);
        }
    };
    let listeners = Listeners { on_interval: &mut on_interval, on_mark: &mut |_| (), on_log: &mut |_, _| () };
    let clients = |&count: &usize| (0..count).map(|_| Client { target: target.clone(), io: None }).collect();
    let workers = workers.iter().map(clients).collect();
    let keeping = Bookkeeping { steps, ..Bookkeeping::default() };
    let report = run_keeping(SocketDriver::best(), workers, &settings, &keeping, &stop, listeners);
    let report = report.expect("the run works");
    let mut flow = Counts::default();
    for (index, step) in report.steps.iter().enumerate() {
        assert_eq!((step.counts.check(), step.due.check()), (Ok(()), Ok(())), "{step:?}");
        assert_eq!((step.due.in_flight_at_start, step.due.in_flight_at_end), (0, 0), "{step:?}");
        assert_eq!(step.latency.count(), step.due.committed);
        if index == 0 {
            flow.in_flight_at_start = step.counts.in_flight_at_start;
        } else {
            assert_eq!(step.counts.in_flight_at_start, flow.in_flight_at_end);
        }
        flow.then(&step.counts);
    }
    assert_eq!(flow, report.counts);
    // A run and its steps have one population: attempts from the warm-up that end in the first step are in neither.
    let of_steps: u64 = report.steps.iter().map(|step| step.latency.count()).sum();
    assert_eq!(report.latency.count(), of_steps);
    assert_eq!(report.steps.iter().map(|step| step.duration_ns).sum::<u64>(), report.duration_ns);
    report
}

fn rates(step_ms: u64, rates: &[f64]) -> Vec<LoadStep> {
    rates.iter().map(|&rate| LoadStep { duration_ns: step_ms * MS, load: Load::Rate(rate) }).collect()
}

fn clients(step_ms: u64, counts: &[u32]) -> Vec<LoadStep> {
    counts.iter().map(|&count| LoadStep { duration_ns: step_ms * MS, load: Load::Clients(count) }).collect()
}

#[test]
fn what_falls_due_in_a_step_follows_its_rate() {
    let load = || rates(100, &[2_000.0, 8_000.0, 500.0]);
    let steps = checked(&Paced::default(), &[20, 12], load(), None).steps;
    for (step, mean) in steps.iter().zip([200.0, 800.0, 50.0_f64]) {
        let due = step.due.scheduled as f64;
        assert!((due - mean).abs() < 4.5 * mean.sqrt(), "{due} instead of {mean}");
        assert_eq!((step.due.scheduled, step.duration_ns), (step.counts.scheduled, 100 * MS));
    }
    assert_eq!(steps.iter().map(|step| step.start_ns).collect::<Vec<_>>(), [0, 100 * MS, 200 * MS]);
    let again = checked(&Paced::default(), &[20, 12], load(), None).steps;
    let due = |steps: &[pgdyno_engine::StepReport]| steps.iter().map(|s| s.due.scheduled).collect::<Vec<_>>();
    assert_eq!(due(&steps), due(&again));
}

/// One client can do at most 1,000 a second. The excess of the first step is begun in the second, but its latency
/// belongs to the first; attempts that no client began are never started in the step in which they were due.
#[test]
fn a_backlog_belongs_to_the_step_in_which_it_fell_due() {
    let report = checked(&Paced::default(), &[1], rates(300, &[2_000.0, 10.0, 4_000.0]), None);
    let [first, second, third] = &report.steps[..] else { panic!("three steps") };
    assert!(first.due.scheduled > 490 && first.counts.committed <= 301, "{first:?}");
    assert!(second.counts.committed > second.due.committed, "{second:?}");
    assert!(first.latency.summary().is_some_and(|latency| latency.max_ns > 90 * MS), "{first:?}");
    assert!(third.due.never_started > 600, "{third:?}");
    let never_started: u64 = report.steps.iter().map(|step| step.due.never_started).sum();
    assert_eq!(report.counts_whole.never_started, never_started);
}

#[test]
fn as_many_clients_are_active_as_the_step_says() {
    for (counts, expected) in [([1, 5, 2], 5), ([0, 3, 0], 3), ([7, 7, 7], 7)] {
        let target = Paced::default();
        let report = checked(&target, &[4, 3], clients(300, &counts), None);
        assert_eq!(target.most.load(Ordering::SeqCst), expected, "{counts:?}");
        for (step, count) in report.steps.iter().zip(counts) {
            // 300 ms of attempts of at least a millisecond; those of the step before end in this one.
            assert!(step.due.committed <= 300 * u64::from(count), "{counts:?} {step:?}");
            assert_eq!(step.due.committed > 0, count > 0, "{counts:?} {step:?}");
            assert!(step.counts.in_flight_at_end <= expected.into(), "{step:?}");
        }
    }
}

#[test]
fn a_stop_leaves_whole_steps_and_a_part_of_one() {
    // The last step never ends by itself: it is in progress when the stop is requested.
    let mut steps = rates(100, &[1_000.0; 3]);
    steps[2].duration_ns = 3_600_000 * MS;
    let report = checked(&Paced::default(), &[2], steps, Some(2));
    let durations: Vec<_> = report.steps.iter().map(|step| step.duration_ns).collect();
    assert_eq!(durations[..2], [100 * MS; 2]);
    assert!((1..3_600_000 * MS).contains(&durations[2]), "{durations:?}");
    assert_eq!((report.steps[2].due.check(), report.stopped.as_deref()), (Ok(()), Some("enough")));
}
