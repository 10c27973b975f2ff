//! `pgdyno down`.

use std::process::ExitCode;

use pgdyno_core::problem::Problem;
use pgdyno_provision::{Dirs, Stopped, registry, remove, stop};

use crate::{context::Context, problem, servers};

/// Flags of `pgdyno down`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Stops servers by a fast shutdown, which terminates sessions and ends with a checkpoint. If that \
    takes over a minute, an immediate shutdown follows, with a message. The data stays unless --remove is given."
)]
pub struct Args {
    /// Names of the servers
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    names: Vec<String>,
    /// All servers that `pgdyno ps` lists
    #[arg(long)]
    all: bool,
    /// Remove the servers with their data; this cannot be undone
    #[arg(long)]
    remove: bool,
}

/// Runs `pgdyno down`. If a server cannot be stopped, the others are stopped all the same.
///
/// # Errors
/// The first problem; the others are printed before it.
pub fn run(args: &Args, _context: &Context) -> Result<ExitCode, Problem> {
    let dirs = pgdyno_lab::dirs()?;
    let (names, mut first) = if args.all { all(&dirs) } else { (args.names.clone(), None) };
    if names.is_empty() && first.is_none() {
        println!("there are no servers");
    }
    for name in &names {
        match down(&dirs, name, args.remove) {
            Ok(text) => println!("{text}"),
            Err(next) if first.is_none() => first = Some(next),
            Err(next) => {
                problem::print(&next);
            }
        }
    }
    first.map_or(Ok(ExitCode::SUCCESS), Err)
}

/// Names of all servers, and the first unreadable record as a problem; the others are printed.
fn all(dirs: &Dirs) -> (Vec<String>, Option<Problem>) {
    let (mut names, mut first) = (Vec::new(), None);
    for record in registry::list(dirs) {
        match record {
            Ok(record) => names.push(record.name),
            Err(next) if first.is_none() => first = Some(next),
            Err(next) => {
                problem::print(&next);
            }
        }
    }
    (names, first)
}

fn down(dirs: &Dirs, name: &str, and_remove: bool) -> Result<String, Problem> {
    if and_remove {
        remove(dirs, name, &mut servers::print_event)?;
        return Ok(format!("server `{name}` is removed with its data"));
    }
    let data = registry::find(dirs, name)?.data.path;
    Ok(match stop(dirs, name, &mut servers::print_event)? {
        Stopped::WasNotRunning => format!("server `{name}` was not running"),
        Stopped::Fast => format!("server `{name}` is stopped; its data stays in {}", data.display()),
        Stopped::Immediate => {
            format!(
                "server `{name}` was stopped by an immediate shutdown and will recover; its data stays in {}",
                data.display()
            )
        }
    })
}
