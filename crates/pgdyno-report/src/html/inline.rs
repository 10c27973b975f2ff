//! Figures and phrases within a line of the page.

use maud::{Markup, html};
use pgdyno_core::units::ABSENT;

use crate::figure::{Figure, Phrase, Piece};

/// A figure with its place in `run.json`; the sign for an absent one where there is none.
pub(super) fn figure(figure: Option<&Figure>) -> Markup {
    let Some(figure) = figure else { return html! { span.absent { (ABSENT) } } };
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
                Piece::Text(text) => (text),
                Piece::Figure(known) => (figure(Some(known))),
            }
        }
    }
}
