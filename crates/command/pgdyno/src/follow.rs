//! Shows a detached run: what it prints, and how far it is.

use std::{
    fs::File,
    io::{self, IsTerminal, Read, Seek, SeekFrom},
    thread,
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pgdyno_core::{
    problem::Problem,
    stop::Stop,
    units::{printable, printable_lines},
};
use pgdyno_host::terminal::obeys_escapes;

use crate::detached::entry::{Entry, Home, Status};
use crate::{output, progress::below};

/// How often entry and output are read.
const POLL: Duration = Duration::from_millis(200);

/// How a run was followed.
#[derive(Debug)]
pub enum Followed {
    /// The user does not want to wait any longer; the run continues.
    Left,
    /// The run ended with this exit status.
    Ended(u8),
    /// The run ended without a result.
    Lost(Problem),
}

/// A viewer of a detached run.
#[derive(Debug)]
pub struct Viewer {
    home: Home,
    /// Bytes of the output that were printed.
    printed: u64,
    line: ProgressBar,
}

impl Viewer {
    /// Shows a run from this byte of its output on.
    pub fn new(home: Home, printed: u64) -> Self {
        let line = ProgressBar::new_spinner();
        if !obeys_escapes(io::stderr().is_terminal()) {
            line.set_draw_target(ProgressDrawTarget::hidden());
        }
        line.set_style(
            ProgressStyle::with_template("{spinner} {msg}").unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        line.enable_steady_tick(POLL);
        Self { home, printed, line }
    }

    /// Follows the run to its end, or until a stop is requested.
    ///
    /// # Errors
    /// The entry of the run cannot be read, or the output cannot be printed.
    pub fn follow(mut self, stop: &Stop) -> Result<Followed, Problem> {
        let followed = loop {
            // Read before the output, so that all output of a run that has ended is printed.
            let entry = self.home.read()?;
            let status = entry.as_ref().map(|entry| entry.status);
            let is_running = matches!(status, Some(Status::Running(_)));
            self.print(is_running)?;
            match (status, entry) {
                (Some(Status::Running(_)), _) if stop.requested() => break Followed::Left,
                (Some(Status::Running(_)), _) => self.show_progress(),
                // It says how it ended a moment before its process is gone.
                (Some(Status::Ended(_)), Some(entry)) if entry.process.is_alive() && !stop.requested() => {}
                (Some(Status::Ended(status)), _) => break Followed::Ended(status),
                (Some(Status::Killed), Some(entry)) => break Followed::Lost(lost(&entry, "it was killed")),
                (Some(Status::Restarted), Some(entry)) => {
                    break Followed::Lost(lost(&entry, "the machine was restarted"));
                }
                _ => break Followed::Lost(Problem::could_not("the detached run was removed from the list")),
            }
            thread::sleep(POLL);
        };
        self.line.finish_and_clear();
        Ok(followed)
    }

    /// Prints what is new in the output, in whole lines as long as more may come.
    fn print(&mut self, more_may_come: bool) -> Result<(), Problem> {
        let mut new = self.read_new().map_err(|error| {
            Problem::could_not(format!("could not read {}: {error}", self.home.output().display()))
        })?;
        if more_may_come {
            new.truncate(new.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1));
        }
        if new.is_empty() {
            return Ok(());
        }
        self.printed += new.len() as u64;
        let text = String::from_utf8_lossy(&new).into_owned();
        self.line.suspend(|| output::print(&printable_lines(&text)))
    }

    fn read_new(&self) -> io::Result<Vec<u8>> {
        let (mut file, mut new) = (File::open(self.home.output())?, Vec::new());
        file.seek(SeekFrom::Start(self.printed))?;
        file.read_to_end(&mut new)?;
        Ok(new)
    }

    fn show_progress(&self) {
        if let Some(progress) = self.home.progress() {
            let panel: Vec<String> = progress.panel.iter().map(|line| printable(line).into_owned()).collect();
            self.line.set_message(printable(&progress.line).into_owned() + &below(&panel));
        }
    }
}

/// The problem of a run that ended without a result.
fn lost(entry: &Entry, why: &str) -> Problem {
    let problem = Problem::could_not(format!("`{}` ended without a result: {why}", entry.name));
    match entry.next() {
        Some(next) => problem.hint(next),
        None => problem,
    }
}
