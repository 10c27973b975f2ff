//! `pgdyno probe`.

use std::process::ExitCode;

use clap::{ArgAction, Subcommand, ValueEnum};
use pgdyno_core::{
    probe::{CountBy, Probe, json},
    problem::Problem,
    span::Span,
    stop::Stop,
    units,
};
use pgdyno_lab::operation::{On, OperationJob};
use pgdyno_postgres::probe::{self as probe, CountRequest, DdlRequest, PartitionsRequest, TouchRequest};
use pgdyno_record::Found;
use pgdyno_wire::ConnectOptions;

use super::{detach::Detach, recorded, target::Target};
use crate::{
    context::Context,
    detach::Detachment,
    interrupt,
    operate::{self, RecordFlags},
    output,
    progress::Progress,
};

/// Flags of `pgdyno probe`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Time ADD COLUMN, DROP COLUMN, ANALYZE and VACUUM; changes are rolled back, or committed on request
    Ddl(Box<Ddl>),
    /// Time count(*) by index-only and sequential scans, with several numbers of parallel workers
    Count(Box<Count>),
    /// Time the first rows of a table in new sessions, planning and execution separately
    FirstTouch(FirstTouch),
    /// Planning time, locks, catalog rows and memory over partitions, prepared or not
    Partitions(Partitions),
    /// Depths of B-trees, measured and predicted
    Depth(Depth),
    /// Sizes of tables, indexes, databases and tablespaces
    Sizes(Sizes),
}

#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "Each statement that changes the table is timed in a transaction that is rolled back: the table keeps \
    its files and columns. An exclusive lock on the table is held meanwhile. Several tables are compared with the \
    first, such as partitioned tables with one without partitions. With --commit, changes of tables that `pgdyno load` \
    or `load copy` made are committed and timed with their COMMIT; dropped columns stay in such a table.\n\n\
    Examples:\n  \
    pgdyno probe ddl --server main --rewrite\n  \
    pgdyno probe ddl --server main --sessions 8 one.pgbench_accounts parts.pgbench_accounts\n  \
    pgdyno probe ddl --server main --commit copy_1.pgbench_accounts"
)]
struct Ddl {
    #[command(flatten)]
    common: Common,
    /// Names of tables, as in SQL
    #[arg(value_name = "TABLE", default_value = "pgbench_accounts", help_heading = "What")]
    tables: Vec<String>,
    /// Also time statements that rewrite the whole table, which hold the lock for as long
    #[arg(long, help_heading = "What")]
    rewrite: bool,
    /// Allow tables that `pgdyno load` did not create
    #[arg(long, help_heading = "What")]
    may_change: bool,
    /// Commit changes and time the COMMIT; only of tables that `pgdyno load` created, which keep dropped columns
    #[arg(long, conflicts_with = "may_change", help_heading = "What")]
    commit: bool,
    /// Sessions that vacuum the partitions of a table at the same time
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u64).range(1..=1000),
          help_heading = "How")]
    sessions: u64,
    /// How often each statement is timed
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u64).range(1..=1000),
          help_heading = "How")]
    repeats: u64,
    /// How long to wait for the lock on a table that is in use
    #[arg(long, value_name = "TIME", default_value = "2s", help_heading = "How")]
    lock_timeout: Span,
}

#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "Each line of the result begins with a CHECKPOINT and one count by EXPLAIN (ANALYZE, BUFFERS), which \
    shows plan, workers and pages; then the counts are timed.\n\n\
    Example:\n  \
    pgdyno probe count --server main --parallel 0,2,4,8"
)]
struct Count {
    #[command(flatten)]
    common: Common,
    /// Names of tables, as in SQL
    #[arg(value_name = "TABLE", default_value = "pgbench_accounts", help_heading = "What")]
    tables: Vec<String>,
    /// Scans to count with
    #[arg(
        long,
        value_name = "SCAN",
        value_delimiter = ',',
        default_value = "index,seq",
        help_heading = "What"
    )]
    by: Vec<By>,
    /// Numbers of parallel workers
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "0,1,2",
          value_parser = clap::value_parser!(u64).range(0..=1024), help_heading = "What")]
    parallel: Vec<u64>,
    /// How often each count is timed
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u64).range(1..=1000),
          help_heading = "How")]
    repeats: u64,
}

