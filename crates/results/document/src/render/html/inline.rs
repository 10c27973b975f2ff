//! Figures and phrases in HTML.

use maud::{Markup, html};
use pgdyno_core::units::ABSENT;

use crate::{
    figure::Figure,
    phrase::{Phrase, Piece},
};

/// A figure with its pointer into `run.json`.
fn figure(figure: &Figure) -> Markup {
    let raw = figure.value.as_str().map_or_else(|| figure.value.to_string(), str::to_owned);
    html! {
        data value=(raw) data-src=(figure.pointer) data-value=(raw) data-format=(figure.format.name())
            data-of=[figure.of.as_ref()] { (figure.text) }
    }
}

/// A phrase, with its figures.
pub(super) fn phrase(phrase: &Phrase) -> Markup {
    html! {
        @for piece in &phrase.0 {
            @match piece {
                Piece::Text(text) if text == ABSENT => span.absent { (text) },
                Piece::Text(text) => (text),
                Piece::Fixed(text) => span data-fixed { (text) },
                Piece::Figure(known) => (figure(known)),
            }
        }
    }
}
