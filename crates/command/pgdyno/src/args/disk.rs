//! `pgdyno disk`.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use clap::{ArgAction, Subcommand, ValueEnum};
use pgdyno_core::{
    cpus::CpuList,
    disk::{
        IoPreset,
        io::{IoCache, IoFiles, IoOrder, IoPattern},
    },
    facts::amount,
    problem::Problem,
    span::Span,
};
use pgdyno_disk::{
    clock::ClockRequest,
    io::{self, CostsRequest, IoRequest},
    sync::SyncRequest,
};
use pgdyno_lab::operation::disk::{self, DiskTask};

use super::{bench::cpu_list, disk_delay, disk_run, file};
use crate::{context::Context, operate::RecordFlags};

/// Flags of `pgdyno disk`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Time synchronous writes by every wal_sync_method, and judge whether a flush can be believed
    Sync(Box<Sync>),
    /// Reads and writes at depth: IOPS, bandwidth, latency, and where storage saturates
    Io(Box<Io>),
    /// What pages cost for the planner: random_page_cost, and effective_io_concurrency
    Costs(Costs),
    /// Show a directory as a slower disk, for servers that run on it
    Delay(disk_delay::Args),
    /// Cost of a timer call, and so of EXPLAIN ANALYZE and track_io_timing
    Clock(Clock),
}

