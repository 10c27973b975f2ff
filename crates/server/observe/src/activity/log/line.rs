//! Lines of a log as entries, in the formats of the server.

use jiff::{Timestamp, civil::DateTime, tz::Offset};
use pgdyno_core::{observe::LogSample, redact::redact_log_line, statement::shown};
use serde_json::Value;

use super::event::event_of;

/// Characters of a message that are kept.
const MESSAGE_CHARS: usize = 400;
/// Limit of the lines that continue a message and may say how long it took: vacuum reports that last.
const MOST_CONTINUED_BYTES: usize = 16 << 10;
/// Severities, as every server with `lc_messages = C` writes them.
const SEVERITIES: [&str; 12] = [
    "LOG",
    "ERROR",
    "FATAL",
    "PANIC",
    "WARNING",
    "NOTICE",
    "INFO",
    "DEBUG",
    "DETAIL",
    "HINT",
    "STATEMENT",
    "CONTEXT",
];

/// How a log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// `log_destination = stderr`, with whatever `log_line_prefix`.
    Text,
    /// `csvlog`.
    Csv,
    /// `jsonlog` (15 and later).
    Json,
}

impl LogFormat {
    /// The format of a log file by its name, as the server's logger names them.
    pub fn of_file(name: &str) -> Self {
        match name.rsplit_once('.').map(|(_, ending)| ending) {
            Some("csv") => Self::Csv,
            Some("json") => Self::Json,
            _ => Self::Text,
        }
    }
}

/// An event in the log, and when it was logged.
#[derive(Debug, Clone, PartialEq)]
pub struct LogEntry {
    /// The server's clock, in seconds since 1970, if the line says it in UTC or with an offset; milliseconds at best.
    pub at_unix_s: Option<f64>,
    /// What happened.
    pub sample: LogSample,
}

/// Puts lines together to entries. A message of several lines ends with the next message.
#[derive(Debug, Clone)]
pub struct LogParser {
    format: LogFormat,
    pending: Option<Message>,
    /// A CSV record that continues in the next line.
    record: String,
    unknown: u64,
}

/// A message with what its line says of it.
#[derive(Debug, Clone, Default)]
struct Message {
    severity: String,
    text: String,
    pid: Option<u32>,
    at_unix_s: Option<f64>,
}

impl LogParser {
    /// Begins at a line's begin.
    pub fn new(format: LogFormat) -> Self {
        Self { format, pending: None, record: String::new(), unknown: 0 }
    }

    /// Takes the next line, without its line break, and returns the entry that it completes. Lines of what is no event
    /// complete none.
    pub fn line(&mut self, line: &str) -> Option<LogEntry> {
        match self.format {
            LogFormat::Text => self.text_line(line),
            LogFormat::Csv => self.csv_line(line),
            LogFormat::Json => self.json_line(line),
        }
    }

    /// Ends a message that may continue, when nothing came for some time.
    pub fn flush(&mut self) -> Option<LogEntry> {
        entry(self.pending.take()?)
    }

    /// Lines that are neither a message in English nor part of one: of another language (`lc_messages`), or written by
    /// others.
    pub fn unknown_lines(&self) -> u64 {
        self.unknown
    }

    fn text_line(&mut self, line: &str) -> Option<LogEntry> {
        if let Some(more) = line.strip_prefix('\t') {
            if let Some(message) = self.pending.as_mut().filter(|one| one.text.len() < MOST_CONTINUED_BYTES) {
                message.text.push('\n');
                message.text.push_str(more);
            }
            return None;
        }
        let done = self.flush();
        match split(line) {
            None if line.trim().is_empty() => {}
            None => self.unknown += 1,
            // DETAIL, HINT, STATEMENT and CONTEXT belong to the message before them, and may hold secrets.
            Some((_, severity, _)) if SEVERITIES[8..].contains(&severity) => {}
            Some((prefix, severity, text)) => {
                let (at_unix_s, pid) = (time_in(prefix), pid_in(prefix));
                let (severity, text) = (severity.to_owned(), text.to_owned());
                self.pending = Some(Message { severity, text, pid, at_unix_s });
            }
        }
        done
    }

