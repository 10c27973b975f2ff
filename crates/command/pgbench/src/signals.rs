//! Handles interrupts: the first one stops the run. Other signals end the program, as they end pgbench.

use std::{
    thread,
    time::{Duration, Instant},
};

use pgdyno_core::stop::Stop;
use pgdyno_host::procs::ignores_signal;
use signal_hook::{consts::SIGINT, iterator::Signals, low_level::emulate_default_handler};

use super::say::Say;

/// Interrupts within this time count as one: `timeout` signals the process, then its process group.
const REPEAT_WITHIN: Duration = Duration::from_secs(1);

/// Handles interrupts: the first one requests a stop, a second one ends the process by that signal. If interrupts are
/// ignored when the program starts, as in the background of a shell script, they stay ignored. TERM and HUP keep their
/// default action, so that a shell sees which signal ended the program.
pub fn stop_on_interrupt(say: &Say) -> Stop {
    let stop = Stop::default();
    if ignores_signal(SIGINT) {
        return stop;
    }
    let requested = stop.clone();
    let installed = Signals::new([SIGINT]).and_then(|signals| {
        thread::Builder::new().name("signals".to_owned()).spawn(move || handle(signals, &requested))
    });
    if let Err(error) = installed {
        say.warning(format!("an interrupt will end the program immediately: {error}"));
    }
    stop
}

fn handle(mut signals: Signals, stop: &Stop) {
    let mut first: Option<Instant> = None;
    for signal in &mut signals {
        match first {
            None => {
                first = Some(Instant::now());
                stop.request("interrupted");
            }
            Some(first) if first.elapsed() < REPEAT_WITHIN => {}
            Some(_) => {
                // Returns only for a signal without a default action.
                let _ = emulate_default_handler(signal);
            }
        }
    }
}
