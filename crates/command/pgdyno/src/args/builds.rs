//! `pgdyno builds`.

use std::process::ExitCode;

use jiff::Timestamp;
use pgdyno_core::{problem::Problem, units};
use pgdyno_provision::builds::{self, Build, Unfinished};
use serde_json::{Value, json};

use super::{
    build::{as_json, doing},
    clean::size,
};
use crate::context::Context;

/// Flags of `pgdyno builds`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "`pgdyno build` makes builds, and `pgdyno clean` removes them. Two names of the same recipe share one \
    build and its disk space."
)]
pub struct Args {
    /// Print JSON, with all details
    #[arg(long)]
    json: bool,
}

/// Runs `pgdyno builds`.
///
/// # Errors
/// The problem to print.
pub fn run(args: &Args, _context: &Context) -> Result<ExitCode, Problem> {
    let dirs = pgdyno_lab::dirs()?;
    let (complete, unfinished) = (builds::all(&dirs), builds::unfinished(&dirs));
    if args.json {
        let complete = complete.iter().map(complete_as_json);
        let list: Vec<Value> = complete.chain(unfinished.iter().map(unfinished_as_json)).collect();
        println!("{:#}", Value::from(list));
        return Ok(ExitCode::SUCCESS);
    }
    print!("{}", table(&complete.iter().map(row).collect::<Vec<_>>()));
    for Unfinished { name, source, phase, running, log_path, .. } in &unfinished {
        println!("{name} of {source} {}; log: {}", doing(*phase, *running), log_path.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn complete_as_json(build: &Build) -> Value {
    let mut value = as_json(build);
    value["status"] = "complete".into();
    value["size_bytes"] = size(&build.dir).into();
    value
}

fn unfinished_as_json(unfinished: &Unfinished) -> Value {
    json!({
        "name": unfinished.name,
        "source": unfinished.source,
        "status": if unfinished.running { "running" } else if unfinished.phase == builds::Phase::Failed { "failed" }
                  else { "interrupted" },
        "phase": unfinished.phase.word(),
        "dir": unfinished.dir,
        "log": unfinished.log_path,
        "size_bytes": size(&unfinished.dir),
    })
}

const HEAD: [&str; 7] = ["NAME", "VERSION", "COMPILER", "PAGES", "SIZE", "BUILT", "FLAGS"];

fn row(build: &Build) -> [String; 7] {
    let manifest = &build.manifest;
    let patches = match manifest.patches.len() {
        0 => String::new(),
        1 => ", 1 patch".to_owned(),
        count => format!(", {count} patches"),
    };
    [
        build.name.clone(),
        manifest.version.clone(),
        manifest.compiler_words(),
        format!("{}/{} KiB", manifest.block_kb, manifest.wal_block_kb),
        units::bytes(size(&build.dir)),
        minute(&manifest.built_at),
        format!("{}{patches}", manifest.cflags),
    ]
}

/// A timestamp to the minute, in UTC.
fn minute(rfc3339: &str) -> String {
    match rfc3339.parse::<Timestamp>() {
        Ok(at) => at.strftime("%Y-%m-%dT%H:%MZ").to_string(),
        Err(_) => rfc3339.to_owned(),
    }
}

/// Columns as wide as their widest cell.
fn table(rows: &[[String; 7]]) -> String {
    let head = HEAD.map(str::to_owned);
    let all: Vec<&[String; 7]> = std::iter::once(&head).chain(rows).collect();
    let width = |column: usize| all.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    let line = |row: &&[String; 7]| {
        let cells: String = (0..6).map(|at| format!("{:<1$}", row[at], widths[at] + 2)).collect();
        format!("{cells}{}\n", row[6])
    };
    all.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_below_their_heads() {
        let row = ["a-long-name", "18.6", "gcc 12.2.0", "8/8 KiB", "41.0 MiB", "2026-11-21T17:00Z", "-O2 -g"];
        let text = table(&[row.map(str::to_owned)]);
        let lines: Vec<&str> = text.lines().collect();
        for (head, cell) in HEAD.iter().zip(row) {
            assert_eq!(lines[0].find(head), lines[1].find(cell), "{text}");
        }
    }
}
