//! Progress on stderr: a line that is updated in place on a terminal that obeys escape sequences, else a line now and
//! then.

use std::{
    fmt,
    io::{self, IsTerminal},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use pgdyno_core::units::{printable, printable_lines};
use pgdyno_host::terminal::obeys_escapes;
use pgdyno_lab::{Event, Sink};

use crate::{detached::inside, progress_lines::Lines};

/// A line that is updated in place, or lines for a file.
#[derive(Debug, Clone)]
pub struct Progress(ProgressBar, Option<Arc<Mutex<Lines>>>);

impl Progress {
    /// An empty line.
    pub fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        let in_place = obeys_escapes(io::stderr().is_terminal());
        if !in_place {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        let lines = (!in_place).then(|| Arc::new(Mutex::new(Lines::new())));
        if let Some(lines) = lines.clone() {
            inside::report(move || lines.lock().unwrap_or_else(PoisonError::into_inner).progress());
        }
        Self(bar, lines)
    }

    /// Starts a step of unknown length.
    pub fn stage(&self, what: &str) {
        self.0.set_style(style("{spinner} {msg} [{elapsed}]"));
        self.0.reset();
        self.0.set_message(what.to_owned());
    }

    /// Starts a step of known length; `unit` is what `total` counts, for example `rows`.
    pub fn counted(&self, what: &str, total: u64, unit: &str) {
        let template =
            format!("{{msg}} {{wide_bar}} {{human_pos}}/{{human_len}} {unit}, {{rate}}/s, ETA {{eta}}");
        let rate = |state: &ProgressState, out: &mut dyn fmt::Write| {
            let _ = write!(out, "{}", HumanCount(state.per_sec() as u64));
        };
        self.0.set_style(style(&template).with_key("rate", rate));
        self.0.reset();
        self.0.set_length(total);
        self.0.set_message(what.to_owned());
    }

    /// Starts a measurement of `total` seconds.
    pub fn seconds(&self, total: f64) {
        self.0.set_style(style("{msg} {wide_bar} ETA {eta}"));
        self.0.reset();
        self.0.set_length((total * 10.0) as u64);
    }

    /// Sets the position, in seconds of the total of [`Progress::seconds`].
    pub fn at_seconds(&self, at: f64) {
        self.0.set_position((at * 10.0) as u64);
    }

    /// Sets the position, in units of the total of [`Progress::counted`].
    pub fn at(&self, position: u64) {
        self.0.set_position(position);
    }

    /// Sets the text.
    pub fn say(&self, what: String) {
        self.0.set_message(printable(&what).into_owned());
    }

    /// Hides the line while `print` prints something above it.
    pub fn aside(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }

    /// Prints a warning above the line.
    pub fn warn(&self, what: &str) {
        self.aside(|| eprintln!("warning: {}", printable_lines(what)));
    }

    /// Removes the line.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

/// Shows the events of an experiment.
impl Sink for Progress {
    fn receive(&mut self, event: &Event) {
        if let Some(lines) = &self.1 {
            let line = lines.lock().unwrap_or_else(PoisonError::into_inner).after(event);
            line.into_iter().for_each(|line| eprintln!("{}", printable(&line)));
        }
        match event {
            Event::StageBegan { .. } | Event::StageEnded { .. } | Event::RunRecorded { .. } => {}
            Event::DirectoryShown { path } => inside::begun(path),
            Event::Doing { what } => self.stage(what),
            Event::Counting { what, total, unit } => self.counted(what, *total, unit),
            Event::Counted { done } => self.at(*done),
            Event::Measuring { seconds } => self.seconds(*seconds),
            Event::Measured { seconds } => self.at_seconds(*seconds),
            Event::Now { what } | Event::Working { what } => self.say(what.clone()),
            Event::Note { text } => self.aside(|| eprintln!("{}", printable_lines(text))),
            Event::Warning { text, hint } => {
                self.warn(text);
                hint.iter().for_each(|hint| self.aside(|| eprintln!("hint: {}", printable_lines(hint))));
            }
        }
    }
}

/// Makes a style; all templates are constants of this file.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
