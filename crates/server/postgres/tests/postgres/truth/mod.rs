//! Reports are true: each property is tested, and so is the detection of a lie about it.
//!
//! Tests that measure time run one after the other, and the machine's own lateness is measured at the same time
//! ([`calm`]); those that count run in parallel.

#![allow(clippy::print_stderr, clippy::print_stdout)]

mod calm;
mod commits;
mod latency;
mod reconnects;
mod server;
mod service;
mod stall;

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use pgdyno_core::stop::Stop;
use pgdyno_engine::{Client, MergedInterval, Paced, Report, Settings, SocketDriver, Target, run};
use pgdyno_postgres::targets::{Link, SqlClients, SqlTarget};
use pgdyno_script::{Protocol, Scripts};
use pgdyno_wire::ConnectOptions;

const MS: u64 = 1_000_000;

/// Held for writing by a test that measures time, for reading by others.
static MEASURING: RwLock<()> = RwLock::new(());

/// Keeps the other tests of this module away from a measurement.
fn alone() -> RwLockWriteGuard<'static, ()> {
    MEASURING.write().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps measurements away from a test that counts, with which other such tests may run in parallel.
fn shared() -> RwLockReadGuard<'static, ()> {
    MEASURING.read().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the long forms are requested.
fn test_all() -> bool {
    std::env::var_os("PGDYNO_TEST_ALL").is_some()
}

/// An upper bound of what a busy machine makes longer: it holds in the long form only.
fn at_most(bound: f64) -> f64 {
    if test_all() { bound } else { f64::INFINITY }
}

/// Server, scripts and settings of a run.
struct Drive<'a> {
    options: ConnectOptions,
    script: &'a str,
    clients: u32,
    duration_ns: u64,
    rate_per_s: Option<f64>,
    driver: SocketDriver,
}

impl Drive<'_> {
    /// Drives one worker with all clients, each wrapped, without warm-up. `on_interval` may stop the run.
    fn run<T: Target + 'static>(
        &self,
        mut wrap: impl FnMut(Paced<Link<SqlTarget>>) -> T,
        mut on_interval: impl FnMut(&MergedInterval, &Stop),
    ) -> Report {
        let script = Arc::new(Scripts::one("test", self.script).expect("it is a script"));
        let settings = Settings {
            warmup_ns: 0,
            ramp_ns: 0,
            duration_ns: self.duration_ns,
            interval_ns: 100 * MS,
            drain_ns: 10_000 * MS,
            rate_per_s: self.rate_per_s,
            seed: 5,
            statements: script.statements().count(),
            cpus: Vec::new(),
        };
        let sql = SqlClients::new(script, Protocol::Prepared);
        let stop = Stop::default();
        let (workers, _) = sql.connect(&self.options, self.clients, 1, &stop).expect("they connect");
        let wrapped = workers.into_iter().map(|clients| {
            let each = clients.into_iter().map(|Client { target, io }| Client { target: wrap(target), io });
            each.collect()
        });
        let on_interval = |interval: &MergedInterval| on_interval(interval, &stop);
        let report = run(self.driver, wrapped.collect(), &settings, &stop, on_interval, |_| ())
            .expect("the run works");
        report.counts_whole.check().expect("nothing is lost in counting");
        report
    }
}
