//! `pgdyno ps`.

use std::process::ExitCode;

use pgdyno_core::{
    facts::Choice,
    problem::Problem,
    units::{printable, printable_json},
};
use pgdyno_provision::{Record, registry};
use pgdyno_record::redact_setting;
use serde_json::{Value, json};

use crate::detached::entry::{self, Entry, Home};
use crate::{context::Context, problem};

/// Flags of `pgdyno ps`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Lists servers, then runs that --detach started. DONE and LEFT are about the whole run, as estimated \
    from its plan and its pace: ≥ is at least, where it has parts of unknown length; ≤ is at most, where a comparison \
    may have its answer earlier; - is unknown. NOW is the present step. A run that is over stays in the list until \
    `pgdyno clean --yes`, or until its name is used again. A run is lost if it was killed, or if the machine was \
    restarted meanwhile."
)]
pub struct Args {
    /// Print JSON, with all details
    #[arg(long)]
    json: bool,
}

/// Runs `pgdyno ps`.
///
/// # Errors
/// A record cannot be read; the other servers and runs are printed before.
pub fn run(args: &Args, _context: &Context) -> Result<ExitCode, Problem> {
    let dirs = pgdyno_lab::dirs()?;
    let mut problems = Vec::new();
    let records: Vec<Record> = readable(registry::list(&dirs), &mut problems);
    let runs: Vec<(Home, Entry)> = readable(entry::list(&dirs), &mut problems);
    if args.json {
        let list: Vec<Value> = records
            .iter()
            .map(as_json)
            .chain(runs.iter().map(|(home, entry)| run_as_json(home, entry)))
            .collect();
        println!("{}", printable_json(&format!("{:#}", Value::from(list))));
    } else {
        if runs.is_empty() || !records.is_empty() {
            print!("{}", table(HEAD, &records.iter().map(row).collect::<Vec<_>>(), end_of));
        }
        if !runs.is_empty() {
            let rows: Vec<_> = runs.iter().map(|(home, entry)| row_of_run(home, entry)).collect();
            print!("{}{}", if records.is_empty() { "" } else { "\n" }, table(HEAD_OF_RUNS, &rows, begin_of));
        }
    }
    let last = problems.pop();
    for next in &problems {
        problem::print(next);
    }
    last.map_or(Ok(ExitCode::SUCCESS), Err)
}

/// Separates what can be read from the problems with the rest.
fn readable<T>(listed: Vec<Result<T, Problem>>, problems: &mut Vec<Problem>) -> Vec<T> {
    listed.into_iter().filter_map(|one| one.map_err(|problem| problems.push(problem)).ok()).collect()
}

fn run_as_json(home: &Home, entry: &Entry) -> Value {
    let status = entry.status;
    let progress = status.pid().and_then(|_| home.progress());
    json!({
        "kind": "run",
        "name": entry.name,
        "status": status.word(),
        "pid": status.pid(),
        "exit_status": entry.end.as_ref().map(|end| end.status),
        "lost_by": lost_by(status),
        "command": entry.command,
        "directory": entry.directory,
        "started_at": entry.started_at,
        "ended_at": entry.end.as_ref().map(|end| &end.at),
        "run_dir": entry.run,
        "output": home.output(),
        "progress": progress,
    })
}

/// Why a run was lost; `None` if it was not.
fn lost_by(status: entry::Status) -> Option<&'static str> {
    match status {
        entry::Status::Killed => Some("it was killed"),
        entry::Status::Restarted => Some("the machine was restarted"),
        entry::Status::Running(_) | entry::Status::Ended(_) => None,
    }
}

const HEAD_OF_RUNS: [&str; 6] = ["NAME", "COMMAND", "STATUS", "DONE", "LEFT", "NOW"];

fn row_of_run(home: &Home, entry: &Entry) -> [String; 6] {
    let status = entry.status;
    let progress = status.pid().and_then(|_| home.progress()).unwrap_or_default();
    let now = match status {
        entry::Status::Running(_) if progress.text.is_empty() => "-".to_owned(),
        entry::Status::Running(_) => printable(&progress.text).into_owned(),
        entry::Status::Ended(status) => format!("exit status {status}"),
        entry::Status::Killed | entry::Status::Restarted => lost_by(status).unwrap_or_default().to_owned(),
    };
    [
        entry.name.clone(),
        entry.kind.clone(),
        status.word().to_owned(),
        progress.whole.map_or_else(|| "-".to_owned(), |whole| whole.share()),
        progress.whole.map_or_else(|| "-".to_owned(), |whole| whole.left()),
        now,
    ]
}

fn as_json(record: &Record) -> Value {
    let status = record.status();
    json!({
        "kind": "server",
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

/// Columns as wide as their widest cell; `shortened` keeps the line within [`WIDTH`] by the last one.
fn table(head: [&str; 6], rows: &[[String; 6]], shortened: fn(&str, usize) -> String) -> String {
    let head = head.map(str::to_owned);
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

/// The end of a text: of a path, the part that distinguishes it.
fn end_of(text: &str, room: usize) -> String {
    let length = text.chars().count();
    if length <= room {
        return text.to_owned();
    }
    std::iter::once('…').chain(text.chars().skip(length + 1 - room)).collect()
}

/// The beginning of a text.
fn begin_of(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_keeps_to_its_width() {
        let row = |name: &str, data: &str| {
            [name, "9.6.24", "unfinished", "1234567", "socket", data].map(str::to_owned)
        };
        let text = table(HEAD, &[row("main", "/d"), row("a-longer-name", &"/very/long".repeat(20))], end_of);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.starts_with("NAME "));
        assert!(text.lines().last().is_some_and(|line| line.contains('…') && line.ends_with("/very/long")));
    }

    #[test]
    fn a_long_progress_is_cut_at_its_end() {
        let now = "rows: 1,475,440 of 4,000,440 rows, 777,641/s, 3 s left";
        let row = ["load-1", "load tpcb", "running", "37 %", "3 s", now].map(str::to_owned);
        let text = table(HEAD_OF_RUNS, &[row], begin_of);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(
            text.lines()
                .last()
                .is_some_and(|line| line.contains("  rows: 1,475,440 of ") && line.ends_with('…'))
        );
    }

    #[test]
    fn a_very_long_name_leaves_room_for_the_end_of_the_path() {
        let row = [
            "x".repeat(40),
            "19devel".into(),
            "running".into(),
            "1".into(),
            "5432".into(),
            "/a/b/c/data".into(),
        ];
        let text = table(HEAD, &[row], end_of);
        assert!(text.lines().last().is_some_and(|line| line.ends_with("/data")), "{text}");
    }
}
