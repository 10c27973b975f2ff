//! Reports of recorded runs as text, Markdown, CSV, and HTML with charts.
//!
//! ```text
//! RunRecord + intervals → sections → blocks → text · markdown · paste · csv · html
//! ```
//! `sections` creates the content as [`block`]s; each form in `render` knows blocks and nothing about their content.
//! Every figure is taken from `run.json` by a JSON pointer, so no form can show a number that is not in it; the HTML
//! report includes the pointers.

pub mod block;
pub mod chart;
mod document;
mod figure;
mod history;
mod instrument;
mod layout;
mod listing;
mod paint;
pub mod phrase;
#[cfg(test)]
mod pointers;
mod probe;
mod render;
mod run;
mod sections;
mod words;
mod wrap;

pub use document::Document;
pub use figure::{Figure, Format};
pub use history::history;
pub use instrument::instrument;
pub use listing::{listing, listing_json};
pub use paint::Paint;
pub use probe::{prewarm, probe};
pub use render::{HTML_MARK, SHORT_LINES, csv, csv_blocks, cut, html, markdown, paste, short, text};
pub use run::Kept;
pub use words::doubt as doubt_heading;
pub use wrap::prose;
