//! How many attempts a second and core the engine records by itself: `cargo run --release --example null [SECONDS]`.

#![allow(clippy::print_stderr, clippy::print_stdout)]

use pgdyno_core::stop::Stop;
use pgdyno_engine::{Client, NullTarget, Settings, SocketDriver, run};

fn main() {
    let seconds: u64 = std::env::args().nth(1).map_or(3, |text| text.parse().expect("seconds"));
    let settings =
        Settings { warmup_ns: 500_000_000, cpus: vec![0], ..Settings::closed(seconds * 1_000_000_000, 0) };
    let workers = vec![vec![Client { target: NullTarget, io: None }]];
    let report = run(SocketDriver::Epoll, workers, &settings, &Stop::default(), |_| (), |_| ())
        .expect("the run works");
    let cpu_s = report.cpu_ns as f64 / 1e9;
    println!("{:.0}", report.counts.committed as f64 / cpu_s);
}
