//! The slowest attempts of every interval are those that a log of all attempts finds.
//!
//! Seen to fail if an attempt replaces another one than the fastest kept, and if an interval keeps attempts of the one
//! before.

use std::collections::BTreeMap;

use pgdyno_core::{
    measure::{Outcome, SLOWEST, Slow, Work},
    stop::Stop,
};
use pgdyno_engine::{
    Bookkeeping, Client, Event, Listeners, LogRecord, LogSettings, MergedInterval, Phase, Probe, Settings,
    SocketDriver, Step, Target, run_keeping,
};

const MS: u64 = 1_000_000;

/// Target that waits a different time in every attempt, and reports whose it was.
struct Waiting {
    client: u32,
    number: u64,
    begin_ns: u64,
}

impl Target for Waiting {
    fn step(&mut self, event: Event<'_>, now_ns: u64, probe: &mut Probe) -> Step {
        if matches!(event, Event::Begin) {
            (self.begin_ns, self.number) = (now_ns, self.number + 1);
            let magnitude = ((self.number + u64::from(self.client) * 131) * 7_919 % 1_000) as f64 / 1_000.0;
            return Step::WaitUntil(now_ns + (20_000.0 * 250f64.powf(magnitude)) as u64);
        }
        probe.ends_for(self.client, self.number);
        probe.worked(Work {
            client: self.client,
            backend_pid: 1_000 + self.client,
            command: self.number as u32,
            command_begin_ns: self.begin_ns,
            command_ns: now_ns - self.begin_ns,
        });
        Step::Done(Outcome::Committed)
    }

    fn outgoing(&self) -> &[u8] {
        &[]
    }

    fn abandon(&mut self) -> Outcome {
        Outcome::TimedOut
    }
}

/// One interval: its phase, its bounds on the engine's clock, and the slowest attempts kept.
struct Kept {
    phase: Phase,
    bounds_ns: std::ops::Range<u64>,
    slowest: Vec<Slow>,
}

/// Runs two workers of six clients. Returns the intervals, and a log of all attempts of all workers.
fn measured(rate_per_s: Option<f64>) -> (Vec<Kept>, Vec<LogRecord>) {
    let settings = Settings {
        warmup_ns: 0,
        ramp_ns: 0,
        duration_ns: 600 * MS,
        interval_ns: 100 * MS,
        drain_ns: 1_000 * MS,
        rate_per_s,
        seed: 1,
        statements: 0,
        cpus: Vec::new(),
    };
    let log = Some(LogSettings { share: 1.0, streams: Vec::new() });
    let bookkeeping = Bookkeeping { log, ..Bookkeeping::default() };
    let client = |client: u32| Client { target: Waiting { client, number: 0, begin_ns: 0 }, io: None };
    let workers = (0..2).map(|worker| (0..6).map(|each| client(worker * 6 + each)).collect()).collect();
    let (mut kept, mut all) = (Vec::new(), Vec::new());
    let mut on_interval = |interval: &MergedInterval| {
        kept.push(Kept {
            phase: interval.phase,
            bounds_ns: interval.clock_ns..interval.clock_ns + interval.duration_ns,
            slowest: interval.slowest.sorted(),
        });
    };
    let listeners = Listeners {
        on_interval: &mut on_interval,
        on_mark: &mut |_| (),
        on_log: &mut |_, records| all.extend_from_slice(records),
    };
    let driver = SocketDriver::best();
    run_keeping(driver, workers, &settings, &bookkeeping, &Stop::default(), listeners).expect("it runs");
    (kept, all)
}

/// Client and number of the slowest by the log, as far as they are certain: the log has microseconds.
fn by_log(kept: &Kept, all: &[LogRecord]) -> (Vec<u64>, BTreeMap<(u32, u64), u64>) {
    let within = |record: &&LogRecord| kept.phase == Phase::Drain || kept.bounds_ns.contains(&record.end_ns);
    let drained = |record: &&LogRecord| kept.phase != Phase::Drain || record.end_ns >= kept.bounds_ns.start;
    let mut own: Vec<&LogRecord> = all.iter().filter(within).filter(drained).collect();
    own.sort_by_key(|record| std::cmp::Reverse(record.latency_us));
    own.truncate(SLOWEST);
    let last_us = own.last().map_or(0, |record| record.latency_us);
    let sure = own.iter().filter(|record| record.latency_us > last_us);
    (
        own.iter().map(|record| record.latency_us).collect(),
        sure.map(|record| ((record.client, record.number), record.end_ns)).collect(),
    )
}

#[test]
fn the_slowest_are_those_of_the_log() {
    for rate_per_s in [None, Some(4_000.0)] {
        let (intervals, all) = measured(rate_per_s);
        assert!(all.len() > 100, "{} attempts are too few", all.len());
        assert!(intervals.iter().filter(|kept| kept.slowest.len() == SLOWEST).count() >= 1);
        for kept in &intervals {
            let (latencies_us, sure) = by_log(kept, &all);
            let found: Vec<u64> = kept.slowest.iter().map(|slow| (slow.latency_ns() + 500) / 1_000).collect();
            assert_eq!(found, latencies_us, "{:?} at {} ns", kept.phase, kept.bounds_ns.start);
            for ((client, number), end_ns) in sure {
                let slow =
                    kept.slowest.iter().find(|slow| slow.work.client == client && slow.end_ns == end_ns);
                let slow = slow.expect("an attempt of the log was kept");
                assert_eq!((slow.work.backend_pid, u64::from(slow.work.command)), (1_000 + client, number));
                assert!(slow.scheduled_ns <= slow.begin_ns && slow.begin_ns == slow.work.command_begin_ns);
                assert_eq!(slow.begin_ns + slow.work.command_ns, slow.end_ns);
            }
        }
    }
}
