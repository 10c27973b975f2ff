//! What a host and a server should be set to, and why.
//!
//! ```text
//! Inventory + purpose → rules (host/, settings/) → findings, changes · pages, as `pgdyno explain` prints them
//! ```
//! A rule computes its value from the facts of a host and says for today's kernels and servers whether folklore still
//! holds. Everything here is pure.

mod book;
mod check;
mod finding;
pub mod host;
mod measured;
mod page;
mod purpose;
pub mod settings;
mod words;

pub use book::{book, pages};
pub use check::Check;
pub use finding::{Finding, Standing};
pub use page::{Gain, Page, Today};
pub use purpose::Purpose;
