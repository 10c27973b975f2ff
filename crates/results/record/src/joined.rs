//! Files of `pgdyno observe` that were added to a run.

use pgdyno_core::observe::ObserverCost;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ToolRecord;

/// A file of `pgdyno observe` whose lines are among the run's observations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JoinedRecord {
    /// Name of the file, without its directory.
    pub file: String,
    /// SHA-256 of the file in hexadecimal.
    pub sha256: String,
    /// When it was joined, RFC 3339 in UTC.
    pub at: String,
    /// The pgdyno that wrote it.
    pub tool: ToolRecord,
    /// The machine that was observed.
    pub machine: String,
    /// The kernel's identifier of the time since that machine was started.
    pub boot_id: String,
    /// The kernel's clock source there; absent if it does not report it.
    pub clock_source: Option<String>,
    /// Name of the subject whose server was observed.
    pub subject: String,
    /// The part of the run that the file covers, in seconds since the start of the run.
    pub from_s: f64,
    /// The end of that part.
    pub to_s: f64,
    /// Lines that were added.
    pub lines: u64,
    /// What observing cost there; absent if it was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<ObserverCost>,
    /// How the times of the file were brought to those of the run.
    pub clocks: JoinedClocks,
}

/// Clocks of two machines, brought together by that of the server, which both had read.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JoinedClocks {
    /// Seconds that the clock of the observed machine was ahead of that of pgdyno's machine, by the best readings;
    /// negative if behind.
    pub ahead_s: f64,
    /// Seconds added to times of the file, in the middle of the part that it covers.
    pub shift_s: f64,
    /// How wrong a time is at most, in seconds.
    pub uncertainty_s: f64,
    /// What the file's clock gained on the run's over that part, in parts per million.
    pub drift_ppm: f64,
    /// Readings of the server's clock in the file.
    pub readings_of_file: u64,
    /// Readings in the run.
    pub readings_of_run: u64,
}
