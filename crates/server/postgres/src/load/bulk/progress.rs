//! Progress reports of a load.

use pgdyno_rows::load::Stage;

/// A progress report.
#[derive(Debug, Clone, PartialEq)]
pub enum BulkProgress {
    /// A stage begins.
    Stage(Stage),
    /// Number of rows sent by this process or loaded before it.
    Rows(u64),
    /// An interval of about a second is over.
    Sample(LoadSample),
    /// All remaining tasks of a stage are held by sessions of other processes.
    Waits {
        /// The stage.
        stage: Stage,
        /// Process IDs of the backends that hold them.
        pids: Vec<u32>,
    },
    /// Current activity of backends.
    Doing {
        /// The stage.
        stage: Stage,
        /// Description in a few words.
        words: String,
    },
    /// The proof begins.
    Proving,
}

/// An interval of a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadSample {
    /// Begin in seconds since that of the load.
    pub start_s: f64,
    /// End in seconds since the begin of the load.
    pub end_s: f64,
    /// Number of rows sent by this process.
    pub rows: u64,
    /// Bytes of WAL written by the whole server; `None` if it does not report them.
    pub wal_bytes: Option<u64>,
}
