//! A planted tail is found, and nothing is guessed.

use pgdyno_core::{
    measure::{Latency, Part, Precision, SLOWEST, SlowAttempt, SlowInterval},
    observe::{
        BlockedSession, BlockingSession, CpuShares, DeviceSample, HostSample, LogEvent, LogSample, Observed,
        SessionSample, What,
    },
    results::{
        Circumstance, HIDDEN, HolderKind, NO_CLIENT_FREE, NO_SAMPLE, OTHER, Tail, TailCause, UnseenWhy,
    },
};
use pgdyno_record::{LoggedInterval, RunLatencies, RunRecord};
use proptest::prelude::*;
use testkit::fixtures;

use super::{Slowest, TailSamples};

const SECOND_NS: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// A run of one cell whose transactions are planted. Times are seconds of its measured interval.
struct World {
    record: RunRecord,
    all: Latency,
    attempts: Vec<SlowAttempt>,
    observed: Vec<Observed>,
}

impl World {
    /// With so many transactions of a millisecond besides.
    fn new(fast: u64) -> Self {
        let mut record = fixtures::complete().record;
        record.runs.truncate(1);
        record.runs[0].duration_ns = 100 * SECOND_NS;
        let mut all = Latency::new(Precision::Run);
        (0..fast).for_each(|_| all.record(MS));
        Self { record, all, attempts: Vec::new(), observed: Vec::new() }
    }

    fn start_s(&self) -> f64 {
        self.record.runs[0].start_s
    }

    /// A transaction of a server process that began then and took so many milliseconds.
    fn slow(&mut self, pid: u32, begin_s: f64, took_ms: u64) -> &mut SlowAttempt {
        let warmup_ns = self.record.runs[0].warmup_ns;
        let (begin_ns, latency_ns) = (warmup_ns + (begin_s * 1e9) as u64, took_ms * MS);
        self.all.record(latency_ns);
        self.attempts.push(SlowAttempt {
            ended_at: String::new(),
            at_s: begin_s + latency_ns as f64 / 1e9,
            scheduled_ns: begin_ns,
            begin_ns,
            end_ns: begin_ns + latency_ns,
            latency_ns,
            lag_ns: 0,
            service_ns: latency_ns,
            client: pid,
            backend_pid: Some(pid),
            script: "tpcb-like".to_owned(),
            statement: None,
            statement_begin_ns: None,
            statement_ns: None,
            driver_waited_ns: None,
        });
        self.attempts.last_mut().expect("it was added")
    }

    fn line(&mut self, at_s: f64, over_s: f64, what: What) {
        let at_s = self.start_s() + at_s;
        self.observed.push(Observed { at_s, over_s, subject: None, machine: None, what });
    }

    /// A sample that found one session in a transaction of this age.
    fn sample(&mut self, at_s: f64, pid: i32, age_s: f64, event: &str) {
        let oldest = vec![session(pid, age_s, event)];
        self.line(at_s, 0.0, What::Sessions { in_transaction: 1, oldest });
    }

    fn blocked(&mut self, at_s: f64, pid: i32, by: &[i32]) {
        let blocked_by = by.iter().map(|pid| BlockingSession {
            pid: *pid,
            state: "idle in transaction".to_owned(),
            statement: "SELECT 1 FOR UPDATE".to_owned(),
            transaction_age_s: Some(at_s / 10.0),
        });
        let blocked_by = blocked_by.collect();
        let blocked = vec![BlockedSession {
            pid,
            lock: "transactionid".to_owned(),
            mode: "ShareLock".to_owned(),
            relation: None,
            waited_s: None,
            statement: "UPDATE t".to_owned(),
            blocked_by,
        }];
        self.line(at_s, 0.0, What::Blocked { blocked });
    }

    fn checkpoint(&mut self, from_s: f64, to_s: f64) {
        let began = LogEvent::CheckpointBegan { reason: "time".to_owned() };
        let total_s = to_s - from_s;
        let (write_s, sync_s) = (total_s, 0.0);
        let ended = LogEvent::CheckpointEnded { buffers: 9, write_s, sync_s, total_s, longest_sync_s: None };
        for (at_s, event) in [(from_s, began), (to_s, ended)] {
            self.line(at_s, 0.0, What::Log(LogSample { pid: None, event, message: String::new() }));
        }
    }

    fn latencies(&self) -> Vec<RunLatencies> {
        vec![RunLatencies { run: 0, histograms: self.all.clone().into() }]
    }

