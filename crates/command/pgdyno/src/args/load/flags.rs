//! The flags that all loads have.

use clap::{ArgAction, ValueEnum};
use pgdyno_core::{facts::amount, problem::Problem};
use pgdyno_postgres::load::{Entry, ImaginedServer};
use pgdyno_rows::load::{LoadRequest, Set, Stage};
use pgdyno_wire::ConnectOptions;

use crate::{
    args::{
        detach::Detach,
        target::{Target, processors},
    },
    detach::Detachment,
    operate::RecordFlags,
};

/// Flags of all loads.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(
    mut_arg("load_method", |flag| flag.long("method").help_heading("How").help(METHOD)),
    mut_arg("no_record", |flag| flag.conflicts_with("detach")),
    mut_arg("load_jobs", |flag| flag.short('j').long("jobs").help_heading("How").help(JOBS)),
)]
pub(super) struct Flags {
    #[command(flatten)]
    target: Target,
    #[command(flatten, next_help_heading = "What")]
    load: LoadRequest,
    /// Stop when this is done; --resume continues, for example with keys that are built later
    #[arg(long, value_name = "WHAT", conflicts_with = "dry_run", help_heading = "How")]
    until: Option<Until>,
    /// Leave the comparison of all rows at the end to `load verify`
    #[arg(long, help_heading = "How")]
    pub(super) no_verify: bool,
    /// Resume an interrupted load
    #[arg(long, conflicts_with_all = ["join", "dry_run"], help_heading = "How")]
    resume: bool,
    /// Join a load that is running
    #[arg(long, conflicts_with = "dry_run", help_heading = "How")]
    join: bool,
    #[command(flatten, next_help_heading = "How")]
    detach: Detach,
    /// Print what would be done, the time and space it needs and whether there is room, and stop
    #[arg(long, conflicts_with = "detach", help_heading = "How")]
    pub(super) dry_run: bool,
    /// Measure a small load of this kind in a schema of its own, on the named server or a temporary one, keep the time
    /// of every stage, and say what would be done, as --dry-run does
    #[arg(long, help_heading = "How",
          conflicts_with_all = ["dry_run", "until", "resume", "join", "detach", "json", "full"])]
    pub(super) calibrate: bool,
    #[command(flatten)]
    assumed: Assumed,
    #[command(flatten)]
    pub(super) record: RecordFlags,
    /// Print run.json instead of the result
    #[arg(long, conflicts_with_all = ["no_record", "dry_run", "detach"], help_heading = "How")]
    pub(super) json: bool,
    /// Print help
    #[arg(long, action = ArgAction::Help, help_heading = "How")]
    help: Option<bool>,
}

/// What is known without asking the server.
#[derive(Debug, clap::Args)]
#[group(skip)]
struct Assumed {
    /// With --dry-run: ask no server; assume one of this version, such as 18 or 9.6, with default settings. With
    /// --calibrate: start a temporary one of this version
    #[arg(long, value_name = "VERSION", value_parser = server_version,
          conflicts_with_all = ["server", "host", "port", "username", "dbname"], help_heading = "How")]
    server_version: Option<(String, u32)>,
    /// Page size of that server [default: 8kB]
    #[arg(long, value_name = "SIZE", value_parser = block_size, requires = "server_version",
          conflicts_with = "calibrate", help_heading = "How")]
    block_size: Option<u64>,
    /// Free space for everything on the server's machine, such as 2TB; used instead of what file systems report
    #[arg(long, value_name = "SIZE", value_parser = room, help_heading = "How")]
    room: Option<u64>,
}

/// `server_version` and `server_version_num` of a version: 18, 18.2, 9.6.
fn server_version(text: &str) -> Result<(String, u32), String> {
    let wrong = || "not a version of PostgreSQL from 9.5 on, such as 18 or 9.6".to_owned();
    let mut numbers = text.split('.').map(str::parse::<u32>);
    let mut number = || numbers.next().transpose().map_err(|_| wrong());
    let (major, minor, patch) = (number()?.ok_or_else(wrong)?, number()?, number()?);
    let version_num = match (major, minor, patch) {
        (9, Some(minor @ 5..=6), patch) => 90_000 + minor * 100 + patch.unwrap_or(0).min(99),
        (10..=99, minor, None) => major * 10_000 + minor.unwrap_or(0).min(99),
        _ => return Err(wrong()),
    };
    if numbers.next().is_some() { Err(wrong()) } else { Ok((text.to_owned(), version_num)) }
}

/// Bytes of a page of a server, `--with-blocksize` of its build.
fn block_size(text: &str) -> Result<u64, String> {
    let bytes = amount::parse(text, 1).filter(|bytes| bytes.is_power_of_two());
    let bytes = bytes.filter(|bytes| (amount::KB..=32 * amount::KB).contains(bytes));
    bytes.ok_or_else(|| "not one of 1kB, 2kB, 4kB, 8kB, 16kB, 32kB".to_owned())
}

