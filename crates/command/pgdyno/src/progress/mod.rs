//! Progress on stderr: a line that is updated in place on a terminal that obeys escape sequences, else a line now and
//! then.

mod lines;
mod panel;

use std::{
    fmt,
    io::{self, IsTerminal},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{advice::fitted, detached::inside};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use lines::Lines;
use pgdyno_core::units::{printable, printable_lines};
use pgdyno_host::terminal::obeys_escapes;
use pgdyno_lab::{Event, Sink};

/// A line that is updated in place, or lines for a file.
#[derive(Debug, Clone)]
pub struct Progress {
    bar: ProgressBar,
    /// Whether the line is updated in place.
    in_place: bool,
    lines: Arc<Mutex<Lines>>,
}

impl Progress {
    /// An empty line.
    pub fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        let in_place = obeys_escapes(io::stderr().is_terminal());
        if !in_place {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        let lines = Arc::new(Mutex::new(Lines::new()));
        let known = Arc::clone(&lines);
        inside::report(move || locked(&known).progress());
        Self { bar, in_place, lines }
    }

    /// Starts a step of unknown length.
    pub fn stage(&self, what: &str) {
        self.clone().receive(&Event::Doing { what: what.to_owned() });
    }

    /// Starts a step of known length; `unit` is what `total` counts, for example `rows`.
    pub fn counted(&self, what: &str, total: u64, unit: &str) {
        let (what, unit) = (what.to_owned(), unit.to_owned());
        self.clone().receive(&Event::Counting { what, total, unit });
    }

    /// Sets the position, in units of the total of [`Progress::counted`].
    pub fn at(&self, position: u64) {
        self.clone().receive(&Event::Counted { done: position });
    }

    fn draw_stage(&self, what: &str) {
        let template = self.style("{spinner} {msg} [{elapsed}]{left}");
        self.bar.set_style(template.with_key("left", self.shown(Lines::left_of_more)));
        self.bar.reset();
        self.bar.set_message(what.to_owned());
    }

    /// What the line shows of the work, at any time.
    fn shown(
        &self,
        words: fn(&Lines) -> String,
    ) -> impl Fn(&ProgressState, &mut dyn fmt::Write) + Clone + Send + Sync + use<> {
        let lines = Arc::clone(&self.lines);
        move |_: &ProgressState, out: &mut dyn fmt::Write| {
            let _ = out.write_str(&words(&locked(&lines)));
        }
    }

    /// Makes a style with the panel below; all templates are constants of this file.
    fn style(&self, template: &str) -> ProgressStyle {
        let style = ProgressStyle::with_template(&format!("{template}{{panel}}"))
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        style.with_key("panel", self.shown(|lines| below(&lines.panel())))
    }

    fn draw_counted(&self, what: &str, total: u64, unit: &str) {
        let template = format!("{{msg}} {{wide_bar}} {{human_pos}}/{{human_len}} {unit}{{pace}}");
        self.bar.set_style(self.style(&template).with_key("pace", self.shown(Lines::pace)));
        self.bar.reset();
        self.bar.set_length(total);
        self.bar.set_message(what.to_owned());
    }

    fn draw_seconds(&self, total: f64) {
        self.bar.set_style(self.style("{msg} {wide_bar} {left}").with_key("left", self.shown(Lines::left)));
        self.bar.reset();
        self.bar.set_length((total * 10.0) as u64);
    }

    /// Sets the text.
    pub fn say(&self, what: String) {
        self.bar.set_message(printable(&what).into_owned());
    }

    /// Hides the line while `print` prints something above it.
    pub fn aside(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    /// Prints a warning above the line.
    pub fn warn(&self, what: &str) {
        self.aside(|| eprintln!("warning: {}", printable_lines(what)));
    }

    /// Removes the line.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Shows the events of an experiment.
impl Sink for Progress {
    fn receive(&mut self, event: &Event) {
        let line = locked(&self.lines).after(event).filter(|_| !self.in_place);
        line.into_iter().for_each(|line| eprintln!("{}", printable(&line)));
        match event {
            Event::StageBegan { .. }
            | Event::StageEnded { .. }
            | Event::Ahead { .. }
            | Event::Seen { .. }
            | Event::Driven { .. }
            | Event::RunRecorded { .. } => {}
            Event::DirectoryShown { path } => inside::begun(path),
            Event::Doing { what } => self.draw_stage(what),
            Event::Counting { what, total, unit } => self.draw_counted(what, *total, unit),
            Event::Counted { done } => self.bar.set_position(*done),
            Event::Measuring { seconds } => self.draw_seconds(*seconds),
            Event::Measured { seconds } => self.bar.set_position((seconds * 10.0) as u64),
            Event::Now { what } | Event::Working { what } => self.say(what.clone()),
            Event::Note { text } => self.aside(|| eprintln!("{}", printable_lines(text))),
            Event::Warning { text, hint } => {
                self.warn(text);
                let print = |hint: &String| eprintln!("hint: {}", printable_lines(&fitted(hint)));
                hint.iter().for_each(|hint| self.aside(|| print(hint)));
            }
        }
    }
}

fn locked(lines: &Mutex<Lines>) -> MutexGuard<'_, Lines> {
    lines.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lines below another one.
pub fn below(lines: &[String]) -> String {
    lines.iter().map(|line| format!("\n  {line}")).collect()
}
