//! `pgdyno tpcc`.

mod check;
mod export;
mod in_order;
mod run;

use std::process::ExitCode;

use clap::Subcommand;
use pgdyno_core::problem::Problem;

use crate::{context::Context, measure::Task};

/// Flags of `pgdyno tpcc`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Drive the five transactions, and judge what came of it
    Run(Box<run::Run>),
    /// Look whether the tables are consistent: the twelve conditions of the specification, and more
    Check(check::Check),
    /// Write the nine tables as the CSV files that BenchmarkSQL writes and copies
    Export(export::Export),
}

impl Args {
    /// The task of `tpcc run`; `None` of the others.
    ///
    /// # Errors
    /// What of the flags cannot be.
    pub(super) fn task(&self) -> Option<Result<Task, Problem>> {
        match &self.what {
            What::Run(run) => Some(run.task()),
            What::Check(_) | What::Export(_) => None,
        }
    }
}

/// Runs `pgdyno tpcc`.
///
/// # Errors
/// What the user should read.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    match &args.what {
        What::Export(export) => export.run(),
        What::Run(run) => run.run(context),
        What::Check(check) => check.run(),
    }
}
