//! Ctrl-C, and its relatives TERM and HUP.

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

use crate::exit::Exit;

/// What `timeout` and others send a process and its group besides is one signal: it comes within this time.
const SAME: Duration = Duration::from_secs(1);

/// What the first signal is answered with.
static FIRST: Mutex<Cow<'static, str>> = Mutex::new(Cow::Borrowed("stopping"));

/// Makes the first signal a request to stop, and a later one the end of the process. Servers started for this run die
/// with it.
pub fn on_interrupt() -> Stop {
    on_interrupt_saying(
        "stopping: what was measured is kept (once more to end at once)",
        "ended at once; the partial record is kept",
    )
}

/// The same with words of its own for the first signal and for the later one. A signal that is ignored when the program
/// starts, as HUP is after `nohup`, stays ignored.
pub fn on_interrupt_saying(first: &'static str, second: &'static str) -> Stop {
    answer_with(first);
    let stop = Stop::default();
    let asked = stop.clone();
    let heeded: Vec<i32> =
        [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !ignores_signal(*signal)).collect();
    let installed = Signals::new(heeded).and_then(|signals| {
        thread::Builder::new().name("signals".to_owned()).spawn(move || heed(signals, &asked, second))
    });
    if let Err(error) = installed {
        eprintln!("warning: Ctrl-C will end pgdyno at once: {error}");
    }
    stop
}

/// Answers the first signal in other words from now on.
pub fn answer_with(words: impl Into<Cow<'static, str>>) {
    *FIRST.lock().unwrap_or_else(PoisonError::into_inner) = words.into();
}

fn heed(mut signals: Signals, stop: &Stop, second: &str) {
    let mut heard = Heard::default();
    for signal in &mut signals {
        match heard.meaning(signal, Instant::now()) {
            Meaning::Stop => {
                // Asked for before anything is said: a terminal that is gone takes no words.
                stop.request("interrupted");
                eprintln!("\n{}", FIRST.lock().unwrap_or_else(PoisonError::into_inner));
            }
            Meaning::Same => {}
            Meaning::EndAtOnce => {
                eprintln!("\n{second}");
                Exit::NotCompleted.now();
            }
        }
    }
}

/// Signals so far.
#[derive(Debug, Default)]
struct Heard {
    first: Option<Instant>,
}

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Stop,
    /// Nothing: it repeats the one before.
    Same,
    EndAtOnce,
}

impl Heard {
    /// A terminal that closes may send HUP several times, and nobody is impatient by it.
    fn meaning(&mut self, signal: i32, now: Instant) -> Meaning {
        match self.first {
            None => {
                self.first = Some(now);
                Meaning::Stop
            }
            Some(first) if signal == SIGHUP || now.saturating_duration_since(first) < SAME => Meaning::Same,
            Some(_) => Meaning::EndAtOnce,
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
        let mut heard = Heard::default();
        let mut meaning = |signal, ms| heard.meaning(signal, after(ms));
        assert_eq!(meaning(SIGTERM, 0), Meaning::Stop);
        assert_eq!(meaning(SIGTERM, 0), Meaning::Same, "timeout sends it to the process, then to the group");
        assert_eq!(meaning(SIGINT, 999), Meaning::Same);
        assert_eq!(meaning(SIGHUP, 5_000), Meaning::Same, "the terminal closes while it stops");
        assert_eq!(meaning(SIGINT, 1_000), Meaning::EndAtOnce);
    }
}
