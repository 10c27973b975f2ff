//! `pgdyno tpcc`.

mod check;
mod export;
mod in_order;
mod run;

use std::process::ExitCode;

use clap::Subcommand;
use pgdyno_core::problem::Problem;

use crate::{context::Context, detach::Detachment, measure::Task};

/// Flags of `pgdyno tpcc`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Run the five transactions, and analyse the results
    Run(Box<run::Run>),
    /// Check consistency: the twelve conditions of the specification, and five more
    Check(check::Check),
    /// Write the nine tables as CSV files, as BenchmarkSQL does
    Export(export::Export),
}

impl Args {
    /// Task of `tpcc run`; `None` for the other sub-commands.
    ///
    /// # Errors
    /// The flags are invalid, or contradict each other.
    pub(super) fn task(&self) -> Option<Result<Task, Problem>> {
        match &self.what {
            What::Run(run) => Some(run.task()),
            What::Check(_) | What::Export(_) => None,
        }
    }

    /// What is to be detached.
    pub(super) fn detachment(&self) -> Option<Result<Detachment, Problem>> {
        match &self.what {
            What::Run(run) => run.detachment(),
            What::Check(_) | What::Export(_) => None,
        }
    }
}

/// Runs `pgdyno tpcc`.
///
/// # Errors
/// The problem to print.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    match &args.what {
        What::Export(export) => export.run(),
        What::Run(run) => run.run(context),
        What::Check(check) => check.run(),
    }
}
