//! The forms of a report. Each knows blocks and nothing about their content.

mod csv;
mod html;
mod markdown;
mod paste;
mod text;
mod unfold;

pub use csv::csv;
pub use html::{HTML_MARK, html};
pub use markdown::markdown;
pub use paste::paste;
pub use text::{of_blocks as text_of_blocks, text};
