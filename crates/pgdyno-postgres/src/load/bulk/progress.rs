//! What a load tells of itself while it works.

use pgdyno_rows::load::Stage;

/// How far a load is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BulkProgress {
    /// A stage begins.
    Stage(Stage),
    /// So many rows have been sent by this process or were there before it.
    Rows(u64),
    /// All tasks of a stage that are left are held by other processes' sessions.
    Waits {
        /// The stage.
        stage: Stage,
        /// The server's processes that hold them.
        pids: Vec<u32>,
    },
    /// What server processes are at.
    Doing {
        /// The stage.
        stage: Stage,
        /// In a few words.
        words: String,
    },
    /// Rows are compared with what they must be.
    Proving,
}
