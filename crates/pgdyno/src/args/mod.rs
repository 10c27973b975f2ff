//! The command line: one file a sub-command, each with its flags and the function that carries them out.

pub mod ab;
pub mod analyse;
mod arm;
pub mod bench;
pub mod build;
pub mod builds;
pub mod clean;
mod connection;
pub mod down;
mod file;
pub mod generate;
pub mod list;
pub mod load;
mod measure;
mod own_server;
pub mod pgbench;
pub mod prewarm;
pub mod probe;
pub mod ps;
pub mod report;
pub mod resume;
pub mod run;
pub mod selftest;
pub mod show;
mod subjects;
mod target;
pub mod tpcc;
pub mod up;
pub mod versions;
mod way;
mod wrong;

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use clap::{CommandFactory, Parser, Subcommand};
use pgdyno_core::problem::Problem;

use crate::{context::Context, measure::Task};

/// The command line as a whole.
#[derive(Debug, Parser)]
#[command(name = "pgdyno", version, long_version = crate::context::LONG_VERSION, about, long_about = None)]
pub struct Cli {
    /// Directory of the run directories
    #[arg(long, global = true, env = "PGDYNO_RUNS", default_value = "./pgdyno-runs", value_name = "DIR")]
    pub runs: PathBuf,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// The sub-commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure a PostgreSQL server: load, drive, check, report
    Bench(Box<bench::Args>),
    /// Is B faster than A? Compare two servers, settings, scripts or commands
    Ab(Box<ab::Args>),
    /// Carry out a plan file
    Run(Box<run::Args>),
    /// Benchmark as pgbench does: its options, scripts and output
    Pgbench(pgbench::Args),
    /// Load tables by many streams, resumable and proved
    Load(load::Args),
    /// TPC-C: drive its transactions, check its tables' consistency, write them as CSV files
    Tpcc(tpcc::Args),
    /// Read tables into shared buffers, and see that they are there
    Prewarm(prewarm::Args),
    /// Time DDL and counts, measure depths and sizes of tables that are there
    Probe(probe::Args),
    /// Start a PostgreSQL server
    Up(Box<up::Args>),
    /// Stop servers started by `up`
    Down(down::Args),
    /// List the servers that pgdyno started
    Ps(ps::Args),
    /// List the PostgreSQL versions that could be used here
    Versions(versions::Args),
    /// Build PostgreSQL from its source, with the compiler, flags and sizes of your choice
    Build(Box<build::Args>),
    /// List the builds
    Builds(builds::Args),
    /// Measure the instrument itself: its floor and its ceiling
    Selftest(selftest::Args),
    /// Show what pgdyno keeps on this machine, and free it
    Clean(clean::Args),
    /// Go on with a run that was killed or stopped
    Resume(resume::Args),
    /// List recorded runs
    List(list::Args),
    /// Show one recorded run
    Show(show::Args),
    /// Write the report of a recorded run
    Report(report::Args),
    /// Judge a recorded run again, by the rules of this version
    Analyse(analyse::Args),
    /// Write man pages, shell completions or JSON Schemas
    #[command(hide = true)]
    Generate(generate::Args),
}

impl Cli {
    /// Reads a command line. Help and version are printed, and end the process.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(words: impl Iterator<Item = OsString>) -> Result<Self, Problem> {
        let words: Vec<OsString> = words.collect();
        Self::try_parse_from(&words).map_err(|error| {
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            wrong::problem(&error, &words, &Self::command()).unwrap_or_else(|| error.exit())
        })
    }
}

impl Command {
    /// Carries the sub-command out.
    ///
    /// # Errors
    /// What the user should read.
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
            Self::Up(args) => up::run(args, context),
            Self::Down(args) => down::run(args, context),
            Self::Ps(args) => ps::run(args, context),
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
            Self::Generate(args) => generate::run(args, &Cli::command()),
        }
    }
}

/// The task that the words of a command line ask for; `None` if they are not those of a measuring command.
fn task_of(words: Vec<OsString>) -> Result<Option<Task>, Problem> {
    match Cli::read(words.into_iter())?.command {
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

    use super::*;

    /// A sub-command is built when it is used: without this, a contradiction shows in that one alone.
    #[test]
    fn the_flags_of_all_sub_commands_agree() {
        Cli::command().debug_assert();
    }
}
