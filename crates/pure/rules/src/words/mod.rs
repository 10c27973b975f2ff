//! What no rule judges: words of the output, wait events, kernel parameters and settings that are only shown.

mod parameters;
mod settings;
mod terms;
mod wait_events;

pub(crate) use parameters::PARAMETERS;
pub(crate) use settings::SETTINGS;
pub(crate) use terms::TERMS;
pub use wait_events::{WAIT_EVENTS, WaitEvent, wait_events_page};

use crate::{Page, Today};

/// A page of a word: what it means, and where that can be read.
const fn term(
    name: &'static str,
    also: &'static [&'static str],
    what: &'static str,
    source: &'static str,
) -> Page {
    Page { name, also, what, source, today: Today::Term, ..Page::EMPTY }
}

/// A page of what is shown and not judged.
const fn shown(name: &'static str, what: &'static str, source: &'static str) -> Page {
    Page { name, what, source, today: Today::NotJudged, ..Page::EMPTY }
}
