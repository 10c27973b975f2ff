//! The reader: a recorded run becomes text, Markdown, CSV, HTML and charts.
//!
//! ```text
//! RunRecord + intervals → Document → text · markdown · paste · csv · html
//! ```
//! A [`Document`] takes every figure from `run.json` by a JSON pointer, so no renderer can show a number that
//! does not stand there; the HTML report carries the pointers.

mod chart;
mod comparison;
mod csv;
mod document;
mod fact_group;
mod facts;
mod figure;
mod grid;
mod held;
mod html;
mod instrument;
mod listing;
mod load;
mod markdown;
mod paste;
mod probe;
mod servers;
mod slowest;
mod subjects;
mod table;
mod text;
mod tpcc;
mod verdict;
mod words;
mod wrap;

pub use comparison::{BlockRow, ComparisonView, DifferenceRow};
pub use csv::{BLOCK_COLUMNS as CSV_BLOCK_COLUMNS, COLUMNS as CSV_COLUMNS, csv};
pub use document::{Document, DoubtView, Group, METHOD, Row, Stage};
pub use fact_group::FactGroup;
pub use figure::{Figure, Format, Phrase, Piece, Source};
pub use html::{HTML_MARK, html};
pub use instrument::instrument;
pub use listing::{listing, listing_json};
pub use markdown::markdown;
pub use paste::paste;
pub use probe::{prewarm, probe};
pub use slowest::SlowCell;
pub use subjects::{CellWaits, LevelRow, ScriptLevels, SubjectDifferences, SubjectsView};
pub use text::{Paint, text};
pub use words::doubt as doubt_heading;
pub use wrap::prose;