#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "A new session knows nothing of the table: it reads catalogs to plan. The statement is SELECT * FROM \
    TABLE LIMIT N, twice by EXPLAIN (ANALYZE, BUFFERS), and once as it is in another session.\n\n\
    Example:\n  \
    pgdyno probe first-touch --server main one.pgbench_accounts parts.pgbench_accounts"
)]
struct FirstTouch {
    #[command(flatten)]
    common: Common,
    /// Names of tables, as in SQL
    #[arg(value_name = "TABLE", default_value = "pgbench_accounts", help_heading = "What")]
    tables: Vec<String>,
    /// Rows to read
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u64).range(1..=1_000_000),
          help_heading = "What")]
    limit: u64,
    /// Drop the tables' files from the page cache before each session; takes the server's user or root
    #[arg(long, help_heading = "How")]
    cold: bool,
    /// Number of sessions of each kind
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u64).range(1..=1000),
          help_heading = "How")]
    repeats: u64,
}

#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "A row is looked up by the primary key: by a statement that is not prepared, and by prepared ones \
    with custom plans, with a generic plan, and with the server's choice. A query for all rows is planned only. Each \
    way has its own sessions, and its first execution is reported separately. Name a table without partitions and one \
    with them to compare.\n\n\
    Example:\n  \
    pgdyno probe partitions --server main one.pgbench_accounts parts.pgbench_accounts"
)]
struct Partitions {
    #[command(flatten)]
    common: Common,
    /// Names of tables, as in SQL
    #[arg(value_name = "TABLE", default_value = "pgbench_accounts", help_heading = "What")]
    tables: Vec<String>,
    /// Number of sessions for each way
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u64).range(1..=1000),
          help_heading = "How")]
    repeats: u64,
}

#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
struct Depth {
    #[command(flatten)]
    common: Common,
    /// Tables whose indexes are inspected [default: all tables of the database]
    #[arg(value_name = "TABLE", help_heading = "What")]
    tables: Vec<String>,
    /// Create the extension pageinspect if the database lacks it
    #[arg(long, help_heading = "How")]
    create_extension: bool,
}

#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "Sizes as in psql's \\dt+, \\di+, \\l+ and \\db+, with partitions added up, in binary units."
)]
struct Sizes {
    #[command(flatten)]
    common: Common,
    /// Names of tables, as in SQL [default: all tables of the database]
    #[arg(value_name = "TABLE", help_heading = "What")]
    tables: Vec<String>,
}

#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(mut_arg("no_record", |flag| flag.conflicts_with("detach")))]
struct Common {
    #[command(flatten)]
    target: Target,
    #[command(flatten, next_help_heading = "How")]
    detach: Detach,
    #[command(flatten)]
    record: RecordFlags,
    /// Print JSON (schemas/probe.schema.json)
    #[arg(long, conflicts_with_all = ["full", "detach"], help_heading = "How")]
    json: bool,
    /// Print help
    #[arg(long, action = ArgAction::Help, help_heading = "How")]
    help: Option<bool>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum By {
    /// Index-only scan
    Index,
    /// Sequential scan
    Seq,
}

impl By {
    fn count_by(self) -> CountBy {
        match self {
            Self::Index => CountBy::Index,
            Self::Seq => CountBy::Seq,
        }
    }
}

impl Args {
    /// What is to be detached.
    pub(super) fn detachment(&self) -> Option<Result<Detachment, Problem>> {
        let Common { detach, target, .. } = self.what.common();
        let servers = || target.resolve("could not probe").map(|options| vec![options]);
        detach.detachment(self.what.names().0, servers)
    }
}

/// Runs `pgdyno probe`.
///
/// # Errors
/// The problem to print.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    let common = args.what.common();
    let options = common.target.resolve("could not probe")?;
    let stopping = if matches!(&args.what, What::Ddl(ddl) if ddl.commit) {
        "stopping"
    } else {
        "stopping; changes are rolled back"
    };
    let stop = interrupt::on_interrupt_saying(stopping, "exited immediately");
    let progress = Progress::new();
    let (name, description) = args.what.names();
    let job = OperationJob {
        name: &name.replace(' ', "-"),
        description: description.to_owned(),
        command: recorded::of_process(),
        on: On::Server(&options),
        connections: 1,
        copies: Vec::new(),
    };
    let mut operations = operate::begin(&job, &common.record, context, &stop, &progress)?;
    let found = operations.run(name, |under_way| {
        let report = &mut |what: &str| under_way.begun().doing(&units::printable(what));
        let found = args.what.probe(&options, &stop, report)?;
        if common.json {
            output::print(&json(&found))?;
        }
        Ok((found.clone(), Found::Probe(found), None))
    });
    progress.finish();
    let record = &common.record;
    operate::end(operations, found, (false, record), |found| {
        ((!common.json).then(|| pgdyno_report::probe(&found, record.cut())), ExitCode::SUCCESS)
    })
}