fn room(text: &str) -> Result<u64, String> {
    let bytes = amount::parse(text, 1).filter(|bytes| *bytes > 0);
    bytes.ok_or_else(|| "not a size such as 500GB or 2TB".to_owned())
}

/// Where to.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct To {
    #[command(flatten)]
    target: Target,
    /// Streams: connections that work at the same time [default: the CPUs of this machine, 64 at most]
    #[arg(short, long, value_name = "J", value_parser = clap::value_parser!(u64).range(1..=1000), help_heading = "How")]
    jobs: Option<u64>,
    #[command(flatten)]
    pub(super) record: RecordFlags,
}

const METHOD: &str = "How rows are written: by one COPY for a table, by COPY in chunks, or by the server \
                      [default: what takes less]";
const JOBS: &str =
    "Streams: connections that work at the same time [default: the CPUs of this machine, 64 at most]";

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Until {
    /// Tables with all rows
    Rows,
    /// VACUUM and ANALYZE
    Vacuum,
    /// Primary keys and other indexes
    Keys,
}

impl To {
    pub(super) fn resolve(&self, what: &str) -> Result<ConnectOptions, Problem> {
        self.target.resolve(what)
    }

    pub(super) fn streams(&self) -> u64 {
        streams(self.jobs)
    }
}

fn streams(requested: Option<u64>) -> u64 {
    requested.unwrap_or_else(|| processors().min(64))
}

impl Flags {
    /// The server that is assumed without asking one.
    pub(super) fn imagined(&self) -> Option<ImaginedServer> {
        let (version, version_num) = self.assumed.server_version.clone()?;
        let page_bytes = self.assumed.block_size.unwrap_or(amount::BLOCK);
        Some(ImaginedServer { version, version_num, page_bytes })
    }

    /// Free bytes of the server's machine, if the user says how many there are.
    pub(super) fn room_bytes(&self) -> Option<u64> {
        self.assumed.room
    }

    /// Checks what belongs together.
    ///
    /// # Errors
    /// A version of a server is given, and none is assumed or started.
    pub(super) fn check(&self) -> Result<(), Problem> {
        if self.assumed.server_version.is_none() || self.dry_run || self.calibrate {
            return Ok(());
        }
        let problem =
            Problem::wrong_request("could not use --server-version: no server is assumed or started");
        Err(problem.hint("add --dry-run or --calibrate, or name a server that runs with --server"))
    }

    /// The version of a server that is assumed or started.
    pub(super) fn server_version(&self) -> Option<&str> {
        self.assumed.server_version.as_ref().map(|(version, _)| version.as_str())
    }

    /// Whether a server is named.
    pub(super) fn names_server(&self) -> bool {
        self.target.is_named()
    }

    pub(super) fn resolve(&self) -> Result<ConnectOptions, Problem> {
        self.target.resolve("could not load")
    }

    pub(super) fn streams(&self) -> u64 {
        streams(self.load.jobs)
    }

    pub(super) fn request(&self, set: Set) -> LoadRequest {
        LoadRequest { set, ..self.load.clone() }
    }

    /// What is to be detached.
    pub(super) fn detachment(&self, kind: &'static str) -> Option<Result<Detachment, Problem>> {
        self.detach.detachment(kind, || self.resolve().map(|options| vec![options]))
    }

    /// The last stage that is wanted.
    pub(super) fn until(&self) -> Stage {
        match self.until {
            Some(Until::Rows) => Stage::Copy,
            Some(Until::Vacuum) => Stage::Analyze,
            Some(Until::Keys) => Stage::ParentKey,
            None => Stage::ForeignKeys,
        }
    }

    pub(super) fn entry(&self) -> Entry {
        match (self.resume, self.join) {
            (true, _) => Entry::Resume,
            (_, true) => Entry::Join,
            _ => Entry::New,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbered_as_the_server_does() {
        let number = |text: &str| server_version(text).map(|(_, number)| number).ok();
        assert_eq!(["18", "18.2", "9.6", "9.5.25"].map(number), [180_000, 180_002, 90_600, 90_525].map(Some));
        for wrong in ["9", "9.4", "8.4", "18.1.2", "9.6.1.1", "18beta1", "", "18."] {
            assert_eq!(number(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn pages_have_the_sizes_that_servers_are_built_with() {
        assert_eq!((block_size("32kB"), block_size("8192B")), (Ok(32_768), Ok(8_192)));
        for wrong in ["64kB", "3kB", "0", "8KB", "512B"] {
            assert!(block_size(wrong).is_err(), "{wrong}");
        }
        assert!(room("2TB") == Ok(2 << 40) && room("0").is_err() && room("lots").is_err());
    }
}
