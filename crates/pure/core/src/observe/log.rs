//! Events of a server's log.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An event in a server's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LogSample {
    /// Process id of the process that logged it, where the line says so.
    pub pid: Option<u32>,
    /// What happened.
    pub event: LogEvent,
    /// The message, cut and without secrets.
    pub message: String,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogEvent {
    /// A checkpoint or restartpoint began.
    CheckpointBegan {
        /// Why: `time`, `wal`, `immediate force wait` …
        reason: String,
    },
    /// A checkpoint or restartpoint ended.
    CheckpointEnded {
        /// Buffers written.
        buffers: u64,
        /// Seconds of writing, including its pauses.
        write_s: f64,
        /// Seconds of fsync.
        sync_s: f64,
        /// Seconds in all.
        total_s: f64,
        /// The longest fsync in seconds.
        longest_sync_s: Option<f64>,
    },
    /// Checkpoints follow each other too fast.
    CheckpointsTooFrequent,
    /// An automatic VACUUM of a table ended.
    AutoVacuum {
        /// The table.
        table: String,
        /// Seconds that it took.
        elapsed_s: Option<f64>,
    },
    /// An automatic ANALYZE of a table ended.
    AutoAnalyze {
        /// The table.
        table: String,
        /// Seconds that it took.
        elapsed_s: Option<f64>,
    },
    /// A session waited for a lock for longer than `deadlock_timeout`.
    LockWait {
        /// Seconds that it had waited.
        waited_s: f64,
        /// Whether it got the lock with this line.
        acquired: bool,
    },
    /// A deadlock was resolved.
    Deadlock,
    /// A temporary file was written.
    TemporaryFile {
        /// Its size.
        bytes: u64,
    },
    /// A server process died, or the server shut down.
    Ended,
    /// The server began to accept connections.
    Ready,
    /// An error, fatal or panic message.
    Error,
}
