//! Progress reports of a load.

use pgdyno_rows::load::Stage;

/// A progress report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BulkProgress {
    /// A stage begins.
    Stage(Stage),
    /// Number of rows sent by this process or loaded before it.
    Rows(u64),
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
