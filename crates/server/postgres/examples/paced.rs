//! Measures the driver's cost of TPC-C's keying and think times, for `cargo xtask bench-tpcc`, against a fake
//! server in threads of this process that are not counted.
//!
//! `paced WAREHOUSES CONNECTIONS JOBS SECONDS` prints `SHARE ATTEMPTS LATE_NS`: processors used by the driver's
//! threads, transactions per second, and the 99th percentile of terminals' waits for a connection.

#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::sync::Arc;

use pgdyno_core::{
    stop::Stop,
    tpcc::{DISTRICTS, Mix, RunConstants, Shape, Transaction},
};
use pgdyno_engine::{Bookkeeping, Listeners, Mix as Weights, Pace, Population, Settings, SocketDriver};
use pgdyno_postgres::targets::{InputCounts, SqlClients, run_clients};
use pgdyno_script::{
    Protocol,
    tpcc::{TerminalParams, scripts},
};
use pgdyno_wire::fake::{Answer, FakeServer, Request, message, usual};

/// Columns that any of the scripts stores, and a value that suits all of them. Items are never found, so every
/// New-Order ends with ROLLBACK, which takes as many messages as END.
const COLUMNS: [&str; 14] = [
    "w_tax",
    "c_discount",
    "d_tax",
    "o_id",
    "found",
    "total",
    "w_name",
    "d_name",
    "c_id",
    "delivered",
    "d_ids",
    "o_ids",
    "c_ids",
    "d_next_o_id",
];

fn main() {
    let args: Vec<u64> = std::env::args().skip(1).map(|text| text.parse().expect("a number")).collect();
    let [warehouses, connections, jobs, seconds] = args[..] else {
        panic!("usage: paced WAREHOUSES CONNECTIONS JOBS SECONDS");
    };
    let server = FakeServer::start(answer).expect("a server that does nothing");
    server.keep_nothing();
    let scripts = Arc::new(scripts(Shape::Statements).expect("they are scripts"));
    let params =
        TerminalParams { warehouses, constants: RunConstants::draw(1, None), seed: 1, command: 0, run: 0 };
    let sql = SqlClients {
        tpcc: Some((params, InputCounts::default())),
        ..SqlClients::new(Arc::clone(&scripts), Protocol::Prepared)
    };
    let stop = Stop::default();
    let (workers, _) = sql
        .connect(&server.options(None), connections as u32, jobs as u32, &stop)
        .expect("the server takes all");
    let settings = Settings::closed(seconds * 1_000_000_000, scripts.statements().count());
    let settings = Settings { warmup_ns: 5_000_000_000, ..settings };
    let weights = Transaction::ALL.map(|transaction| (Mix::SPECIFICATION.share(transaction) * 100.0) as u32);
    let bookkeeping = Bookkeeping {
        mix: Weights { weights: weights.to_vec(), streams: Vec::new() },
        by_script: true,
        users: Some(Population { users: warehouses * DISTRICTS, paces: Transaction::ALL.map(pace).to_vec() }),
        ..Bookkeeping::default()
    };
    let listeners = Listeners { on_interval: &mut |_| (), on_mark: &mut |_| (), on_log: &mut |_, _| () };
    let report = run_clients(SocketDriver::best(), workers, &settings, &bookkeeping, &stop, listeners)
        .expect("the run works");
    let measured_s = report.duration_ns as f64 / 1e9;
    println!(
        "{} {} {}",
        report.cpu_ns as f64 / 1e9 / measured_s,
        report.counts.committed as f64 / measured_s,
        report.lag.quantile_ns(0.99).unwrap_or(0)
    );
    if let Some(reason) = report.stopped {
        eprintln!("stopped: {reason}");
    }
}

fn pace(transaction: Transaction) -> Pace {
    let terms = transaction.terms();
    Pace {
        keying_ns: (terms.keying_s * 1e9) as u64,
        think_ns: (terms.think_s * 1e9) as u64,
        queued: transaction == Transaction::Delivery,
    }
}

/// Answers every query that returns rows with the same row.
fn answer(request: &Request) -> Answer {
    if ["BEGIN", "END", "ROLLBACK"].iter().any(|word| request.starts_with(word)) {
        return usual(request);
    }
    let row: Vec<_> = COLUMNS.iter().map(|_| Some("1")).collect();
    let description = message::described(&COLUMNS);
    Answer::default().then_bytes([description, message::row(&row)].concat()).then_complete("SELECT 1")
}
