//! What programs print, and what pgdyno records.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::Failure;

/// Standard output of a program that ended well.
pub(super) fn output(command: &mut Command) -> Result<String, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output =
        command.env("LC_ALL", "C").output().map_err(|error| format!("could not run {name}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout)?);
    }
    Err(format!("{name} failed: {}", String::from_utf8_lossy(&output.stderr)).into())
}

/// What `pgdyno disk` found, from the record that it wrote.
pub(super) fn found(pgdyno: &Path, args: &[&str]) -> Result<Value, Failure> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_is_named() {
        let problem = output(Command::new("sh").args(["-c", "echo why >&2; exit 3"])).expect_err("it fails");
        assert_eq!(problem.to_string(), "sh failed: why\n");
        assert!(output(&mut Command::new("/nowhere/fio")).is_err());
    }
}
