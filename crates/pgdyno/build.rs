//! Puts the commit into the program, for `--version` and the record.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/logs/HEAD");
    let output = Command::new("git").args(["describe", "--always", "--dirty", "--abbrev=10"]).output();
    let commit = output.ok().filter(|o| o.status.success()).and_then(|o| String::from_utf8(o.stdout).ok());
    println!("cargo::rustc-env=PGDYNO_COMMIT={}", commit.as_deref().map_or("unknown", str::trim));
}
