//! Names what pgdyno waits for, so that no user has to guess.

use std::{
    iter,
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use crate::Events;

/// Seconds until a wait is first named, and between later notes.
const FIRST_S: u64 = 10;
const SECOND_S: u64 = 50;
const LATER_S: u64 = 300;

/// Does work that may have to wait, and names the reason if it takes long.
pub fn waiting_for<R>(what: &str, events: &Events, work: impl FnOnce() -> R) -> R {
    thread::scope(|scope| {
        let (working, is_over) = mpsc::channel();
        scope.spawn(move || report_while(what, events, &is_over));
        let result = work();
        drop::<mpsc::Sender<()>>(working);
        result
    })
}

fn report_while(what: &str, events: &Events, is_over: &Receiver<()>) {
    let begin = Instant::now();
    let waits = [FIRST_S, SECOND_S].into_iter().chain(iter::repeat(LATER_S));
    for wait_s in waits {
        match is_over.recv_timeout(Duration::from_secs(wait_s)) {
            Err(RecvTimeoutError::Timeout) => {
                let waited = begin.elapsed().as_secs();
                events.note(format!("waiting for {what}, for {waited} s so far (Ctrl-C stops)"));
            }
            _ => return,
        }
    }
}
