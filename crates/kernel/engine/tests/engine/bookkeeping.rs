//! What a run records beyond counts: scripts, commands, single attempts, and the pacing of clients.

use std::{
    io::{self, Read, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
    thread,
    time::Duration,
};

use pgdyno_core::{
    measure::{Ending, Failure, Outcome, Tally},
    random::Random,
    stop::Stop,
};
use pgdyno_engine::{
    Bookkeeping, Client, Event, Level, Listeners, LogRecord, LogSettings, Messages, Mix, NullTarget, Paced,
    Pacing, Phase, Probe, Report, Settings, SocketDriver, Step, Target, run_keeping,
};

const SETTINGS: Settings = Settings {
    warmup_ns: 0,
    ramp_ns: 0,
    duration_ns: 200_000_000,
    interval_ns: 50_000_000,
    drain_ns: 1_000_000_000,
    rate_per_s: None,
    seed: 1,
    statements: 0,
    cpus: Vec::new(),
};
/// Settings of a run that ends when its clients have made all their attempts.
const UNTIL_DONE: Settings = Settings {
    warmup_ns: 0,
    ramp_ns: 0,
    duration_ns: 1_000_000_000_000_000_000,
    interval_ns: 50_000_000,
    drain_ns: 1_000_000_000,
    rate_per_s: None,
    seed: 1,
    statements: 0,
    cpus: Vec::new(),
};

/// Report of a run, and every logged attempt with the worker that logged it.
struct Kept {
    report: Report,
    intervals: Tally,
    log: Vec<(usize, LogRecord)>,
}

fn keep<T: Target + 'static>(
    driver: SocketDriver,
    workers: Vec<Vec<Client<T>>>,
    settings: &Settings,
    bookkeeping: &Bookkeeping,
) -> Kept {
    let (mut intervals, mut log) = (Tally::default(), Vec::new());
    let listeners = Listeners {
        on_interval: &mut |interval| intervals.merge(&interval.tally),
        on_mark: &mut |_| (),
        on_log: &mut |worker, records| log.extend(records.iter().map(|&record| (worker, record))),
    };
    let report = run_keeping(driver, workers, settings, bookkeeping, &Stop::default(), listeners)
        .expect("the run works, and its counts add up");
    let whole = report.counts_whole;
    assert_eq!((whole.check(), whole.in_flight_at_end), (Ok(()), 0));
    assert_eq!((report.tally.committed, report.tally.skipped), (report.tally.latency.count, whole.skipped));
    Kept { report, intervals, log }
}

fn crew<T: Target + Clone>(
    target: &T,
    workers: u32,
    each: u32,
    pacing: Pacing,
) -> Vec<Vec<Client<Paced<T>>>> {
    let client = |number| Client { target: Paced::new(target.clone(), number, true, pacing), io: None };
    (0..workers).map(|worker| (0..each).map(|n| client(worker * each + n)).collect()).collect()
}

fn logging(share: f64) -> Bookkeeping {
    Bookkeeping {
        log: Some(LogSettings { share, streams: vec![Random::seeded(3), Random::seeded(4)] }),
        ..Bookkeeping::default()
    }
}

/// Target whose every attempt waits this many nanoseconds.
#[derive(Clone, Copy)]
struct Waits(u64);

