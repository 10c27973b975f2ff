//! Messages that all sub-commands about servers print.

use pgdyno_provision::Event;

/// Prints an event on stderr, if it has a text.
pub fn print_event(event: Event) {
    match event.text() {
        Some(text) if event.is_warning() => eprintln!("warning: {text}"),
        Some(text) => eprintln!("{text}"),
        None => {}
    }
}