    /// The transactions second by second, at most 20 of each, as the driver records them.
    fn slowest(&self) -> Vec<SlowInterval> {
        let of_second = |second: u64| {
            let start_ns = second * SECOND_NS;
            let mut attempts: Vec<_> =
                self.attempts.iter().filter(|of| of.end_ns / SECOND_NS == second).cloned().collect();
            attempts.sort_by_key(|of| std::cmp::Reverse(of.latency_ns));
            attempts.truncate(SLOWEST);
            let warm_up = start_ns < self.record.runs[0].warmup_ns;
            let part = if warm_up { Part::WarmUp } else { Part::Measured };
            SlowInterval { run: 0, start_ns, duration_ns: SECOND_NS, part, attempts }
        };
        (0..=self.attempts.iter().map(|of| of.end_ns / SECOND_NS).max().unwrap_or(0)).map(of_second).collect()
    }

    fn tail(&self) -> Tail {
        let mut slowest = Slowest::new(&self.record, &self.latencies());
        self.slowest().iter().for_each(|line| slowest.slow(line));
        if slowest.wants_counts() {
            for line in self.slowest() {
                let mut latency = Latency::new(Precision::Interval);
                let own =
                    self.attempts.iter().filter(|of| of.end_ns / SECOND_NS == line.start_ns / SECOND_NS);
                own.for_each(|of| latency.record(of.latency_ns));
                let (tag, start_s) = (String::new(), line.start_ns as f64 / 1e9);
                slowest.counted(&LoggedInterval { tag, start_s, duration_s: 1.0, latency });
            }
        }
        let mut samples = TailSamples::new(slowest);
        self.observed.iter().for_each(|line| samples.observed(line));
        samples.tails().pop().expect("there is a tail")
    }
}

fn session(pid: i32, age_s: f64, event: &str) -> SessionSample {
    let (event, statement_age_s) = (event.to_owned(), None);
    SessionSample { pid, event, query_id: None, transaction_age_s: age_s, statement_age_s }
}

fn cause<'a>(tail: &'a Tail, wait: &str) -> &'a TailCause {
    tail.causes.iter().find(|of| of.wait == wait).unwrap_or_else(|| panic!("{wait}: {tail:#?}"))
}

fn about(share: f64, want: f64) -> bool {
    (share - want).abs() < 1e-9
}

/// 60 transactions wait for a row that session 4711 holds, 20 for WAL during checkpoints, 20 for WAL at other times.
fn planted() -> World {
    let mut world = World::new(9_900);
    for nth in 0..60 {
        let (pid, begin_s) = (100 + nth % 6, f64::from(nth / 6) * 5.0);
        world.slow(pid as u32, begin_s, 300);
        for after_s in [0.1, 0.2, 0.28] {
            world.sample(begin_s + after_s, pid, after_s, "Lock:transactionid");
        }
        world.blocked(begin_s + 0.21, pid, &[4711]);
    }
    for nth in 0..40 {
        let (pid, begin_s) = (100 + nth % 4, 60.0 + f64::from(nth / 4));
        world.slow(pid as u32, begin_s, 200);
        world.sample(begin_s + 0.1, pid, 0.1, "IO:WALSync");
        world.sample(begin_s + 0.15, pid, 0.15, "IO:WALSync");
    }
    world.checkpoint(60.0, 64.9);
    world
}

#[test]
fn a_planted_tail_is_found() {
    let tail = planted().tail();
    assert_eq!((tail.transactions, tail.recorded, tail.seen, tail.samples), (100, 100, 100, 260));
    assert!(about(tail.part, 0.01) && tail.over_ns < 200 * MS && tail.has_wait_events, "{tail:#?}");
    let [lock, first, second] = &tail.causes[..] else { panic!("{tail:#?}") };
    assert!(lock.wait == "Lock:transactionid" && about(lock.share, 0.6) && lock.seen_in == 60, "{lock:?}");
    let holder = lock.holder.as_ref().expect("it was asked");
    assert_eq!((holder.kind, holder.pid), (HolderKind::Session, Some(4711)));
    assert_eq!(holder.state.as_deref(), Some("idle in transaction"));
    assert_eq!(holder.statement.as_deref(), Some("SELECT 1 FOR UPDATE"));
    assert_eq!(holder.waiting.as_deref(), Some("UPDATE t"));
    assert!(holder.transaction_age_s.is_some_and(|age_s| (age_s - 4.521).abs() < 1e-9), "{holder:?}");
    for of in [first, second] {
        assert!(of.wait == "IO:WALSync" && about(of.share, 0.2) && of.samples == 40, "{of:?}");
    }
    assert!(first.during != second.during);
    let [checkpoint] = &tail.circumstances[..] else { panic!("{tail:#?}") };
    assert!(checkpoint.during == Circumstance::Checkpoint && about(checkpoint.share, 0.2));
    assert!(checkpoint.of_time.is_some_and(|share| (share - 0.049).abs() < 1e-6), "{checkpoint:?}");
    // Ten queues are ten observations.
    assert!(lock.low < 0.5 && lock.high > 0.7, "{lock:?}");
    let slowest = &tail.slowest[0];
    assert_eq!((slowest.attempt.latency_ns, slowest.seen.len(), slowest.seen[0].samples), (300 * MS, 1, 3));
    assert!((slowest.seen[0].after_s - 0.1).abs() < 1e-6);
}

