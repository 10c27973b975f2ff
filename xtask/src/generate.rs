//! `man`, `completions` and `schemas`: `pgdyno` writes them, because it alone knows its flags and its types.

use std::{fs, path::PathBuf, process::Command};

use crate::{
    Failure,
    workspace::{pgdyno, root, succeed, target_dir},
};

/// Flags of `man` and `completions`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directory to write to [default: target/man or target/completions]
    dir: Option<PathBuf>,
}

/// Writes the man pages or the completions.
pub fn run(kind: &str, args: &Args) -> Result<bool, Failure> {
    let dir = args.dir.clone().unwrap_or_else(|| target_dir().join(kind));
    succeed(Command::new(pgdyno()?).args(["generate", kind]).arg(&dir))?;
    println!("{}", dir.display());
    Ok(true)
}

/// Writes `schemas/` anew, so that a schema that is no longer generated goes too.
pub fn schemas() -> Result<bool, Failure> {
    let (program, dir) = (pgdyno()?, root().join("schemas"));
    if dir.exists() {
        fs::remove_dir_all(&dir)?;
    }
    succeed(Command::new(program).args(["generate", "schemas"]).arg(&dir))?;
    println!("{}", dir.display());
    Ok(true)
}
