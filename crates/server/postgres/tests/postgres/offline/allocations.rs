//! A transaction of a built-in script allocates nothing, with any protocol and wait method.
//!
//! Allocations are counted on the worker's own thread only, since the fake server allocates.
//!
//! Seen to fail when statements are sent from a new buffer, a cut message gets a new buffer, an interval a new
//! histogram, or a worker without histograms allocates one.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use pgdyno_core::{measure::Outcome, stop::Stop};
use pgdyno_engine::{
    Bookkeeping, Client, Event, Listeners, MergedInterval, Paced, Probe, Report, Settings, SocketDriver,
    Step, Target, run_keeping,
};
use pgdyno_postgres::targets::{Link, SqlClients, SqlTarget};
use pgdyno_script::{Builtin, Protocol};
use pgdyno_wire::fake::{Answer, FakeServer, Request, message, usual};

use crate::allocator::{Sums, sums};

const MS: u64 = 1_000_000;
/// Transactions of a client until all statements are parsed and buffers have their final size.
const WARM_UP: u64 = 20;

/// Allocations of a worker's thread over a number of transactions.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Asked {
    transactions: u64,
    times: u64,
    bytes: u64,
    /// Bytes allocated before the first of these transactions.
    bytes_before: u64,
}

/// Progress of a worker.
#[derive(Debug, Default)]
struct Worker {
    /// Number of clients that are not warmed up.
    cold: usize,
    /// The counter when the last client was warmed up.
    warm: Option<(u64, u64)>,
    asked: Asked,
}

/// Reads its thread's counter after every transaction once all clients of the worker are warmed up.
struct Watching {
    target: Paced<Link<SqlTarget>>,
    worker: Arc<Mutex<Worker>>,
    done: u64,
    /// Number of transactions to observe, after which the run is stopped: a run that ends by itself hands over
    /// its last intervals, which is not the steady state.
    wanted: u64,
    stop: Stop,
    /// Plants the fault: allocates in every transaction.
    wasteful: bool,
}

impl Watching {
    fn look(&mut self) {
        let Sums { times, bytes, .. } = sums();
        let now = (times, bytes);
        let mut worker = self.worker.lock().expect("nobody panicked");
        self.done += 1;
        if self.done == WARM_UP {
            worker.cold -= 1;
        }
        match worker.warm {
            None if worker.cold == 0 => worker.warm = Some(now),
            None => {}
            Some(_) if worker.asked.transactions == self.wanted => self.stop.request("enough"),
            Some((times, bytes)) => {
                let transactions = worker.asked.transactions + 1;
                let (times, bytes_before, bytes) = (now.0 - times, bytes, now.1 - bytes);
                worker.asked = Asked { transactions, times, bytes, bytes_before };
            }
        }
    }
}