#[test]
fn the_order_of_lines_does_not_matter() {
    let mut world = planted();
    let in_order = world.tail();
    world.observed.reverse();
    assert_eq!(world.tail(), in_order);
    world.observed.sort_by_key(|line| (line.at_s * 7_919.0) as u64 % 101);
    assert_eq!(world.tail(), in_order);
}

#[test]
fn the_slowest_of_a_second_stand_for_all_of_it() {
    let mut world = World::new(9_800);
    // 80 at one time, of which 20 are recorded; 20 one after another.
    (0..80).for_each(|nth| {
        world.slow(100 + nth, 10.5, 300);
    });
    (0..20).for_each(|nth| {
        world.slow(100, 20.0 + f64::from(nth), 400);
        world.sample(20.3 + f64::from(nth), 100, 0.3, "IO:DataFileRead");
    });
    (0..80).for_each(|pid| world.sample(10.7, 100 + pid, 0.2, "IO:WALSync"));
    let tail = world.tail();
    assert_eq!((tail.transactions, tail.recorded), (100, 40));
    assert!(about(cause(&tail, "IO:WALSync").share, 0.8), "{tail:#?}");
    assert!(about(cause(&tail, "IO:DataFileRead").share, 0.2), "{tail:#?}");
}

#[test]
fn the_time_before_the_begin_was_spent_in_the_driver() {
    let mut world = World::new(1_980);
    for nth in 0..20 {
        let slow = world.slow(100, f64::from(nth), 400);
        // Due 300 ms before it began.
        (slow.begin_ns, slow.lag_ns, slow.service_ns) = (slow.scheduled_ns + 300 * MS, 300 * MS, 100 * MS);
        world.sample(f64::from(nth) + 0.35, 100, 0.05, "running");
    }
    let tail = world.tail();
    assert!(about(cause(&tail, NO_CLIENT_FREE).share, 0.75) && about(cause(&tail, "running").share, 0.25));
    let mut starved = World::new(1_980);
    for nth in 0..20 {
        starved.slow(100, f64::from(nth), 400).driver_waited_ns = Some(250 * MS);
        starved.sample(f64::from(nth) + 0.2, 100, 0.2, "client");
    }
    let tail = starved.tail();
    assert_eq!(cause(&tail, "client").during, [Circumstance::DriverStarved]);
    assert!(about(tail.circumstances[0].share, 1.0), "{tail:#?}");
}

/// A sample of another transaction of the same session, or of nobody in the tail, says nothing.
#[test]
fn samples_are_of_the_transaction_that_they_were_taken_of() {
    let mut world = World::new(1_980);
    for nth in 0..20 {
        let begin_s = f64::from(nth);
        world.slow(100, begin_s, 300);
        world.sample(begin_s + 0.5, 100, 0.1, "IO:WALSync");
        world.sample(begin_s + 0.2, 999, 0.2, "IO:WALSync");
        // Asked before the transaction ended, and written after that.
        world.sample(begin_s + 0.304, 100, 0.29, "running");
    }
    let tail = world.tail();
    assert!(tail.causes.len() == 1 && about(cause(&tail, "running").share, 1.0), "{tail:#?}");
}

