//! The run directory: versioned files, atomic writes, redaction and JSON schemas.
//!
//! ```text
//! pgdyno-runs/20261120T101502Z-bench-7f3a/
//!   run.json             everything that lists, comparisons and reports read
//!   timeline.ndjson      one line an interval
//!   latency.hlog         HdrHistogram interval log
//!   observations.ndjson  one line a second: processors and devices
//!   server.log           the server's own log, where it was ours
//! ```

mod run;

pub use run::*;
