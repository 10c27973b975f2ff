//! The command line: one file per sub-command, with its flags and the function that runs it.

pub mod ab;
mod ab_storage;
pub mod analyse;
mod arm;
mod arms_own;
pub mod attach;
pub mod bench;
pub mod build;
pub mod builds;
pub mod clean;
mod conf_file;
pub mod config;
mod connection;
mod detach;
pub mod disk;
mod disk_delay;
mod disk_run;
pub mod down;
pub mod explain;
mod file;
pub mod generate;
pub mod history;
pub mod host;
mod host_change;
mod host_layout;
mod host_of;
mod list;
pub mod load;
mod load_option;
mod measure;
pub mod observe;
mod own_server;
pub mod pgbench;
pub mod prewarm;
pub mod probe;
pub mod ps;
mod recorded;
pub mod report;
pub mod resume;
pub mod run;
pub mod selftest;
pub mod show;
pub mod stop;
mod subjects;
mod tables;
mod target;
#[cfg(test)]
mod tests_of_advice;
pub mod top;
pub mod tpcc;
pub mod up;
pub mod versions;
mod way;
pub mod why;
mod wrong;

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use clap::{CommandFactory, Parser, Subcommand};
use pgdyno_core::problem::Problem;

use crate::{
    advice::{self, Used},
    context::{Context, USUAL_RUNS},
    detach::Detachment,
    measure::Task,
};

/// The whole command line.
#[derive(Debug, Parser)]
#[command(name = "pgdyno", version, long_version = crate::context::LONG_VERSION, about, long_about = None)]
pub struct Cli {
    /// Directory for recorded runs
    #[arg(long, global = true, env = "PGDYNO_RUNS", default_value = USUAL_RUNS, value_name = "DIR")]
    pub runs: PathBuf,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// The sub-commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Benchmark a PostgreSQL server: load data, measure, check, report
    Bench(Box<bench::Args>),
    /// Is B faster than A? Compare two servers, settings, scripts or commands
    Ab(Box<ab::Args>),
    /// Run a plan file
    Run(Box<run::Args>),
    /// Benchmark as pgbench does: its options, scripts and output
    Pgbench(pgbench::Args),
    /// Load tables with parallel streams; resumable, and verified at the end
    Load(load::Args),
    /// TPC-C: run its transactions, check consistency, write its tables as CSV files
    Tpcc(tpcc::Args),
    /// Read tables into shared buffers, and check that they are cached
    Prewarm(prewarm::Args),
    /// Time DDL and counts; measure B-tree depths and table sizes
    Probe(probe::Args),
    /// Measure storage as PostgreSQL uses it, and the clock
    Disk(disk::Args),
    /// Know, judge and prepare a host for PostgreSQL
    Host(Box<host::Args>),
    /// Recommend a postgresql.conf, or judge one
    Config(config::Args),
    /// What is known of a name: a kernel parameter, a mount option, a setting, a doubt, a wait event
    Explain(explain::Args),
    /// Start a PostgreSQL server
    Up(Box<up::Args>),
    /// Stop servers started by `up`
    Down(down::Args),
    /// List the servers that pgdyno started, and the detached runs with their progress
    Ps(ps::Args),
    /// Show the progress of a detached run until it ends
    Attach(attach::Args),
    /// Stop a detached run, as Ctrl-C does
    Stop(stop::Args),
    /// Watch a server live: throughput, sessions, waits, statements, locks, I/O, WAL, progress
    Top(top::Args),
    /// Observe a server's machine for a run from elsewhere, and join what was seen to that run
    Observe(observe::Args),
    /// List the PostgreSQL versions that can be used on this machine
    Versions(versions::Args),
    /// Build PostgreSQL from source, with the compiler, flags and block sizes of your choice
    Build(Box<build::Args>),
    /// List the builds of PostgreSQL
    Builds(builds::Args),
    /// Measure pgdyno itself: its overhead and its highest rate
    Selftest(selftest::Args),
    /// Show what pgdyno keeps on this machine, and remove it
    Clean(clean::Args),
    /// Resume a run that was killed or stopped, or failed
    Resume(resume::Args),
    /// List recorded runs
    List(list::Args),
    /// Print the report of a recorded run
    Show(show::Args),
    /// Write the report of a recorded run as HTML, text, Markdown, CSV or JSON
    Report(report::Args),
    /// Analyse a recorded run again, with the rules of this version
    Analyse(analyse::Args),
    /// What the slowest transactions of a recorded run waited for
    Why(why::Args),
    /// What changed between the recorded runs of a plan, and when
    History(history::Args),
    /// Write man pages, shell completions or JSON Schemas
    #[command(hide = true)]
    Generate(generate::Args),
}

impl Cli {
    /// Parses a command line. Help and version are printed, and the process exits.
    ///
    /// # Errors
    /// The command line is wrong.
    pub fn read(args: impl Iterator<Item = OsString>) -> Result<Self, Problem> {
        let args: Vec<OsString> = args.collect();
        recorded::keep(Self::command(), &args);
        advice::is_for(used(recorded::command(Self::command(), &args).trim_start_matches("pgdyno ")));
        Self::try_parse_from(&args).map_err(|error| {
            let args: Vec<_> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
            wrong::problem(&error, &args, &Self::command()).unwrap_or_else(|| error.exit())
        })
    }
}

