//! `pgdyno ps`.

use std::process::ExitCode;

use pgdyno_core::{facts::Choice, problem::Problem, units::printable_json};
use pgdyno_provision::{Record, registry};
use pgdyno_record::redact_setting;
use serde_json::{Value, json};

use crate::{context::Context, problem};

/// Flags of `pgdyno ps`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON, with all details
    #[arg(long)]
    json: bool,
}

/// Runs `pgdyno ps`.
///
/// # Errors
/// A record cannot be read; the other servers are printed before.
pub fn run(args: &Args, _context: &Context) -> Result<ExitCode, Problem> {
    let dirs = pgdyno_lab::dirs()?;
    let (mut records, mut problems) = (Vec::new(), Vec::new());
    for entry in registry::list(&dirs) {
        match entry {
            Ok(record) => records.push(record),
            Err(problem) => problems.push(problem),
        }
    }
    if args.json {
        let list: Vec<Value> = records.iter().map(as_json).collect();
        println!("{}", printable_json(&format!("{:#}", Value::from(list))));
    } else {
        print!("{}", table(&records.iter().map(row).collect::<Vec<_>>()));
    }
    let last = problems.pop();
    for next in &problems {
        problem::print(next);
    }
    last.map_or(Ok(ExitCode::SUCCESS), Err)
}

fn as_json(record: &Record) -> Value {
    let status = record.status();
    json!({
        "name": record.name,
        "version": record.version,
        "version_num": record.version_num,
        "status": status.word(),
        "pid": status.pid(),
        "socket_dir": record.socket.path,
        "port": record.port,
        "listen": record.listen,
        "data_dir": record.data.path,
        "wal_dir": record.wal.as_ref().map(|place| &place.path),
        "build": record.build,
        "bindir": record.bindir,
        "source": record.source,
        "pinned": record.pinned,
        "run_as": record.run_as.as_ref().map(|user| &user.name),
        "settings": settings(record),
    })
}

/// Settings without secrets.
fn settings(record: &Record) -> Vec<Choice> {
    let public =
        |choice: &Choice| Choice { value: redact_setting(&choice.name, &choice.value), ..choice.clone() };
    record.settings.iter().map(public).collect()
}

/// Maximum width of a line.
const WIDTH: usize = 80;
const HEAD: [&str; 6] = ["NAME", "VERSION", "STATUS", "PID", "PORT", "DATA"];

fn row(record: &Record) -> [String; 6] {
    let status = record.status();
    let port = record.listen.as_ref().map_or_else(|| "socket".to_owned(), |_| record.port.to_string());
    [
        record.name.clone(),
        record.version.clone(),
        status.word().to_owned(),
        status.pid().map_or_else(|| "-".to_owned(), |pid| pid.to_string()),
        port,
        record.data.path.display().to_string(),
    ]
}

/// Columns as wide as their widest cell; the last one is cut at its start to keep the line within [`WIDTH`].
fn table(rows: &[[String; 6]]) -> String {
    let head = HEAD.map(str::to_owned);
    let all: Vec<&[String; 6]> = std::iter::once(&head).chain(rows).collect();
    let width = |column: usize| all.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..5).map(width).collect();
    let room = WIDTH.saturating_sub(widths.iter().map(|width| width + 2).sum()).max(8);
    let line = |row: &&[String; 6]| {
        let cells: String = (0..5).map(|at| format!("{:<1$}", row[at], widths[at] + 2)).collect();
        format!("{cells}{}\n", shortened(&row[5], room))
    };
    all.iter().map(line).collect()
}

fn shortened(text: &str, room: usize) -> String {
    let length = text.chars().count();
    if length <= room {
        return text.to_owned();
    }
    std::iter::once('…').chain(text.chars().skip(length + 1 - room)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_keeps_to_its_width() {
        let row = |name: &str, data: &str| {
            [name, "9.6.24", "unfinished", "1234567", "socket", data].map(str::to_owned)
        };
        let text = table(&[row("main", "/d"), row("a-longer-name", &"/very/long".repeat(20))]);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.starts_with("NAME "));
        assert!(text.lines().last().is_some_and(|line| line.contains('…') && line.ends_with("/very/long")));
    }

    #[test]
    fn a_very_long_name_leaves_room_for_the_end_of_the_path() {
        let text = table(&[[
            "x".repeat(40),
            "19devel".into(),
            "running".into(),
            "1".into(),
            "5432".into(),
            "/a/b/c/data".into(),
        ]]);
        assert!(text.lines().last().is_some_and(|line| line.ends_with("/data")), "{text}");
    }
}
