//! Waits that somebody else ends: nobody should have to guess what pgdyno waits for.

use std::{
    iter,
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

/// Seconds until a wait is named first, and from then on.
const FIRST_S: u64 = 10;
const SECOND_S: u64 = 50;
const LATER_S: u64 = 300;

/// Does something that may wait for somebody else, and says on stderr what for where that takes long.
pub fn waiting_for<R>(what: &str, work: impl FnOnce() -> R) -> R {
    thread::scope(|scope| {
        let (working, is_over) = mpsc::channel();
        scope.spawn(move || say_while(what, &is_over));
        let result = work();
        drop::<mpsc::Sender<()>>(working);
        result
    })
}

fn say_while(what: &str, is_over: &Receiver<()>) {
    let begin = Instant::now();
    let waits = [FIRST_S, SECOND_S].into_iter().chain(iter::repeat(LATER_S));
    for wait_s in waits {
        match is_over.recv_timeout(Duration::from_secs(wait_s)) {
            Err(RecvTimeoutError::Timeout) => {
                let waited = begin.elapsed().as_secs();
                eprintln!("waiting for {what}, for {waited} s so far (Ctrl-C stops)");
            }
            _ => return,
        }
    }
}
