//! `pgdyno attach`.

use std::process::ExitCode;

use pgdyno_core::problem::Problem;

use crate::detached::{entry::Status, names};
use crate::{
    context::Context,
    exit::Exit,
    follow::{Followed, Viewer},
    interrupt,
};

/// Flags of `pgdyno attach`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Prints the output of the run, past and new, with its progress below on a terminal. The exit status \
    is that of the run. Ctrl-C ends `attach` alone: the run continues. Any number of `attach` can show one run; of a \
    run that is over, it prints the output."
)]
pub struct Args {
    /// Name of the detached run, as `pgdyno ps` lists it [default: the only one running]
    name: Option<String>,
}

/// Runs `pgdyno attach`.
///
/// # Errors
/// There is no such run, or it was lost.
pub fn run(args: &Args, _context: &Context) -> Result<ExitCode, Problem> {
    let (home, entry) = names::find_or_only(&pgdyno_lab::dirs()?, args.name.as_deref())?;
    let stop = interrupt::on_interrupt_saying("detached again", "detached again");
    if matches!(entry.status, Status::Running(_)) {
        interrupt::answer_with(format!("detached again: `{}` continues", entry.name));
    }
    match Viewer::new(home, 0).follow(&stop)? {
        Followed::Left => Ok(Exit::NotCompleted.into()),
        Followed::Ended(status) => Ok(ExitCode::from(status)),
        Followed::Lost(problem) => Err(problem),
    }
}
