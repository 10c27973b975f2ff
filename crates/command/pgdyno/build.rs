//! Puts the commit into the program, for `--version` and the record.

use std::{path::Path, process::Command};

fn main() {
    for file in ["HEAD", "logs/HEAD"] {
        // In a git worktree the files are elsewhere. Watching a missing file would rebuild every time.
        if let Some(path) = git(&["rev-parse", "--git-path", file]).filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    println!("cargo::rerun-if-changed=build.rs");
    let commit = git(&["describe", "--always", "--dirty", "--abbrev=10"]);
    println!("cargo::rustc-env=PGDYNO_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
}

/// Output of git; `None` if git is missing or this is no checkout.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned())
}
