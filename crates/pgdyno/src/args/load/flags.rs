//! The flags that all loads have.

use clap::{ArgAction, ValueEnum};
use pgdyno_core::problem::Problem;
use pgdyno_postgres::load::Entry;
use pgdyno_rows::load::{LoadRequest, Set, Stage};
use pgdyno_wire::ConnectOptions;

use crate::{
    args::{
        detach::Detach,
        target::{Target, processors},
    },
    detached::launch::Detachment,
    operate::RecordFlags,
};

/// What all loads can be told.
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
    /// End when this is done; --resume goes on, such as with keys that are to be built later
    #[arg(long, value_name = "WHAT", conflicts_with = "dry_run", help_heading = "How")]
    until: Option<Until>,
    /// Leave the comparison of all rows at the end to `load verify`
    #[arg(long, help_heading = "How")]
    pub(super) no_verify: bool,
    /// Go on with a load that broke off
    #[arg(long, conflicts_with_all = ["join", "dry_run"], help_heading = "How")]
    resume: bool,
    /// Share a load that is under way
    #[arg(long, conflicts_with = "dry_run", help_heading = "How")]
    join: bool,
    #[command(flatten, next_help_heading = "How")]
    detach: Detach,
    /// Say what would be done, what it takes and whether there is room, and end
    #[arg(long, conflicts_with = "detach", help_heading = "How")]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) record: RecordFlags,
    /// Print run.json instead of the result
    #[arg(long, conflicts_with_all = ["no_record", "dry_run", "detach"], help_heading = "How")]
    pub(super) json: bool,
    /// Print help
    #[arg(long, action = ArgAction::Help, help_heading = "How")]
    help: Option<bool>,
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
