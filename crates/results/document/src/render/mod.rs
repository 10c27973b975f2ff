//! The forms of a report. Each knows blocks and nothing about their content.

mod csv;
mod html;
mod markdown;
mod paste;
mod short;
mod text;
mod unfold;

pub use csv::{csv, csv_blocks};
pub use html::{HTML_MARK, html};
pub use markdown::markdown;
pub use paste::paste;
pub use short::{LINES as SHORT_LINES, cut, next, of_blocks as short_of_blocks, short};
pub use text::{of_blocks as text_of_blocks, text};
