//! Measures patterns on one file that other programs can open, for `cargo xtask bench-disk`.
//!
//! `at_depth DIR BYTES SECONDS` lays out a file in DIR, prints its path, and then a report for every pattern on
//! standard input, both as a line of JSON. `at_depth nop SECONDS` prints empty operations per second of CPU time.

#![allow(clippy::print_stdout)]

use std::{io::BufRead, sync::Arc, time::Duration};

use pgdyno_core::{
    disk::io::{IoPattern, IoReport},
    stop::Stop,
};
use pgdyno_disk::io::{IoRequest, WorkFiles, run_on};
use pgdyno_engine::files::{FileDriver, FileJob, FileRun, Operation, run_files};

/// Time before the measured interval: what storage lets through at once after a pause does not count.
const RAMP: Duration = Duration::from_millis(500);

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |text: &str| -> u64 { text.parse().expect("a number") };
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["nop", seconds] => println!("{}", empty_operations_per_cpu_s(number(seconds))),
        [dir, bytes, seconds] => serve(&request(dir, number(bytes), number(seconds))),
        _ => panic!("usage: at_depth DIR BYTES SECONDS, or at_depth nop SECONDS"),
    }
}

fn request(dir: &str, file_bytes: u64, seconds: u64) -> IoRequest {
    IoRequest {
        path: dir.into(),
        pattern: IoPattern::random_read(8_192, 1, file_bytes),
        ramp: RAMP,
        duration: Duration::from_secs(seconds),
        may_buffer: false,
        precondition: false,
        seed: 1,
    }
}

fn serve(request: &IoRequest) {
    let stop = Stop::default();
    let mut work = WorkFiles::lay_out(request, &stop, &mut |_| ()).expect("it can be written");
    println!("{}", work.path().display());
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("standard input is open");
        let pattern: IoPattern = serde_json::from_str(&line).expect("a pattern");
        let request = IoRequest { pattern, ..request.clone() };
        let report: IoReport = run_on(&mut work, &request, &stop, &mut |_| ()).expect("it can be measured");
        println!("{}", serde_json::to_string(&report).expect("it is JSON"));
    }
}

/// Of one thread with 32 of them in flight by io_uring.
fn empty_operations_per_cpu_s(seconds: u64) -> f64 {
    let file = Arc::new(tempfile::tempfile().expect("a file"));
    let operations = || Some(Operation::Nop);
    let job = FileJob { file, operations, depth: 32, cpus: Vec::new() };
    let run_ns = Some(seconds * 1_000_000_000);
    let run = FileRun { driver: FileDriver::IoUring, block_bytes: 4_096, ramp_ns: 0, run_ns, seed: 1 };
    let report =
        run_files(&run, vec![job], &Stop::default(), &mut |_| (), &mut || ()).expect("io_uring works");
    let cpu_s = (report.tally.cpu.user_ns + report.tally.cpu.system_ns) as f64 / 1e9;
    report.tally.operations() as f64 / cpu_s
}
