//! Signals, as news.

use std::{io, sync::mpsc, thread};

use pgdyno_core::stop::Stop;
use pgdyno_host::procs::ignores_signal;
use signal_hook::{
    consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP},
    iterator::Signals,
};

use crate::news::{News, Signalled};

/// Sends signals from now on. One that is ignored when the program starts, as HUP is after `nohup`, stays ignored. The
/// first that ends the program also stops waits for the server.
///
/// # Errors
/// The signals cannot be handled.
pub(crate) fn listen(news: mpsc::Sender<News>, stop: Stop, has_terminal: bool) -> io::Result<()> {
    let ends = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !ignores_signal(*signal));
    let of_terminal = [SIGTSTP, SIGCONT].into_iter().filter(|_| has_terminal);
    let mut signals = Signals::new(ends.chain(of_terminal))?;
    let forward = move || {
        for signal in &mut signals {
            let signalled = match signal {
                SIGTSTP => Signalled::Suspend,
                SIGCONT => Signalled::Continued,
                _ => {
                    stop.request("interrupted");
                    Signalled::End
                }
            };
            if news.send(News::Signal(signalled)).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(forward).map(drop)
}
