//! `pgdyno load`.

mod copy;
mod scaleup;
mod tpcc;

use std::process::ExitCode;

use clap::{ArgAction, Subcommand, ValueEnum};
use pgdyno_core::{
    load::{Cost, LoadPlan, MAX_PAGES, Set, Stage, Way, Wish},
    plan::LoadingPlan,
    problem::Problem,
    rows::{scaleup::id_type, tpcb::BIGINT_SCALE},
    tpcc::DERIVED,
    units,
};
use pgdyno_engine::Stop;
use pgdyno_postgres::{
    load::{
        BulkLoad, BulkOutcome, BulkProgress, Entry, Job, KeyWorkers, Proof, Proved, Span, StageTime, Survey,
    },
    verify::{Structure, check_structure},
    wire::ConnectOptions,
};

use super::{
    shape::{Shape, Writing},
    target::{Target, processors},
};
use crate::{context::Context, interrupt, output, progress::Progress};

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
    /// Load the tables test (a key, 32 digits, a time) and log (22 columns) of plans/version-scaleup.toml, as tpcb is
    Scaleup(Box<scaleup::Scaleup>),
    /// Load TPC-C's tables, as tpcb is
    Tpcc(Box<tpcc::Tpcc>),
    /// Compare loaded tables with what they must hold: counts and checksums of all columns
    Verify(Verify),
    /// Copy loaded tables into schemas or databases, and prove the copies
    Copy(Box<copy::CopyArgs>),
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
    /// Foreign keys between the tables
    #[arg(long, help_heading = "What")]
    foreign_keys: bool,
    #[command(flatten)]
    flags: Flags,
}

/// What all loads can be told.
#[derive(Debug, clap::Args)]
#[group(skip)]
struct Flags {
    #[command(flatten, next_help_heading = "What")]
    shape: Shape,
    /// How rows get in: by one COPY for a table, by COPY in chunks, or made by the server [default: what takes less]
    #[arg(long, value_name = "METHOD", help_heading = "How")]
    method: Option<Writing>,
    /// End when this is done; --resume goes on, such as with keys that are to be built later
    #[arg(long, value_name = "WHAT", conflicts_with = "dry_run", help_heading = "How")]
    until: Option<Until>,
    /// Leave the comparison of all rows at the end to `load verify`
    #[arg(long, help_heading = "How")]
    no_proof: bool,
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
    /// Look at the structure of tables and indexes, too, by the extension amcheck (PostgreSQL 10 and newer)
    #[arg(long, help_heading = "What")]
    amcheck: bool,
    /// Create amcheck in the database where it is not there
    #[arg(long, requires = "amcheck", help_heading = "How")]
    create_extension: bool,
    /// Print help
    #[arg(long, action = ArgAction::Help, help_heading = "How")]
    help: Option<bool>,
}

/// Where to.
#[derive(Debug, clap::Args)]
#[group(skip)]
struct To {
    #[command(flatten)]
    target: Target,
    /// Streams: connections that work at the same time [default: the processors of this machine, 64 at most]
    #[arg(short, long, value_name = "J", value_parser = clap::value_parser!(u64).range(1..=1000), help_heading = "How")]
    jobs: Option<u64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Until {
    /// Tables with all rows
    Rows,
    /// VACUUM and ANALYZE
    Vacuum,
    /// Primary keys and other indexes
    Keys,
}

/// Runs `pgdyno load`.
///
/// # Errors
/// What the user should read.
pub fn run(args: &Args, _context: &Context) -> Result<ExitCode, Problem> {
    match &args.what {
        What::Tpcb(args) => load(&args.to, &args.flags, &args.wish()),
        What::Scaleup(args) => args.run(),
        What::Tpcc(args) => args.run(),
        What::Verify(args) => verify(args),
        What::Copy(args) => copy::run(args),
    }
}

impl To {
    fn resolve(&self, what: &str) -> Result<ConnectOptions, Problem> {
        self.target.resolve(what)
    }

    fn streams(&self) -> u64 {
        self.jobs.unwrap_or_else(|| processors().min(64))
    }
}

impl Tpcb {
    fn wish(&self) -> Wish {
        Wish { scale: self.scale, foreign_keys: self.foreign_keys, ..self.flags.wish(Set::Tpcb) }
    }
}

impl Flags {
    fn wish(&self, set: Set) -> Wish {
        let way = self.method.map(Writing::way);
        Wish { set, way, ..self.shape.over(&LoadingPlan::default()).wish(None) }
    }

