//! What `pgdyno disk` reports.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::Failure;

/// What `pgdyno disk` found, from the record that it wrote.
pub fn found(pgdyno: &Path, args: &[&str]) -> Result<Value, Failure> {
    let runs = tempfile::tempdir()?;
    let mut command = Command::new(pgdyno);
    let done = command.arg("disk").args(args).arg("--runs").arg(runs.path()).output()?;
    let record = fs::read_dir(runs.path())?
        .flatten()
        .map(|run| run.path().join("run.json"))
        .find(|path| path.exists());
    let record = record.ok_or_else(|| format!("no record: {}", String::from_utf8_lossy(&done.stderr)))?;
    let record: Value = serde_json::from_str(&fs::read_to_string(record)?)?;
    Ok(record["operations"][0]["found"]["disk"].clone())
}
