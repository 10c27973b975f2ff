//! Whole screens of 80 × 24, compared with files. `PGDYNO_BLESS=1` rewrites them: read the difference.

use std::{fs, path::Path};

use ratatui_core::{backend::TestBackend, terminal::Terminal};

use super::draw;
use crate::{
    model::{self, Key, View},
    reading::{Lost, Reading},
};

#[path = "../samples.rs"]
mod samples;

/// The screen after these keys, as text.
fn screen(reading: &Reading, keys: &str, (width, height): (u16, u16)) -> String {
    let mut view = View::default();
    let size = (usize::from(width), usize::from(height));
    for key in keys.chars() {
        let now = model::screen(reading, &view, None, size);
        view.obey(if key == '\n' { Key::Enter } else { Key::Char(key) }, now.page, now.columns);
    }
    let screen = model::screen(reading, &view, None, size);
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("it can be made");
    terminal.draw(|frame| draw(&screen, true, frame.buffer_mut())).expect("it can be drawn on");
    let buffer = terminal.backend().buffer();
    let line = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(|y| format!("{}\n", line(y).trim_end())).collect()
}

fn is_golden(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.txt"));
    if std::env::var_os("PGDYNO_BLESS").is_some() {
        fs::write(&file, text).expect("it can be written");
    }
    let golden = fs::read_to_string(&file).unwrap_or_default();
    assert!(golden == text, "{name} differs from its golden file; PGDYNO_BLESS=1 accepts this:\n{text}");
}

#[test]
fn every_panel_of_a_busy_server() {
    let names = ["all", "sessions", "waits", "statements", "locks", "io", "wal", "progress"];
    for (at, name) in names.iter().enumerate() {
        let text = screen(&samples::busy(), &(at + 1).to_string(), (80, 24));
        is_golden(&format!("busy-{}-{name}", at + 1), &text);
    }
    is_golden("busy-wide", &screen(&samples::busy(), "1", (150, 50)));
    is_golden("help", &screen(&samples::busy(), "?", (80, 24)));
}

#[test]
fn what_an_old_major_lacks_is_said() {
    for (key, name) in
        [("1", "all"), ("3", "waits"), ("4", "statements"), ("6", "io"), ("7", "wal"), ("8", "progress")]
    {
        is_golden(&format!("old-{key}-{name}"), &screen(&samples::old(), key, (80, 24)));
    }
}

#[test]
fn what_a_role_may_not_see_is_said() {
    for (key, name) in [("1", "all"), ("2", "sessions"), ("3", "waits")] {
        is_golden(&format!("hidden-{key}-{name}"), &screen(&samples::hidden(), key, (80, 24)));
    }
}

#[test]
fn a_lost_connection_is_the_second_line() {
    let lost =
        Lost { since_s: 12.3, why: "the database system is shutting down (SQLSTATE 57P01)".to_owned() };
    let reading = Reading { lost: Some(lost), ..samples::busy() };
    let text = screen(&reading, "1", (80, 24));
    let second = text.lines().nth(1).expect("there are 24");
    assert_eq!(second, "no answer for 12 s: the database system is shutting down (SQLSTATE 57P01)");
    is_golden("lost", &text);
}

#[test]
fn rows_are_sorted_filtered_and_reversed() {
    let pids = |keys: &str| -> Vec<String> {
        let text = screen(&samples::busy(), keys, (80, 24));
        let rows = text.lines().skip(6).filter_map(|line| line.split_whitespace().next().map(str::to_owned));
        rows.filter(|word| word.parse::<u32>().is_ok()).filter(|word| word.len() == 4).collect()
    };
    assert_eq!(pids("2"), ["4711", "4712", "4713", "4720"]);
    assert_eq!(pids("2s"), ["4720", "4713", "4712", "4711"], "by process id");
    assert_eq!(pids("2sr"), ["4711", "4712", "4713", "4720"]);
    assert_eq!(pids("2/BRANCHES\n"), ["4711", "4712", "4713"]);
    assert!(screen(&samples::busy(), "2/nothing\n", (80, 24)).contains("no row has `nothing`"));
    assert!(screen(&samples::busy(), "2/wal", (80, 24)).contains("filter: wal_  Enter keeps it"));
    assert!(screen(&samples::busy(), "p", (80, 24)).contains("PAUSED (p continues)"));
}

#[test]
fn a_small_terminal_shows_what_it_has_room_for() {
    for size in [(80, 7), (40, 12), (20, 3), (1, 1)] {
        let text = screen(&samples::busy(), "2", size);
        assert!(text.lines().all(|line| line.chars().count() <= usize::from(size.0)), "{size:?}\n{text}");
    }
    assert!(screen(&samples::busy(), "6", (80, 14)).contains("more below"));
}

#[test]
fn a_reading_as_text_keeps_to_80_columns() {
    for (name, reading) in [("busy", samples::busy()), ("old", samples::old()), ("hidden", samples::hidden())]
    {
        let text = model::once(&reading);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        is_golden(&format!("once-{name}"), &text);
    }
    let nothing = model::once(&Reading::default());
    assert!(nothing.contains("TPS –"), "{nothing}");
}

#[test]
fn nothing_in_foreign_text_moves_the_cursor() {
    let mut reading = samples::busy();
    if let Some(sessions) = &mut reading.sessions {
        sessions.busy[0].role = Some("a\u{1b}[2Jb\u{202e}".to_owned());
    }
    let text = screen(&reading, "2", (160, 24)) + &model::once(&reading);
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
}

#[test]
fn a_reading_is_what_the_schema_says() {
    let json = serde_json::to_value(samples::busy()).expect("plain data");
    assert_eq!((json["format"].as_u64(), json["wal"]["in_recovery"].as_bool()), (Some(1), Some(false)));
    assert_eq!(json["progress"][0]["command"], "CREATE INDEX");
    let (_, schema) = crate::schema();
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    for reading in [samples::busy(), samples::old(), samples::hidden(), Reading::default()] {
        let json = serde_json::to_value(&reading).expect("plain data");
        assert!(validator.is_valid(&json), "{:?}", validator.iter_errors(&json).next());
    }
}
