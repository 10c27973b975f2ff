//! Measurements of storage and of the clock.

use std::{
    path::{self, Path, PathBuf},
    time::Duration,
};

use pgdyno_core::{
    disk::{
        Disk,
        io::{IoEnd, IoPattern},
        sync::{SyncReport, SyncVerdict},
    },
    host::{Change, Knob},
    problem::Problem,
    stop::Stop,
    units,
};
use pgdyno_disk::{
    clock::{self, ClockRequest},
    io::{self, CostsRequest, IoProgress, IoRequest},
    sync::{self, SyncProgress, SyncRequest},
};

use pgdyno_host::users;
use pgdyno_plan::{Action, StagePlan};

use crate::{Events, with_changes};

/// A measurement of storage or of the clock.
#[derive(Debug, Clone, PartialEq)]
pub enum DiskTask {
    /// Synchronous writes in a directory.
    Sync(SyncRequest),
    /// Reads and writes at depth.
    Io(IoRequest),
    /// The same with more and more operations in flight, up to the depth and the jobs of the request.
    Saturate(IoRequest),
    /// What pages cost for the planner.
    Costs(CostsRequest),
    /// The cost of a timer call.
    Clock(ClockRequest),
    /// The same with another clock source of the kernel, which is put back afterwards.
    ClockOf(ClockRequest, String),
}

impl DiskTask {
    /// Name of the operation in records.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sync(_) => "disk sync",
            Self::Io(_) | Self::Saturate(_) => "disk io",
            Self::Costs(_) => "disk costs",
            Self::Clock(_) | Self::ClockOf(..) => "disk clock",
        }
    }

    /// The same with an absolute path, which reports name wherever they are read.
    #[must_use]
    pub fn at_absolute_path(self) -> Self {
        let absolute = |path: PathBuf| path::absolute(&path).unwrap_or(path);
        match self {
            Self::Sync(of) => Self::Sync(SyncRequest { dir: absolute(of.dir.clone()), ..of }),
            Self::Io(of) => Self::Io(IoRequest { path: absolute(of.path.clone()), ..of }),
            Self::Saturate(of) => Self::Saturate(IoRequest { path: absolute(of.path.clone()), ..of }),
            Self::Costs(of) => Self::Costs(CostsRequest { path: absolute(of.path.clone()), ..of }),
            Self::Clock(_) | Self::ClockOf(..) => self,
        }
    }

    /// The directory or block device; `None` for a clock.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Sync(request) => Some(&request.dir),
            Self::Io(request) | Self::Saturate(request) => Some(&request.path),
            Self::Costs(request) => Some(&request.path),
            Self::Clock(_) | Self::ClockOf(..) => None,
        }
    }

    /// Checks what can be checked without the storage.
    ///
    /// # Errors
    /// A wrong request that names the value.
    pub fn check(&self) -> Result<(), Problem> {
        match self {
            Self::Sync(request) => request.check(),
            Self::Io(request) | Self::Saturate(request) => request.check(),
            Self::Costs(request) => request.check(),
            Self::Clock(_) | Self::ClockOf(..) => Ok(()),
        }
    }

    /// Measures. A measurement that ended early is returned as far as it came; [`failure`] says why.
    ///
    /// # Errors
    /// The storage cannot be used for it.
    pub fn carry_out(&self, stop: &Stop, events: &Events) -> Result<Disk, Problem> {
        match self {
            Self::Sync(request) => {
                let found = sync::measure(request, stop, &mut Reporter::new(events).of_sync())?;
                Ok(Disk::Sync(Box::new(found)))
            }
            Self::Io(request) => {
                let found = io::run(request, stop, &mut Reporter::new(events).of_io())?;
                Ok(Disk::Io(Box::new(found)))
            }
            Self::Saturate(request) => {
                let found = io::saturate(request, stop, &mut Reporter::new(events).of_io())?;
                Ok(Disk::Saturation(Box::new(found)))
            }
            Self::Costs(request) => {
                let found = io::costs(request, stop, &mut Reporter::new(events).of_io())?;
                Ok(Disk::Costs(Box::new(found)))
            }
            Self::Clock(request) => {
                events.doing("reading the clock");
                Ok(Disk::Clock(Box::new(clock::measure(request, stop)?)))
            }
            Self::ClockOf(request, source) => {
                events.doing(&format!("reading the clock by {source}"));
                let measured = with_changes(&[clock_source(source)], stop, || clock::measure(request, stop))?;
                Ok(Disk::Clock(Box::new(measured)))
            }
        }
    }
}

