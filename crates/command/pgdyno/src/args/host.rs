//! `pgdyno host`.

use std::process::ExitCode;

use clap::Subcommand;
use pgdyno_core::problem::Problem;
use pgdyno_rules::Check;

use super::{
    host_change, host_layout,
    host_of::{Of, PurposeName, kept},
};
use crate::{context::Context, exit::Exit, output};

/// Flags of `pgdyno host`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show what this host is: processors, memory, kernel, storage, network, limits
    Facts(FactsArgs),
    /// Judge a host for PostgreSQL: each setting with its reason, computed from the facts
    Check(CheckArgs),
    /// Print what would change this host as recommended, as a script or as files
    Plan(host_change::PlanArgs),
    /// Change this host as planned (root only), after a journal is written that `undo` puts back
    Apply(host_change::ApplyArgs),
    /// Put back what `apply` changed
    Undo(host_change::UndoArgs),
    /// Show what `apply` changed, and the current values
    Status,
    /// Derive partitions, volumes, file systems and mount options, and print a script that makes them
    Layout(Box<host_layout::Args>),
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Reads /proc, /sys and /etc, and calls ethtool and zfs where they are installed, without any \
    privilege, and changes nothing. What cannot be read is absent.\n\n\
    Examples:\n  \
    pgdyno host facts --for main                 with the storage below the data directory of `pgdyno up`\n  \
    pgdyno host facts --json > a.json            on one host\n  \
    pgdyno host facts --diff a.json b.json       two hosts, or one before and after"
)]
struct FactsArgs {
    #[command(flatten)]
    of: Of,
    /// Compare two hosts: files of `host facts --json`, or recorded runs
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with_all = ["of", "server"])]
    diff: Option<Vec<String>>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Changes nothing. Exit status 1: something dangerous was found.\n\n\
    Examples:\n  \
    pgdyno host check --for /var/lib/postgresql/18/main\n  \
    pgdyno host check last                       the host of a recorded run\n  \
    pgdyno explain vm.swappiness")]
struct CheckArgs {
    #[command(flatten)]
    of: Of,
    /// What the server is for
    #[arg(long, value_name = "PURPOSE", default_value = "oltp")]
    purpose: PurposeName,
    /// Also list what is fine and what could not be read
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "all")]
    json: bool,
}

/// Runs `pgdyno host`.
///
/// # Errors
/// The problem to print.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    match &args.what {
        What::Facts(args) => facts(args, context),
        What::Check(args) => check(args, context),
        What::Plan(args) => host_change::plan(args),
        What::Apply(args) => host_change::apply(args),
        What::Undo(args) => host_change::undo(args),
        What::Status => host_change::status(),
        What::Layout(args) => host_layout::run(args),
    }
}

fn facts(args: &FactsArgs, context: &Context) -> Result<ExitCode, Problem> {
    if let Some([a, b]) = args.diff.as_deref() {
        let (one, other) = (kept(a, context)?, kept(b, context)?);
        output::print(&match args.json {
            true => output::json(&pgdyno_core::host::differences(&one, &other)),
            false => pgdyno_document::text(&pgdyno_report::host_differences(&one, &other), output::paint()),
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let host = args.of.inventory(context)?;
    output::print(&match args.json {
        true => output::json(&host),
        false => pgdyno_document::text(&pgdyno_report::host_facts(&host), output::paint()),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn check(args: &CheckArgs, context: &Context) -> Result<ExitCode, Problem> {
    let mut host = args.of.inventory(context)?;
    if args.of.is_here() {
        pgdyno_host::facts::wait_for_blocked(&mut host);
    }
    let check = Check::of(&host, args.purpose.into());
    output::print(&if args.json {
        output::json(&check)
    } else {
        pgdyno_report::host_check(&check, args.all)
    })?;
    let dangerous = check.count(pgdyno_rules::Standing::Dangerous) > 0;
    Ok(Exit::of_check(!dangerous).into())
}
