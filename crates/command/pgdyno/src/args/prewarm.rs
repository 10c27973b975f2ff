//! `pgdyno prewarm`.

use std::process::ExitCode;

use clap::ArgAction;
use pgdyno_core::{probe::json, problem::Problem};
use pgdyno_lab::operation::{self, On, OperationJob};
use pgdyno_postgres::probe::PrewarmRequest;
use pgdyno_record::Found;

use super::{
    detach::Detach,
    recorded,
    target::{Target, processors},
};
use crate::{
    context::Context,
    detach::Detachment,
    exit::Exit,
    interrupt,
    operate::{self, RecordFlags},
    output,
    progress::Progress,
};

/// Flags of `pgdyno prewarm`.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    mut_arg("no_record", |flag| flag.conflicts_with("detach")),
    after_help = "Reads tables with their partitions, indexes and TOAST into shared buffers: with the extension \
    pg_prewarm if the database has it, else with queries. Then it checks which pages are there: with pg_buffercache, \
    or by a second read. Exit status 1 means that pages are missing. See docs/probes.md.\n\n\
    Examples:\n  \
    pgdyno prewarm --server main\n  \
    pgdyno prewarm --dsn 'host=db user=me dbname=big' --create-extension pgbench_accounts"
)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Names of tables, as in SQL [default: all tables of the database]
    #[arg(value_name = "TABLE", help_heading = "What")]
    tables: Vec<String>,
    /// Also read tables that are larger than shared buffers; the pages that are read last remain
    #[arg(long, help_heading = "How")]
    anyway: bool,
    /// Create the extensions pg_prewarm and pg_buffercache if the database lacks them
    #[arg(long, help_heading = "How")]
    create_extension: bool,
    /// Parallel sessions [default: the number of CPUs, at most 8]
    #[arg(short, long, value_name = "J", value_parser = clap::value_parser!(u64).range(1..=1000), help_heading = "How")]
    jobs: Option<u64>,
    #[command(flatten, next_help_heading = "How")]
    detach: Detach,
    #[command(flatten)]
    record: RecordFlags,
    /// Print JSON (schemas/prewarm.schema.json)
    #[arg(long, conflicts_with_all = ["full", "detach"], help_heading = "How")]
    json: bool,
    /// Print help
    #[arg(long, action = ArgAction::Help, help_heading = "How")]
    help: Option<bool>,
}

impl Args {
    /// What is to be detached.
    pub(super) fn detachment(&self) -> Option<Result<Detachment, Problem>> {
        self.detach.detachment("prewarm", || {
            self.target.resolve("could not read tables into shared buffers").map(|options| vec![options])
        })
    }
}

/// Runs `pgdyno prewarm`.
///
/// # Errors
/// The problem to print.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    let options = args.target.resolve("could not read tables into shared buffers")?;
    let stop = interrupt::on_interrupt_saying("stopping", "exited immediately");
    let request = PrewarmRequest {
        tables: args.tables.clone(),
        create_extension: args.create_extension,
        anyway: args.anyway,
        jobs: args.jobs.unwrap_or_else(|| processors().min(8)),
    };
    let progress = Progress::new();
    let job = OperationJob {
        name: "prewarm",
        description: "Reads tables into shared buffers, and checks that they are there".to_owned(),
        command: recorded::of_process(),
        on: On::Server(&options),
        connections: request.jobs,
        copies: Vec::new(),
    };
    let mut operations = operate::begin(&job, &args.record, context, &stop, &progress)?;
    let warmed = operations.run("prewarm", |under_way| {
        let warmed = operation::prewarm(&options, &request, &stop, &mut || under_way.begun())?;
        let passed = warmed.is_complete(args.anyway);
        if args.json {
            output::print(&json(&warmed))?;
        }
        Ok((warmed.clone(), Found::Prewarm(warmed), Some(passed)))
    });
    progress.finish();
    operate::end(operations, warmed, (false, &args.record), |warmed| {
        let text = || pgdyno_report::prewarm(&warmed, args.record.cut());
        ((!args.json).then(text), Exit::of_check(warmed.is_complete(args.anyway)).into())
    })
}
