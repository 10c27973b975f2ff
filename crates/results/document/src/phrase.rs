//! Sentences and parts of sentences, which consist of words and figures.

use pgdyno_core::units;

use crate::figure::Figure;

/// A piece of a sentence.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// Words of the report, without a number of the run.
    Text(String),
    /// Words of the report with a constant number, such as `95 %`.
    Fixed(&'static str),
    /// A number or a word of the run.
    Figure(Figure),
}

/// A sentence, or a part of one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Phrase(pub Vec<Piece>);

/// Concatenates words, figures and other phrases. An absent figure is shown as a dash.
#[macro_export]
macro_rules! phrase {
    ($($piece:expr),* $(,)?) => { $crate::phrase::Phrase::default()$(.and($piece))* };
}
pub use crate::phrase;

impl Phrase {
    /// The phrase followed by another one.
    #[must_use]
    pub fn and(mut self, other: impl Into<Self>) -> Self {
        self.0.extend(other.into().0);
        self
    }

    /// Whether the phrase is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The phrase as plain text.
    pub fn plain(&self) -> String {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Fixed(text) => (*text).to_owned(),
            Piece::Figure(figure) => figure.text.clone(),
        };
        self.0.iter().map(text).collect()
    }
}

impl From<&str> for Phrase {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl From<String> for Phrase {
    fn from(text: String) -> Self {
        if text.is_empty() { Self::default() } else { Self(vec![Piece::Text(text)]) }
    }
}

impl From<Piece> for Phrase {
    fn from(piece: Piece) -> Self {
        Self(vec![piece])
    }
}

impl From<Option<Figure>> for Phrase {
    fn from(figure: Option<Figure>) -> Self {
        figure.map_or_else(|| units::ABSENT.into(), |figure| Piece::Figure(figure).into())
    }
}

/// A figure with words around it; empty without a figure.
pub fn maybe(before: &str, figure: Option<Figure>, after: &str) -> Phrase {
    figure.map_or_else(Phrase::default, |figure| phrase![before, Some(figure), after])
}

/// Phrases with a separator between them.
pub fn joined<P: Into<Phrase>>(all: impl IntoIterator<Item = P>, separator: &str) -> Phrase {
    all.into_iter().map(Into::into).fold(Phrase::default(), |phrase, one: Phrase| {
        let separator = if phrase.is_empty() { "" } else { separator };
        phrase![phrase, separator, one]
    })
}
