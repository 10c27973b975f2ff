//! `pgdyno load`.

use std::{env, process::ExitCode};

use clap::{ArgAction, Subcommand, ValueEnum};
use pgdyno_core::{
    load::{MAX_PAGES, PartitionMethod, Stage, TpcbPlan, Wish},
    problem::Problem,
    rows::tpcb::{BIGINT_SCALE, rows_total},
    units,
};
use pgdyno_engine::Stop;
use pgdyno_postgres::{
    load::{BulkLoad, BulkOutcome, BulkProgress, Entry, Job, Proof, Survey},
    provision::{Record, SUPERUSER, Status, registry},
    wire::{Address, ConnectOptions, Sources},
};

use crate::{context::Context, interrupt, output, progress::Progress, servers};

/// Flags of `pgdyno load`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Load TPC-B's tables as `pgbench -i` leaves them, by many streams; a load that broke off can be resumed
    Tpcb(Box<Tpcb>),
    /// Compare loaded tables with what they must hold: counts and checksums of all columns
    Verify(Verify),
}

#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "Tables go into the first schema of the search path, in which they must not exist. What is done is \
    kept in the schema pgdyno_load beside them: after a kill, a lost connection or a restart of the server, --resume \
    goes on. Other processes share a load by --join, also from other hosts. docs/loading.md says how it works.\n\n\
    Examples:\n  \
    pgdyno load tpcb --server main --scale 100 --dry-run\n  \
    pgdyno load tpcb --server main --scale 1000 --partitions 16 --jobs 8\n  \
    pgdyno load tpcb --dsn 'host=db user=me dbname=big' --resume"
)]
struct Tpcb {
    #[command(flatten)]
    to: To,
    /// Scale factor: 100,000 accounts each
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000),
          required_unless_present_any = ["resume", "join"], help_heading = "What")]
    scale: Option<u64>,
    /// Partitions of accounts (PostgreSQL 11 and newer); 0: none
    #[arg(long, value_name = "P", help_heading = "What")]
    partitions: Option<u64>,
    /// How they are made [default: range]
    #[arg(long, value_name = "METHOD", help_heading = "What")]
    partition_method: Option<Method>,
    /// Tablespace of the tables
    #[arg(long, value_name = "NAME", help_heading = "What")]
    tablespace: Option<String>,
    /// Tablespace of the primary keys
    #[arg(long, value_name = "NAME", help_heading = "What")]
    index_tablespace: Option<String>,
    /// Fill factor of the tables in per cent [default: 100]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(10..=100), help_heading = "What")]
    fillfactor: Option<u32>,
    /// Unlogged tables, which a crash of the server empties
    #[arg(long, help_heading = "What")]
    unlogged: bool,
    /// Foreign keys between the tables
    #[arg(long, help_heading = "What")]
    foreign_keys: bool,
    /// Go on with a load that broke off
    #[arg(long, conflicts_with_all = ["join", "dry_run"], help_heading = "How")]
    resume: bool,
    /// Share a load that is under way
    #[arg(long, conflicts_with = "dry_run", help_heading = "How")]
    join: bool,
    /// Say what would be done, what it takes and whether there is room, and end
    #[arg(long, help_heading = "How")]
    dry_run: bool,
    /// Print help
    #[arg(long, action = ArgAction::Help, help_heading = "How")]
    help: Option<bool>,
}

#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "Exit status 1 means that the tables differ; each difference is printed. Tables that a benchmark \
    wrote to differ in their balances."
)]
struct Verify {
    #[command(flatten)]
    to: To,
    /// Scale factor, where the tables were loaded by another program
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000),
          help_heading = "What")]
    scale: Option<u64>,
    /// Print help
    #[arg(long, action = ArgAction::Help, help_heading = "How")]
    help: Option<bool>,
}

