//! What the sub-commands about servers share: what is said while one is made.

use pgdyno_provision::Event;

/// Says on stderr what is going on, if it takes long enough to be asked about.
pub fn say(event: Event) {
    match event.text() {
        Some(text) if event.is_warning() => eprintln!("warning: {text}"),
        Some(text) => eprintln!("{text}"),
        None => {}
    }
}
