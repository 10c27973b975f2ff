//! Checks in addition to the compiler and clippy. Each check is a function from tracked files to faults, with a test
//! that plants a fault.

mod arrows;
mod circles;
mod commands;
mod fault;
mod generated;
mod lengths;
mod links;
mod modules;
mod purity;
mod rust;

mod uses;
mod words;

use std::thread;

use fault::Fault;

use crate::{
    Failure,
    workspace::{Tracked, pgdyno, tracked},
};

/// Flags of `tidy`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Check nothing; list every arrow between files that is part of a circle in a crate, with the names that cause it
    #[arg(long)]
    circles: bool,
}

/// Prints the faults and the median function length; or only the circles.
pub fn run(args: &Args) -> Result<bool, Failure> {
    if args.circles {
        let files = tracked()?;
        let lines = circles::list(&rust::parse(&files)?);
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

/// Runs every check on the workspace: returns the faults, and the median length of a function in lines. Those of syntax
/// trees, of texts, and of the program run side by side.
fn check() -> Result<(Vec<Fault>, usize), Failure> {
    let files = tracked()?;
    thread::scope(|scope| {
        let of_program = scope.spawn(|| of_program(&files).map_err(|failure| failure.to_string()));
        let of_texts = scope.spawn(|| [links::check(&files), words::check(&files)].concat());
        let (mut faults, median) = of_sources(&files)?;
        faults.extend(arrows::check(&files)?);
        faults.extend(of_texts.join().expect("a check does not panic"));
        faults.extend(of_program.join().expect("a check does not panic")?);
        Ok((faults, median))
    })
}

fn of_sources(files: &[Tracked]) -> Result<(Vec<Fault>, usize), Failure> {
    let sources = rust::parse(files)?;
    let faults = [lengths::check(files), circles::check(&sources), purity::check(files, &sources)].concat();
    Ok((faults, lengths::median(&sources)))
}

fn of_program(files: &[Tracked]) -> Result<Vec<Fault>, Failure> {
    let program = pgdyno()?;
    Ok([commands::check(files, &program)?, generated::check(files, &program)?].concat())
}

/// A file for the tests of the checks.
#[cfg(test)]
fn file(path: &str, text: &str) -> Tracked {
    Tracked { path: path.to_owned(), text: Some(text.to_owned()) }
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
