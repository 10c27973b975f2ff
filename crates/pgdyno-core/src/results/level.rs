//! What a subject came to beside the baseline at one level.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Comparison;

/// What one subject came to beside the reference in one script at one number of clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelResult {
    /// Name of the script.
    pub script: String,
    /// How its statements were sent.
    pub protocol: String,
    /// Number of clients.
    pub clients: u32,
    /// Name of the subject.
    pub subject: String,
    /// Blocks in which both committed something.
    pub blocks: u32,
    /// TPS over the reference's, less 1: exp of the mean of the logarithms of the blocks' ratios. Absent without a
    /// block, and where one of them committed nothing in a block of both.
    pub effect: Option<f64>,
    /// Interval and verdict of this level by itself, where B is the subject and A the reference; absent where
    /// `unjudged` says why.
    pub result: Option<Comparison>,
    /// Why there is no verdict; absent where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unjudged: Option<Unjudged>,
    /// Whether it is faster or slower also by the interval that may miss the truth at any of all levels together at
    /// most one time in twenty (Bonferroni).
    pub among_all: bool,
}

/// Why there is no verdict of a level. The first of these that holds is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unjudged {
    /// It ran at a rate: TPS is the schedule's, whatever the server can do.
    OpenLoop,
    /// In a block in which both ran, one of them committed nothing: the blocks left would tell of its better times.
    NothingCommitted,
    /// A run committed fewer than [`FEWEST_COMMITS`]: so few give equal TPS, and blocks that do not scatter.
    FewCommits,
    /// There are fewer than two blocks.
    TooFewBlocks,
}

impl LevelResult {
    /// Whether the subject is faster or slower by the interval of this level.
    pub fn is_decided(&self) -> bool {
        self.result.as_ref().is_some_and(Comparison::is_decided)
    }
}