/// Where to.
#[derive(Debug, clap::Args)]
#[group(skip)]
struct To {
    /// A server of `pgdyno up`, by its name
    #[arg(long, value_name = "NAME", conflicts_with_all = ["host", "port", "username"], help_heading = "Where")]
    server: Option<String>,
    /// Host, or directory of the socket (PGHOST)
    #[arg(short = 'h', long, value_name = "HOST", help_heading = "Where")]
    host: Option<String>,
    /// Port (PGPORT)
    #[arg(short, long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Where")]
    port: Option<u16>,
    /// Role (PGUSER)
    #[arg(short = 'U', long, value_name = "ROLE", help_heading = "Where")]
    username: Option<String>,
    /// Database, URI or keyword string (PGDATABASE); with --server, the name of a database [default there: postgres]
    #[arg(short, long, visible_alias = "dsn", value_name = "DBNAME", help_heading = "Where")]
    dbname: Option<String>,
    /// Streams: connections that work at the same time [default: the processors of this machine, 64 at most]
    #[arg(short, long, value_name = "J", value_parser = clap::value_parser!(u64).range(1..=1000), help_heading = "How")]
    jobs: Option<u64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Method {
    Range,
    Hash,
}

/// Runs `pgdyno load`.
///
/// # Errors
/// What the user should read.
pub fn run(args: &Args, _context: &Context) -> Result<ExitCode, Problem> {
    match &args.what {
        What::Tpcb(args) => load(args),
        What::Verify(args) => verify(args),
    }
}

impl To {
    /// The server that the flags name; the environment alone makes nobody's server a target.
    fn resolve(&self) -> Result<ConnectOptions, Problem> {
        if let Some(name) = &self.server {
            return self.own(name);
        }
        if self.host.is_none() && self.port.is_none() && self.username.is_none() && self.dbname.is_none() {
            let problem = Problem::wrong_request("could not load: no server is named");
            return Err(problem.hint("name one by --server (of `pgdyno up`), by --dsn, or by -h -p -U -d"));
        }
        let variable = |name: &str| env::var(name).ok();
        let os_user = variable("USER").or_else(|| variable("LOGNAME"));
        ConnectOptions::resolve(&Sources {
            host: self.host.as_deref(),
            port: self.port,
            user: self.username.as_deref(),
            database: self.dbname.as_deref(),
            env: &variable,
            os_user: os_user.unwrap_or_else(|| "postgres".to_owned()),
        })
    }

    fn own(&self, name: &str) -> Result<ConnectOptions, Problem> {
        let record: Record = registry::find(&servers::dirs()?, name)?;
        if !matches!(record.status(), Status::Running { .. }) {
            return Err(Problem::wrong_request(format!("could not load: server `{name}` does not run"))
                .hint(format!("`pgdyno up {name}` starts it")));
        }
        let mut options = ConnectOptions::local(Address::Unix(record.socket.path, record.port), SUPERUSER);
        if let Some(database) = &self.dbname {
            options.database.clone_from(database);
        }
        Ok(options)
    }

    fn streams(&self) -> u64 {
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
        self.jobs.unwrap_or(processors.min(64))
    }
}

impl Tpcb {
    fn wish(&self) -> Wish {
        Wish {
            scale: self.scale,
            partitions: self.partitions,
            method: self.partition_method.map(|method| match method {
                Method::Range => PartitionMethod::Range,
                Method::Hash => PartitionMethod::Hash,
            }),
            fillfactor: self.fillfactor,
            unlogged: self.unlogged,
            foreign_keys: self.foreign_keys,
            tablespace: self.tablespace.clone(),
            index_tablespace: self.index_tablespace.clone(),
        }
    }

