//! The same patterns by fio and by pgdyno, alternately, on the same file.

use std::{os::fd::AsRawFd, path::PathBuf, process::Command, time::Duration};

use pgdyno_core::{
    disk::io::{IoOrder, IoPattern, IoReport},
    stop::Stop,
};
use serde_json::Value;

use super::{IoRequest, files::WorkFiles, measure::run_on, planner::ratio, request::tests::sample};

const FILE_BYTES: u64 = 1 << 30;
const SECONDS: u64 = 3;
const PAIRS: usize = 6;

/// What both programs tell of a run: IOPS, bytes per second, p50 and p99 in nanoseconds, CPU nanoseconds per I/O.
type Figures = [f64; 5];
const NAMES: [&str; 5] = ["IOPS", "bytes/s", "p50 ns", "p99 ns", "CPU ns/IO"];

fn requests() -> Vec<(IoRequest, &'static str)> {
    let path = std::env::var_os("PGDYNO_IO_DIR").map_or_else(|| PathBuf::from("."), PathBuf::from);
    let patterns = [
        (IoOrder::Random, 1.0, "randread"),
        (IoOrder::Random, 0.0, "randwrite"),
        (IoOrder::Sequential, 1.0, "read"),
        (IoOrder::Sequential, 0.0, "write"),
    ];
    let request = |depth: u16, order, read_share| IoRequest {
        path: path.clone(),
        pattern: IoPattern { order, read_share, depth, file_bytes: FILE_BYTES, ..sample().pattern },
        duration: Duration::from_secs(SECONDS),
        ..sample()
    };
    let all =
        patterns.iter().flat_map(|(order, share, rw)| [1, 8, 32].map(|depth| (depth, *order, *share, *rw)));
    all.map(|(depth, order, share, rw)| (request(depth, order, share), rw)).collect()
}

fn ours(report: &IoReport) -> Figures {
    let figures = report.reads.as_ref().or(report.writes.as_ref()).expect("it moves bytes");
    let cpu = report.cpu.as_ref().expect("operations ended");
    // Too few samples: it shows as NaN.
    let ns = |percentile: Option<u64>| percentile.map_or(f64::NAN, |ns| ns as f64);
    let cpu_ns = (cpu.user_s_per_op + cpu.system_s_per_op) * 1e9;
    let latency = &figures.latency;
    [figures.rate_per_s, figures.bytes_per_s, ns(latency.p50_ns), ns(latency.p99_ns), cpu_ns]
}

fn fio(file: &str, rw: &str, depth: u16) -> Figures {
    let output = Command::new("fio")
        .args(["--name=one", "--ioengine=io_uring", "--direct=1", "--bs=8k", "--time_based", "--norandommap"])
        .args(["--randrepeat=0", "--lat_percentiles=1", "--output-format=json"])
        .args([format!("--filename={file}"), format!("--rw={rw}"), format!("--iodepth={depth}")])
        .args([format!("--size={FILE_BYTES}"), format!("--runtime={SECONDS}")])
        .output()
        .expect("fio is installed");
    let text = String::from_utf8_lossy(&output.stdout);
    let start = text.find('{').unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let json: Value = serde_json::from_str(&text[start..]).expect("fio writes JSON");
    let job = &json["jobs"][0];
    let of = &job[if rw.ends_with("read") { "read" } else { "write" }];
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("a number, in {job}"));
    let percentile = |name: &str| number(&of["lat_ns"]["percentile"][name]);
    let cpu_share = (number(&job["usr_cpu"]) + number(&job["sys_cpu"])) / 100.0;
    let cpu_ns = cpu_share * number(&of["runtime"]) * 1e6 / number(&of["total_ios"]);
    [number(&of["iops"]), number(&of["bw_bytes"]), percentile("50.000000"), percentile("99.000000"), cpu_ns]
}

#[test]
#[ignore = "measures"]
fn figures_agree_with_those_of_fio() {
    if Command::new("fio").arg("--version").output().is_err() {
        return println!("left out: fio is not installed");
    }
    let requests = requests();
    let stop = Stop::default();
    let mut work = WorkFiles::lay_out(&requests[0].0, &stop, &mut |_| ()).expect("it can be written");
    let file = format!("/proc/{}/fd/{}", std::process::id(), work.files[0].as_raw_fd());
    println!("pgdyno over fio, {PAIRS} pairs of {SECONDS} s: means, ratio [95 % confidence interval]");
    for (request, rw) in &requests {
        let depth = request.pattern.depth;
        let mut pairs: Vec<(Figures, Figures)> = Vec::new();
        for pair in 0..PAIRS {
            let mut measure =
                || ours(&run_on(&mut work, request, &stop, &mut |_| ()).expect("it can be measured"));
            let theirs = || fio(&file, rw, depth);
            pairs.push(if pair % 2 == 0 {
                let mine = measure();
                (mine, theirs())
            } else {
                let other = theirs();
                (measure(), other)
            });
        }
        for (at, name) in NAMES.iter().enumerate() {
            let ratios: Vec<f64> = pairs.iter().map(|(mine, other)| mine[at] / other[at]).collect();
            let mean = |of: fn(&(Figures, Figures)) -> &Figures| {
                pairs.iter().map(|pair| of(pair)[at]).sum::<f64>() / PAIRS as f64
            };
            let (value, (low, high)) = ratio(&ratios)
                .and_then(|(value, interval)| Some((value, interval?)))
                .unwrap_or((f64::NAN, (f64::NAN, f64::NAN)));
            println!(
                "{rw:>9} depth {depth:>2} {name:>9}: {:>12.0} {:>12.0}  {value:.3} [{low:.3}, {high:.3}]",
                mean(|pair| &pair.0),
                mean(|pair| &pair.1)
            );
        }
    }
}