/// The command of a line without the program's name, whose sub-commands come first. A command that is named without
/// its sub-command, as in `pgdyno load …`, has the flags of all of them.
fn used(line: &str) -> Used {
    let (mut command, mut names) = (Cli::command(), Vec::new());
    let mut flags = vec!["help".to_owned(), "version".to_owned(), "runs".to_owned()];
    for word in line.split_whitespace() {
        let Some(inner) = command.find_subcommand(word) else { break };
        command = inner.clone();
        names.push(word);
    }
    let of_all = command.get_subcommands().flat_map(|inner| inner.get_arguments());
    for arg in command.get_arguments().chain(of_all) {
        let aliases = arg.get_all_aliases().unwrap_or_default();
        flags.extend(arg.get_long().into_iter().chain(aliases).map(str::to_owned));
    }
    Used { name: names.join(" "), flags }
}

impl Command {
    /// Runs the sub-command.
    ///
    /// # Errors
    /// The problem to print.
    pub fn run(&self, context: &Context) -> Result<ExitCode, Problem> {
        match self {
            Self::Bench(args) => bench::run(args, context),
            Self::Ab(args) => ab::run(args, context),
            Self::Run(args) => run::run(args, context),
            Self::Pgbench(args) => pgbench::run(args, context),
            Self::Load(args) => load::run(args, context),
            Self::Tpcc(args) => tpcc::run(args, context),
            Self::Prewarm(args) => prewarm::run(args, context),
            Self::Probe(args) => probe::run(args, context),
            Self::Disk(args) => disk::run(args, context),
            Self::Host(args) => host::run(args, context),
            Self::Config(args) => config::run(args, context),
            Self::Explain(args) => explain::run(args, context),
            Self::Up(args) => up::run(args, context),
            Self::Down(args) => down::run(args, context),
            Self::Ps(args) => ps::run(args, context),
            Self::Attach(args) => attach::run(args, context),
            Self::Stop(args) => stop::run(args, context),
            Self::Top(args) => top::run(args, context),
            Self::Observe(args) => observe::run(args, context),
            Self::Versions(args) => versions::run(args, context),
            Self::Build(args) => build::run(args, context),
            Self::Builds(args) => builds::run(args, context),
            Self::Selftest(args) => selftest::run(args, context),
            Self::Clean(args) => clean::run(args, context),
            Self::Resume(args) => resume::run(args, context, task_of),
            Self::List(args) => list::run(args, context),
            Self::Show(args) => show::run(args, context),
            Self::Report(args) => report::run(args, context),
            Self::Analyse(args) => analyse::run(args, context),
            Self::Why(args) => why::run(args, context),
            Self::History(args) => history::run(args, context),
            Self::Generate(args) => generate::run(args, &Cli::command()),
        }
    }
}

impl Command {
    /// What is to be detached; `None` without `--detach`.
    ///
    /// # Errors
    /// The flags or the plan are invalid, or contradict each other.
    pub fn detachment(&self, context: &Context) -> Result<Option<Detachment>, Problem> {
        match self {
            Self::Bench(args) => args.detachment().transpose(),
            Self::Ab(args) => args.detachment().transpose(),
            Self::Run(args) => args.detachment().transpose(),
            Self::Tpcc(args) => args.detachment().transpose(),
            Self::Load(args) => args.detachment().transpose(),
            Self::Prewarm(args) => args.detachment().transpose(),
            Self::Probe(args) => args.detachment().transpose(),
            Self::Resume(args) => args.detachment(context, task_of).transpose(),
            _ => Ok(None),
        }
    }
}

/// Task of a command line; `None` if its sub-command measures nothing.
fn task_of(args: Vec<OsString>) -> Result<Option<Task>, Problem> {
    match Cli::read(args.into_iter())?.command {
        Command::Bench(args) => args.task().map(Some),
        Command::Ab(args) => args.task().map(Some),
        Command::Run(args) => args.task().map(Some),
        Command::Tpcc(args) => args.task().transpose(),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use pgdyno_analysis::doubts::{Key, Measuring};

    use super::*;

    /// clap checks a sub-command only when it is used.
    #[test]
    fn the_flags_of_all_sub_commands_agree() {
        Cli::command().debug_assert();
    }

    /// Advice in reports names flags of the command that was used, and keys of its plan.
    #[test]
    fn what_advice_names_exists() {
        let schema = include_str!("../../../../../schemas/plan.schema.json");
        let schema: serde_json::Value = serde_json::from_str(schema).expect("JSON");
        let keys = |table: &str| {
            let of = schema["properties"][table].to_string();
            let name =
                of.split("#/$defs/").nth(1).and_then(|rest| rest.split('"').next()).expect("a reference");
            schema["$defs"][name]["properties"].clone()
        };
        for (by, key) in Measuring::ALL.into_iter().flat_map(|by| Key::ALL.map(|key| (by, key))) {
            let named = key.named(by);
            let words: Vec<_> = named.split([' ', ',']).collect();
            if let [key, .., "in", table] = words[..] {
                let keys = keys(table.trim_matches(['[', ']']));
                assert!(keys.get(key).is_some(), "{named}: {keys}");
            }
            // pgbench's flags are no flags of clap; its personality tests them.
            if by == Measuring::Pgbench {
                continue;
            }
            let find = |command: &clap::Command, name: &&str| command.find_subcommand(name).cloned();
            let command = by.names().iter().try_fold(Cli::command(), |command, name| find(&command, name));
            let command = command.expect("it is a sub-command");
            for flag in words.iter().filter_map(|word| word.strip_prefix("--")) {
                assert!(command.get_arguments().any(|of| of.get_long() == Some(flag)), "{by:?}: {named}");
            }
        }
    }
}
