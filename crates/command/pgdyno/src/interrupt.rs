//! Handles the signals INT (Ctrl-C), TERM and HUP.

use std::{
    borrow::Cow,
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use pgdyno_core::stop::Stop;
use pgdyno_host::procs::ignores_signal;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

use crate::detached::inside;
use crate::exit::Exit;

/// Signals within this time count as one: `timeout` and others signal a process, then its process group.
const REPEAT_WITHIN: Duration = Duration::from_secs(1);

/// Message to print at the first signal.
static FIRST_MESSAGE: Mutex<Cow<'static, str>> = Mutex::new(Cow::Borrowed("stopping"));

/// Handles signals: the first one requests a stop, a later one ends the process, and with it the servers that it
/// started for this run.
pub fn on_interrupt() -> Stop {
    on_interrupt_saying(
        "stopping; the measurements so far are kept (Ctrl-C again to exit immediately)",
        "exited immediately; the partial record is kept",
    )
}

/// Like [`on_interrupt`], with these messages for the first signal and for the later one. A signal that is ignored when
/// the program starts, as HUP is after `nohup`, stays ignored. A detached run has no terminal: it obeys INT and TERM,
/// which `pgdyno stop` and others send on purpose, even if a script has started it in the background.
pub fn on_interrupt_saying(first: &'static str, second: &'static str) -> Stop {
    answer_with(first);
    let stop = Stop::default();
    let requested = stop.clone();
    let handled: Vec<i32> = match inside::is_here() {
        true => vec![SIGINT, SIGTERM],
        false => [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !ignores_signal(*signal)).collect(),
    };
    let installed = Signals::new(handled).and_then(|signals| {
        thread::Builder::new().name("signals".to_owned()).spawn(move || handle(signals, &requested, second))
    });
    if let Err(error) = installed {
        eprintln!("warning: Ctrl-C will end pgdyno immediately: {error}");
    }
    stop
}

/// Replaces the message for the first signal.
pub fn answer_with(message: impl Into<Cow<'static, str>>) {
    *FIRST_MESSAGE.lock().unwrap_or_else(PoisonError::into_inner) = message.into();
}

fn handle(mut signals: Signals, stop: &Stop, second: &str) {
    let mut received = Received::default();
    for signal in &mut signals {
        match received.meaning(signal, Instant::now()) {
            Meaning::Stop => {
                // Before the message, since a closed terminal may not accept it.
                stop.request("interrupted");
                eprintln!("\n{}", first_message());
            }
            Meaning::Repeated => {}
            Meaning::Exit => {
                eprintln!("\n{second}");
                Exit::NotCompleted.now();
            }
        }
    }
}

/// The message for the first signal, which a detached run gets from `pgdyno stop`.
fn first_message() -> String {
    let message = FIRST_MESSAGE.lock().unwrap_or_else(PoisonError::into_inner);
    match inside::is_here() {
        true => message.replace("Ctrl-C again", "`pgdyno stop` again"),
        false => message.clone().into_owned(),
    }
}

/// Signals received so far.
#[derive(Debug, Default)]
struct Received {
    first: Option<Instant>,
}

/// Meaning of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Stop,
    /// Ignored: it repeats the previous signal.
    Repeated,
    Exit,
}

impl Received {
    /// Classifies a signal. A closing terminal may send HUP several times, so HUP never means [`Meaning::Exit`].
    fn meaning(&mut self, signal: i32, now: Instant) -> Meaning {
        match self.first {
            None => {
                self.first = Some(now);
                Meaning::Stop
            }
            Some(first) if signal == SIGHUP || now.saturating_duration_since(first) < REPEAT_WITHIN => {
                Meaning::Repeated
            }
            Some(_) => Meaning::Exit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_to_a_process_and_to_its_group_is_one() {
        let begin = Instant::now();
        let after = |ms| begin + Duration::from_millis(ms);
        let mut received = Received::default();
        let mut meaning = |signal, ms| received.meaning(signal, after(ms));
        assert_eq!(meaning(SIGTERM, 0), Meaning::Stop);
        assert_eq!(
            meaning(SIGTERM, 0),
            Meaning::Repeated,
            "timeout sends it to the process, then to the group"
        );
        assert_eq!(meaning(SIGINT, 999), Meaning::Repeated);
        assert_eq!(meaning(SIGHUP, 5_000), Meaning::Repeated, "the terminal closes while it stops");
        assert_eq!(meaning(SIGINT, 1_000), Meaning::Exit);
    }
}
