//! One reading, one after the other, or a view of them.

use std::{
    io,
    ops::ControlFlow,
    sync::mpsc::{self, RecvTimeoutError},
    time::{Duration, Instant},
};

use jiff::Timestamp;
use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_wire::ConnectOptions;

use crate::{
    keys,
    machine::MachineThread,
    model::{self, Key, View},
    news::{Latest, News, Signalled},
    reading::Reading,
    server::ServerThread,
    signals,
    terminal::Taken,
};

/// Time beyond an interval after which a server that did not answer counts as lost.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest time that a single reading waits for an answer beyond its interval.
const LONGEST_ONCE: Duration = Duration::from_secs(30);

/// What to read.
#[derive(Debug)]
pub struct Request {
    /// How to connect.
    pub options: ConnectOptions,
    /// Time between two readings, which rates cover.
    pub interval: Duration,
    /// Hears signals.
    pub listener: Listener,
}

/// Handles signals from now on: INT, TERM and HUP end the program.
#[derive(Debug)]
pub struct Listener {
    sender: mpsc::Sender<News>,
    news: mpsc::Receiver<News>,
    stop: Stop,
}

impl Listener {
    /// Begins. A view on a terminal also hears when it is to be suspended.
    ///
    /// # Errors
    /// Signals cannot be handled.
    pub fn begin(has_terminal: bool) -> io::Result<Self> {
        let (sender, news) = mpsc::channel();
        let stop = Stop::default();
        signals::listen(sender.clone(), stop.clone(), has_terminal)?;
        Ok(Self { sender, news, stop })
    }

    /// Is requested by a signal that ends the program.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }
}

/// The threads, and their messages.
struct Sources {
    listener: Listener,
    interval: Duration,
    latest: Latest,
    machine: MachineThread,
    server: ServerThread,
}

impl Sources {
    fn begin(request: Request, is_once: bool) -> Result<Self, Problem> {
        let Request { options, interval, listener } = request;
        let server =
            ServerThread::begin(&options, interval, is_once, &listener.stop, listener.sender.clone())?;
        let machine = MachineThread::begin(interval, listener.sender.clone())?;
        Ok(Self { listener, interval, latest: Latest::default(), machine, server })
    }

    /// What is known now.
    fn reading(&self) -> Reading {
        let at = format!("{:.0}", Timestamp::now());
        self.latest.reading(Instant::now(), self.interval + PATIENCE, at)
    }

    /// The next message within this time that is no part of a reading; `None` if there is none. `is_new` is set if the
    /// server was read.
    ///
    /// # Errors
    /// A thread has ended.
    fn next(&mut self, until: Instant, is_new: &mut bool) -> Result<Option<News>, Problem> {
        let news = match self.listener.news.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(news) => news,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                let has_ended = self.server.has_ended() || self.machine.has_ended();
                return match has_ended {
                    true => {
                        Err(Problem::could_not("could not read the server: a thread of pgdyno has ended"))
                    }
                    false => Ok(None),
                };
            }
        };
        if let News::Connected { watched, .. } = &news {
            self.machine.watch(watched.clone());
        }
        *is_new |= matches!(news, News::Server(_));
        Ok(self.latest.take(news, Instant::now()))
    }
}

fn no_thread(error: io::Error) -> Problem {
    Problem::could_not(format!("could not start a thread: {error}"))
}

/// Makes one reading, and returns it with its text in lines of at most 80 columns.
///
/// # Errors
/// The server cannot be reached or does not answer, or a signal came.
pub fn once(request: Request) -> Result<(Reading, String), Problem> {
    let mut sources = Sources::begin(request, true)?;
    let until = Instant::now() + sources.interval + LONGEST_ONCE;
    let mut is_new = false;
    while !sources.latest.is_complete() {
        sources.next(until, &mut is_new)?;
        let why = match sources.latest.lost() {
            _ if sources.listener.stop.requested() => "interrupted",
            Some(why) => why,
            None if Instant::now() >= until => "it does not answer",
            None => continue,
        };
        return Err(Problem::could_not(format!("could not read the server: {why}")));
    }
    let reading = sources.reading();
    let text = model::once(&reading);
    Ok((reading, text))
}

