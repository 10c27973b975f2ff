//! `events.ndjson`: what happened while a run lasted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::redact::redact;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A stage of the experiment began.
    StageBegan {
        /// Name of the stage, for example `load`.
        stage: String,
    },
    /// A stage ended, whether or not it did what it should.
    StageEnded {
        /// Name of the stage.
        stage: String,
        /// Length in seconds.
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
        /// Units to be done.
        total: u64,
        /// What is counted, in the plural: `rows`.
        unit: String,
    },
    /// Units done of the work that is being counted.
    Counted {
        /// Units done so far.
        done: u64,
    },
    /// All runs of the experiment began.
    Measuring {
        /// Seconds that they take.
        seconds: f64,
    },
    /// Time measured, of what [`Event::Measuring`] told.
    Measured {
        /// Seconds so far.
        seconds: f64,
    },
    /// What is being done now, within the work that began last.
    Now {
        /// For example `tpcb-like 4 clients, block 2`.
        what: String,
    },
    /// A run of a cell is in the record.
    RunRecorded {
        /// Index of the run in `runs`.
        run: u32,
        /// Script and clients, for example `tpcb-like/4`, after the name of the subject if there are several.
        cell: String,
        /// Block, from 0.
        block: u32,
        /// Transactions per second within the measured interval.
        tps: f64,
    },
    /// Something that a person who waits wants to know.
    Note {
        /// One sentence without a full stop.
        text: String,
    },
    /// Something that may be wrong.
    Warning {
        /// One sentence without a full stop.
        text: String,
        /// What can be done about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
}

impl Event {
    /// Whether the event only moves a progress bar; such events are not kept.
    pub fn is_progress(&self) -> bool {
        matches!(self, Self::Counted { .. } | Self::Measured { .. })
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
    /// An event without secrets in its texts.
    pub fn new(at_s: f64, event: &Event) -> Self {
        let mut event = event.clone();
        match &mut event {
            Event::Doing { what } | Event::Counting { what, .. } | Event::Now { what } => {
                *what = redact(what)
            }
            Event::Note { text } => *text = redact(text),
            Event::Warning { text, hint } => {
                *text = redact(text);
                *hint = hint.as_deref().map(redact);
            }
            Event::StageBegan { .. }
            | Event::StageEnded { .. }
            | Event::Counted { .. }
            | Event::Measuring { .. }
            | Event::Measured { .. }
            | Event::RunRecorded { .. } => {}
        }
        Self { at_s, event }
    }

    /// The line as it is written, with its end.
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