#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "The tests are those of pg_test_fsync, with percentiles. A scratch file of 16 MiB (64 MiB at the end) \
    is made in DIR and unlinked at once, so that nothing is left. Exit status 1: synced data may not be durable.\n\n\
    Examples:\n  \
    pgdyno disk sync /var/lib/postgresql\n  \
    pgdyno disk sync /mnt/a /mnt/b --blocks 5       which is faster, and by which method\n  \
    pgdyno disk sync /mnt/a --writers 32 --states   what group commit and recycled WAL gain"
)]
struct Sync {
    /// Directories, measured one after the other
    #[arg(value_name = "DIR", required = true, help_heading = "What")]
    dirs: Vec<PathBuf>,
    /// Size of a write: a power of two from 512 to 1MB
    #[arg(long, value_name = "SIZE", default_value = "8kB", value_parser = bytes, help_heading = "What")]
    block: u64,
    /// Also 1, 2, 4 and so on up to N threads that write and sync, as backends do that commit at the same time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64), help_heading = "What")]
    writers: Option<u32>,
    /// Also a growing file, reserved space, zeros and a recycled segment
    #[arg(long, help_heading = "What")]
    states: bool,
    /// Duration of each test
    #[arg(long, short = 'T', value_name = "TIME", default_value = "2s", help_heading = "How")]
    duration: Span,
    /// How often all tests are repeated, in alternating order; intervals need 3
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1_000),
          help_heading = "How")]
    blocks: u32,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "Files are written in DIR and unlinked at once, so that nothing is left; a block device is only read. \
    Patterns have the names of fio; a preset is one or several access patterns of PostgreSQL.\n\n\
    Examples:\n  \
    pgdyno disk io /mnt/a --pattern randread --depth 8\n  \
    pgdyno disk io /mnt/a --saturate                    more reads in flight until the disk is saturated\n  \
    pgdyno disk io /mnt/a /mnt/b --preset articles --size 16GB -T 60s"
)]
struct Io {
    /// Directories or block devices, measured one after the other
    #[arg(value_name = "DIR|DEVICE", required = true, help_heading = "What")]
    paths: Vec<PathBuf>,
    /// Patterns of PostgreSQL
    #[arg(long, value_name = "NAME", value_parser = preset, help_heading = "What",
          conflicts_with_all = ["pattern", "block", "read_share", "sync_every", "one_each"])]
    preset: Option<IoPreset>,
    /// Order and direction of operations
    #[arg(long, value_name = "NAME", default_value = "randread", help_heading = "What")]
    pattern: Pattern,
    /// Size of an operation, 4kB to 1MB
    #[arg(long, value_name = "SIZE", default_value = "8kB", value_parser = bytes, help_heading = "What")]
    block: u64,
    /// Share of reads of `rw` and `randrw`, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0.5", help_heading = "What")]
    read_share: f64,
    /// Size of a file
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = "What")]
    size: Option<u64>,
    /// Call fdatasync after every N writes
    #[arg(long, value_name = "N", help_heading = "What")]
    sync_every: Option<u32>,
    /// Page cache: bypassed (O_DIRECT), used and empty at first, or used with the whole file in it
    #[arg(long, value_name = "CACHE", help_heading = "How")]
    cache: Option<Cache>,
    /// Operations in flight per job; with --saturate the maximum
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024), help_heading = "How")]
    depth: Option<u16>,
    /// Threads that each keep that many operations in flight; with --saturate the maximum
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256),
          help_heading = "How")]
    jobs: Option<u16>,
    /// One file per job instead of one for all
    #[arg(long, help_heading = "How")]
    one_each: bool,
    /// Increase the operations in flight until throughput no longer grows
    #[arg(long, help_heading = "How")]
    saturate: bool,
    /// Write the file twice before random writes: a fresh SSD is faster than a used one
    #[arg(long, help_heading = "How")]
    precondition: bool,
    /// Use the page cache where O_DIRECT is refused
    #[arg(long, help_heading = "How")]
    may_buffer: bool,
    /// CPUs of the jobs, such as 0-3
    #[arg(long, value_name = "LIST", value_parser = cpu_list, help_heading = "How")]
    cpus: Option<String>,
    /// Measured interval
    #[arg(long, short = 'T', value_name = "TIME", help_heading = "How")]
    duration: Option<Span>,
    /// Time before the measured interval
    #[arg(long, value_name = "TIME", default_value = "1s", help_heading = "How")]
    ramp: Span,
    /// Random seed
    #[arg(long, value_name = "N", default_value = "1", help_heading = "How")]
    seed: u64,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "Pages are read one after the other and in random order, from the disk and from the page cache, as a \
    backend reads them; random_page_cost follows for several shares of cached pages. A tablespace has its own: \
    ALTER TABLESPACE … SET (random_page_cost = …, effective_io_concurrency = …).\n\n\
    Example:\n  \
    pgdyno disk costs /var/lib/postgresql /mnt/tablespace"
)]
struct Costs {
    /// Directories or block devices, measured one after the other
    #[arg(value_name = "DIR|DEVICE", required = true, help_heading = "What")]
    paths: Vec<PathBuf>,
    /// Page size of the server
    #[arg(long, value_name = "SIZE", default_value = "8kB", value_parser = bytes, help_heading = "What")]
    block: u64,
    /// Size of the file: much larger than what is read at random in an interval
    #[arg(long, value_name = "SIZE", default_value = "1GB", value_parser = bytes, help_heading = "What")]
    size: u64,
    /// How often everything is measured, in alternating order; an interval needs 3
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=1_000),
          help_heading = "How")]
    blocks: u32,
    /// Each measured interval
    #[arg(long, short = 'T', value_name = "TIME", default_value = "2s", help_heading = "How")]
    duration: Span,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "With --all the kernel's clock source is changed for each measurement and put back after it, through \
    the journal of `pgdyno host apply`: as root, and not while another run is active. `pgdyno host undo` puts it back \
    after a kill."
)]
struct Clock {
    /// Every clock source of this host, the current one first, instead of the current one only (root only)
    #[arg(long, help_heading = "What")]
    all: bool,
    /// Duration of the loop of timer calls
    #[arg(long, short = 'T', value_name = "TIME", default_value = "3s", help_heading = "How")]
    duration: Span,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
struct Common {
    #[command(flatten)]
    record: RecordFlags,
    /// TOML file with the vendor's nominal figures, shown next to the measured ones
    #[arg(long, value_name = "FILE.toml", help_heading = "How", conflicts_with = "no_record")]
    declared: Option<PathBuf>,
    /// Print run.json instead of the result
    #[arg(long, help_heading = "How", conflicts_with = "no_record")]
    json: bool,
    /// Print help
    #[arg(long, short, action = ArgAction::Help)]
    help: Option<bool>,
}

/// Patterns by the names of fio's `--rw`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Pattern {
    Read,
    Write,
    Randread,
    Randwrite,
    Rw,
    Randrw,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Cache {
    Direct,
    Cold,
    Cached,
}

impl Cache {
    fn io_cache(self) -> IoCache {
        match self {
            Self::Direct => IoCache::Direct,
            Self::Cold => IoCache::Cold,
            Self::Cached => IoCache::Cached,
        }
    }
}

fn bytes(text: &str) -> Result<u64, String> {
    let bytes = amount::parse(text, 1).filter(|bytes| *bytes > 0);
    bytes.ok_or_else(|| "not a size such as 8kB or 16GB".to_owned())
}

fn preset(name: &str) -> Result<IoPreset, String> {
    let all = IoPreset::ALL.map(IoPreset::name);
    IoPreset::named(name).ok_or_else(|| format!("it is one of {}", all.join(", ")))
}

/// Runs `pgdyno disk`.
///
/// # Errors
/// The problem to print.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    let (tasks, common) = match &args.what {
        What::Delay(args) => return disk_delay::run(args),
        What::Sync(args) => (args.tasks(), &args.common),
        What::Io(args) => (args.tasks(), &args.common),
        What::Costs(args) => (args.tasks(), &args.common),
        What::Clock(args) => (args.tasks()?, &args.common),
    };
    let tasks: Vec<_> = tasks.into_iter().map(DiskTask::at_absolute_path).collect();
    let declared = common.declared.as_deref().map(file::declared).transpose()?.unwrap_or_default();
    disk_run::run(&tasks, declared.declared(), (common.json, &common.record), context)
}

impl Sync {
    fn tasks(&self) -> Vec<DiskTask> {
        let task = |dir: &PathBuf| {
            DiskTask::Sync(SyncRequest {
                block_bytes: self.block,
                test_duration: self.duration.as_duration(),
                blocks: self.blocks,
                writers: self.writers,
                file_states: self.states,
                ..SyncRequest::new(dir)
            })
        };
        self.dirs.iter().map(task).collect()
    }
}

