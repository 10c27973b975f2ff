//! `pgdyno prewarm`.

use std::process::ExitCode;

use clap::ArgAction;
use pgdyno_core::{
    probe::{Prewarm, json},
    problem::Problem,
};
use pgdyno_postgres::probe::{self, PrewarmProgress, PrewarmRequest};

use super::target::{Target, processors};
use crate::{context::Context, exit::Exit, interrupt, output, progress::Progress};

/// Share of all pages that must be in shared buffers: a read by queries leaves out the inner pages of indexes, which
/// are less than 1 % of an index.
const THERE: f64 = 0.99;

/// Flags of `pgdyno prewarm`.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "Reads tables with their partitions, indexes and TOAST into shared buffers: by the extension \
    pg_prewarm where the database has it, else by queries. Then it looks what is there: by pg_buffercache, or by a \
    second read. Exit status 1 means that pages are missing. docs/probes.md says more.\n\n\
    Examples:\n  \
    pgdyno prewarm --server main\n  \
    pgdyno prewarm --dsn 'host=db user=me dbname=big' --create-extension pgbench_accounts"
)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Tables, as SQL names them [default: all of the database]
    #[arg(value_name = "TABLE", help_heading = "What")]
    tables: Vec<String>,
    /// Read tables that are larger than shared buffers, too: what is read last stays
    #[arg(long, help_heading = "How")]
    anyway: bool,
    /// Create pg_prewarm and pg_buffercache in the database where they are not there
    #[arg(long, help_heading = "How")]
    create_extension: bool,
    /// Sessions that read at the same time [default: the processors of this machine, 8 at most]
    #[arg(short, long, value_name = "J", value_parser = clap::value_parser!(u64).range(1..=1000), help_heading = "How")]
    jobs: Option<u64>,
    /// As JSON (schemas/prewarm.schema.json)
    #[arg(long, help_heading = "How")]
    json: bool,
    /// Print help
    #[arg(long, action = ArgAction::Help, help_heading = "How")]
    help: Option<bool>,
}

/// Runs `pgdyno prewarm`.
///
/// # Errors
/// What the user should read.
pub fn run(args: &Args, _context: &Context) -> Result<ExitCode, Problem> {
    let options = args.target.resolve("could not read tables into shared buffers")?;
    let stop = interrupt::on_interrupt_saying("stopping", "ended at once");
    let wish = PrewarmRequest {
        tables: args.tables.clone(),
        create_extension: args.create_extension,
        anyway: args.anyway,
        jobs: args.jobs.unwrap_or_else(|| processors().min(8)),
    };
    let progress = Progress::new();
    let warmed = probe::prewarm(&options, &wish, &stop, &mut |at| match at {
        PrewarmProgress::Reading(pages) => progress.counted("reading", pages, "pages"),
        PrewarmProgress::Pages(pages) => progress.at(pages),
        PrewarmProgress::Looking => progress.stage("looking what is there"),
    });
    progress.finish();
    let warmed = warmed?;
    let text = if args.json { json(&warmed) } else { pgdyno_report::prewarm(&warmed) };
    output::print(&text)?;
    Ok(Exit::of_check(is_there(&warmed, args.anyway)).into())
}

/// Whether all was read and is there, as far as that can be seen; `anyway` is content with what fits.
fn is_there(warmed: &Prewarm, anyway: bool) -> bool {
    let missing = warmed.relations.iter().any(|relation| relation.share.is_some_and(|share| share < THERE));
    let unread = warmed.relations.iter().any(|relation| relation.not_read.is_some());
    !unread && (anyway || !missing)
}
