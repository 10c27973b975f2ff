//! What a person at a terminal sees while they wait. On stderr; silent where that is no terminal, or a dumb one.

use std::{
    io::{self, IsTerminal},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pgdyno_core::units::{printable, printable_lines};
use pgdyno_host::terminal::obeys_escapes;
use pgdyno_lab::{Event, Sink};

/// One line that changes.
#[derive(Debug, Clone)]
pub struct Progress(ProgressBar);

impl Progress {
    /// A line that shows nothing yet.
    pub fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        if !obeys_escapes(io::stderr().is_terminal()) {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// Begins something whose length is not known.
    pub fn stage(&self, what: &str) {
        self.0.set_style(style("{spinner} {msg} [{elapsed}]"));
        self.0.reset();
        self.0.set_message(what.to_owned());
    }

    /// Begins something of known length; `unit` is what is counted, for example `rows`.
    pub fn counted(&self, what: &str, total: u64, unit: &str) {
        let template =
            format!("{{msg}} {{wide_bar}} {{human_pos}}/{{human_len}} {unit}, {{per_sec}}, ETA {{eta}}");
        self.0.set_style(style(&template));
        self.0.reset();
        self.0.set_length(total);
        self.0.set_message(what.to_owned());
    }

    /// Begins the measurement, which takes this many seconds.
    pub fn seconds(&self, total: f64) {
        self.0.set_style(style("{msg} {wide_bar} ETA {eta}"));
        self.0.reset();
        self.0.set_length((total * 10.0) as u64);
    }

    /// How far it is, in seconds of those given to [`Progress::seconds`].
    pub fn at_seconds(&self, at: f64) {
        self.0.set_position((at * 10.0) as u64);
    }

    /// How far it is.
    pub fn at(&self, position: u64) {
        self.0.set_position(position);
    }

    /// What is going on now.
    pub fn say(&self, what: String) {
        self.0.set_message(printable(&what).into_owned());
    }

    /// Prints something above the line.
    pub fn aside(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }

    /// Prints a warning above the line.
    pub fn warn(&self, what: &str) {
        self.aside(|| eprintln!("warning: {}", printable_lines(what)));
    }

    /// Takes the line away.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

/// What happens while an experiment is carried out, as a person at a terminal sees it.
impl Sink for Progress {
    fn receive(&mut self, event: &Event) {
        match event {
            Event::StageBegan { .. } | Event::StageEnded { .. } | Event::RunRecorded { .. } => {}
            Event::Doing { what } => self.stage(what),
            Event::Counting { what, total, unit } => self.counted(what, *total, unit),
            Event::Counted { done } => self.at(*done),
            Event::Measuring { seconds } => self.seconds(*seconds),
            Event::Measured { seconds } => self.at_seconds(*seconds),
            Event::Now { what } => self.say(what.clone()),
            Event::Note { text } => self.aside(|| eprintln!("{}", printable_lines(text))),
            Event::Warning { text, hint } => {
                self.warn(text);
                hint.iter().for_each(|hint| self.aside(|| eprintln!("hint: {}", printable_lines(hint))));
            }
        }
    }
}

/// A style; the templates are constants of this file.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
