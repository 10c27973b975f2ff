//! Chores of the pgdyno workspace: `cargo xtask` lists them, `cargo xtask CHORE --help` explains one.

#![allow(clippy::print_stderr, clippy::print_stdout)]

mod bench;
mod dist;
mod failure;
mod generate;
mod pgbench_tests;
mod test_all;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use failure::Failure;

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "Chores of the pgdyno workspace", arg_required_else_help = true)]
struct Cli {
    /// The chore
    #[command(subcommand)]
    chore: Chore,
}

/// The chores.
#[derive(Debug, Subcommand)]
enum Chore {
    /// Check what the compiler does not: arrows, circles, lengths, bans, help, schemas, links, words (also in `cargo
    /// test`)
    Tidy(tidy::Args),
    /// Write pgdyno.1 and a page for every sub-command
    Man(generate::Args),
    /// Write completions for bash, zsh and fish
    Completions(generate::Args),
    /// Write the JSON Schemas to `schemas/`
    Schemas,
    /// Write the pages of all rules to `docs/host-rules.md`
    Rules,
    /// Write the words of wait events to `docs/wait-events.md`
    WaitEvents,
    /// Build the static release and pack it with man pages, completions and licences
    Dist,
    /// Compare pgdyno's driver with pgbench, alternating within one run; then measure the null target
    BenchDriver(bench::driver::Args),
    /// Compare `pgdyno load tpcb` with `pgbench -i`, alternating, until all data is durable; then measure the row
    /// generator
    BenchLoad(bench::load::Args),
    /// Compare `pgdyno load tpcc` with the load of go-tpc, alternating, until all data is durable
    BenchTpcc(bench::tpcc::Args),
    /// Measure what observing costs: a driver with all observers awake and asleep, alternating
    BenchObserve(bench::observe::Args),
    /// Compare `pgdyno disk` with pg_test_fsync, fio and pg_test_timing, alternating
    BenchDisk(bench::disk::flags::Args),
    /// Run PostgreSQL's own tests of pgbench against a pgbench and against pgdyno under that name
    PgbenchTests(pgbench_tests::Args),
    /// Run every test, including all majors, kills and long truth tests
    TestAll(test_all::Args),
}

fn main() -> ExitCode {
    let done = match Cli::parse().chore {
        Chore::Tidy(args) => tidy::run(&args),
        Chore::Man(args) => generate::run("man", &args),
        Chore::Completions(args) => generate::run("completions", &args),
        Chore::Schemas => generate::schemas(),
        Chore::Rules => generate::page("rules", "host-rules.md"),
        Chore::WaitEvents => generate::page("wait-events", "wait-events.md"),
        Chore::Dist => dist::run(),
        Chore::BenchDriver(args) => bench::driver::run(&args),
        Chore::BenchLoad(args) => bench::load::run(&args),
        Chore::BenchTpcc(args) => bench::tpcc::run(&args),
        Chore::BenchObserve(args) => bench::observe::run(&args),
        Chore::BenchDisk(args) => bench::disk::run(&args),
        Chore::PgbenchTests(args) => pgbench_tests::run(&args),
        Chore::TestAll(args) => test_all::run(&args),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}
