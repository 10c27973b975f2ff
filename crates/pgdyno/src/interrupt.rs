//! Ctrl-C, and its relatives TERM and HUP.

use std::sync::atomic::{AtomicBool, Ordering};

use pgdyno_engine::Stop;

/// Makes the first signal a request to stop, and the second the end of the process. Servers started for this run die
/// with it.
pub fn on_interrupt() -> Stop {
    on_interrupt_saying(
        "stopping: what was measured is kept (once more to end at once)",
        "ended at once; the partial record is kept",
    )
}

/// The same with words of its own for the first signal and for the second.
pub fn on_interrupt_saying(first: &'static str, second: &'static str) -> Stop {
    static ASKED: AtomicBool = AtomicBool::new(false);
    let stop = Stop::default();
    let asked = stop.clone();
    let installed = ctrlc::set_handler(move || {
        if ASKED.swap(true, Ordering::SeqCst) {
            eprintln!("\n{second}");
            std::process::exit(3);
        }
        eprintln!("\n{first}");
        asked.request("interrupted");
    });
    if let Err(error) = installed {
        eprintln!("warning: Ctrl-C will end pgdyno at once: {error}");
    }
    stop
}
