//! `pgdyno load`.

mod calibrate;
mod carry_out;
mod copy;
mod drop;
mod flags;
mod foretell;
mod outcome;
mod outlook;
mod scaleup;
mod times;
mod tpcb;
mod tpcc;
mod verify;

use std::process::ExitCode;

use clap::Subcommand;
use pgdyno_core::problem::Problem;

use crate::{context::Context, detach::Detachment};

/// Flags of `pgdyno load`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Load the TPC-B tables as `pgbench -i` does, by parallel streams; an interrupted load can be resumed
    Tpcb(Box<tpcb::Tpcb>),
    /// Load the tables test (a key, 32 digits, a time) and log (22 columns) of plans/version-scaleup.toml (same options
    /// as tpcb)
    Scaleup(Box<scaleup::Scaleup>),
    /// Load the TPC-C tables (same options as tpcb)
    Tpcc(Box<tpcc::Tpcc>),
    /// Compare loaded tables with what they must contain: counts and checksums of all columns
    Verify(verify::Verify),
    /// Copy loaded tables into schemas or databases, and verify the copies
    Copy(Box<copy::CopyArgs>),
    /// Drop the tables that a load made
    Drop(drop::DropArgs),
}

impl Args {
    /// What is to be detached.
    pub(super) fn detachment(&self) -> Option<Result<Detachment, Problem>> {
        match &self.what {
            What::Tpcb(args) => args.flags().detachment("load tpcb"),
            What::Scaleup(args) => args.flags().detachment("load scaleup"),
            What::Tpcc(args) => args.flags().detachment("load tpcc"),
            What::Copy(args) => args.detachment(),
            What::Verify(args) => args.detachment(),
            What::Drop(_) => None,
        }
    }
}

/// Runs `pgdyno load`.
///
/// # Errors
/// What the user should read.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    match &args.what {
        What::Tpcb(args) => args.run(context),
        What::Scaleup(args) => args.run(context),
        What::Tpcc(args) => args.run(context),
        What::Verify(args) => verify::run(args, context),
        What::Copy(args) => copy::run(args, context),
        What::Drop(args) => drop::run(args),
    }
}
