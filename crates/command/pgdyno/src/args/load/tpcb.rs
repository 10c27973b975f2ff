//! `pgdyno load tpcb`.

use std::process::ExitCode;

use pgdyno_core::problem::Problem;
use pgdyno_rows::load::{LoadRequest, Set};

use super::{carry_out::load, flags::Flags};
use crate::context::Context;

/// Flags of `pgdyno load tpcb`.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "Tables go into the first schema of the search path, in which they must not exist. Progress is \
    recorded in the schema pgdyno_load of the database: after a kill, a lost connection or a restart of the server, \
    --resume continues. Other processes, also on other hosts, share a load by --join. docs/loading.md says how it \
    works.\n\n\
    Examples:\n  \
    pgdyno load tpcb --server main --scale 100 --dry-run\n  \
    pgdyno load tpcb --server main --scale 1000 --partitions 16 --jobs 8\n  \
    pgdyno load tpcb --dsn 'host=db user=me dbname=big' --resume"
)]
pub struct Tpcb {
    /// Scale factor: 100,000 accounts each
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000),
          required_unless_present_any = ["resume", "join"], help_heading = "What")]
    scale: Option<u64>,
    #[command(flatten)]
    flags: Flags,
}

impl Tpcb {
    /// The flags that all loads have.
    pub(super) fn flags(&self) -> &Flags {
        &self.flags
    }

    /// Runs `pgdyno load tpcb`.
    ///
    /// # Errors
    /// What the user should read.
    pub fn run(&self, context: &Context) -> Result<ExitCode, Problem> {
        let request = LoadRequest { scale: self.scale, ..self.flags.request(Set::Tpcb) };
        load(&self.flags, &request, context)
    }
}
