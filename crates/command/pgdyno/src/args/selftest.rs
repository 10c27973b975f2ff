//! `pgdyno selftest`.

use std::process::ExitCode;

use jiff::Timestamp;
use pgdyno_core::{
    facts::{Instrument, Machine},
    problem::Problem,
    stop::Stop,
};
use pgdyno_engine::{EngineError, SocketDriver, gauge};
use pgdyno_lab::instrument;

use crate::{
    context::{Context, LONG_VERSION, PROGRAM},
    interrupt, output,
    progress::Progress,
};

/// Length of the measurement with the null target, and of each measurement of timer lag.
const SHORT_NS: u64 = 1_500_000_000;
/// Length of each measurement of a ceiling, without its warm-up of one fifth.
const CEILING_NS: u64 = 1_000_000_000;
/// Client counts of a driver thread for which the ceiling is measured: a low one, and the highest that still makes a
/// difference.
const CLIENTS: [u32; 2] = [8, 128];

/// Flags of `pgdyno selftest`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Measures the overhead of the clock and the recorder, how late timers fire, and the highest rate of \
    round trips of a driver thread to a dummy server. It takes about ten seconds and needs no PostgreSQL. The result \
    is kept for `bench`: a run near the ceiling gets a doubt."
)]
pub struct Args {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// Runs `pgdyno selftest`.
///
/// # Errors
/// The problem to print.
pub fn run(args: &Args, _context: &Context) -> Result<ExitCode, Problem> {
    let stop = interrupt::on_interrupt();
    let progress = Progress::new();
    let measured = measure(&stop, &progress);
    progress.finish();
    let instrument = measured?;
    if args.json {
        output::print(&output::json(&instrument))?;
    } else {
        output::print(&pgdyno_report::instrument(&instrument))?;
    }
    if !PROGRAM.is_optimised {
        eprintln!(
            "warning: this program was compiled without optimisation: its figures do not hold for a release build"
        );
    }
    match instrument::keep(&instrument) {
        Ok(path) => eprintln!("kept for `bench`: {}", path.display()),
        Err(problem) => eprintln!("warning: {}: `bench` cannot compare with it", problem.what),
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(stop: &Stop, progress: &Progress) -> Result<Instrument, Problem> {
    let host = pgdyno_host::facts::host()
        .map_err(|error| Problem::could_not(format!("could not read the facts of this machine: {error}")))?;
    progress.stage("measuring the clock, the recorder and the null target");
    let clock = gauge::clock();
    let recording_ns = gauge::recording_ns();
    let null_attempts_per_s =
        unless_stopped(stop, problem_if_failed(gauge::null_attempts_per_s(SHORT_NS, stop)))?;
    let (mut timers, mut ceilings) = (Vec::new(), Vec::new());
    for driver in SocketDriver::usable() {
        progress.stage(&format!("measuring timer lag with {driver}"));
        timers.push(unless_stopped(stop, problem_if_failed(gauge::timer_lag(driver, SHORT_NS, stop)))?);
        for clients in CLIENTS {
            progress.stage(&format!("measuring round trips of {clients} clients with {driver}"));
            let ceiling = pgdyno_postgres::gauge::ceiling(driver, clients, CEILING_NS, stop);
            ceilings.push(unless_stopped(stop, ceiling)?);
        }
    }
    Ok(Instrument {
        tool: LONG_VERSION.to_owned(),
        optimised: PROGRAM.is_optimised,
        measured_at: Timestamp::now().to_string(),
        machine: Machine::of(&host),
        clock,
        recording_ns,
        null_attempts_per_s,
        timers,
        ceilings,
    })
}

fn problem_if_failed<R>(result: Result<R, EngineError>) -> Result<R, Problem> {
    result.map_err(|error| Problem::could_not(format!("the driver failed: {error}")))
}

/// Result of a measurement, unless it was stopped before its end.
fn unless_stopped<R>(stop: &Stop, result: Result<R, Problem>) -> Result<R, Problem> {
    match stop.reason() {
        Some(why) => {
            Err(Problem::could_not(format!("stopped before its end: {why}")).hint("nothing was kept"))
        }
        None => result,
    }
}