/// A measurement for every clock source of this host; the present one comes first, and is not set.
///
/// # Errors
/// The kernel names no clock sources.
pub fn every_clock(request: &ClockRequest) -> Result<Vec<DiskTask>, Problem> {
    let (Some(present), available) = clock::sources() else {
        return Err(Problem::could_not("could not measure every clock source: the kernel names none")
            .hint("leave out --all: the clock is then measured as it is"));
    };
    if users::uid_of_process() != 0 {
        return Err(Problem::wrong_request("could not measure every clock source: only root may change it")
            .hint("leave out --all, or run it with sudo"));
    }
    let others = available.into_iter().filter(|source| *source != present);
    let others = others.map(|source| DiskTask::ClockOf(*request, source));
    Ok([DiskTask::Clock(*request)].into_iter().chain(others).collect())
}

/// The change to a clock source of the kernel.
fn clock_source(name: &str) -> Change {
    Change { knob: Knob::Sysfs(clock::CURRENT_SOURCE.to_owned()), value: name.to_owned() }
}

/// Bytes of a page.
const PAGE_BYTES: u32 = 8_192;

/// The measurements of a stage of a plan, in its directories, or else in that of the server's data.
///
/// # Errors
/// The stage names no directory, and the server's is not on this machine; or a value is out of range.
pub fn tasks(stage: &StagePlan, data_dir: Option<PathBuf>) -> Result<Vec<DiskTask>, Problem> {
    let duration = stage.interval.map(|span| span.as_duration());
    if stage.action == Action::DiskClock {
        let request = duration.map_or_else(ClockRequest::default, |duration| ClockRequest { duration });
        return Ok(vec![DiskTask::Clock(request)]);
    }
    let dirs = if stage.dirs.is_empty() { data_dir.into_iter().collect() } else { stage.dirs.clone() };
    if dirs.is_empty() {
        let what = format!("could not execute the stage `{}`", stage.action.name());
        return Err(Problem::wrong_request(format!("{what}: the server's directory is not on this machine"))
            .hint("name directories of this machine: dirs = [\"/mnt/a\"]"));
    }
    let tasks: Vec<DiskTask> = match stage.action {
        Action::DiskSync => dirs.into_iter().map(|dir| DiskTask::Sync(sync_request(stage, dir))).collect(),
        Action::DiskCosts => dirs.into_iter().map(|dir| DiskTask::Costs(costs_request(stage, dir))).collect(),
        _ => dirs.into_iter().flat_map(|dir| io_tasks(stage, &dir)).collect(),
    };
    tasks.iter().try_for_each(DiskTask::check)?;
    Ok(tasks.into_iter().map(DiskTask::at_absolute_path).collect())
}

fn sync_request(stage: &StagePlan, dir: PathBuf) -> SyncRequest {
    let usual = SyncRequest::new(dir);
    SyncRequest {
        test_duration: stage.interval.map_or(usual.test_duration, |span| span.as_duration()),
        blocks: stage.blocks.unwrap_or(usual.blocks),
        writers: stage.writers.or(usual.writers),
        ..usual
    }
}

fn costs_request(stage: &StagePlan, path: PathBuf) -> CostsRequest {
    let usual = CostsRequest::new(path);
    CostsRequest {
        file_bytes: stage.file_bytes().unwrap_or(usual.file_bytes),
        blocks: stage.blocks.unwrap_or(usual.blocks),
        duration: stage.interval.map_or(usual.duration, |span| span.as_duration()),
        ..usual
    }
}

