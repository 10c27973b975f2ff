//! Checks in addition to the compiler and clippy. Each check is a function from tracked files to faults, with a test
//! that plants a fault.

mod arrows;
mod circles;
mod commands;
mod dependencies;
mod exceptions;
mod fault;
mod hosts;
mod lengths;
mod links;
mod modules;
mod purity;
mod rust;
mod schemas;
mod uses;
mod words;

use fault::Fault;

use crate::{
    Failure,
    workspace::{pgdyno, tracked},
};

/// Flags of `tidy`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Check nothing; list every arrow between files that is part of a circle in a crate, with the names that cause it;
    /// `*` marks entries of `exceptions.txt`
    #[arg(long)]
    circles: bool,
}

/// Prints the faults and the median function length; or only the circles.
pub fn run(args: &Args) -> Result<bool, Failure> {
    if args.circles {
        let files = tracked()?;
        let lines = circles::list(&rust::parse(&files)?, &exceptions::read(&files)?);
        lines.iter().for_each(|line| println!("{line}"));
        return Ok(true);
    }
    let (faults, median) = check()?;
    for fault in &faults {
        println!("{fault}");
    }
    println!("median length of a function: {median} lines");
    println!(
        "tidy: {}",
        if faults.is_empty() { "no fault".into() } else { format!("{} faults", faults.len()) }
    );
    Ok(faults.is_empty())
}

/// Runs every check on the workspace: returns the faults, and the median length of a function in lines.
fn check() -> Result<(Vec<Fault>, usize), Failure> {
    let files = tracked()?;
    let program = pgdyno()?;
    let sources = rust::parse(&files)?;
    let mut exceptions = exceptions::read(&files)?;
    let mut faults = lengths::check(&files, &mut exceptions);
    faults.extend(circles::check(&sources, &mut exceptions));
    faults.extend(dependencies::check(&files, &mut exceptions)?);
    faults.extend(exceptions.stale());
    faults.extend(arrows::check()?);
    faults.extend(purity::check(&files, &sources));
    faults.extend(hosts::check(&files));
    faults.extend(links::check(&files));
    faults.extend(words::check(&files));
    faults.extend(commands::check(&files, &program)?);
    faults.extend(schemas::check(&files, &program)?);
    Ok((faults, lengths::median(&sources)))
}

/// A file for the tests of the checks.
#[cfg(test)]
fn file(path: &str, text: &str) -> crate::workspace::Tracked {
    crate::workspace::Tracked { path: path.to_owned(), text: Some(text.to_owned()) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_workspace_is_tidy() {
        let (faults, _) = super::check().expect("the checks can be made");
        let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "`cargo xtask tidy` finds:\n{}", lines.join("\n"));
    }
}
