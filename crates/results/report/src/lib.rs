//! Reports of recorded runs, as documents.
//!
//! ```text
//! RunRecord + intervals → sections → Document
//! ```
//! `sections` creates the content as blocks of `pgdyno-document`, which writes them as text, Markdown, CSV or HTML.
//! Every figure is taken from `run.json` by a JSON pointer, so no form can show a number that is not in it.

mod history;
mod host;
mod instrument;
mod listing;
pub mod over_time;
#[cfg(test)]
mod pointers;
mod probe;
mod report;
mod run;
mod sections;
mod source;
mod why;
mod words;

pub use history::history;
pub use host::{
    check as host_check, config as config_findings, differences as host_differences, facts as host_facts,
    layout as host_layout, page as rule_page,
};
pub use instrument::instrument;
pub use listing::{listing, listing_json};
pub use over_time::OverTime;
pub use probe::{disks, prewarm, probe};
pub use report::report;
pub use run::{Details, Kept};
pub use why::why;
pub use words::{bottleneck as bottleneck_words, doubt as doubt_heading};
