//! More and more operations in flight, until more no longer help.

use pgdyno_core::{
    disk::io::{IoEnd, IoFigures, IoReport, Saturation, SaturationPoint},
    problem::Problem,
    stop::Stop,
};

use super::{
    files::WorkFiles,
    knee::{effective_io_concurrency, knee, split},
    measure::run_on,
    request::{IoProgress, IoRequest},
};

/// Largest depth of a job.
const MOST_DEPTH: u16 = 1_024;
/// Operations in flight up to which a single job looks for saturation, unless another number is requested.
pub const SATURATING_DEPTH: u16 = 256;

/// Measures the pattern of a request with 1, 2, 4, … operations in flight, up to its depth times its jobs, until the
/// [`knee`] is passed. Operations are divided among as many jobs as possible: with one job, which is one backend of
/// PostgreSQL, the depth alone grows. Each point takes the ramp time and the duration of the request, and is reported
/// when it is complete.
///
/// # Errors
/// As [`super::run`], for the first point. If a later one fails, or a stop is requested, the curve ends before it.
pub fn saturate(
    request: &IoRequest,
    stop: &Stop,
    on_progress: &mut dyn FnMut(IoProgress),
) -> Result<Saturation, Problem> {
    request.check()?;
    let mut work = WorkFiles::lay_out(request, stop, on_progress)?;
    let most = u32::from(request.pattern.depth) * u32::from(request.pattern.jobs);
    let mut saturation = Saturation {
        path: request.path.display().to_string(),
        pattern: request.pattern.clone(),
        notes: Vec::new(),
        curve: Vec::new(),
        knee: None,
        effective_io_concurrency: None,
        ended: IoEnd::Complete,
    };
    for in_flight in (0..32).map(|power| 1_u32 << power).take_while(|&in_flight| in_flight <= most) {
        let (jobs, depth) = split(in_flight, request.pattern.jobs);
        if depth > MOST_DEPTH {
            break;
        }
        let mut point = request.clone();
        (point.pattern.jobs, point.pattern.depth) = (jobs, depth);
        let report = match run_on(&mut work, &point, stop, on_progress) {
            Ok(report) => report,
            Err(problem) if saturation.curve.is_empty() => return Err(problem),
            Err(_) if stop.requested() => {
                saturation.ended = IoEnd::Stopped;
                break;
            }
            Err(problem) => {
                saturation.ended = IoEnd::Failed { why: problem.what };
                break;
            }
        };
        extend(&mut saturation, &report);
        if saturation.ended != IoEnd::Complete || saturation.knee.is_some() {
            break;
        }
    }
    Ok(saturation)
}

/// Adds a point to the curve, and what follows from it.
fn extend(saturation: &mut Saturation, report: &IoReport) {
    for note in &report.notes {
        if !saturation.notes.contains(note) {
            saturation.notes.push(note.clone());
        }
    }
    saturation.ended = report.ended.clone();
    if saturation.ended == IoEnd::Complete {
        saturation.curve.extend(point(report));
    }
    saturation.knee = knee(&saturation.curve);
    saturation.effective_io_concurrency = effective_io_concurrency(&saturation.pattern, saturation.knee);
}

fn point(report: &IoReport) -> Option<SaturationPoint> {
    let kinds: Vec<&IoFigures> = report.reads.iter().chain(&report.writes).collect();
    let count: u64 = kinds.iter().map(|of| of.count).sum();
    let total_ns: f64 = kinds.iter().map(|of| of.latency.mean_ns * of.count as f64).sum();
    let frequent = kinds.iter().max_by_key(|of| of.count)?;
    let pattern = &report.pattern;
    Some(SaturationPoint {
        in_flight: u32::from(pattern.depth) * u32::from(pattern.jobs),
        jobs: pattern.jobs,
        depth: pattern.depth,
        rate_per_s: report.rate_per_s(),
        bytes_per_s: kinds.iter().map(|of| of.bytes_per_s).sum(),
        latency_ns_mean: total_ns / count as f64,
        latency_ns_p99: frequent.latency.p99_ns,
    })
}
