//! What signals do to a run: an interrupt asks it to stop, others end the program as they end pgbench.

use std::{
    thread,
    time::{Duration, Instant},
};

use pgdyno_core::stop::Stop;
use pgdyno_host::procs::ignores_signal;
use signal_hook::{consts::SIGINT, iterator::Signals, low_level::emulate_default_handler};

use super::say::Say;

/// `timeout` sends a signal to the process and then to its group: within this time it is one interrupt.
const SAME: Duration = Duration::from_secs(1);

/// Makes the first interrupt a request to stop, and a second one the end of the process, as a signal ends it. Whoever
/// started the program with interrupts ignored (a shell does so in the background of a script) has them ignored on.
/// TERM and HUP are left alone: by default they end the program, and a shell sees by which signal.
pub fn stop_on_interrupt(say: &Say) -> Stop {
    let stop = Stop::default();
    if ignores_signal(SIGINT) {
        return stop;
    }
    let asked = stop.clone();
    let installed = Signals::new([SIGINT]).and_then(|signals| {
        thread::Builder::new().name("signals".to_owned()).spawn(move || heed(signals, &asked))
    });
    if let Err(error) = installed {
        say.warning(format!("an interrupt will end the program at once: {error}"));
    }
    stop
}

fn heed(mut signals: Signals, stop: &Stop) {
    let mut first: Option<Instant> = None;
    for signal in &mut signals {
        match first {
            None => {
                first = Some(Instant::now());
                stop.request("interrupted");
            }
            Some(first) if first.elapsed() < SAME => {}
            Some(_) => {
                // Only a signal without a default effect would come back from this.
                let _ = emulate_default_handler(signal);
            }
        }
    }
}