    fn entry(&self) -> Entry {
        match (self.resume, self.join) {
            (true, _) => Entry::Resume,
            (_, true) => Entry::Join,
            _ => Entry::New,
        }
    }
}

fn stopping() -> Stop {
    let first = "stopping: what is done is kept (once more to end at once)";
    interrupt::on_interrupt_saying(first, "ended at once; --resume goes on from there")
}

fn load(args: &Tpcb) -> Result<ExitCode, Problem> {
    let (options, streams) = (args.to.resolve()?, args.to.streams());
    let wish = args.wish();
    if wish.scale.is_some() {
        wish.plan(streams)?;
    }
    let stop = stopping();
    let mut bulk = BulkLoad::new(&options, streams, &stop)?;
    if args.dry_run {
        let (plan, survey) = bulk.survey(&wish)?;
        output::print(&outlook(&plan, &survey, streams))?;
        return survey.check_room().map(|()| ExitCode::SUCCESS);
    }
    let (job, survey) = bulk.enter(args.entry(), &wish)?;
    eprint!("{}", outlook(&job.plan, &survey, streams));
    let progress = Progress::new();
    let outcome = bulk.run(&job, &survey.keys, &mut |at| show(&progress, job.plan.scale, at));
    progress.finish();
    conclude(&job, &outcome?)
}

fn show(progress: &Progress, scale: u64, at: BulkProgress) {
    match at {
        BulkProgress::Stage(Stage::Copy) => progress.counted("rows", rows_total(scale), "rows"),
        BulkProgress::Stage(stage) => progress.stage(stage.name()),
        BulkProgress::Rows(rows) => progress.at(rows),
        BulkProgress::Waits { stage, pids } => progress.aside(|| eprintln!("{}", waits(stage, &pids))),
        BulkProgress::Proving => progress.stage("comparing counts and checksums"),
    }
}

fn waits(stage: Stage, pids: &[u32]) -> String {
    let many = if pids.len() == 1 { "" } else { "es" };
    let pids: Vec<_> = pids.iter().map(u32::to_string).collect();
    format!(
        "{}: waits for server process{many} {}, at work on all tasks that are left; \
         where a loader is gone for good, free them by SELECT pg_terminate_backend(PID)",
        stage.name(),
        pids.join(", ")
    )
}

/// What a load will be, in words.
fn outlook(plan: &TpcbPlan, survey: &Survey, streams: u64) -> String {
    let at = &survey.estimate;
    let mut text = format!(
        "tpcb at scale {} into schema {:?} of PostgreSQL {}: {} rows, {}\n",
        units::count(plan.scale),
        survey.target,
        survey.version,
        units::count(rows_total(plan.scale)),
        units::plural(streams, "stream")
    );
    let mut line = |what: &str, value: String| text.push_str(&format!("  {what:<10} {value}\n"));
    line(
        "accounts",
        format!("{}, key {}", units::bytes(at.accounts.heap.bytes), units::bytes(at.accounts.index.bytes)),
    );
    line("others", format!("{} with keys", units::bytes(at.small_bytes)));
    line("WAL", format!("up to {} in all", units::bytes(at.wal_bytes)));
    line("temporary", format!("up to {}", units::bytes(at.temp_bytes)));
    line(
        "pages",
        format!("{} in the largest table, of {}", units::count(at.largest_pages), units::count(MAX_PAGES)),
    );
    line("aid", if plan.scale >= BIGINT_SCALE { "bigint" } else { "int" }.to_owned());
    line("how", way(plan, survey.routed));
    for choice in &survey.keys.choices {
        line("keys", format!("{} = {}: {}", choice.name, choice.value, choice.reason));
    }
    for room in &survey.room {
        let (need, free) = (units::bytes(room.need_bytes), units::bytes(room.free_bytes));
        line("room", format!("{need} of {free} free under {}", room.dir.display()));
    }
    if survey.room.is_empty() {
        line("room", "not known: the server may be on another machine".to_owned());
    }
    text
}

fn way(plan: &TpcbPlan, routed: bool) -> String {
    match plan.partitions {
        Some(partitions) if !routed => {
            format!("{}, each frozen as it is written", units::plural(partitions.count, "partition"))
        }
        Some(partitions) => format!(
            "tasks of {} rows, which the server sorts into {}, then frozen by VACUUM",
            units::count(plan.chunk_rows),
            units::plural(partitions.count, "partition")
        ),
        None => format!("tasks of {} rows, then frozen by VACUUM", units::count(plan.chunk_rows)),
    }
}

fn conclude(job: &Job, outcome: &BulkOutcome) -> Result<ExitCode, Problem> {
    let rate = outcome
        .stages
        .iter()
        .find(|(stage, _)| *stage == Stage::Copy)
        .map(|(_, seconds)| format!(", {} rows/s", units::rate(outcome.rows as f64 / seconds.max(1e-9))));
    let mut text = format!(
        "loaded scale {} into schema {:?}: {} on disk, {} here{}\n",
        units::count(job.plan.scale),
        job.target,
        units::bytes(outcome.size_bytes),
        units::plural(outcome.tasks, "task"),
        rate.unwrap_or_default()
    );
    for (stage, seconds) in &outcome.stages {
        text.push_str(&format!("  {:<17} {}\n", stage.name(), units::duration(*seconds)));
    }
    text.push_str(&format!("  {:<17} {}\n", "all", units::duration(outcome.duration_s)));
    match &outcome.proof {
        Some(proof) => judged(text, proof, NOT_PROVED),
        None => output::print(&(text + "proved by another process\n")).map(|()| ExitCode::SUCCESS),
    }
}

fn verify(args: &Verify) -> Result<ExitCode, Problem> {
    let options = args.to.resolve()?;
    let stop = stopping();
    let mut bulk = BulkLoad::new(&options, args.to.streams(), &stop)?;
    let progress = Progress::new();
    progress.stage("comparing counts and checksums");
    let compared = bulk.verify(args.scale);
    progress.finish();
    let (scale, proof) = compared?;
    judged(format!("tpcb at scale {}\n", units::count(scale)), &proof, "")
}

/// What to do where tables that were just loaded are not as they must be.
const NOT_PROVED: &str = "hint: drop the tables and load anew; if nobody else wrote to them, report it: \
                          a load must not end like this\n";

/// Prints a proof behind a text; exit status 1 and a hint where it failed.
fn judged(mut text: String, proof: &Proof, hint: &str) -> Result<ExitCode, Problem> {
    let faults = proof.faults();
    for fault in &faults {
        text.push_str(&format!("  ! {fault}\n"));
    }
    let rows = units::count(proof.tables.iter().map(|table| table.found.rows).sum());
    let seconds = units::duration(proof.duration_s);
    text.push_str(&match faults.len() {
        0 => format!(
            "proved: {rows} rows, counts and checksums of all columns are as they must be ({seconds})\n"
        ),
        n => format!("not proved: {} ({seconds})\n{hint}", units::plural(n as u64, "difference")),
    });
    output::print(&text)?;
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
