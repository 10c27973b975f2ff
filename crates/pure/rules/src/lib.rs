//! What a host should be set to, and why; and the pages of all names that pgdyno explains.
//!
//! ```text
//! Inventory + purpose → rules of hosts (host/) → findings, changes · pages, as `pgdyno explain` prints them
//! ```
//! A rule computes its value from the facts of a host and says for today's kernels and servers whether folklore still
//! holds. Everything here is pure. Rules of `postgresql.conf` are in `pgdyno-settings`.

mod book;
mod check;
pub mod host;
mod words;

pub use book::{book, pages};
pub use check::Check;
pub use pgdyno_settings::{Finding, Gain, Page, Purpose, Standing, Today};
pub use words::{WAIT_EVENTS, WaitEvent, wait_events_page};