impl What {
    /// Name of the operation, and what it does.
    fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::Ddl(args) if args.commit => {
                ("probe ddl", "Times DDL with its COMMIT, and VACUUM, on tables that pgdyno made")
            }
            Self::Ddl(_) => ("probe ddl", "Times DDL and VACUUM on tables; changes are rolled back"),
            Self::FirstTouch(_) => ("probe first-touch", "Times the first rows of tables in new sessions"),
            Self::Partitions(_) => {
                ("probe partitions", "Measures planning, locks, catalogs and memory over partitions")
            }
            Self::Count(_) => ("probe count", "Times count(*) by several plans"),
            Self::Depth(_) => ("probe depth", "Measures the depths of B-trees"),
            Self::Sizes(_) => {
                ("probe sizes", "Measures the sizes of tables, indexes, databases and tablespaces")
            }
        }
    }

    fn probe(
        &self,
        options: &ConnectOptions,
        stop: &Stop,
        report: &mut dyn FnMut(&str),
    ) -> Result<Probe, Problem> {
        match self {
            Self::Ddl(args) => probe::ddl(options, &args.request(), stop, report).map(Probe::Ddl),
            Self::Count(args) => probe::count(options, &args.request(), stop, report).map(Probe::Count),
            Self::FirstTouch(args) => {
                probe::first_touch(options, &args.request(), stop, report).map(Probe::FirstTouch)
            }
            Self::Partitions(args) => {
                let request = PartitionsRequest { tables: args.tables.clone(), repeats: args.repeats };
                probe::partitions(options, &request, stop, report).map(Probe::Partitions)
            }
            Self::Depth(args) => {
                probe::depth(options, &args.tables, args.create_extension, stop).map(Probe::Depth)
            }
            Self::Sizes(args) => probe::sizes(options, &args.tables, stop).map(Probe::Sizes),
        }
    }

    fn common(&self) -> &Common {
        match self {
            Self::Ddl(args) => &args.common,
            Self::Count(args) => &args.common,
            Self::FirstTouch(args) => &args.common,
            Self::Partitions(args) => &args.common,
            Self::Depth(args) => &args.common,
            Self::Sizes(args) => &args.common,
        }
    }
}

impl Ddl {
    fn request(&self) -> DdlRequest {
        DdlRequest {
            tables: self.tables.clone(),
            may_change: self.may_change,
            are_ours: false,
            commit: self.commit,
            sessions: self.sessions,
            rewrite: self.rewrite,
            repeats: self.repeats,
            lock_timeout_ms: self.lock_timeout.as_duration().as_millis() as u64,
        }
    }
}

impl FirstTouch {
    fn request(&self) -> TouchRequest {
        TouchRequest {
            tables: self.tables.clone(),
            limit: self.limit,
            repeats: self.repeats,
            cold: self.cold,
        }
    }
}

impl Count {
    fn request(&self) -> CountRequest {
        CountRequest {
            tables: self.tables.clone(),
            by: self.by.iter().map(|by| by.count_by()).collect(),
            workers: self.parallel.clone(),
            repeats: self.repeats,
        }
    }
}
