//! The run directory: versioned files, atomic writes, redaction and JSON schemas.
//!
//! ```text
//! pgdyno-runs/20261120T101502Z-bench-7f3a/
//!   run.json             everything that lists, comparisons and reports read
//!   timeline.ndjson      one line an interval
//!   latency.hlog         HdrHistogram interval log
//!   runs.hlog            the same for every run as a whole
//!   slowest.ndjson       one line an interval: its slowest attempts
//!   observations.ndjson  one line a second: processors and devices
//!   events.ndjson        one line an event: stages, runs, warnings
//!   server.log           the server's own log, where it was ours
//! ```
//!
//! Streams are `*.partial` while the run lasts and `*.zst` where they came to more than 10 MB. [`RunDir`]
//! writes a directory; [`open`], [`list`] and [`find`] read them.

mod checks;
mod comparison;
mod dir;
mod edited;
mod event;
mod files;
mod held;
mod hlog;
mod latencies;
mod levels;
mod load;
mod material;
mod names;
mod read;
mod redact;
mod resumed;
mod run;
mod schema;
mod seal;
mod seal_record;
mod stream;
mod subject;
mod time;

pub use checks::{BalanceRecord, ConsistencyRecord};
pub use comparison::{BlockKind, BlockRecord, ComparisonRecord};
pub use dir::{RunDir, without_secrets};
pub use event::{Event, EventLine};
pub use files::write_atomically;
pub use held::HeldRecord;
pub use hlog::{LoggedInterval, header as histogram_log_header, line as histogram_log_line};
pub use latencies::RunLatencies;
pub use levels::LevelsRecord;
pub use load::{
    KeyWorkersRecord, LoadPhaseRecord, LoadRecord, LoadStageRecord, LoadTerms, PrewarmRecord, RangeRecord,
};
pub use material::{MaterialRecord, SetupDone, SetupRecord, TextRecord, WeightedText, WorkloadRecord};
pub use names::{EVENTS, LATENCY_LOG, OBSERVATIONS, RUN_JSON, RUN_LATENCIES, SLOWEST_ATTEMPTS, TIMELINE};
pub use read::{Listed, Run, find, list, open};
pub use redact::{
    REDACTED, command_line, redact, redact_command, redact_log_line, redact_setting, redact_sql,
};
pub use resumed::ResumedRecord;
pub use run::*;
pub use schema::schemas;
pub use seal_record::SealRecord;
pub use stream::{COMPRESS_OVER_BYTES, Lines};
pub use subject::SubjectRecord;
pub use time::{StageRecord, TimeRecord};
