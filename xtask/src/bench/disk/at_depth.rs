//! Reads and writes at depth, against fio with io_uring, on the same file.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use pgdyno_analysis::compare::bar::Bar;
use pgdyno_core::disk::io::{IoOrder, IoPattern};
use serde_json::Value;

use super::{flags::Args, results::Results};
use crate::{Failure, workspace::output};

const BLOCK_BYTES: u32 = 8_192;
/// Operations that both submit with one system call, where so many are in flight.
const BATCH: u16 = 4;

/// Time before the measured interval of both, in milliseconds; the example `at_depth` has the same. A disk limited to
/// 3,000 operations per second lets 300 more through after a pause.
const RAMP_MS: u32 = 500;

/// What both programs report of a run, with the bars of pgdyno's over fio's.
const FIGURES: [(&str, Option<Bar>); 5] = [
    ("IOPS", Some(Bar::Within(0.05))),
    ("bytes/s", Some(Bar::Within(0.05))),
    ("p50", Some(Bar::Within(0.05))),
    ("p99", None),
    ("CPU per I/O", Some(Bar::AtMost(1.0))),
];
type Figures = [Option<f64>; FIGURES.len()];

/// A pattern and its name for fio.
struct Cell {
    pattern: IoPattern,
    rw: &'static str,
}

pub(super) fn run(args: &Args, program: &Path, dir: &Path, results: &mut Results) -> Result<(), Failure> {
    let file_bytes = u64::from(args.size_mib) << 20;
    println!("\nat depth in {}, {} pairs of {} s: pgdyno over fio", dir.display(), args.pairs, args.seconds);
    let mut own = Own::start(program, dir, file_bytes, args.seconds)?;
    let file = own.file.clone();
    for cell in cells(file_bytes) {
        let ours = || own.measure(&cell.pattern);
        let theirs =
            || peer_figures(&output(cell.fio(&file, args.seconds).args(["--output-format=json"]))?, cell.rw);
        let pairs = args.alternate(ours, theirs)?;
        let name = format!("{}: {} at depth {}", dir.display(), cell.rw, cell.pattern.depth);
        for (at, (figure, bar)) in FIGURES.into_iter().enumerate() {
            let of_figure: Vec<_> = pairs.iter().map(|(own, other)| (own[at], other[at])).collect();
            results.add(&name, figure, &of_figure, bar);
        }
    }
    Ok(())
}

fn cells(file_bytes: u64) -> Vec<Cell> {
    let patterns = [
        (IoOrder::Random, 1.0, "randread"),
        (IoOrder::Random, 0.0, "randwrite"),
        (IoOrder::Sequential, 1.0, "read"),
        (IoOrder::Sequential, 0.0, "write"),
    ];
    let cell = |depth, order, read_share, rw: &'static str| {
        let read = IoPattern::random_read(BLOCK_BYTES, depth, file_bytes);
        Cell { pattern: IoPattern { name: rw.to_owned(), order, read_share, ..read }, rw }
    };
    patterns
        .iter()
        .flat_map(|&(order, share, rw)| [1, 8, 32].map(|depth| cell(depth, order, share, rw)))
        .collect()
}

impl Cell {
    /// The same pattern, submitted in the same portions, with everything that the kernel offers to both: files and
    /// buffers are registered, and what has ended is taken at once.
    fn fio(&self, file: &str, seconds: u32) -> Command {
        let depth = self.pattern.depth;
        let mut command = Command::new("fio");
        command
            .args(["--name=one", "--ioengine=io_uring", "--direct=1", "--time_based", "--norandommap"])
            .args(["--randrepeat=0", "--lat_percentiles=1", "--registerfiles=1", "--fixedbufs=1"])
            .arg(format!("--ramp_time={RAMP_MS}ms"))
            .args([format!("--filename={file}"), format!("--rw={}", self.rw), format!("--bs={BLOCK_BYTES}")])
            .args([format!("--iodepth={depth}"), format!("--iodepth_batch_submit={}", BATCH.min(depth))])
            .args([format!("--iodepth_batch_complete_max={depth}"), format!("--runtime={seconds}")])
            .args([format!("--size={}", self.pattern.file_bytes)]);
        command
    }
}

/// The example `at_depth`, which has the file and waits for patterns.
struct Own {
    child: Child,
    patterns: ChildStdin,
    reports: BufReader<ChildStdout>,
    file: String,
}

