//! From what the engine measured to a report.

use pgdyno_core::disk::io::{IoCpu, IoDevice, IoEnd, IoFigures, IoLatency, IoSecond};
use pgdyno_core::observe::DeviceSample;
use pgdyno_engine::files::{FileReport, FileTally, OperationKind, Second};

const SECOND_NS: u64 = 1_000_000_000;

/// The figures of one kind of operation; `None` if none ended.
pub(super) fn figures(report: &FileReport, kind: OperationKind) -> Option<IoFigures> {
    let of = report.tally.of(kind);
    let over_s = report.measured_ns as f64 / 1e9;
    let latency = IoLatency::of(&of.latency, of.total_ns).filter(|_| over_s > 0.0)?;
    let count = of.latency.count();
    Some(IoFigures {
        count,
        rate_per_s: count as f64 / over_s,
        bytes_per_s: of.bytes as f64 / over_s,
        latency,
    })
}

fn transfers(tally: &FileTally) -> u64 {
    [OperationKind::Read, OperationKind::Write].iter().map(|kind| tally.of(*kind).latency.count()).sum()
}

/// CPU time for each read or write; `None` without any.
pub(super) fn cpu(report: &FileReport) -> Option<IoCpu> {
    let count = transfers(&report.tally);
    let per_op = |ns: u64| ns as f64 / 1e9 / count as f64;
    let (threads, process) = (report.tally.cpu, report.process_cpu.filter(|_| count > 0)?);
    Some(IoCpu {
        user_s_per_op: per_op(threads.user_ns),
        system_s_per_op: per_op(threads.system_ns),
        process_s_per_op: per_op(process.user_ns + process.system_ns),
        voluntary_switches: threads.voluntary_switches,
        involuntary_switches: threads.involuntary_switches,
    })
}

/// The whole seconds of the measured interval.
pub(super) fn seconds(report: &FileReport) -> Vec<IoSecond> {
    let whole = (report.measured_ns / SECOND_NS) as usize;
    let mut all = report.tally.seconds.clone();
    // Seconds in which nothing ended are seconds.
    all.resize(whole, Second::default());
    let of = |second: &Second| IoSecond {
        reads: second.operations(OperationKind::Read),
        writes: second.operations(OperationKind::Write),
        syncs: second.operations(OperationKind::Sync),
        bytes: second.bytes(OperationKind::Read) + second.bytes(OperationKind::Write),
    };
    all.iter().map(of).collect()
}

/// How a run ended that was requested to be so long.
pub(super) fn end(report: &FileReport, asked_ns: u64, stopped: bool) -> IoEnd {
    match &report.failure {
        Some(failed) => IoEnd::Failed { why: failed.to_string() },
        None if stopped && report.measured_ns < asked_ns => IoEnd::Stopped,
        None => IoEnd::Complete,
    }
}

pub(super) fn device(mean: DeviceSample) -> IoDevice {
    let requests = mean.reads_per_s + mean.writes_per_s;
    let request_bytes =
        (requests > 0.0).then(|| (mean.read_bytes_per_s + mean.written_bytes_per_s) / requests);
    IoDevice { mean, request_bytes }
}
