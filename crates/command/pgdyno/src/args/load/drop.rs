//! `pgdyno load drop`.

use std::process::ExitCode;

use clap::ArgAction;
use pgdyno_core::problem::Problem;
use pgdyno_postgres::load::BulkLoad;

use crate::{
    args::{recorded, target::Target},
    interrupt, output,
};

/// Flags of `pgdyno load drop`.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "Only tables that `pgdyno load` created are dropped: those whose names and OIDs it recorded in the \
    schema pgdyno_load. Without --yes nothing is changed.\n\n\
    Example:\n  \
    pgdyno load drop --server main --yes"
)]
pub struct DropArgs {
    #[command(flatten)]
    target: Target,
    /// Drop the tables
    #[arg(long, help_heading = "How")]
    yes: bool,
    /// Print help
    #[arg(long, action = ArgAction::Help, help_heading = "How")]
    help: Option<bool>,
}

/// Runs `pgdyno load drop`.
///
/// # Errors
/// What the user should read.
pub fn run(args: &DropArgs) -> Result<ExitCode, Problem> {
    let options = args.target.resolve("could not drop a load")?;
    let stop = interrupt::on_interrupt_saying("stopping; nothing is dropped", "exited immediately");
    let mut bulk = BulkLoad::new(&options, 1, &stop)?;
    let job = bulk.droppable()?;
    let what = format!("{} in schema {:?} of database {}", job.plan.title(), job.target, options.database);
    if args.yes {
        bulk.drop_tables(&job)?;
        output::print(&format!("dropped {what}\n"))?;
    } else {
        let command = recorded::of_process();
        output::print(&format!("{what}: `{command} --yes` drops it; nothing was changed\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