impl Target for Waits {
    fn step(&mut self, event: Event<'_>, now_ns: u64, _probe: &mut Probe) -> Step {
        match event {
            Event::Begin => Step::WaitUntil(now_ns + self.0),
            _ => Step::Done(Outcome::Committed),
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
fn each_client_makes_exactly_its_attempts_and_every_one_is_handed_out() {
    let pacing = Pacing { attempts: Some(7), ..Pacing::default() };
    let bookkeeping = Bookkeeping { by_number: true, late_ns: Some(500_000), ..logging(1.0) };
    for clients in [6, 2] {
        let crew = crew(&Waits(1_000_000), 2, clients as u32 / 2, pacing);
        let kept = keep(SocketDriver::Epoll, crew, &UNTIL_DONE, &bookkeeping);
        let tally = kept.report.tally;
        assert_eq!((tally.committed, tally.late, tally.total()), (7 * clients, 7 * clients, 7 * clients));
        assert_eq!(kept.intervals, tally);
        assert_eq!((kept.report.clients_lost, kept.report.stopped), (0, None));
        assert!(kept.report.elapsed_ns >= 7_000_000 && kept.report.elapsed_ns < 100_000_000_000);
        for client in 0..clients as u32 {
            let of_client: Vec<_> = kept.log.iter().filter(|(_, record)| record.client == client).collect();
            let numbers: Vec<u64> = of_client.iter().map(|(_, record)| record.number).collect();
            assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7]);
            assert!(of_client.iter().all(|(worker, _)| *worker == client as usize * 2 / clients as usize));
        }
        let sum: u64 = kept.log.iter().map(|(_, record)| record.latency_us).sum();
        assert_eq!(sum as f64, tally.latency.sum, "the log and the sums are of the same numbers");
    }
}

#[test]
fn what_is_too_late_is_skipped_and_counts_as_one_of_the_clients_attempts() {
    // An attempt falls due every 10 ms, so that even a worker that runs late finds some that are not too late. While
    // the first two are in progress, more fall due and become too late than the clients have attempts left.
    let pacing = Pacing { attempts: Some(10), skip_after_ns: Some(50_000_000), ..Pacing::default() };
    let bookkeeping = Bookkeeping { by_number: true, ..logging(1.0) };
    let settings = Settings { rate_per_s: Some(100.0), ..UNTIL_DONE };
    let target = Waits(300_000_000);
    for kept in [
        keep(SocketDriver::Epoll, crew(&target, 1, 2, pacing), &settings, &bookkeeping),
        keep(SocketDriver::Epoll, crew(&target, 2, 1, pacing), &settings, &bookkeeping),
    ] {
        let tally = kept.report.tally;
        assert_eq!(tally.total(), 20);
        assert!(tally.skipped > 10 && tally.committed >= 2, "{tally:?}");
        let skipped = kept.log.iter().filter(|(_, record)| record.ending == Ending::Skipped);
        assert_eq!(skipped.count() as u64, tally.skipped);
        assert!(tally.lag.max <= 50_000.0, "none begins that is later: {tally:?}");
    }
}

#[test]
fn scripts_have_sums_of_their_own() {
    let mix = Mix { weights: vec![1, 0, 2], streams: vec![Random::seeded(5), Random::seeded(6)] };
    let pacing = Pacing { attempts: Some(3_000), ..Pacing::default() };
    let bookkeeping = Bookkeeping { by_number: true, mix, ..logging(1.0) };
    let kept = keep(SocketDriver::Epoll, crew(&NullTarget, 2, 1, pacing), &UNTIL_DONE, &bookkeeping);
    let counts: Vec<u64> = kept.report.scripts.iter().map(|script| script.committed).collect();
    assert_eq!((counts.len(), counts[1], counts.iter().sum::<u64>()), (3, 0, 6_000));
    assert!(counts[0].abs_diff(2_000) < 150, "four standard deviations: {counts:?}");
    for (script, &count) in counts.iter().enumerate() {
        let logged = kept.log.iter().filter(|(_, record)| record.script as usize == script).count();
        assert_eq!(logged as u64, count);
    }
}

#[test]
fn nothing_is_lost_when_the_one_who_writes_is_slow() {
    let pacing = Pacing { attempts: Some(300_000), ..Pacing::default() };
    let bookkeeping = Bookkeeping { by_number: true, ..logging(1.0) };
    let mut records = 0;
    let listeners = Listeners {
        on_interval: &mut |_| (),
        on_mark: &mut |_| (),
        on_log: &mut |_, more| {
            thread::sleep(Duration::from_micros(200));
            records += more.len();
        },
    };
    let workers = crew(&NullTarget, 1, 1, pacing);
    let report =
        run_keeping(SocketDriver::Epoll, workers, &UNTIL_DONE, &bookkeeping, &Stop::default(), listeners)
            .expect("the run works");
    assert_eq!((records, report.tally.committed), (300_000, 300_000));
}

#[test]
fn a_sample_is_a_sample_and_the_same_for_the_same_seed() {
    let pacing = Pacing { attempts: Some(10_000), ..Pacing::default() };
    let bookkeeping = Bookkeeping { by_number: true, ..logging(0.3) };
    let numbers = || {
        let kept = keep(SocketDriver::Epoll, crew(&NullTarget, 1, 1, pacing), &UNTIL_DONE, &bookkeeping);
        assert_eq!(kept.report.tally.committed, 10_000);
        kept.log.iter().map(|(_, record)| record.number).collect::<Vec<_>>()
    };
    let sample = numbers();
    assert!(sample.len().abs_diff(3_000) < 184, "four standard deviations: {}", sample.len());
    assert_eq!(sample, numbers());
}

/// Target that fails in another way each time, commits every fourth time, and reports its number of tries.
#[derive(Clone, Default)]
struct Fails(u32);

impl Target for Fails {
    fn step(&mut self, event: Event<'_>, _now_ns: u64, probe: &mut Probe) -> Step {
        if matches!(event, Event::Parting) {
            return Step::Done(Outcome::Committed);
        }
        self.0 += 1;
        probe.command(0, 1_499);
        probe.tries(self.0 % 4 + 1);
        let failure = match self.0 % 4 {
            0 => {
                probe.command(1, 3_000_000);
                return Step::Done(Outcome::Committed);
            }
            1 => Failure::Serialization,
            2 => Failure::Deadlock,
            _ => Failure::Other,
        };
        probe.command_retried(1);
        probe.command_failed(1);
        probe.failed_by(failure);
        Step::Done(Outcome::Failed)
    }

