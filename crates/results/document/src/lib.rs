//! Documents, and their forms: text, Markdown, CSV, and HTML with charts.
//!
//! ```text
//! blocks (sentences · tables · charts · lanes) → Document → text · markdown · paste · csv · html
//! ```
//! Each form in `render` knows blocks and nothing about their content. A number in a block is a [`figure::Figure`]: it
//! keeps the JSON pointer of its source, which the HTML form shows.

pub mod block;
pub mod chart;
mod document;
pub mod figure;
pub mod flame;
pub mod lanes;
pub mod layout;
pub mod marks;
pub mod phrase;
mod render;
mod terminal;
mod words;
pub mod wrap;

pub use document::{Document, Short};
pub use render::{
    HTML_MARK, SHORT_LINES, csv, csv_blocks, cut, html, markdown, next, paste, short, short_of_blocks, text,
    text_of_blocks,
};
pub use terminal::{Paint, WIDTH};
