//! `pgdyno load copy`.

use std::process::ExitCode;

use clap::{ArgAction, ValueEnum};
use pgdyno_core::{problem::Problem, stop::Stop, units};
use pgdyno_postgres::load::{BulkLoad, Copied, CopyStrategy, copy_database, copy_schema};
use pgdyno_wire::ConnectOptions;

use super::{
    carry_out::{show, stopping},
    flags::To,
};
use crate::{exit::Exit, output, progress::Progress};

/// Flags of `pgdyno load copy`.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "Copies what `pgdyno load tpcb`, `tpcc` or `scaleup` loaded: into schemas of the same database, by \
    INSERT … SELECT, keys \
    afterwards, or into databases, by CREATE DATABASE … TEMPLATE, while nobody is connected to the source. Copies \
    are named PREFIX_1 to PREFIX_N and must not exist, but with --resume, which goes on with copies that broke off. \
    Each is verified as after a load. docs/loading.md says how it works.\n\n\
    Examples:\n  \
    pgdyno load copy --server main --into-schemas 4\n  \
    pgdyno load copy --server main -d big --into-databases 4 --jobs 2"
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
    /// How the server copies a database, from PostgreSQL 15 on [default: file-copy]
    #[arg(long, value_name = "WAY", conflicts_with = "into_schemas", help_heading = "How")]
    strategy: Option<How>,
    /// Go on with copies that broke off; those that are whole stay
    #[arg(long, help_heading = "How")]
    resume: bool,
    /// Print help
    #[arg(long, action = ArgAction::Help, help_heading = "How")]
    help: Option<bool>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum How {
    /// Whole files, between two checkpoints
    FileCopy,
    /// Page by page, all of them logged
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
pub fn run(args: &CopyArgs) -> Result<ExitCode, Problem> {
    let options = args.to.resolve("could not copy a load")?;
    let stop = stopping();
    let progress = Progress::new();
    let copied = args.copies(&options, &stop, &progress);
    progress.finish();
    let copied = copied?;
    output::print(&copied.iter().map(told).collect::<String>())?;
    let verified = copied.iter().all(|copy| copy.proof.iter().all(|proof| proof.faults().is_empty()));
    Ok(Exit::of_check(verified).into())
}

impl CopyArgs {
    fn copies(
        &self,
        options: &ConnectOptions,
        stop: &Stop,
        progress: &Progress,
    ) -> Result<Vec<Copied>, Problem> {
        let streams = self.to.streams();
        let job = BulkLoad::new(options, streams, stop)?.loaded()?;
        let Some(count) = self.into_databases else {
            let names = self.names(&job.target, self.into_schemas.unwrap_or(1));
            let rows = job.plan.rows_total();
            let show = &mut |at| show(progress, rows, at);
            return copy_schema(options, &job, &names, streams, self.resume, stop, show);
        };
        let names = self.names(&options.database, count);
        let how = (self.strategy.map(How::strategy), self.resume);
        copy_database(options, &job, &names, how, streams, stop, &mut |what| progress.stage(what))
    }

    fn names(&self, source: &str, count: u64) -> Vec<String> {
        let prefix = self.prefix.as_deref().unwrap_or(source);
        (1..=count).map(|number| format!("{prefix}_{number}")).collect()
    }
}

fn told(copy: &Copied) -> String {
    let Some(proof) = &copy.proof else { return format!("{}: copied and verified before\n", copy.name) };
    let rows = units::plural(proof.tables.iter().map(|table| table.found.rows).sum(), "row");
    let faults = proof.faults();
    let mut text: String = faults.iter().map(|fault| format!("  ! {fault}\n")).collect();
    text += &match faults.len() {
        0 => {
            format!("{}: verified: {rows}, counts, checksums, keys and storage are as expected\n", copy.name)
        }
        n => format!(
            "{}: not verified: {}; was the source written to since it was loaded? `pgdyno load verify` tells\n",
            copy.name,
            units::plural(n as u64, "difference")
        ),
    };
    text
}
