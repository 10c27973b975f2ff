//! `events.ndjson`: the events of a run.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use pgdyno_core::{observe::Live, redact::redact};

/// What an estimate of the time left means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// It may take more or less.
    #[default]
    About,
    /// Some steps are of unknown length.
    AtLeast,
    /// It may be decided before.
    AtMost,
}

/// An event of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A stage of the experiment began.
    StageBegan {
        /// Name of the stage, for example `load`.
        stage: String,
    },
    /// A stage ended, successfully or not.
    StageEnded {
        /// Name of the stage.
        stage: String,
        /// Duration in seconds.
        duration_s: f64,
    },
    /// Work of unknown length began.
    Doing {
        /// The work, for example `checking balances`.
        what: String,
    },
    /// Work of known length began.
    Counting {
        /// The work, for example `loading`.
        what: String,
        /// Units in total.
        total: u64,
        /// Name of the unit in the plural, for example `rows`.
        unit: String,
    },
    /// Progress of the work announced by [`Event::Counting`].
    Counted {
        /// Units done so far.
        done: u64,
    },
    /// The runs of the experiment begin.
    Measuring {
        /// Planned duration of all runs in seconds.
        seconds: f64,
    },
    /// Progress of the runs announced by [`Event::Measuring`].
    Measured {
        /// Seconds so far.
        seconds: f64,
    },
    /// The current part of the work that began last.
    Now {
        /// Description, for example `tpcb-like 4 clients, block 2`.
        what: String,
    },
    /// The current state of long work; it changes often.
    Working {
        /// Description, for example `primary keys: sorting live tuples 40 %`.
        what: String,
    },
    /// The run directory became visible: the request was right, and what follows is kept.
    #[serde(skip)]
    DirectoryShown {
        /// Path of the run directory.
        path: PathBuf,
    },
    /// How long the work may take from here on.
    #[serde(skip)]
    Ahead {
        /// Seconds of the present step; `None` if that is unknown.
        now_s: Option<f64>,
        /// Whether what is counted is all of the present step, so that its pace is better than an estimate.
        is_counted: bool,
        /// Seconds of all steps after it, as far as they are known.
        later_s: f64,
        /// What the sum means.
        bound: Bound,
    },
    /// What observers see at present, once a second.
    #[serde(skip)]
    Seen {
        /// The last lines about the machine and its servers.
        live: Box<Live>,
    },
    /// What the clients that are driven reached in the last second.
    #[serde(skip)]
    Driven {
        /// Committed transactions per second.
        tps: f64,
        /// 99th percentile of the latency in nanoseconds; `None` if nothing was committed.
        latency_ns_p99: Option<u64>,
    },
    /// A run was added to the record.
    RunRecorded {
        /// Index of the run in `runs`.
        run: u32,
        /// Name of the cell, for example `tpcb-like/4`; it begins with the name of the subject if there are several.
        cell: String,
        /// Number of the block, from 0.
        block: u32,
        /// Transactions per second within the measured interval.
        tps: f64,
    },
    /// A message for the user.
    Note {
        /// One sentence without a full stop.
        text: String,
    },
    /// A warning.
    Warning {
        /// One sentence without a full stop.
        text: String,
        /// A remedy.
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
}

impl Event {
    /// Whether the event only updates a progress bar; such events are not recorded.
    pub fn is_progress(&self) -> bool {
        matches!(
            self,
            Self::Counted { .. }
                | Self::Measured { .. }
                | Self::Working { .. }
                | Self::DirectoryShown { .. }
                | Self::Ahead { .. }
                | Self::Seen { .. }
                | Self::Driven { .. }
        )
    }
}

/// One line of `events.ndjson`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventLine {
    /// Seconds since the start of the run.
    pub at_s: f64,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
}

impl EventLine {
    /// Creates a line with secrets redacted from the texts of the event.
    pub fn new(at_s: f64, event: &Event) -> Self {
        let mut event = event.clone();
        match &mut event {
            Event::Doing { what }
            | Event::Counting { what, .. }
            | Event::Now { what }
            | Event::Working { what } => *what = redact(what),
            Event::Note { text } => *text = redact(text),
            Event::Warning { text, hint } => {
                *text = redact(text);
                *hint = hint.as_deref().map(redact);
            }
            Event::StageBegan { .. }
            | Event::StageEnded { .. }
            | Event::DirectoryShown { .. }
            | Event::Counted { .. }
            | Event::Measuring { .. }
            | Event::Measured { .. }
            | Event::Ahead { .. }
            | Event::Seen { .. }
            | Event::Driven { .. }
            | Event::RunRecorded { .. } => {}
        }
        Self { at_s, event }
    }

    /// The line as JSON with a line feed.
    pub fn to_line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_instant_and_no_secret() {
        let text = "could not reach postgresql://me:hush@there/db".to_owned();
        let line = EventLine::new(1.5, &Event::Note { text });
        let written = String::from_utf8(line.to_line()).expect("JSON is text");
        assert!(written.starts_with(r#"{"at_s":1.5,"event":"note","text":"could not"#), "{written}");
        assert!(!written.contains("hush") && written.ends_with("}\n"), "{written}");
        assert_eq!(serde_json::from_str::<EventLine>(&written).expect("it can be read"), line);
    }
}
