//! The history of a plan as text, with a change and what another session may bring, compared with a golden file.

use pgdyno_analysis::{HistoryAsked, history};
use pgdyno_document::{Paint, csv, html, markdown, text};
use pgdyno_record::RunRecord;
use testkit::fixtures;

/// Sessions on consecutive days. From the eighth on the kernel is another one, and all is 4 % slower.
fn records() -> Vec<RunRecord> {
    let noise = [0.003, -0.002, 0.001, 0.004, -0.004, 0.0, -0.001, 0.002, -0.003, 0.001, 0.002, -0.002];
    let one = |(day, noise): (usize, f64)| {
        let mut record = fixtures::complete().record;
        record.id = format!("run-{day}");
        record.started_at = format!("2026-10-{:02}T08:15:00Z", day + 7);
        let step = if day < 7 { 0.0 } else { -0.041 };
        record.cells.iter_mut().for_each(|cell| cell.tps.value *= f64::exp(step + noise));
        if day >= 7 {
            record.host.kernel.release = "6.1.0-31-amd64".into();
        }
        record
    };
    let mut records: Vec<_> = noise.into_iter().enumerate().map(one).collect();
    let mut other = fixtures::complete().record;
    (other.id, other.plan.scale) = ("run-other".into(), Some(7));
    records.insert(3, other);
    records
}

#[test]
fn a_history_says_since_when_and_what_changed_then() {
    let found = history(&records(), &HistoryAsked::default()).expect("there are runs");
    let document = pgdyno_report::history(&found, None);
    let got = text(&document, Paint::Plain);
    assert!(got.lines().all(|line| line.chars().count() <= 80), "{got}");
    testkit::golden(env!("CARGO_MANIFEST_DIR"), "history.txt", &got);
    let page = html(&document);
    assert!(page.contains("id=\"history-0\"") && page.contains("data-src=\"/scripts/0/changes/0/effect\""));
    assert!(markdown(&document).contains("| session |"));
    assert_eq!(
        csv(&document).lines().count(),
        1 + 12 * found.scripts.iter().map(|of| of.cells.len()).sum::<usize>()
    );
}

#[test]
fn builds_are_listed_with_their_differences() {
    let mut records = records();
    for server in records[6..].iter_mut().filter_map(|record| record.subjects[0].server.as_mut()) {
        server.version = "19.1".into();
    }
    let asked = HistoryAsked { by_build: true, ..HistoryAsked::default() };
    let found = history(&records, &asked).expect("there are runs");
    let got = text(&pgdyno_report::history(&found, None), Paint::Plain);
    assert!(got.contains("BUILDS") && got.contains("19.1"), "{got}");
}

/// However many sessions there are, the terminal gets the answers, the latest sessions, and the next commands.
#[test]
fn a_terminal_gets_the_answers_and_what_to_do_next() {
    let mut records = records();
    for day in 0..60 {
        // Like those after the change, with their noise.
        let mut later = records[8 + day % 5].clone();
        later.id = format!("later-{day}");
        later.started_at = format!("2027-{:02}-{:02}T08:15:00Z", 1 + day / 28, 1 + day % 28);
        records.push(later);
    }
    let found = history(&records, &HistoryAsked::default()).expect("there are runs");
    let command = "pgdyno bench --scale 50";
    let got = pgdyno_document::short(&pgdyno_report::history(&found, Some(command)), Paint::Plain, 50);
    let lines: Vec<_> = got.lines().collect();
    assert!(lines.len() <= 50 && lines.iter().all(|line| line.chars().count() <= 80), "{got}");
    assert!(got.contains("slower [") && got.contains("more rows: pgdyno history bench --full"), "{got}");
    assert!(got.contains("\npgdyno show run-7\n") && got.ends_with("\npgdyno bench --scale 50\n"), "{got}");
    assert!(!got.contains("DOUBTS"), "a history has none: {got}");
}
