//! `pgdyno top`.

use std::{
    io::{self, ErrorKind, IsTerminal, Write},
    ops::ControlFlow,
    process::ExitCode,
    time::Duration,
};

use crate::detached::passwords::{self, complete};
use clap::ArgAction;
use pgdyno_core::{problem::Problem, span::Span, units::printable_json};
use pgdyno_document::Paint;
use pgdyno_host::terminal::obeys_escapes;
use pgdyno_top::{Listener, Request, reading::Reading};
use pgdyno_wire::ConnectOptions;

use super::target::Target;
use crate::{context::Context, output};

/// What begins the errors of this command.
const WHAT: &str = "could not show the server";
/// Shortest and longest time between two readings.
const INTERVALS: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(3_600)];

/// Flags of `pgdyno top`.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "Reads the server over one session of its own, `pgdyno top` in pg_stat_activity, and changes nothing. \
    Processes, devices and CPUs are shown if the server is on this machine. What the role may not see, or the major \
    version lacks, is listed in one line; a member of pg_monitor sees everything. See docs/top.md.\n\n\
    Keys: 1 to 8 panels, s sort, r reverse, / filter, p pause, ? help, q quit.\n\n\
    Examples:\n  \
    pgdyno top --server main\n  \
    pgdyno top -h db -U monitor -d postgres --interval 5s\n  \
    pgdyno top --server main --once\n  \
    pgdyno top --dsn 'host=db user=monitor' --json | jq .databases.commits_per_s"
)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Time between two readings, 500ms to 1h; rates are those of this time
    #[arg(long, short, value_name = "TIME", default_value = "2s", value_parser = interval, help_heading = "How")]
    interval: Span,
    /// Print one reading as text, and end
    #[arg(long, help_heading = "How")]
    once: bool,
    /// Print one JSON object per reading (schemas/top.schema.json); with --once one object
    #[arg(long, help_heading = "How")]
    json: bool,
    /// Print help
    #[arg(long, action = ArgAction::Help, help_heading = "How")]
    help: Option<bool>,
}

fn interval(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error| format!("{error}"))?;
    let is_usual = (INTERVALS[0]..=INTERVALS[1]).contains(&span.as_duration());
    is_usual.then_some(span).ok_or_else(|| format!("{span} is not between 500ms and 1h"))
}

/// Runs `pgdyno top`.
///
/// # Errors
/// No server is named, it cannot be reached, or there is no terminal to show it on.
pub fn run(args: &Args, _context: &Context) -> Result<ExitCode, Problem> {
    let options = args.target.resolve(WHAT)?;
    let is_live = !args.once && !args.json;
    if is_live && !has_terminal() {
        let problem = Problem::wrong_request(format!("{WHAT} live: there is no terminal to draw on"));
        return Err(problem.hint("--once prints one reading as text, --json one object per reading"));
    }
    let listener = Listener::begin(is_live)
        .map_err(|error| Problem::could_not(format!("{WHAT}: signals cannot be handled: {error}")))?;
    let options = with_password(options, &listener)?;
    let request = Request { options, interval: args.interval.as_duration(), listener };
    match (args.once, args.json) {
        (true, true) => pgdyno_top::once(request).and_then(|(reading, _)| output::print(&line(&reading)?))?,
        (true, false) => pgdyno_top::once(request).and_then(|(_, text)| output::print(&text))?,
        (false, true) => pgdyno_top::each(request, &mut print_line)?,
        (false, false) => pgdyno_top::view(request, output::paint() == Paint::Colour)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether there is a terminal to read keys from and to draw on.
fn has_terminal() -> bool {
    io::stdin().is_terminal() && obeys_escapes(io::stdout().is_terminal())
}

/// Asks for a password that the server wants and nobody knows.
fn with_password(options: ConnectOptions, listener: &Listener) -> Result<ConnectOptions, Problem> {
    let stop = listener.stop();
    let answers =
        passwords::ask(std::slice::from_ref(&options), &stop).map_err(|problem| match stop.requested() {
            true => Problem::could_not(format!("{WHAT}: interrupted")),
            false => problem,
        })?;
    passwords::keep(answers);
    Ok(complete(options))
}

fn line(reading: &Reading) -> Result<String, Problem> {
    let json = serde_json::to_string(reading)
        .map_err(|error| Problem::could_not(format!("could not write a reading as JSON: {error}")))?;
    Ok(format!("{}\n", printable_json(&json)))
}

/// Prints a reading. When the reader is gone, this ends.
fn print_line(reading: &Reading) -> Result<ControlFlow<()>, Problem> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(line(reading)?.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(ControlFlow::Continue(())),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
        Err(error) => Err(Problem::could_not(format!("could not write to standard output: {error}"))),
    }
}