    fn outgoing(&self) -> &[u8] {
        &[]
    }

    fn abandon(&mut self) -> Outcome {
        Outcome::TimedOut
    }
}

#[test]
fn failures_retries_and_commands_are_distinguished() {
    let pacing = Pacing { attempts: Some(40), ..Pacing::default() };
    let bookkeeping = Bookkeeping { by_number: true, commands: 2, ..logging(1.0) };
    let kept = keep(SocketDriver::Epoll, crew(&Fails(0), 2, 1, pacing), &UNTIL_DONE, &bookkeeping);
    let tally = kept.report.tally;
    assert_eq!((tally.serialization, tally.deadlock, tally.other, tally.committed), (20, 20, 20, 20));
    assert_eq!((tally.retried, tally.retries), (60, 20 + 2 * 20 + 3 * 20));
    let [first, second] = kept.report.commands[..] else { panic!("two commands") };
    assert_eq!((first.latency.count, first.latency.sum), (80, 80.0));
    assert_eq!((second.latency.count, second.latency.sum), (20, 60_000.0));
    assert_eq!((second.failures, second.retries), (60, 60));
    let retries: u64 = kept.log.iter().map(|(_, record)| u64::from(record.retries)).sum();
    assert_eq!(retries, tally.retries);
}

/// Target that sends a byte and waits for its echo.
#[derive(Clone)]
struct Echo;

impl Target for Echo {
    fn step(&mut self, event: Event<'_>, _now_ns: u64, _probe: &mut Probe) -> Step {
        match event {
            Event::Begin => Step::Send,
            Event::Received(_) => Step::Done(Outcome::Committed),
            Event::Gone(_) => Step::Last(Outcome::Failed),
            _ => Step::Receive,
        }
    }

    fn outgoing(&self) -> &[u8] {
        b"x"
    }

    fn connect(&mut self) -> io::Result<OwnedFd> {
        let (ours, mut theirs) = UnixStream::pair()?;
        thread::spawn(move || {
            let mut byte = [0];
            while theirs.read_exact(&mut byte).is_ok() && theirs.write_all(&byte).is_ok() {}
        });
        thread::sleep(Duration::from_millis(20));
        Ok(ours.into())
    }