fn io_tasks(stage: &StagePlan, dir: &Path) -> Vec<DiskTask> {
    let saturates = stage.saturate.unwrap_or(false);
    let patterns = match stage.preset {
        Some(preset) => preset.patterns(&io::queue_cpus(dir)),
        None => {
            let depth = if saturates { io::SATURATING_DEPTH } else { 1 };
            vec![IoPattern::random_read(PAGE_BYTES, depth, io::FILE_BYTES)]
        }
    };
    let task = |pattern: IoPattern| {
        let file_bytes = stage.file_bytes().unwrap_or(pattern.file_bytes);
        let usual = IoRequest::new(dir, IoPattern { file_bytes, ..pattern });
        let of_preset = stage.preset.map(|preset| Duration::from_secs(preset.duration_s()));
        let duration = stage.interval.map(|span| span.as_duration()).or(of_preset).unwrap_or(usual.duration);
        let request = IoRequest { duration, may_buffer: true, ..usual };
        if saturates { DiskTask::Saturate(request) } else { DiskTask::Io(request) }
    };
    patterns.into_iter().map(task).collect()
}

/// Whether what a measurement checks holds; `None` if it checks nothing, or cannot know.
pub fn passed(found: &Disk) -> Option<bool> {
    let Disk::Sync(of) = found else { return None };
    match of.judgement.verdict {
        SyncVerdict::Plausible => Some(true),
        SyncVerdict::Suspicious => Some(false),
        SyncVerdict::CannotTell => None,
    }
}

/// Why a measurement ended early; `None` if it is complete.
pub fn failure(found: &Disk) -> Option<Problem> {
    match found {
        Disk::Sync(of) => of.incomplete.as_ref().map(|_| sync_failure(of)),
        Disk::Io(of) => of.failure(),
        Disk::Saturation(of) => io_failure(&of.path, &of.ended),
        Disk::Costs(of) => io_failure(&of.path, &of.ended),
        Disk::Clock(_) => None,
    }
}

fn io_failure(path: &str, ended: &IoEnd) -> Option<Problem> {
    match ended {
        IoEnd::Complete => None,
        IoEnd::Stopped => Some(Problem::could_not(format!("stopped while {path} was measured"))),
        IoEnd::Failed { why } => {
            Some(Problem::could_not(format!("could not measure {path} to the end: {why}")))
        }
    }
}

fn sync_failure(of: &SyncReport) -> Problem {
    let path = &of.place.storage.path;
    let (during, why) =
        of.incomplete.as_ref().map_or(("", ""), |incomplete| (&incomplete.during, &incomplete.why));
    Problem::could_not(format!("could not measure syncs in {path} to the end: {why}"))
        .detail(format!("it ended during {during}"))
}

/// Reports how far reads and writes are.
struct Reporter<'a> {
    events: &'a Events,
    /// What is counted at present.
    counting: &'static str,
}

impl<'a> Reporter<'a> {
    fn new(events: &'a Events) -> Self {
        Self { events, counting: "" }
    }

    fn of_sync(mut self) -> impl FnMut(SyncProgress) + 'a {
        move |at| match at {
            SyncProgress::Preparing { file_bytes } => {
                self.events.doing(&format!("writing a file of {}", units::bytes(file_bytes)));
            }
            SyncProgress::Test { done, total, .. } => self.count("timing writes", (done, total), "tests"),
            SyncProgress::Bulk => self.events.doing("syncing a large amount"),
        }
    }

    fn of_io(mut self) -> impl FnMut(IoProgress) + 'a {
        move |at| match at {
            IoProgress::LayingOut { done_bytes, of_bytes } => {
                self.count("writing the file", (done_bytes >> 20, of_bytes >> 20), "MiB");
            }
            IoProgress::Warming { done_bytes, of_bytes } => {
                self.count("reading the file", (done_bytes >> 20, of_bytes >> 20), "MiB");
            }
            IoProgress::Running { elapsed_s, of_s, .. } => {
                self.count("measuring", (elapsed_s as u64, of_s.ceil() as u64), "s");
            }
        }
    }

    fn count(&mut self, what: &'static str, (done, total): (u64, u64), unit: &str) {
        if self.counting != what || done == 0 {
            self.events.counting(what, total, unit);
            self.counting = what;
        }
        self.events.counted(done);
    }
}