impl Costs {
    fn tasks(&self) -> Vec<DiskTask> {
        let task = |path: &PathBuf| {
            DiskTask::Costs(CostsRequest {
                block_bytes: u32::try_from(self.block).unwrap_or(u32::MAX),
                file_bytes: self.size,
                blocks: self.blocks,
                duration: self.duration.as_duration(),
                ..CostsRequest::new(path)
            })
        };
        self.paths.iter().map(task).collect()
    }
}

impl Clock {
    fn tasks(&self) -> Result<Vec<DiskTask>, Problem> {
        let request = ClockRequest { duration: self.duration.as_duration() };
        match self.all {
            false => Ok(vec![DiskTask::Clock(request)]),
            true => disk::every_clock(&request),
        }
    }
}

impl Io {
    fn tasks(&self) -> Vec<DiskTask> {
        self.paths.iter().flat_map(|path| self.tasks_of(path)).collect()
    }

    fn tasks_of(&self, path: &Path) -> Vec<DiskTask> {
        let patterns = match self.preset {
            Some(preset) => preset.patterns(&io::queue_cpus(path)),
            None => vec![self.pattern()],
        };
        let task = |pattern: IoPattern| {
            let request = self.request(path, self.over(pattern));
            if self.saturate { DiskTask::Saturate(request) } else { DiskTask::Io(request) }
        };
        patterns.into_iter().map(task).collect()
    }

    /// The pattern of the flags.
    fn pattern(&self) -> IoPattern {
        let (name, order, read_share) = match self.pattern {
            Pattern::Read => ("sequential read", IoOrder::Sequential, 1.0),
            Pattern::Write => ("sequential write", IoOrder::Sequential, 0.0),
            Pattern::Randread => ("random read", IoOrder::Random, 1.0),
            Pattern::Randwrite => ("random write", IoOrder::Random, 0.0),
            Pattern::Rw => ("sequential read and write", IoOrder::Sequential, self.read_share),
            Pattern::Randrw => ("random read and write", IoOrder::Random, self.read_share),
        };
        let depth = if self.saturate { io::SATURATING_DEPTH } else { 1 };
        let block_bytes = u32::try_from(self.block).unwrap_or(u32::MAX);
        IoPattern {
            name: name.to_owned(),
            order,
            read_share,
            files: if self.one_each { IoFiles::OneEach } else { IoFiles::Shared },
            sync_after_writes: self.sync_every,
            ..IoPattern::random_read(block_bytes, depth, io::FILE_BYTES)
        }
    }

    /// A pattern with what the flags say otherwise.
    fn over(&self, pattern: IoPattern) -> IoPattern {
        let cpus = match &self.cpus {
            Some(list) => list.parse::<CpuList>().map_or_else(|_| Vec::new(), CpuList::into_vec),
            None => pattern.cpus,
        };
        IoPattern {
            file_bytes: self.size.unwrap_or(pattern.file_bytes),
            cache: self.cache.map_or(pattern.cache, Cache::io_cache),
            depth: self.depth.unwrap_or(pattern.depth),
            jobs: self.jobs.unwrap_or(pattern.jobs),
            cpus,
            ..pattern
        }
    }

    fn request(&self, path: &Path, pattern: IoPattern) -> IoRequest {
        let usual = IoRequest::new(path, pattern);
        let of_preset = self.preset.map(|preset| Duration::from_secs(preset.duration_s()));
        IoRequest {
            ramp: self.ramp.as_duration(),
            duration: self.duration.map(Span::as_duration).or(of_preset).unwrap_or(usual.duration),
            may_buffer: self.may_buffer,
            precondition: self.precondition,
            seed: self.seed,
            ..usual
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }

    /// Help shows the defaults as text; stages of plans take them from the requests.
    #[test]
    fn flags_and_stages_have_the_same_defaults() {
        let parsed =
            |what: &str| Command::try_parse_from(["disk", what, "dir"]).expect("they are flags").args.what;
        let What::Sync(sync) = parsed("sync") else { panic!() };
        assert_eq!(sync.tasks(), [DiskTask::Sync(SyncRequest::new("dir"))]);
        let What::Costs(costs) = parsed("costs") else { panic!() };
        assert_eq!(costs.tasks(), [DiskTask::Costs(CostsRequest::new("dir"))]);
        let What::Io(io) = parsed("io") else { panic!() };
        let read = IoPattern::random_read(8_192, 1, io::FILE_BYTES);
        assert_eq!(io.tasks(), [DiskTask::Io(IoRequest::new("dir", read))]);
        let clock = Command::try_parse_from(["disk", "clock"]).expect("they are flags").args.what;
        let What::Clock(clock) = clock else { panic!() };
        assert_eq!(clock.tasks().expect("it is possible"), [DiskTask::Clock(ClockRequest::default())]);
    }
}