    fn abandon(&mut self) -> Outcome {
        Outcome::InDoubt
    }
}

#[test]
fn a_client_reconnects_as_often_as_requested() {
    let pacing = Pacing { attempts: Some(12), reconnect_after: Some(4), ..Pacing::default() };
    let bookkeeping = Bookkeeping { by_number: true, ..Bookkeeping::default() };
    let client = |number| Client { target: Paced::new(Echo, number, false, pacing), io: None };
    for kept in [
        keep(SocketDriver::Epoll, vec![(0..3).map(client).collect()], &UNTIL_DONE, &bookkeeping),
        keep(SocketDriver::Epoll, (0..3).map(|n| vec![client(n)]).collect(), &UNTIL_DONE, &bookkeeping),
    ] {
        assert_eq!((kept.report.tally.committed, kept.report.clients_lost), (36, 0));
        let (connects, took_ns) = kept.report.connects;
        assert_eq!(connects, 9);
        assert!(took_ns >= 9 * 20_000_000, "{took_ns}");
    }
    // A worker makes its connections one after the other: none counts the time of another.
    let kept = keep(SocketDriver::Epoll, vec![(0..3).map(client).collect()], &UNTIL_DONE, &bookkeeping);
    assert!(kept.report.connects.1 <= kept.report.elapsed_ns, "{:?}", kept.report.connects);
    // With one client per worker, only the connection itself can delay an attempt.
    let kept = keep(SocketDriver::Epoll, vec![vec![client(0)]], &UNTIL_DONE, &bookkeeping);
    assert!(kept.report.tally.latency.min < 20_000.0, "connecting is no part of the latency");
}

#[test]
fn a_client_that_cannot_connect_is_lost_with_a_word() {
    let (said, heard) = std::sync::mpsc::channel();
    let messages = Messages::to(Level::Error, move |level, text| {
        said.send((level, text.to_owned())).expect("the test listens");
    });
    let bookkeeping = Bookkeeping { by_number: true, messages, ..Bookkeeping::default() };
    let target = Paced::new(NullTarget, 5, false, Pacing::default());
    let kept = keep(SocketDriver::Epoll, vec![vec![Client { target, io: None }]], &UNTIL_DONE, &bookkeeping);
    assert_eq!((kept.report.clients_lost, kept.report.counts_whole.failed), (1, 1));
    assert_eq!(kept.report.tally, Tally::default(), "what took its client with it is in no sum of pgbench's");
    let text = "client 5 aborted while establishing connection".to_owned();
    let (level, why) = heard.try_recv().expect("it says why");
    assert!(level == Level::Error && !why.is_empty());
    assert_eq!(heard.try_recv(), Ok((Level::Error, text)));
}

/// Attempts that outlast the schedule are recorded in intervals of the usual length, if requested.
#[test]
fn the_drain_is_one_interval_or_continues_in_intervals() {
    let intervals = |drain_in_intervals| {
        let bookkeeping = Bookkeeping { drain_in_intervals, ..Bookkeeping::default() };
        let settings = Settings { duration_ns: 170_000_000, ..SETTINGS };
        let mut drain = Vec::new();
        let listeners = Listeners {
            on_interval: &mut |interval| {
                if interval.phase == Phase::Drain {
                    drain.push((interval.start_ns, interval.duration_ns));
                }
            },
            on_mark: &mut |_| (),
            on_log: &mut |_, _| (),
        };
        let workers = crew(&Waits(330_000_000), 2, 1, Pacing::default());
        let stop = Stop::default();
        let report = run_keeping(SocketDriver::Epoll, workers, &settings, &bookkeeping, &stop, listeners);
        assert_eq!(report.expect("the run works, and its counts add up").tally.committed, 2);
        drain
    };
    assert_eq!(intervals(false).len(), 1);
    let drain = intervals(true);
    let expected = [(170_000_000, 30_000_000), (200_000_000, 50_000_000), (250_000_000, 50_000_000)];
    assert_eq!(drain[..3], expected);
    assert!(drain.len() > 3, "{drain:?}");
}

#[test]
fn without_histograms_the_tallies_are_the_same() {
    let pacing = Pacing { attempts: Some(50), ..Pacing::default() };
    for rate_per_s in [None, Some(10_000.0)] {
        let settings = Settings { rate_per_s, ..UNTIL_DONE };
        let bookkeeping = Bookkeeping { by_number: true, tallies_only: true, ..Bookkeeping::default() };
        let kept = keep(SocketDriver::Epoll, crew(&Waits(1), 2, 2, pacing), &settings, &bookkeeping);
        let report = kept.report;
        assert_eq!((report.tally.committed, kept.intervals), (200, report.tally));
        assert_eq!((report.latency.count(), report.lag.count()), (0, 0));
    }
}

#[test]
fn time_to_think_is_no_part_of_an_attempt_and_ends_with_the_run() {
    let pacing = Pacing { think_ns: 30_000_000, ..Pacing::default() };
    let long = Pacing { think_ns: 3_600_000_000_000, ..Pacing::default() };
    let bookkeeping = Bookkeeping::default();
    for (pacing, most) in [(pacing, 7), (long, 1)] {
        let kept = keep(SocketDriver::Epoll, crew(&NullTarget, 1, 1, pacing), &SETTINGS, &bookkeeping);
        let tally = kept.report.tally;
        assert!(tally.committed >= 1 && tally.committed <= most, "{tally:?}");
        assert!(tally.latency.min < 30_000.0, "{tally:?}");
        assert!(kept.report.counts_whole.never_started <= 1);
        assert!(kept.report.elapsed_ns < 100_000_000_000, "nobody waits an hour for a client that thinks");
    }
}

#[test]
fn the_warm_up_is_in_no_sum() {
    let settings = Settings { warmup_ns: 100_000_000, ..SETTINGS };
    let mix = Mix { weights: vec![1, 1], streams: vec![Random::seeded(1)] };
    let bookkeeping = Bookkeeping { commands: 1, mix, ..logging(1.0) };
    let kept =
        keep(SocketDriver::Epoll, crew(&Waits(5_000_000), 1, 2, Pacing::default()), &settings, &bookkeeping);
    let (whole, tally) = (kept.report.counts_whole.committed, kept.report.tally);
    assert!(tally.committed < whole && kept.intervals.committed == whole, "{} of {whole}", tally.committed);
    assert_eq!(kept.log.len() as u64, tally.committed);
    assert_eq!(kept.report.scripts.iter().map(|script| script.committed).sum::<u64>(), tally.committed);
}

#[test]
fn the_first_loss_ends_the_run_where_that_is_asked_for() {
    let lost = Paced::new(NullTarget, 0, false, Pacing::default());
    let kept = Paced::new(NullTarget, 1, true, Pacing { think_ns: 1_000_000, ..Pacing::default() });
    let workers = vec![vec![Client { target: lost, io: None }, Client { target: kept, io: None }]];
    let bookkeeping = Bookkeeping { end_with_first_lost: true, ..Bookkeeping::default() };
    let kept = keep(SocketDriver::Epoll, workers, &UNTIL_DONE, &bookkeeping);
    assert_eq!(kept.report.stopped.as_deref(), Some("a client was lost"));
}
