//! Ctrl-C, and its relatives TERM and HUP.

use std::sync::atomic::{AtomicBool, Ordering};

use pgdyno_engine::Stop;

/// Makes the first signal a request to stop, and the second the end of the process. Servers started for this run die
/// with it.
pub fn on_interrupt() -> Stop {
    static ASKED: AtomicBool = AtomicBool::new(false);
    let stop = Stop::default();
    let asked = stop.clone();
    let installed = ctrlc::set_handler(move || {
        if ASKED.swap(true, Ordering::SeqCst) {
            eprintln!("\nended at once; the partial record is kept");
            std::process::exit(3);
        }
        eprintln!("\nstopping: what was measured is kept (once more to end at once)");
        asked.request("interrupted");
    });
    if let Err(error) = installed {
        eprintln!("warning: Ctrl-C will end pgdyno at once: {error}");
    }
    stop
}