#[test]
fn why_nothing_was_seen_is_reported() {
    let mut world = World::new(9_900);
    let mut at = |nth: u32, plant: &mut dyn FnMut(&mut World, f64)| {
        for of in 0..20 {
            let begin_s = f64::from(nth * 20 + of);
            world.slow(100, begin_s, 50);
            plant(&mut world, begin_s);
        }
    };
    at(0, &mut |_, _| {});
    at(1, &mut |world, begin_s| world.sample(begin_s + 0.04, 7, 0.2, "running"));
    at(2, &mut |world, begin_s| {
        let oldest = vec![session(7, 0.2, "running")];
        world.line(begin_s + 0.04, 0.0, What::Sessions { in_transaction: 2, oldest });
    });
    at(3, &mut |world, begin_s| {
        let gap = What::Gap { missing: "waits".to_owned(), why: "timeout".to_owned() };
        world.line(begin_s + 0.5, 0.5, gap);
    });
    at(4, &mut |world, _| world.attempts.last_mut().expect("it is there").backend_pid = None);
    let tail = world.tail();
    assert!(tail.seen == 0 && about(cause(&tail, NO_SAMPLE).share, 1.0), "{tail:#?}");
    let mut whys: Vec<_> = tail.unseen.iter().map(|of| of.why).collect();
    whys.sort();
    let all = [
        UnseenWhy::BetweenSamples,
        UnseenWhy::Gap,
        UnseenWhy::Crowded,
        UnseenWhy::NotInTransaction,
        UnseenWhy::PidUnknown,
    ];
    assert_eq!(whys, all);
    assert!(tail.unseen.iter().all(|of| about(of.share, 0.2)), "{tail:#?}");
}

#[test]
fn what_happened_at_the_host_explains_what_it_can() {
    let mut world = World::new(3_960);
    for nth in 0..40 {
        let begin_s = f64::from(nth);
        world.slow(100, begin_s, 300);
        let event = if nth < 20 { "running" } else { "IO:DataFileRead" };
        world.sample(begin_s + 0.2, 100, 0.2, event);
    }
    let busy = CpuShares { user: 0.8, system: 0.1, steal: 0.1, ..CpuShares::default() };
    world.line(40.0, 40.0, What::Host(Box::new(HostSample { all: busy, ..HostSample::default() })));
    for second in 0..40 {
        // It stalls in the last ten seconds.
        let read_await_ms = Some(if second < 30 { 1.0 } else { 80.0 });
        let device = DeviceSample { device: "sda".to_owned(), read_await_ms, ..DeviceSample::default() };
        world.line(f64::from(second) + 1.0, 1.0, What::Devices { devices: vec![device] });
    }
    let tail = world.tail();
    assert_eq!(cause(&tail, "running").during, [Circumstance::CpuSaturated, Circumstance::Steal]);
    let reads: Vec<_> = tail.causes.iter().filter(|of| of.wait == "IO:DataFileRead").collect();
    assert!(reads.iter().any(|of| of.during.is_empty()), "{tail:#?}");
    assert!(reads.iter().any(|of| of.during == [Circumstance::DeviceStall]), "{tail:#?}");
}

/// Where the server's machine was observed there, it counts, and not the machine of the clients.
#[test]
fn the_machine_of_the_server_explains_what_happened_there() {
    let during = |own: f64, there: f64| {
        let mut world = World::new(1_980);
        for nth in 0..20 {
            world.slow(100, f64::from(nth), 300);
            world.sample(f64::from(nth) + 0.2, 100, 0.2, "running");
        }
        let host = |user| {
            let all = CpuShares { user, ..CpuShares::default() };
            What::Host(Box::new(HostSample { all, ..HostSample::default() }))
        };
        world.line(20.0, 20.0, host(own));
        world.line(20.0, 20.0, host(there));
        world.observed.last_mut().expect("it was added").machine = Some("db1".to_owned());
        cause(&world.tail(), "running").during.clone()
    };
    assert_eq!(during(0.1, 0.99), [Circumstance::CpuSaturated]);
    assert_eq!(during(0.99, 0.1), []);
}

#[test]
fn old_servers_and_hidden_sessions_tell_what_they_can() {
    let mut world = World::new(1_980);
    let server = world.record.subjects[0].server.as_mut().expect("it has one");
    server.version_num = 90_503;
    for nth in 0..20 {
        world.slow(100, f64::from(nth), 300);
        let event = if nth < 15 { "Lock" } else { "not seen" };
        world.sample(f64::from(nth) + 0.2, 100, 0.2, event);
    }
    let tail = world.tail();
    assert!(!tail.has_wait_events);
    let lock = cause(&tail, "Lock");
    assert!(about(lock.share, 0.75) && about(cause(&tail, HIDDEN).share, 0.25));
    assert_eq!(lock.holder.as_ref().map(|of| of.kind), Some(HolderKind::NotSeen));
}