/// Passes on reading after reading, until `take` breaks or a signal comes. As long as there is no connection, one of
/// each interval says so.
///
/// # Errors
/// The first connection cannot be made, or what `take` returned.
pub fn each(
    request: Request,
    take: &mut dyn FnMut(&Reading) -> Result<ControlFlow<()>, Problem>,
) -> Result<(), Problem> {
    let mut sources = Sources::begin(request, false)?;
    let mut due = Instant::now() + sources.interval + PATIENCE;
    loop {
        let mut is_new = false;
        if let Some(News::Signal(Signalled::End)) = sources.next(due, &mut is_new)? {
            return Ok(());
        }
        let is_late = Instant::now() >= due;
        if !(is_late || is_new && sources.latest.is_complete()) {
            continue;
        }
        let reading = sources.reading();
        let patience = if reading.lost.is_some() { Duration::ZERO } else { PATIENCE };
        due = Instant::now() + sources.interval + patience;
        if take(&reading)?.is_break() {
            return Ok(());
        }
    }
}

/// Shows the server on the terminal until the user leaves.
///
/// # Errors
/// The first connection cannot be made, or the terminal cannot be used any more.
pub fn view(request: Request, has_colours: bool) -> Result<(), Problem> {
    let sources = Sources::begin(request, false)?;
    let broken = |error: io::Error| Problem::could_not(format!("could not use the terminal: {error}"));
    let terminal = Taken::take(has_colours).map_err(broken)?;
    keys::listen(sources.listener.sender.clone()).map_err(no_thread)?;
    let reading = sources.reading();
    let mut watching = Watching { sources, terminal, view: View::default(), reading, hint: None };
    watching.run().map_err(|error| match error {
        Ended::Problem(problem) => problem,
        Ended::Terminal(error) => broken(error),
    })
}

/// Why a view ended that the user did not leave.
enum Ended {
    Problem(Problem),
    Terminal(io::Error),
}

impl From<Problem> for Ended {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        Self::Terminal(error)
    }
}

/// A running view. The terminal is before the threads, so that it is restored before they are joined.
struct Watching {
    terminal: Taken,
    sources: Sources,
    view: View,
    /// What is shown.
    reading: Reading,
    /// What the program has to say.
    hint: Option<String>,
}

impl Watching {
    fn run(&mut self) -> Result<(), Ended> {
        while !self.view.ends {
            if !self.view.is_paused {
                self.reading = self.sources.reading();
            }
            let size = self.terminal.size()?;
            let screen = model::screen(&self.reading, &self.view, self.hint.as_deref(), size);
            self.view.from_line = screen.from_line;
            self.terminal.draw(&screen)?;
            // The clock and the age of an answer advance.
            let news = self.sources.next(Instant::now() + Duration::from_secs(1), &mut false)?;
            if let Some(news) = news {
                self.obey(news, screen.page, screen.columns)?;
            }
        }
        Ok(())
    }

    fn obey(&mut self, news: News, page: usize, columns: usize) -> Result<(), Ended> {
        match news {
            News::Key(key) => {
                self.hint = None;
                self.view.obey(key, page, columns);
                if key == Key::Char('s') && columns == 0 && !self.view.types_filter {
                    self.hint = Some("this panel cannot be sorted".to_owned());
                }
            }
            News::Interrupt | News::Signal(Signalled::End) => self.view.ends = true,
            News::Suspend | News::Signal(Signalled::Suspend) => {
                if !self.terminal.suspend()? {
                    self.hint = Some("cannot suspend: no shell could continue it".to_owned());
                }
            }
            News::Redraw => self.terminal.forget()?,
            News::Signal(Signalled::Continued) => self.terminal.take_again()?,
            News::Deaf { why } => return Err(io::Error::other(why).into()),
            News::Connected { .. } | News::Server(_) | News::Lost { .. } | News::Machine { .. } => {}
        }
        Ok(())
    }
}