    /// The last stage that is wanted.
    fn until(&self) -> Stage {
        match self.until {
            Some(Until::Rows) => Stage::Copy,
            Some(Until::Vacuum) => Stage::Analyze,
            Some(Until::Keys) => Stage::ParentKey,
            None => Stage::ForeignKeys,
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

/// What is kept is said once it is known how tables are loaded.
fn stopping() -> Stop {
    let first = "stopping (once more to end at once)";
    interrupt::on_interrupt_saying(first, "ended at once; --resume goes on with what was kept")
}

/// The same of what changes nothing.
fn stopping_to_look() -> Stop {
    interrupt::on_interrupt_saying("stopping (once more to end at once)", "ended at once")
}

fn load(to: &To, flags: &Flags, wish: &Wish) -> Result<ExitCode, Problem> {
    let (options, streams) = (to.resolve("could not load")?, to.streams());
    if wish.scale.is_some() {
        wish.plan(streams)?;
    }
    let stop = stopping();
    let mut bulk = BulkLoad::new(&options, streams, &stop)?;
    if flags.dry_run {
        let (plan, survey) = bulk.survey(wish)?;
        output::print(&outlook(&plan, &survey, streams))?;
        return survey.check_room().map(|()| ExitCode::SUCCESS);
    }
    let entered = bulk.enter(flags.entry(), wish)?;
    carry_out(&mut bulk, &entered, flags, streams)
}

/// Loads, and tells how it went.
fn carry_out(
    bulk: &mut BulkLoad<'_>,
    (job, survey): &(Job, Survey),
    flags: &Flags,
    streams: u64,
) -> Result<ExitCode, Problem> {
    eprint!("{}", outlook(&job.plan, survey, streams));
    interrupt::answer_with(format!("stopping: {} (once more to end at once)", job.plan.kept()));
    let progress = Progress::new();
    let rows = job.plan.rows_total();
    let outcome =
        bulk.run(job, survey, (flags.until(), !flags.no_proof), &mut |at| show(&progress, rows, at));
    progress.finish();
    conclude(job, &outcome?)
}

fn show(progress: &Progress, rows: u64, at: BulkProgress) {
    match at {
        BulkProgress::Stage(Stage::Copy) => progress.counted("rows", rows, "rows"),
        BulkProgress::Stage(stage) => progress.stage(stage.name()),
        BulkProgress::Rows(done) => progress.at(done),
        BulkProgress::Doing { stage, words } => progress.say(format!("{}: {words}", stage.name())),
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
fn outlook(plan: &LoadPlan, survey: &Survey, streams: u64) -> String {
    let at = &survey.estimate;
    let mut text = format!(
        "{} into schema {:?} of PostgreSQL {}: {} rows, {}\n",
        plan.title(),
        survey.target,
        units::printable(&survey.version),
        units::count(plan.rows_total()),
        units::plural(streams, "stream")
    );
    let mut line = |what: &str, value: String| text.push_str(&format!("  {what:<10} {value}\n"));
    let (main, key, key_type) = main_table(plan);
    line(main, format!("{}, key {}", units::bytes(at.main.heap.bytes), units::bytes(at.main.index.bytes)));
    let (heap, index) = (units::bytes(at.others.heap.bytes), units::bytes(at.others.index.bytes));
    line("others", format!("{heap}, keys {index}"));
    line("WAL", format!("up to {} in all", units::bytes(at.wal_bytes)));
    line("temporary", format!("up to {}", units::bytes(at.temp_bytes)));
    line(
        "pages",
        format!("{} in the largest table, of {}", units::count(at.largest_pages), units::count(MAX_PAGES)),
    );
    line(key, key_type.to_owned());
    line("how", ways(plan));
    if let (Way::Stream | Way::Chunks, None) = (plan.way, plan.partitions) {
        line("cost", cost(plan, streams));
    }
    if plan.set == Set::Tpcc {
        let (seed, at_s) = (plan.seed, plan.at_us / 1_000_000);
        line("rows", format!("as of --seed {seed} --at {at_s}"));
        line("note", DERIVED.to_owned());
    }
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

/// The largest table, its key, and the type of that.
fn main_table(plan: &LoadPlan) -> (&'static str, &'static str, &'static str) {
    match plan.set {
        Set::Tpcb => ("accounts", "aid", if plan.scale >= BIGINT_SCALE { "bigint" } else { "int" }),
        Set::Scaleup => ("test", "id", id_type(plan.scale)),
        Set::Tpcc => ("order_line", "ids", "int"),
    }
}

/// How rows are written: of the main table, and of `log` where that differs.
fn ways(plan: &LoadPlan) -> String {
    if !plan.log_chunks {
        return way(plan);
    }
    let rows = units::count(plan.chunk_rows);
    format!("{}; log in tasks of {rows} rows, then frozen by VACUUM", way(plan))
}

fn way(plan: &LoadPlan) -> String {
    let chunks = format!("tasks of {} rows", units::count(plan.chunk_rows));
    let by_server = if plan.way == Way::Server { " made by the server" } else { "" };
    match (plan.partitions, plan.way) {
        (Some(partitions), way) if !plan.routed() => {
            let frozen =
                if way == Way::Stream { "each frozen as it is written" } else { "then frozen by VACUUM" };
            format!("{}{by_server}, {frozen}", units::plural(partitions.count, "partition"))
        }
        (Some(partitions), _) => format!(
            "{chunks}{by_server}, which the server sorts into {}, then frozen by VACUUM",
            units::plural(partitions.count, "partition")
        ),
        (None, Way::Stream) => {
            "one stream for a table, frozen as it is written: after a kill it begins anew".to_owned()
        }
        (None, _) => format!("{chunks}{by_server}, then frozen by VACUUM"),
    }
}

/// Both ways of filling plain tables.
fn cost(plan: &LoadPlan, streams: u64) -> String {
    let Cost { stream_s, chunks_s } = Cost::of_set(plan.set, plan.rows_total(), streams);
    let (one, pace) = match plan.set {
        Set::Tpcb | Set::Scaleup => ("one stream", "a million"),
        Set::Tpcc => ("one stream for each table", "half a million"),
    };
    format!(
        "about {} in {one}, {} in chunks by {}, if one COPY writes {pace} rows/s here",
        units::duration(stream_s),
        units::duration(chunks_s),
        units::plural(streams, "stream")
    )
}

fn conclude(job: &Job, outcome: &BulkOutcome) -> Result<ExitCode, Problem> {
    let rate = outcome.stages.iter().find(|time| time.stage == Stage::Copy).map(|time| {
        let bytes = units::bytes(time.rate(outcome.copy_bytes) as u64);
        let bytes = if outcome.copy_bytes > 0 { format!(", {bytes}/s") } else { String::new() };
        format!(", {} rows/s{bytes}", units::rate(time.rate(outcome.rows)))
    });
    let mut text = format!(
        "loaded {} {} into schema {:?}: {} on disk, {} here{}\n",
        job.plan.set.scale_word(),
        units::count(job.plan.scale),
        job.target,
        units::bytes(outcome.size_bytes),
        units::plural(outcome.tasks, "task"),
        rate.unwrap_or_default()
    );
    for time in &outcome.stages {
        let wal = time.wal_bytes.map(|bytes| format!(", WAL {}", units::bytes(bytes))).unwrap_or_default();
        text.push_str(&format!("  {:<17} {}{wal}\n", time.stage.name(), units::duration(time.seconds)));
        text.push_str(&phases(time, outcome.workers, main_table(&job.plan).0));
    }
    text.push_str(&format!("  {:<17} {}\n", "all", units::duration(outcome.duration_s)));
    if job.plan.set == Set::Tpcc {
        text.push_str(&format!("{DERIVED}\n"));
    }
    let unproved = match &outcome.proof {
        Proved::Here(proof) => return judged(text, proof, NOT_PROVED),
        Proved::Elsewhere => "proved by another process\n",
        Proved::Later => "not proved yet: `pgdyno load verify` compares all rows\n",
        Proved::Unfinished => "ended before its last stage, as asked for: --resume goes on\n",
    };
    output::print(&(text + unproved)).map(|()| ExitCode::SUCCESS)
}

/// Shorter stages are over before their phases have been looked at often enough.
const LEAST_PHASES_S: f64 = 2.0;

/// What was seen of a stage, a line each; nothing where nothing was.
fn phases(time: &StageTime, workers: KeyWorkers, main: &str) -> String {
    let phase = |(phase, seconds): &(String, f64)| format!("{phase} {}", units::duration(*seconds));
    let phases: Vec<_> = time.phases.0.iter().map(phase).collect();
    let mut text = String::new();
    if !phases.is_empty() && time.seconds >= LEAST_PHASES_S {
        text.push_str(&format!("    server: {}\n", phases.join(", ")));
    }
    if let (Stage::Keys, Some(asked)) = (time.stage, workers.asked) {
        let seen = |span: Option<Span>| span.map_or_else(|| "not seen".to_owned(), |span| span.to_string());
        text.push_str(&format!(
            "    parallel workers for a key of {main}: asked for {asked}, planned {}, at work {}\n",
            seen(workers.planned),
            seen(workers.launched)
        ));
    }
    text
}

fn verify(args: &Verify) -> Result<ExitCode, Problem> {
    let options = args.to.resolve("could not prove a load")?;
    let stop = stopping_to_look();
    let mut bulk = BulkLoad::new(&options, args.to.streams(), &stop)?;
    let progress = Progress::new();
    progress.stage("looking at structure");
    let structure = args
        .amcheck
        .then(|| {
            // A scale is of tables that pgbench makes.
            let set = if args.scale.is_some() { Set::Tpcb } else { bulk.set()? };
            check_structure(&options, set, args.create_extension, args.to.streams(), &stop)
        })
        .transpose()?;
    progress.stage("comparing counts and checksums");
    let compared = bulk.verify(args.scale);
    progress.finish();
    let structure = structure.as_ref();
    let (plan, proof) = compared.inspect_err(|_| eprint!("{}", structure.map(built).unwrap_or_default()))?;
    let text = format!("{}\n{}", plan.title(), structure.map(built).unwrap_or_default());
    let code = judged(text, &proof, WRITTEN)?;
    let damaged = structure.is_some_and(|structure| !structure.faults.is_empty());
    Ok(if damaged { ExitCode::from(1) } else { code })
}

/// What amcheck found, in words.
fn built(structure: &Structure) -> String {
    let plural = |count: u64, one: &str, many: &str| {
        format!("{} {}", units::count(count), if count == 1 { one } else { many })
    };
    let mut looked = plural(structure.indexes, "index", "indexes");
    if structure.tables > 0 {
        looked += &format!(" and {}", plural(structure.tables, "table", "tables"));
    }
    let seconds = units::duration(structure.duration_s);
    let mut text: String = structure.faults.iter().map(|fault| format!("  ! {fault}\n")).collect();
    text += &match structure.faults.len() {
        0 => format!("structure of {looked}: no fault ({seconds})\n"),
        n => format!("structure of {looked}: {} ({seconds})\n", units::plural(n as u64, "fault")),
    };
    if !structure.rows_in_indexes {
        text += "whether each row is in its indexes was not looked at: that takes PostgreSQL 11 or newer\n";
    }
    text
}

/// What to do where tables that were just loaded are not as they must be.
const NOT_PROVED: &str = "hint: drop the tables and load anew; if nobody else wrote to them, report it: \
                          a load must not end like this\n";

/// Why tables that were loaded some time ago may differ.
const WRITTEN: &str = "hint: tables that were driven are not as they were loaded; `pgdyno tpcc check` looks at \
                       those of TPC-C, and every run of pgdyno at what it wrote\n";

/// Prints a proof behind a text; exit status 1 and a hint where it failed.
fn judged(mut text: String, proof: &Proof, hint: &str) -> Result<ExitCode, Problem> {
    let faults = proof.faults();
    for fault in &faults {
        text.push_str(&format!("  ! {fault}\n"));
    }
    let rows = units::count(proof.tables.iter().map(|table| table.found.rows).sum());
    let seconds = units::duration(proof.duration_s);
    text.push_str(&match faults.len() {
        0 => {
            let shape = if proof.shape.is_some() { ", keys and storage" } else { "" };
            let compared = format!("counts and checksums of all columns{shape}");
            format!("proved: {rows} rows, {compared} are as they must be ({seconds})\n")
        }
        n => format!("not proved: {} ({seconds})\n{hint}", units::plural(n as u64, "difference")),
    });
    output::print(&text)?;
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