/// The head of a queue of clients, and a queue whose head was seen while something else was waited for.
#[test]
fn heads_of_queues_are_reported_as_far_as_they_were_queried() {
    let mut world = World::new(3_960);
    for nth in 0..40 {
        let begin_s = f64::from(nth) * 2.0;
        world.slow(100 + nth % 2, begin_s, 900);
        let pid = 100 + (nth % 2) as i32;
        world.sample(begin_s + 0.1, pid, 0.1, "Lock:tuple");
        if nth < 20 {
            world.blocked(begin_s + 0.5, pid, &[101 - (nth % 2) as i32]);
            continue;
        }
        world.sample(begin_s + 0.3, pid, 0.3, "IO:WALSync");
        world.blocked(begin_s + 0.5, pid, &[4711]);
    }
    let tail = world.tail();
    let share = |kind| {
        let of = tail.causes.iter().filter(|of| of.holder.as_ref().is_some_and(|of| of.kind == kind));
        of.map(|of| of.share).sum::<f64>()
    };
    assert!(about(share(HolderKind::Clients), 0.5) && about(share(HolderKind::NotSeen), 0.25), "{tail:#?}");
    assert!(about(cause(&tail, "IO:WALSync").share, 0.25), "{tail:#?}");
}

#[test]
fn memory_is_bounded_for_a_transaction_without_end() {
    let mut world = World::new(1_980);
    (0..20).for_each(|pid| {
        world.slow(100 + pid, 0.0, 60_000);
    });
    for nth in 1..600 {
        let at_s = f64::from(nth) / 10.0;
        world.sample(at_s, 100, at_s, if nth < 300 { "running" } else { "IO:WALSync" });
    }
    let tail = world.tail();
    assert_eq!((tail.samples, tail.seen), (599, 1));
    let share = cause(&tail, "running").share / cause(&tail, "IO:WALSync").share;
    assert!((share - 1.0).abs() < 0.05, "{tail:#?}");
}

#[test]
fn a_record_without_transactions_has_no_tail() {
    let record = fixtures::operations().record;
    assert!(TailSamples::new(Slowest::new(&record, &[])).tails().is_empty());
    let world = World::new(5_000);
    assert!(TailSamples::new(Slowest::new(&world.record, &world.latencies())).tails().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn shares_add_up_whatever_was_seen(
        planted in prop::collection::vec((0..8_u32, 0..900_u32, 15..1_500_u64, 0..100_u64, 0..30_usize), 1..120),
        shuffled in any::<u64>(),
    ) {
        const EVENTS: [&str; 6] =
            ["running", "client", "IO:WALSync", "Lock:transactionid", "not seen", "LWLock:WALWrite"];
        let mut world = World::new(4_000);
        for (nth, (pid, at, took_ms, lag, event)) in planted.iter().enumerate() {
            let begin_s = f64::from(*at) / 10.0;
            let slow = world.slow(100 + pid, begin_s, *took_ms);
            slow.lag_ns = slow.latency_ns * lag / 100;
            slow.service_ns -= slow.lag_ns;
            let event = format!("{}{}", EVENTS[event % 6], if *event > 5 { format!("{event}") } else { String::new() });
            for tenth in 0..nth % 4 {
                let age_s = f64::from(tenth as u32) / 10.0;
                world.sample(begin_s + age_s, 100 + *pid as i32, age_s, &event);
            }
            if nth % 5 == 0 {
                world.blocked(begin_s + 0.02, 100 + *pid as i32, &[if nth % 2 == 0 { 4711 } else { 101 }]);
            }
        }
        world.checkpoint(10.0, 20.0);
        let tail = world.tail();
        let sum: f64 = tail.causes.iter().map(|of| of.share).sum();
        prop_assert!((sum - 1.0).abs() < 1e-9, "{sum}");
        prop_assert!(tail.causes.iter().all(|of| of.low <= of.share && of.share <= of.high), "{tail:#?}");
        prop_assert!(tail.causes.iter().all(|of| (0.0..=1.0).contains(&of.low) && of.high <= 1.0));
        let unseen: f64 = tail.unseen.iter().map(|of| of.share).sum();
        let no_sample = tail.causes.iter().find(|of| of.wait == NO_SAMPLE).map_or(0.0, |of| of.share);
        prop_assert!((unseen - no_sample).abs() < 1e-9);
        let named = tail.causes.iter().filter(|of| of.wait != NO_SAMPLE).count();
        let has_other = tail.causes.iter().any(|of| of.wait == OTHER);
        prop_assert!(named <= 20 && (named == 20 || !has_other) && tail.seen <= tail.recorded);
        prop_assert!(tail.circumstances.iter().all(|of| (0.0..=1.0).contains(&of.share)));
        // Another order of lines changes nothing.
        let mut other = world;
        other.observed.sort_by_key(|line| (line.at_s * 1_000.0) as u64 ^ shuffled);
        prop_assert_eq!(other.tail(), tail);
    }
}