    fn csv_line(&mut self, line: &str) -> Option<LogEntry> {
        if !self.record.is_empty() {
            self.record.push('\n');
        }
        if self.record.len() < MOST_CONTINUED_BYTES {
            self.record.push_str(line);
        } else {
            // Only whether the record ends still matters.
            self.record.extend(line.chars().filter(|c| *c == '"'));
        }
        let whole = self.record.bytes().filter(|byte| *byte == b'"').count() % 2 == 0;
        if !whole && self.record.len() < 64 * MOST_CONTINUED_BYTES {
            return None;
        }
        let record = std::mem::take(&mut self.record);
        let fields = csv_fields(&record);
        // The columns of 9.5 are the first 23 of all later majors.
        let field = |at: usize| fields.get(at).map(String::as_str);
        let Some((severity, text)) = field(11).filter(|one| is_severity(one)).zip(field(13)) else {
            self.unknown += 1;
            return None;
        };
        entry(Message {
            severity: severity.to_owned(),
            text: text.to_owned(),
            pid: field(3).and_then(|pid| pid.parse().ok()),
            at_unix_s: field(0).and_then(time_in),
        })
    }

    fn json_line(&mut self, line: &str) -> Option<LogEntry> {
        let fields: Value = serde_json::from_str(line).unwrap_or_default();
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let Some((severity, message)) =
            text("error_severity").filter(|one| is_severity(one)).zip(text("message"))
        else {
            self.unknown += u64::from(!line.trim().is_empty());
            return None;
        };
        entry(Message {
            severity: severity.to_owned(),
            text: message.to_owned(),
            pid: fields.get("pid").and_then(Value::as_u64).and_then(|pid| pid.try_into().ok()),
            at_unix_s: text("timestamp").and_then(time_in),
        })
    }
}

fn is_severity(word: &str) -> bool {
    SEVERITIES.contains(&word) || word.strip_prefix("DEBUG").is_some_and(|level| level.len() == 1)
}

fn entry(message: Message) -> Option<LogEntry> {
    let event = event_of(&message.severity, &message.text)?;
    let text = shown(&redact_log_line(&message.text), MESSAGE_CHARS);
    Some(LogEntry {
        at_unix_s: message.at_unix_s,
        sample: LogSample { pid: message.pid, event, message: text },
    })
}

/// Prefix, severity and text: the first `SEVERITY:  ` divides them.
fn split(line: &str) -> Option<(&str, &str, &str)> {
    for (at, _) in line.match_indices(":  ") {
        let before = &line[..at];
        let start = before.rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |at| at + 1);
        let start = if before.is_char_boundary(start) { start } else { continue };
        let word = &before[start..];
        if is_severity(word) {
            return Some((&before[..start], word, &line[at + 3..]));
        }
    }
    None
}

/// The time of `%m` or `%t` at the begin of a prefix, if its time zone is UTC or an offset.
fn time_in(prefix: &str) -> Option<f64> {
    let mut words = prefix.trim_start_matches(['[', '<', '(']).split([' ', ',']);
    let (day, time) = (words.next()?, words.next()?);
    let zone = words.next()?.trim_end_matches([']', '>', ')', ':', '"']);
    let offset = match zone {
        "UTC" | "GMT" | "Z" => Offset::UTC,
        zone => offset(zone)?,
    };
    let civil: DateTime = format!("{day}T{time}").parse().ok()?;
    let instant: Timestamp = offset.to_timestamp(civil).ok()?;
    Some(instant.as_microsecond() as f64 / 1e6)
}

/// `+02` or `-0330`, as zones without a name are written.
fn offset(zone: &str) -> Option<Offset> {
    let (sign, digits) = match zone.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let digits = digits.replace(':', "");
    let hours: i32 = digits.get(..2)?.parse().ok()?;
    let minutes: i32 = digits.get(2..4).map_or(Ok(0), str::parse).ok()?;
    Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()
}

/// The process ID in a prefix: in brackets, or the only number behind `pid`; unknown in other prefixes.
fn pid_in(prefix: &str) -> Option<u32> {
    let digits = |text: &str| -> Option<u32> {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        text[..end].parse().ok()
    };
    let bracket = prefix.match_indices('[').find_map(|(at, _)| {
        let inside = &prefix[at + 1..];
        let end = inside.find([']', '-'])?;
        inside[..end].parse().ok()
    });
    let named = || {
        ["pid=", "pid:", "pid "].iter().find_map(|name| digits(&prefix[prefix.find(name)? + name.len()..]))
    };
    bracket.or_else(named)
}