impl Target for Watching {
    fn step(&mut self, event: Event<'_>, now_ns: u64, probe: &mut Probe) -> Step {
        let step = self.target.step(event, now_ns, probe);
        if step == Step::Done(Outcome::Committed) {
            if self.wasteful {
                drop(std::hint::black_box(Box::new(now_ns)));
            }
            self.look();
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

/// Settings of a run.
#[derive(Debug, Clone, Copy)]
struct Run {
    builtin: Builtin,
    protocol: Protocol,
    clients: u32,
    transactions: u64,
    interval_ns: u64,
    rate_per_s: Option<f64>,
    answer: fn(&Request) -> Answer,
    /// Whether no histograms are kept, as for `pgbench`.
    tallies_only: bool,
    wasteful: bool,
}

const RUN: Run = Run {
    builtin: Builtin::TpcbLike,
    protocol: Protocol::Prepared,
    clients: 4,
    transactions: 300,
    interval_ns: 3_600_000 * MS,
    rate_per_s: None,
    answer: usual,
    tallies_only: false,
    wasteful: false,
};

impl Run {
    /// Allocations of the worker in its steady state.
    fn asked(self, driver: SocketDriver) -> (Report, Asked) {
        let (report, asked, _) = self.watched(driver);
        (report, asked)
    }

    /// Allocations, and the longest time between two intervals handed over.
    fn watched(self, driver: SocketDriver) -> (Report, Asked, Duration) {
        let server = FakeServer::start(self.answer).expect("it listens");
        server.keep_nothing();
        let script = Arc::new(self.builtin.scripts());
        let settings = Settings {
            warmup_ns: 0,
            ramp_ns: 0,
            duration_ns: 3_600_000 * MS,
            interval_ns: self.interval_ns,
            drain_ns: 5_000 * MS,
            rate_per_s: self.rate_per_s,
            seed: 1,
            statements: if self.tallies_only { 0 } else { script.statements().count() },
            cpus: Vec::new(),
        };
        let sql = SqlClients { scale: 50, ..SqlClients::new(script, self.protocol) };
        let stop = Stop::default();
        let (workers, _) = sql.connect(&server.options(None), self.clients, 1, &stop).expect("they connect");
        let worker = Arc::new(Mutex::new(Worker { cold: self.clients as usize, ..Worker::default() }));
        let watching = |Client { target, io }: Client<Paced<Link<SqlTarget>>>| Client {
            target: Watching {
                target,
                worker: Arc::clone(&worker),
                done: 0,
                wanted: self.transactions,
                stop: stop.clone(),
                wasteful: self.wasteful,
            },
            io,
        };
        let workers =
            workers.into_iter().map(|clients| clients.into_iter().map(watching).collect()).collect();
        let (mut last, mut longest) = (None, Duration::ZERO);
        let mut on_interval = |_: &MergedInterval| {
            let now = Instant::now();
            longest = longest.max(last.replace(now).map_or(Duration::ZERO, |last| now - last));
        };
        let listeners =
            Listeners { on_interval: &mut on_interval, on_mark: &mut |_| (), on_log: &mut |_, _| () };
        let books = Bookkeeping { tallies_only: self.tallies_only, ..Bookkeeping::default() };
        let report =
            run_keeping(driver, workers, &settings, &books, &stop, listeners).expect("the run works");
        assert_eq!((report.counts_whole.failed, report.clients_lost), (0, 0), "{report:?}");
        let asked = worker.lock().expect("nobody panicked").asked;
        assert_eq!(asked.transactions, self.transactions, "{self:?}");
        (report, asked, longest)
    }
}

#[test]
fn the_built_in_scripts_allocate_nothing() {
    for builtin in Builtin::ALL {
        for protocol in [Protocol::Simple, Protocol::Extended, Protocol::Prepared] {
            let run = Run { builtin, protocol, ..RUN };
            for driver in SocketDriver::usable() {
                let (_, asked) = run.asked(driver);
                assert_eq!((asked.times, asked.bytes), (0, 0), "{run:?} by {driver}: {asked:?}");
            }
            let lone = Run { clients: 1, ..run };
            let (_, asked) = lone.asked(SocketDriver::Epoll);
            assert_eq!((asked.times, asked.bytes), (0, 0), "{lone:?}: {asked:?}");
        }
    }
}

#[test]
fn an_open_loop_allocates_nothing() {
    let open = Run { rate_per_s: Some(2_000.0), ..RUN };
    for driver in SocketDriver::usable() {
        let (_, asked) = open.asked(driver);
        assert_eq!((asked.times, asked.bytes), (0, 0), "by {driver}: {asked:?}");
    }
    let (_, asked) = Run { clients: 1, ..open }.asked(SocketDriver::Epoll);
    assert_eq!((asked.times, asked.bytes), (0, 0), "a single client: {asked:?}");
}

/// Cuts answers within a message, so that the first part must be buffered.
fn cut(_request: &Request) -> Answer {
    let complete = message::complete("SELECT 1");
    let (first, rest) = complete.split_at(8);
    let row = [message::row_description(1), message::row(&[Some("0")]), first.to_vec()].concat();
    Answer::default().then_bytes(row).then_wait(Duration::from_micros(200)).then_bytes(rest.to_vec())
}

#[test]
fn a_message_that_comes_in_two_parts_allocates_nothing() {
    for driver in SocketDriver::usable() {
        let run = Run { builtin: Builtin::SelectOnly, answer: cut, ..RUN };
        let (_, asked) = run.asked(driver);
        assert_eq!((asked.times, asked.bytes), (0, 0), "by {driver}: {asked:?}");
    }
}

/// Intervals reuse returned histograms; the remaining allocations are blocks of the channel.
#[test]
fn an_interval_that_ends_needs_no_histogram() {
    for driver in SocketDriver::usable() {
        let run = Run { interval_ns: 5 * MS, transactions: 3_000, ..RUN };
        let (report, asked, longest) = run.watched(driver);
        let intervals = report.rates_per_s.len() as u64;
        assert!(intervals >= 10, "{intervals}");
        // An interval's histograms take about 45 KiB. On a busy machine a few are allocated before one is
        // returned; after a thread had no processor, as many as intervals ended meanwhile.
        let late = 2 * longest.as_nanos() as u64 / run.interval_ns;
        let seen = format!("by {driver}: {asked:?} in {intervals} intervals, {longest:?} between two");
        assert!(asked.bytes < (8 + late) * 48_000 + intervals * 1_024, "{seen}");
        assert!(asked.times < intervals + 4 * late, "{seen}");
    }
}

/// Hundreds of workers with one client each (`pgbench -c 500 -j 500`) take no more memory than pgbench's
/// threads with two buffers of 16 KiB per connection.
#[test]
fn a_worker_that_keeps_no_histograms_takes_little_memory() {
    let lone = Run { builtin: Builtin::SelectOnly, clients: 1, tallies_only: true, ..RUN };
    let (_, asked) = lone.asked(SocketDriver::best());
    assert!(asked.bytes_before < 8 * 1_024, "{asked:?}");
}

/// Detects the planted fault of a single small allocation per transaction.
#[test]
fn an_allocation_for_a_transaction_is_found() {
    for driver in SocketDriver::usable() {
        let (_, asked) = Run { wasteful: true, ..RUN }.asked(driver);
        assert!(asked.times >= asked.transactions && asked.bytes >= 8 * asked.transactions, "{asked:?}");
    }
}
