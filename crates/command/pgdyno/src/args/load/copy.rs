//! `pgdyno load copy`.

use std::process::ExitCode;

use clap::{ArgAction, ValueEnum};
use pgdyno_core::{problem::Problem, stop::Stop, units};
use pgdyno_lab::{
    Events,
    operation::{self, CopiesAhead, On, OperationJob, UnderWay},
    records,
};
use pgdyno_postgres::load::{
    BulkLoad, BulkProgress, Copied, CopyStrategy, Job, copy_by_dump, copy_database, copy_schema,
};
use pgdyno_record::Found;
use pgdyno_wire::ConnectOptions;

use super::{carry_out::stopping, flags::To};
use crate::{
    args::{detach::Detach, recorded},
    context::Context,
    detach::Detachment,
    exit::Exit,
    operate,
    progress::Progress,
};

/// Flags of `pgdyno load copy`.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    mut_arg("no_record", |flag| flag.conflicts_with("detach")),
    after_help = "Copies what `pgdyno load tpcb`, `tpcc` or `scaleup` loaded: into schemas of the same database, by \
    INSERT … SELECT, keys \
    afterwards, or into databases, by CREATE DATABASE … TEMPLATE, while nobody is connected to the source, or by \
    --by dump, as pg_dump and pg_restore do, without an intermediate file. Copies are named PREFIX_1 to PREFIX_N and \
    must not exist, except with --resume, which continues interrupted copies. Each is verified as after a load. \
    docs/loading.md says how it works.\n\n\
    Examples:\n  \
    pgdyno load copy --server main --into-schemas 4\n  \
    pgdyno load copy --server main -d big --into-databases 4 --jobs 2\n  \
    pgdyno load copy --server main -d big --into-databases 4 --by dump --prefix test --rename-schema"
)]
pub struct CopyArgs {
    #[command(flatten)]
    to: To,
    /// Number of schemas
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000),
          required_unless_present = "into_databases", conflicts_with = "into_databases", help_heading = "What")]
    into_schemas: Option<u64>,
    /// Number of databases
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000), help_heading = "What")]
    into_databases: Option<u64>,
    /// How the names of the copies begin [default: the name of the source]
    #[arg(long, value_name = "NAME", help_heading = "What")]
    prefix: Option<String>,
    /// How databases are copied
    #[arg(
        long,
        value_name = "HOW",
        value_enum,
        default_value_t,
        conflicts_with = "into_schemas",
        help_heading = "How"
    )]
    by: By,
    /// Name the schema of each copy like its database; needs --by dump
    #[arg(long, conflicts_with = "into_schemas", help_heading = "What")]
    rename_schema: bool,
    /// How the server copies a database, from PostgreSQL 15 on [default: file-copy]
    #[arg(long, value_name = "WAY", conflicts_with = "into_schemas", help_heading = "How")]
    strategy: Option<How>,
    /// Continue interrupted copies; complete ones stay
    #[arg(long, help_heading = "How")]
    resume: bool,
    #[command(flatten, next_help_heading = "How")]
    detach: Detach,
    /// Print help
    #[arg(long, action = ArgAction::Help, help_heading = "How")]
    help: Option<bool>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum By {
    /// CREATE DATABASE … TEMPLATE: everything in the database; nobody may be connected to it
    #[default]
    Template,
    /// As pg_dump and pg_restore: the load's tables, rows by COPY, then keys; others may be connected
    Dump,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum How {
    /// Whole files, between two checkpoints
    FileCopy,
    /// Page by page, all of them WAL-logged
    WalLog,
}

impl How {
    fn strategy(self) -> CopyStrategy {
        match self {
            Self::FileCopy => CopyStrategy::FileCopy,
            Self::WalLog => CopyStrategy::WalLog,
        }
    }
}

/// Runs `pgdyno load copy`.
///
/// # Errors
/// What the user should read.
pub fn run(args: &CopyArgs, context: &Context) -> Result<ExitCode, Problem> {
    args.check()?;
    let options = args.to.resolve("could not copy a load")?;
    let (stop, progress) = (stopping(), Progress::new());
    let source = BulkLoad::new(&options, args.to.streams(), &stop)?.loaded()?;
    let job = OperationJob {
        name: "copy",
        description: format!("Copies {}", source.plan.title()),
        command: recorded::of_process(),
        on: On::Server(&options),
        connections: args.to.streams(),
        copies: args.into_databases.map_or_else(Vec::new, |count| args.names(&options.database, count)),
    };
    let mut operations = operate::begin(&job, &args.to.record, context, &stop, &progress)?;
    operations.of_tables(source.plan.scale, source.plan.seed);
    let copied = operations.run("copy", |under_way| {
        let copied = args.copies(&options, &source, &stop, under_way)?;
        let passed = verified(&copied);
        let found = Found::Copies(records::copies(source.plan.set, &copied));
        Ok((copied, found, Some(passed)))
    });
    progress.finish();
    operate::end(operations, copied, (false, &args.to.record), |copied| {
        // What was not verified comes last, where it is read.
        let (passed, failed): (Vec<_>, Vec<_>) = copied.iter().partition(|copy| is_verified(copy));
        let text = passed.into_iter().chain(failed).map(in_words).collect();
        (Some(text), Exit::of_check(verified(&copied)).into())
    })
}

fn verified(copied: &[Copied]) -> bool {
    copied.iter().all(is_verified)
}

fn is_verified(copy: &Copied) -> bool {
    copy.proof.iter().all(|proof| proof.faults().is_empty())
}

impl CopyArgs {
    /// What is to be detached.
    pub(super) fn detachment(&self) -> Option<Result<Detachment, Problem>> {
        self.detach.detachment("load copy", || {
            self.check()?;
            self.to.resolve("could not copy a load").map(|options| vec![options])
        })
    }

    /// Refuses flags of the other way of copying.
    fn check(&self) -> Result<(), Problem> {
        let (what, hint) = match self.by {
            By::Template if self.rename_schema => (
                "a copy of a whole database keeps the names of its schemas",
                "add --by dump, or leave --rename-schema out",
            ),
            By::Dump if self.strategy.is_some() => {
                ("only CREATE DATABASE … TEMPLATE has a strategy", "leave --strategy or --by dump out")
            }
            _ => return Ok(()),
        };
        Err(Problem::wrong_request(format!("could not copy a load: {what}")).hint(hint))
    }

    fn copies(
        &self,
        options: &ConnectOptions,
        job: &Job,
        stop: &Stop,
        under_way: &mut UnderWay<'_>,
    ) -> Result<Vec<Copied>, Problem> {
        let streams = self.to.streams();
        let count = self.into_databases.or(self.into_schemas).unwrap_or(1);
        let mut ahead = CopiesAhead::new(count, self.resume);
        let Some(count) = self.into_databases else {
            let names = self.names(&job.target, self.into_schemas.unwrap_or(1));
            let rows = job.plan.rows_total();
            let show = &mut |at| report(under_way.begun(), rows, &mut ahead, &at);
            return copy_schema(options, job, &names, streams, self.resume, stop, show);
        };
        let names = self.names(&options.database, count);
        if self.by == By::Dump {
            let (how, rows) = ((self.rename_schema, self.resume), job.plan.rows_total());
            let show = &mut |at| report(under_way.begun(), rows, &mut ahead, &at);
            return copy_by_dump(options, job, &names, how, streams, stop, show);
        }
        let how = (self.strategy.map(How::strategy), self.resume);
        copy_database(options, job, &names, how, streams, stop, &mut |what| under_way.begun().doing(what))
    }

    fn names(&self, source: &str, count: u64) -> Vec<String> {
        let prefix = self.prefix.as_deref().unwrap_or(source);
        (1..=count).map(|number| format!("{prefix}_{number}")).collect()
    }
}

/// Reports how far a copy is, and how long it and the others may take.
fn report(events: &Events, rows: u64, ahead: &mut CopiesAhead, at: &BulkProgress) {
    operation::send(events, rows, at);
    ahead.learn(at, events);
}

/// How long a copy took, and the bytes of tables and indexes per second.
fn pace(copy: &Copied) -> String {
    let Some(seconds) = copy.duration_s else { return String::new() };
    let size = copy.size_bytes.map(|bytes| format!(": {}", units::bytes(bytes))).unwrap_or_default();
    let rate = copy.bytes_per_s().map(|bytes| format!(", {}/s", units::bytes(bytes))).unwrap_or_default();
    format!(" (copied in {}{size}{rate})", units::duration(seconds))
}

fn in_words(copy: &Copied) -> String {
    let Some(proof) = &copy.proof else { return format!("{}: copied and verified before\n", copy.name) };
    let rows = units::plural(proof.tables.iter().map(|table| table.found.rows).sum(), "row");
    let faults = proof.faults();
    let mut text: String = faults.iter().map(|fault| format!("  ! {fault}\n")).collect();
    text += &match faults.len() {
        0 => {
            let what = "counts, checksums, keys and storage are as expected";
            format!("{}: verified: {rows}, {what}{}\n", copy.name, pace(copy))
        }
        n => format!(
            "{}: not verified: {}; was the source written to since it was loaded? `pgdyno load verify` shows it\n",
            copy.name,
            units::plural(n as u64, "difference")
        ),
    };
    text
}
