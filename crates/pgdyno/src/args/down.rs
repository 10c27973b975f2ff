//! `pgdyno down`.

use std::process::ExitCode;

use pgdyno_core::problem::Problem;
use pgdyno_provision::{Dirs, Stopped, registry, remove, stop};

use crate::{context::Context, problem, servers};

/// Flags of `pgdyno down`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A fast shutdown: sessions are ended and everything is on disk. Where that takes over a minute, an \
    immediate one follows, and says so. The data stays, unless --remove is given."
)]
pub struct Args {
    /// Names of the servers
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    names: Vec<String>,
    /// All servers that pgdyno keeps
    #[arg(long)]
    all: bool,
    /// Remove them with their data, which cannot be undone
    #[arg(long)]
    remove: bool,
}

/// Runs `pgdyno down`. One that cannot be stopped does not keep the others up.
///
/// # Errors
/// What the user should read: the first problem; the others are printed before it.
pub fn run(args: &Args, _context: &Context) -> Result<ExitCode, Problem> {
    let dirs = pgdyno_lab::dirs()?;
    let (names, mut first) = if args.all { all(&dirs) } else { (args.names.clone(), None) };
    if names.is_empty() && first.is_none() {
        println!("there is no server");
    }
    for name in &names {
        match down(&dirs, name, args.remove) {
            Ok(words) => println!("{words}"),
            Err(next) if first.is_none() => first = Some(next),
            Err(next) => {
                problem::print(&next);
            }
        }
    }
    first.map_or(Ok(ExitCode::SUCCESS), Err)
}

/// All names, and the first problem of a record that cannot be understood; the others are printed.
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
        remove(dirs, name, &mut servers::say)?;
        return Ok(format!("server `{name}` is removed with its data"));
    }
    let data = registry::find(dirs, name)?.data.path;
    Ok(match stop(dirs, name, &mut servers::say)? {
        Stopped::WasNotRunning => format!("server `{name}` was not running"),
        Stopped::Fast => format!("server `{name}` is stopped; its data stays in {}", data.display()),
        Stopped::Immediate => {
            format!(
                "server `{name}` was stopped at once and will recover; its data stays in {}",
                data.display()
            )
        }
    })
}