/// The fields of a record of CSV, without their quotes.
fn csv_fields(record: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut chars = record.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                fields.last_mut().unwrap_or(&mut String::new()).push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => fields.last_mut().unwrap_or(&mut String::new()).push(c),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use pgdyno_core::observe::LogEvent;
    use proptest::prelude::*;

    use super::*;

    fn entries(format: LogFormat, text: &str) -> Vec<LogEntry> {
        let mut parser = LogParser::new(format);
        let mut entries: Vec<_> = text.lines().filter_map(|line| parser.line(line)).collect();
        entries.extend(parser.flush());
        entries
    }

    #[test]
    fn prefixes_are_understood_or_left() {
        let at = Some(1_795_691_808.123);
        for (line, time, pid) in [
            ("2026-11-26 11:16:48.123 UTC [77] LOG:  checkpoint starting: time", at, Some(77)),
            ("2026-11-26 13:16:48.123 +02 [77] LOG:  checkpoint starting: time", at, Some(77)),
            ("2026-11-26 12:16:48.123 CET [77] LOG:  checkpoint starting: time", None, Some(77)),
            (
                "2026-11-26 11:16:48.123 GMT [77]: [3-1] user=a,db=b LOG:  checkpoint starting: time",
                at,
                Some(77),
            ),
            ("pid=77 a@b[local] LOG:  checkpoint starting: time", None, Some(77)),
            ("LOG:  checkpoint starting: time", None, None),
            ("äöü: LOG:  checkpoint starting: time", None, None),
        ] {
            let got = entries(LogFormat::Text, line);
            assert_eq!(got.len(), 1, "{line}");
            assert_eq!((got[0].at_unix_s, got[0].sample.pid), (time, pid), "{line}");
            assert_eq!(got[0].sample.event, LogEvent::CheckpointBegan { reason: "time".to_owned() });
        }
    }

    #[test]
    fn a_message_of_several_lines_is_one_entry() {
        let text = "LOG:  automatic vacuum of table \"b.public.t\": index scans: 1\n\tpages: 0 removed\n\tsystem \
                    usage: CPU: \
                    user: 0.00 s, system: 0.00 s, elapsed: 1.25 s\nERROR:  no\n\
                    STATEMENT:  ALTER ROLE x PASSWORD 's3'\n";
        let got = entries(LogFormat::Text, text);
        let vacuum = LogEvent::AutoVacuum { table: "b.public.t".to_owned(), elapsed_s: Some(1.25) };
        assert_eq!(
            got.iter().map(|one| one.sample.event.clone()).collect::<Vec<_>>(),
            [vacuum, LogEvent::Error]
        );
        assert!(!format!("{got:?}").contains("s3"));
        let old = "LOG:  automatic analyze of table \"b.public.t\" system usage: CPU 0.00s/0.01u sec elapsed 0.35 sec";
        let analyze = LogEvent::AutoAnalyze { table: "b.public.t".to_owned(), elapsed_s: Some(0.35) };
        assert_eq!(entries(LogFormat::Text, old)[0].sample.event, analyze);
    }

    #[test]
    fn csv_and_json_say_the_same() {
        let csv = "2026-11-26 11:16:48.123 UTC,\"a\",\"b\",77,\"[local]\",6a.4d,1,\"SELECT\",2026-11-26 11:00:00 UTC,\
                   3/4,0,\
                   ERROR,22012,\"division \"\"by\"\"\nzero\",,,,,,\"SELECT 1/0,\n's3'\",,,\"psql\"";
        let json = r#"{"timestamp":"2026-11-26 11:16:48.123 UTC","pid":77,"error_severity":"ERROR",
                       "message":"division \"by\"\nzero","statement":"SELECT 's3'"}"#
            .replace('\n', "");
        let want = entries(LogFormat::Json, &json);
        assert_eq!(want[0].sample.message, "division \"by\" zero");
        assert_eq!((want[0].sample.pid, want[0].at_unix_s), (Some(77), Some(1_795_691_808.123)));
        assert_eq!(entries(LogFormat::Csv, csv), want);
    }

    #[test]
    fn another_language_is_counted() {
        let mut parser = LogParser::new(LogFormat::Text);
        let line = "2026-11-26 11:16:48.123 UTC [77] PROTOKOLL:  Checkpoint beginnt: time";
        assert_eq!((parser.line(line), parser.unknown_lines()), (None, 1));
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(lines in prop::collection::vec("\\PC*", 0..20)) {
            for format in [LogFormat::Text, LogFormat::Csv, LogFormat::Json] {
                entries(format, &lines.join("\n"));
            }
        }
    }
}
