//! `pgdyno observe`.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::detached::passwords::{self, complete};
use clap::ArgAction;
use jiff::Timestamp;
use pgdyno_core::{problem::Problem, span::Span, units};
use pgdyno_lab::join::{Joined, ObserveEvent, ObserveRequest, ObservedFile, join, observe};
use pgdyno_record::{JoinedRecord, ObserverHeader};

use super::target::Target;
use crate::{
    conclude::Finished,
    context::{Context, PROGRAM},
    interrupt, output,
};

/// Flags of `pgdyno observe`.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "A run observes the host, the devices and the processes of a server on its own machine. Of a \
    server elsewhere it sees the SQL side alone: then run `pgdyno observe` on the server's machine, as the server's \
    user or root, while the run lasts, copy its file, and join it to the run. Times of both machines are aligned by \
    the server's clock, which both read; their own clocks need not agree. The run is judged again: bottlenecks, \
    `pgdyno why` and the report use what was observed there. See docs/observers.md.\n\n\
    Examples:\n  \
    sudo pgdyno observe -h /var/run/postgresql -U postgres --output db1.ndjson\n  \
    pgdyno observe --server main --duration 10min\n  \
    pgdyno observe --join db1.ndjson last"
)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// The file to write, which must not exist [default: observed-MACHINE-TIME.ndjson]; over 10 MB it is compressed at
    /// the end
    #[arg(long, short, value_name = "FILE", help_heading = "What")]
    output: Option<PathBuf>,
    /// How long to observe [default: until interrupted]
    #[arg(long, value_name = "TIME", help_heading = "What")]
    duration: Option<Span>,
    /// Name of this machine in reports [default: its host name]
    #[arg(long, value_name = "NAME", help_heading = "What")]
    machine: Option<String>,
    /// Join such a file to a run that has ended [RUN default: last], and write its report again
    #[arg(
        long,
        action = ArgAction::Set,
        num_args = 1..=2,
        value_names = ["FILE", "RUN"],
        conflicts_with_all = ["server", "host", "port", "username", "dbname", "output", "duration", "machine"],
        help_heading = "Join"
    )]
    join: Vec<String>,
    /// Print help
    #[arg(long, action = ArgAction::Help, help_heading = "Join")]
    help: Option<bool>,
}

/// Runs `pgdyno observe`.
///
/// # Errors
/// The server is not named, cannot be reached or is elsewhere; the file cannot be written, or does not fit the run.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    match &args.join[..] {
        [] => write(args),
        [file, rest @ ..] => add(Path::new(file), rest.first().map_or("last", String::as_str), context),
    }
}

fn write(args: &Args) -> Result<ExitCode, Problem> {
    let options = args.target.resolve("could not observe the server")?;
    let stop =
        interrupt::on_interrupt_saying("stopping; the file is kept", "exited immediately; the file is kept");
    passwords::keep(passwords::ask(std::slice::from_ref(&options), &stop)?);
    let machine = args.machine.clone().unwrap_or_else(pgdyno_host::facts::name);
    let request = ObserveRequest {
        options: &complete(options),
        output: args.output.clone().unwrap_or_else(|| usual_output(&machine)),
        machine,
        duration: args.duration.map(Span::as_duration),
    };
    let file = observe(&request, PROGRAM.record(), &stop, &mut |event| report(&event, &request.output))?;
    file.missing.iter().for_each(|missing| eprintln!("warning: {missing}"));
    output::print(&written(&file))?;
    eprintln!("on the machine of the run: pgdyno observe --join {} RUN", file.path.display());
    Ok(ExitCode::SUCCESS)
}

fn usual_output(machine: &str) -> PathBuf {
    let plain: String =
        machine.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    PathBuf::from(format!("observed-{plain}-{}.ndjson", Timestamp::now().strftime("%Y%m%dT%H%M%SZ")))
}

fn report(event: &ObserveEvent, output: &Path) {
    match event {
        ObserveEvent::Begun(header) => eprintln!("{}; writing {}", begun(header), output.display()),
        ObserveEvent::ServerEnded => eprintln!("the server has ended; waiting for its next start"),
        ObserveEvent::ServerBack => eprintln!("the server was started again"),
    }
}

fn begun(header: &ObserverHeader) -> String {
    let log = if header.log.is_some() { "processes, log" } else { "processes, but not its log" };
    let (machine, port) = (&header.machine, header.server.port);
    format!("observing {machine} and the server at port {port}: host, devices, {log}")
}

fn written(file: &ObservedFile) -> String {
    let clock = file.clock.as_ref().map_or_else(String::new, |clock| {
        let (uncertainty, readings) =
            (units::duration(clock.uncertainty_s), units::plural(clock.readings, "reading"));
        format!("; the server's clock to within {uncertainty} ({readings})")
    });
    let (over, bytes) = (units::duration(file.over_s), units::bytes(file.bytes));
    let cost = units::percent(file.cost.cpus);
    format!("{}: {over}, {bytes}{clock}; observing took {cost} of a CPU\n", file.path.display())
}

fn add(file: &Path, run: &str, context: &Context) -> Result<ExitCode, Problem> {
    let directory = pgdyno_record::find(&context.runs, run)?;
    let joined = join(file, &directory)?;
    if let Some(entry) = joined.entry() {
        output::print(&added(&joined, entry))?;
        if entry.clocks.uncertainty_s > joined.line_s {
            let (known, line) = (units::duration(entry.clocks.uncertainty_s), units::duration(joined.line_s));
            eprintln!(
                "warning: times are known to within {known} only, and a line covers {line}: what was seen in one \
                 measured interval may be of its neighbours"
            );
        }
    }
    Finished::of(&joined.record, &directory).write_html()?;
    Ok(ExitCode::SUCCESS)
}

/// What was added, in four lines.
fn added(joined: &Joined, entry: &JoinedRecord) -> String {
    let clocks = &entry.clocks;
    let machine = units::printable(&entry.machine);
    let way = if clocks.ahead_s < 0.0 { "behind" } else { "ahead of" };
    let [intervals, stages] = joined.digests;
    let lines = [
        format!("joined {} to {}", units::printable(&entry.file), joined.record.id),
        format!(
            "  covers   {} of {}: {} of {machine}",
            units::duration(entry.to_s - entry.from_s),
            units::duration(joined.run_s),
            units::plural(entry.lines, "line"),
        ),
        format!(
            "  clocks   {machine} is {} {way} pgdyno's machine; times are known to within {}, drift {:.1} ppm",
            units::duration(clocks.ahead_s.abs()),
            units::duration(clocks.uncertainty_s),
            clocks.drift_ppm,
        ),
        format!(
            "  digests  {} and {}",
            units::plural(intervals, "measured interval"),
            units::plural(stages, "stage")
        ),
    ];
    lines.join("\n") + "\n"
}
