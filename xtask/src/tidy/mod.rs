//! What the compiler and clippy do not check. Each check is a function from tracked files to faults, with a test in
//! which a fault put in by hand is found.

mod arrows;
mod commands;
mod exceptions;
mod hosts;
mod lengths;
mod links;
mod output;
mod purity;
mod rust;
mod schemas;

use std::fmt;

use crate::{
    Failure,
    workspace::{pgdyno, tracked},
};

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Path from the root of the workspace.
    path: String,
    /// Line from 1; 0 is the file as a whole.
    line: usize,
    /// What is wrong.
    what: String,
}

impl Fault {
    fn new(path: impl Into<String>, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.into(), line, what: what.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

/// Prints the faults, and the median length of a function.
pub fn run() -> Result<bool, Failure> {
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

/// Every check over the workspace as it is: the faults, and the median length of a function in lines.
fn check() -> Result<(Vec<Fault>, usize), Failure> {
    let files = tracked()?;
    let program = pgdyno()?;
    let sources = rust::parse(&files)?;
    let lengths = lengths::check(&files, &sources, exceptions::read(&files)?);
    let mut faults = lengths.faults;
    faults.extend(arrows::check()?);
    faults.extend(output::check(&sources));
    faults.extend(purity::check(&files, &sources));
    faults.extend(hosts::check(&files));
    faults.extend(links::check(&files));
    faults.extend(commands::check(&files, &program)?);
    faults.extend(schemas::check(&files, &program)?);
    Ok((faults, lengths.median))
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
