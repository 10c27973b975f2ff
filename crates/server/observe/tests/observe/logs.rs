//! Logs of every major, made by servers with `lc_messages = C`: the events that each has, by hand.

use std::{fs, path::Path};

use pgdyno_core::observe::LogEvent;
use pgdyno_observe::activity::{LogEntry, LogFormat, LogParser};

fn entries(file: &str) -> Vec<LogEntry> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs").join(file);
    let text = fs::read_to_string(path).expect("it is there");
    let mut parser = LogParser::new(LogFormat::of_file(file));
    let mut entries: Vec<_> = text.lines().filter_map(|line| parser.line(line)).collect();
    entries.extend(parser.flush());
    assert_eq!(parser.unknown_lines(), 0, "{file}");
    entries
}

/// A short word for an event.
fn word(event: &LogEvent) -> &'static str {
    match event {
        LogEvent::CheckpointBegan { .. } => "began",
        LogEvent::CheckpointEnded { .. } => "complete",
        LogEvent::CheckpointsTooFrequent => "too-frequent",
        LogEvent::AutoVacuum { .. } => "vacuum",
        LogEvent::AutoAnalyze { .. } => "analyze",
        LogEvent::LockWait { acquired: false, .. } => "waits",
        LogEvent::LockWait { acquired: true, .. } => "acquired",
        LogEvent::Deadlock => "deadlock",
        LogEvent::TemporaryFile { .. } => "temporary",
        LogEvent::Ended => "ended",
        LogEvent::Ready => "ready",
        LogEvent::Error => "error",
    }
}

const MAJORS: [&str; 11] = ["9.5", "9.6", "10", "11", "12", "13", "14", "15", "16", "17", "18"];

#[test]
fn every_major_reports_every_event() {
    for major in MAJORS {
        let entries = entries(&format!("{major}.log"));
        let words: Vec<_> = entries.iter().map(|entry| word(&entry.sample.event)).collect();
        for expected in [
            "began",
            "complete",
            "too-frequent",
            "vacuum",
            "analyze",
            "waits",
            "acquired",
            "deadlock",
            "temporary",
            "ended",
            "ready",
            "error",
        ] {
            assert!(words.contains(&expected), "{major} has no {expected}: {words:?}");
        }
        assert!(
            entries.iter().all(|entry| entry.at_unix_s.is_some() && entry.sample.pid.is_some()),
            "{major}"
        );
        assert!(entries.is_sorted_by(|a, b| a.at_unix_s <= b.at_unix_s), "{major}");
        assert!(!format!("{entries:?}").contains("hunter2"), "{major}");
        let began: Vec<_> = entries.iter().filter_map(reason).collect();
        assert_eq!(began[0], "immediate force wait", "{major}");
        assert!(began.contains(&if xlog(major) { "xlog" } else { "wal" }), "{major}: {began:?}");
    }
}

/// Whether a major calls WAL so in its log.
fn xlog(major: &str) -> bool {
    ["9.5", "9.6", "10", "11"].contains(&major)
}

fn reason(entry: &LogEntry) -> Option<&str> {
    match &entry.sample.event {
        LogEvent::CheckpointBegan { reason } => Some(reason),
        _ => None,
    }
}

#[test]
fn durations_are_reported_by_every_major() {
    for major in MAJORS {
        for entry in entries(&format!("{major}.log")) {
            match entry.sample.event {
                LogEvent::CheckpointEnded { write_s, sync_s, total_s, longest_sync_s, .. } => {
                    let longest_s = longest_sync_s.expect("every major reports it");
                    assert!(write_s + sync_s <= total_s + 0.002 && longest_s <= sync_s + 0.001, "{major}");
                }
                LogEvent::AutoVacuum { elapsed_s, table } | LogEvent::AutoAnalyze { elapsed_s, table } => {
                    assert!(
                        elapsed_s.is_some_and(|s| s < 60.0) && table.starts_with("postgres."),
                        "{major}: {table}"
                    );
                }
                LogEvent::LockWait { waited_s, .. } => assert!((0.1..10.0).contains(&waited_s), "{major}"),
                _ => {}
            }
        }
    }
}

#[test]
fn other_formats_say_what_the_text_says() {
    for file in ["9.5.csv", "13.csv", "18.csv", "15.json", "18.json"] {
        let (major, _) = file.rsplit_once('.').expect("it has an ending");
        let (text, other) = (entries(&format!("{major}.log")), entries(file));
        let same = |entries: &[LogEntry]| -> Vec<_> {
            entries.iter().map(|entry| (entry.sample.pid, entry.sample.event.clone())).collect()
        };
        assert_eq!(same(&other), same(&text), "{file}");
    }
}
