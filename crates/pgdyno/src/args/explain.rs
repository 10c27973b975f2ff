//! `pgdyno explain`.

use std::process::ExitCode;

use pgdyno_core::{problem::Problem, units::printable};
use pgdyno_rules::pages;

use crate::{context::Context, output};

/// Flags of `pgdyno explain`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Names are those of kernel parameters, files of sysfs, limits, boot words, mount and mkfs options, \
    flags of LVM, initdb and configure, properties of ZFS, and settings of the server.\n\n\
    Examples:\n  \
    pgdyno explain vm.swappiness\n  \
    pgdyno explain nobarrier\n  \
    pgdyno explain shared_buffers"
)]
pub struct Args {
    /// The name, or a part of several
    #[arg(value_name = "NAME", required_unless_present = "list")]
    name: Option<String>,
    /// List all names
    #[arg(long, conflicts_with = "name")]
    list: bool,
}

/// Most similar names that an error lists.
const MOST_SIMILAR: usize = 8;

/// Runs `pgdyno explain`.
///
/// # Errors
/// Nothing is known of the name.
pub fn run(args: &Args, _context: &Context) -> Result<ExitCode, Problem> {
    let Some(name) = &args.name else {
        let names: String = pages().map(|page| format!("{:<40} {}\n", page.name, page.today.words())).collect();
        output::print(&names)?;
        return Ok(ExitCode::SUCCESS);
    };
    let found: Vec<_> = pages().filter(|page| page.is_of(name)).collect();
    if found.is_empty() {
        return Err(nothing_of(name));
    }
    let texts: Vec<String> = found.into_iter().map(pgdyno_report::page).collect();
    output::print(&texts.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn nothing_of(name: &str) -> Problem {
    let problem = Problem::wrong_request(format!("nothing is known of `{}`", printable(name)));
    let mut near: Vec<(bool, usize, &str)> = pages()
        .map(|page| (!page.name.contains(name), strsim::damerau_levenshtein(page.name, name), page.name))
        .filter(|(apart, edits, _)| !apart || *edits <= name.len() / 3 + 1)
        .collect();
    near.sort_unstable();
    near.dedup();
    let names: Vec<&str> = near.into_iter().take(MOST_SIMILAR).map(|(.., name)| name).collect();
    problem.hint(match names.as_slice() {
        [] => "`pgdyno explain --list` lists all names".to_owned(),
        names => format!("similar names: {}; `pgdyno explain --list` lists all", names.join(", ")),
    })
}
