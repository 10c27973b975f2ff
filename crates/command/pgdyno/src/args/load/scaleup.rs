//! `pgdyno load scaleup`.

use std::process::ExitCode;

use pgdyno_core::problem::Problem;
use pgdyno_rows::load::{LoadRequest, Set};

use super::{carry_out::load, flags::Flags};
use crate::context::Context;

/// Flags of `pgdyno load scaleup`.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    mut_arg("foreign_keys", |flag| flag.hide(true)),
    after_help = "The tables of the article \"PostgreSQL 9.6 scale-up: high concurrency, against 9.5\": test (id int, \
    info text, crt_time timestamp) with a primary key, and log (id serial8, c1 to c20 int8 default 0, crt_time \
    timestamptz) with BRIN indexes on id and crt_time, its sequence continuing after the rows. The article begins with \
    log empty. info is the MD5 of seed and key; times are 3 µs apart. All else is as with `load tpcb`: --resume, \
    --join, `load verify`, `load copy`.\n\n\
    Examples:\n  \
    pgdyno load scaleup --server main --rows 1000000\n  \
    pgdyno load scaleup --server main --rows 100000000 --log-rows 10000000 --partitions 8 --jobs 8"
)]
pub struct Scaleup {
    /// Rows of test
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000_000_000),
          required_unless_present_any = ["resume", "join"], help_heading = "What")]
    rows: Option<u64>,
    /// Rows of log [default: 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=10_000_000_000_000),
          help_heading = "What")]
    log_rows: Option<u64>,
    /// What the digits of test come from [default: 0]
    #[arg(long, value_name = "SEED", help_heading = "What")]
    seed: Option<u64>,
    #[command(flatten)]
    flags: Flags,
}

impl Scaleup {
    /// The flags that all loads have.
    pub(super) fn flags(&self) -> &Flags {
        &self.flags
    }

    /// Runs `pgdyno load scaleup`.
    ///
    /// # Errors
    /// What the user should read.
    pub fn run(&self, context: &Context) -> Result<ExitCode, Problem> {
        let request = LoadRequest {
            scale: self.rows,
            log_rows: self.log_rows,
            seed: self.seed,
            ..self.flags.request(Set::Scaleup)
        };
        load(&self.flags, &request, context)
    }
}
