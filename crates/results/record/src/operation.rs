//! Operations in `run.json`: work on a server that drives no transactions, and measurements of storage and clocks.

use pgdyno_core::{
    disk::Disk,
    probe::{Prewarm, Probe},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{LoadRecord, VerificationRecord};

/// An operation on the tables of a server, or on storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationRecord {
    /// Name: `load`, `verify`, `copy`, `prewarm`, `probe ddl`, `probe count`, `probe first-touch`,
    /// `probe partitions`, `probe depth`, `probe sizes`, `disk sync`, `disk io`, `disk costs` or `disk clock`.
    pub name: String,
    /// The subject, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Start in seconds since the start of the run.
    pub start_s: f64,
    /// Duration in seconds; absent while the operation is running, or if it ended by an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<f64>,
    /// Whether what the operation checks holds; absent if it checks nothing, or has not come to that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    /// What was done and found.
    pub found: Found,
}

/// What an operation did and found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// A load of tables, so far if it is running.
    Load(Box<LoadRecord>),
    /// A comparison of tables with their expected contents.
    Verification(VerificationRecord),
    /// Copies of loaded tables.
    Copies(Vec<CopyRecord>),
    /// Tables that were read into shared buffers.
    Prewarm(Prewarm),
    /// A probe of tables.
    Probe(Probe),
    /// A measurement of storage or of the clock.
    Disk(Disk),
}

/// A copy of loaded tables.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CopyRecord {
    /// Name of the schema or the database.
    pub name: String,
    /// Duration of copying in seconds, without the comparison; absent for a copy that was made and verified earlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<f64>,
    /// Bytes of the copy's tables and indexes, or of the whole database if that was copied; absent as above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// These bytes per second of copying.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<u64>,
    /// The comparison with the source; absent for a copy that was made and verified earlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<VerificationRecord>,
}

impl OperationRecord {
    /// Whether the operation ended, or is a load that wrote rows before it was stopped.
    pub fn has_done_something(&self) -> bool {
        let wrote = matches!(&self.found, Found::Load(load) if load.rows > 0);
        self.duration_s.is_some() || wrote
    }
}
