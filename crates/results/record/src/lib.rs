//! The run directory: versioned files, atomic writes, redaction and JSON schemas.
//!
//! ```text
//! pgdyno-runs/20261120T101502Z-bench-7f3a/
//!   run.json             everything that lists, comparisons and reports read
//!   timeline.ndjson      one line per interval
//!   latency.hlog         HdrHistogram interval log
//!   runs.hlog            the same for whole runs
//!   slowest.ndjson       one line per interval: the slowest attempts
//!   observations.ndjson  what observers saw: host, devices, processes, server
//!   events.ndjson        one line per event: stages, runs, warnings
//!   server.log           copy of the server's log, for own servers
//!   output.log           what a detached run printed
//! ```
//!
//! Streams are `*.partial` during the run, and `*.gz` afterwards if larger than 10 MB. [`RunDir`]
//! writes a directory; [`open`], [`list`] and [`find`] read them.

mod amend;
mod checks;
mod comparison;
mod dir;
mod edited;
mod event;
mod files;
mod footprint;
mod hlog;
mod host_changes;
mod joined;
mod latencies;
mod levels;
mod load;
mod names;
mod observer_file;
mod observers;
mod operation;
mod profiles;
mod read;
mod resumed;
mod run;
mod schema;
mod seal;
mod sealing;
mod start;
mod stream;
mod subject;
mod time;
mod tool;
mod verification;
mod workload_files;

pub use amend::Amendment;
pub use checks::{BalanceRecord, ConsistencyRecord, SetConsistency};
pub use comparison::{BlockRecord, ComparisonRecord, TimedLoad};
pub use dir::{RunDir, without_secrets};
pub use event::{Bound, Event, EventLine};
pub use files::write_atomically;
pub use footprint::FootprintRecord;
pub use hlog::{LoggedInterval, header as histogram_log_header, line as histogram_log_line};
pub use host_changes::{HostChangesRecord, HostStateRecord, HostValueRecord};
pub use joined::{JoinedClocks, JoinedRecord};
pub use latencies::RunLatencies;
pub use levels::LevelsRecord;
pub use load::{
    KeyWorkersRecord, LoadPhaseRecord, LoadProgressRecord, LoadRecord, LoadStageRecord, LoadTerms,
    PrewarmRecord, RangeRecord,
};
pub use names::{
    EVENTS, LATENCY_LOG, OBSERVATIONS, OUTPUT, RUN_JSON, RUN_LATENCIES, SLOWEST_ATTEMPTS, TIMELINE,
    output_of_part, profile_of,
};
pub use observer_file::{
    LogReport, OBSERVER_FORMAT, OBSERVER_VERSION, ObservedServer, ObserverFile, ObserverHeader, ObserverLines,
};
pub use observers::ObserversRecord;
pub use operation::{CopyRecord, Found, OperationRecord};
pub use pgdyno_core::redact::{
    REDACTED, command_line, redact, redact_command, redact_log_line, redact_setting, redact_sql,
};
pub use profiles::ProfileRecord;
pub use read::{Listed, Run, find, list, open};
pub use resumed::ResumedRecord;
pub use run::*;
pub use schema::schemas;
pub use seal::SealRecord;
pub use start::{PracticeRecord, StartRecord};
pub use stream::{COMPRESS_OVER_BYTES, Lines, compress_if_large};
pub use subject::{SubjectRecord, WorkloadLoad};
pub use time::{StageRecord, TimeRecord};
pub use tool::ToolRecord;
pub use verification::{StructureRecord, VerificationRecord};
pub use workload_files::{
    SetupDone, SetupRecord, TextRecord, WeightedText, WorkloadFilesRecord, WorkloadRecord,
};