impl Own {
    fn start(program: &Path, dir: &Path, file_bytes: u64, seconds: u32) -> Result<Self, Failure> {
        let mut command = Command::new(program);
        command.arg(dir).args([file_bytes.to_string(), seconds.to_string()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let patterns = child.stdin.take().ok_or("it has no standard input")?;
        let reports = BufReader::new(child.stdout.take().ok_or("it has no standard output")?);
        let mut own = Self { child, patterns, reports, file: String::new() };
        own.file = own.line()?;
        Ok(own)
    }

    fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        match self.reports.read_line(&mut line)? {
            0 => Err("the example `at_depth` ended".into()),
            _ => Ok(line.trim_end().to_owned()),
        }
    }

    fn measure(&mut self, pattern: &IoPattern) -> Result<Figures, Failure> {
        writeln!(self.patterns, "{}", serde_json::to_string(pattern)?)?;
        Ok(own_figures(&serde_json::from_str(&self.line()?)?))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn own_figures(report: &Value) -> Figures {
    let kind = ["reads", "writes"].into_iter().find(|kind| report[kind].is_object()).unwrap_or("reads");
    let figure = |pointer: &str| report[kind].pointer(pointer).and_then(Value::as_f64);
    let cpu = |key: &str| report["cpu"][key].as_f64();
    let cpu_ns = cpu("user_s_per_op").zip(cpu("system_s_per_op")).map(|(user, system)| (user + system) * 1e9);
    [
        figure("/rate_per_s"),
        figure("/bytes_per_s"),
        figure("/latency/p50_ns"),
        figure("/latency/p99_ns"),
        cpu_ns,
    ]
}

/// Figures of fio's only job; its CPU time is that of the submitting thread, as a share of the run time.
fn peer_figures(text: &str, rw: &str) -> Result<Figures, Failure> {
    // Warnings may come first.
    let json = text.find('{').map_or(text, |start| &text[start..]);
    let report: Value = serde_json::from_str(json)?;
    let job = &report["jobs"][0];
    let of = &job[if rw.ends_with("read") { "read" } else { "write" }];
    let percentile = |name: &str| of["lat_ns"]["percentile"][name].as_f64();
    let cpu_ns = || {
        let share = (job["usr_cpu"].as_f64()? + job["sys_cpu"].as_f64()?) / 100.0;
        Some(share * of["runtime"].as_f64()? * 1e6 / of["total_ios"].as_f64()?)
    };
    Ok([
        of["iops"].as_f64(),
        of["bw_bytes"].as_f64(),
        percentile("50.000000"),
        percentile("99.000000"),
        cpu_ns(),
    ])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_of_both_programs_have_the_same_meaning_and_order() {
        let latency = json!({ "p50_ns": 100, "p99_ns": null });
        let own = json!({
            "reads": null,
            "writes": { "rate_per_s": 10.0, "bytes_per_s": 81920.0, "latency": latency },
            "cpu": { "user_s_per_op": 1e-6, "system_s_per_op": 2e-6 },
        });
        let figures = own_figures(&own);
        assert_eq!(
            (figures[0], figures[1], figures[2], figures[3]),
            (Some(10.0), Some(81_920.0), Some(100.0), None)
        );
        assert!(figures[4].is_some_and(|ns| (ns - 3_000.0).abs() < 1e-6));
        let write = json!({
            "iops": 10.0, "bw_bytes": 81920, "runtime": 2000, "total_ios": 20,
            "lat_ns": { "percentile": { "50.000000": 100 } },
        });
        let fio = json!({ "jobs": [{ "usr_cpu": 1.0, "sys_cpu": 2.0, "write": write }] });
        let figures = peer_figures(&format!("fio: a warning\n{fio}"), "randwrite").expect("it is JSON");
        assert_eq!(figures[..4], [Some(10.0), Some(81_920.0), Some(100.0), None]);
        assert!(figures[4].is_some_and(|ns| (ns - 3e6).abs() < 1.0));
    }

    #[test]
    fn fio_submits_no_more_than_is_in_flight() {
        let cells = cells(1 << 30);
        assert_eq!(cells.len(), 12);
        let of = |at: usize| format!("{:?}", cells[at].fio("/f", 3));
        assert!(of(0).contains("--iodepth_batch_submit=1") && of(2).contains("--iodepth_batch_submit=4"));
    }
}
