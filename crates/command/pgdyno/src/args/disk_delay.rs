//! `pgdyno disk delay`.

use std::{path::PathBuf, process::ExitCode, thread, time::Duration};

use clap::{ArgAction, ValueEnum};
use pgdyno_core::{problem::Problem, span::Span, units};
use pgdyno_disk::layer::{Behaviour, Delay, Injection, mount};

use crate::{interrupt, output};

/// Time between two looks at a request to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Flags of `pgdyno disk delay`.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "MOUNTPOINT shows the contents of DIR, but every read, write or sync that reaches it takes longer. \
    The page cache is above it, as above a disk. It stays mounted until Ctrl-C; stop the servers on it before. A plan \
    that compares it with the same disk without delay shows what latency costs at which client count:\n\n  \
    pgdyno disk delay /srv/slow /mnt/slow --times 2\n  \
    pgdyno run plan.toml --subject data=/srv/plain/a --subject data=/mnt/slow/b"
)]
pub struct Args {
    /// Directory that holds the data
    #[arg(value_name = "DIR", help_heading = "What")]
    dir: PathBuf,
    /// Empty directory to mount it on
    #[arg(value_name = "MOUNTPOINT", help_heading = "What")]
    at: PathBuf,
    /// How many times as long an operation takes, at least 1
    #[arg(
        long,
        value_name = "N",
        required_unless_present = "by",
        conflicts_with = "by",
        help_heading = "How"
    )]
    times: Option<f64>,
    /// How much longer an operation takes, such as 200us
    #[arg(long, value_name = "TIME", help_heading = "How")]
    by: Option<Span>,
    /// Operations that take longer
    #[arg(
        long,
        value_name = "KIND",
        value_delimiter = ',',
        default_value = "reads,writes,syncs",
        help_heading = "How"
    )]
    of: Vec<Kind>,
    /// Print help
    #[arg(long, short, action = ArgAction::Help)]
    help: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    Reads,
    Writes,
    Syncs,
}

/// Shows a directory as a slower disk, until Ctrl-C.
///
/// # Errors
/// It cannot be mounted, or not be unmounted.
pub fn run(args: &Args) -> Result<ExitCode, Problem> {
    let stop =
        interrupt::on_interrupt_saying("unmounting", "exited immediately; the mount may still be there");
    let mut mounted = mount(&args.dir, &args.at, args.behaviour())?;
    let (at, dir) = (args.at.display().to_string(), args.dir.display().to_string());
    output::print(&format!(
        "{} is {}, and slower; Ctrl-C ends it",
        units::printable(&at),
        units::printable(&dir)
    ))?;
    while !stop.requested() {
        thread::sleep(LOOK_EVERY);
    }
    let counts = mounted.counts();
    mounted.unmount()?;
    let [reads, writes, syncs] = [counts.reads, counts.writes, counts.syncs].map(units::count);
    output::print(&format!("{reads} reads, {writes} writes and {syncs} syncs passed through"))?;
    Ok(ExitCode::SUCCESS)
}

impl Args {
    fn behaviour(&self) -> Behaviour {
        let delay = match (self.times, self.by) {
            (Some(times), _) => Delay::Times(times),
            (None, Some(by)) => Delay::Fixed(by.as_duration()),
            (None, None) => Delay::None,
        };
        let injection = |kind: Kind| {
            let delay = if self.of.contains(&kind) { delay.clone() } else { Delay::None };
            Injection { delay, fails_after: None }
        };
        Behaviour {
            reads: injection(Kind::Reads),
            writes: injection(Kind::Writes),
            syncs: injection(Kind::Syncs),
            ..Behaviour::default()
        }
    }
}
