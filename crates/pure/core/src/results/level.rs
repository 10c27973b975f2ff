//! The result of a subject compared with the baseline at one level.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Comparison;

/// The result of one subject compared with the baseline, for one script at one client count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelResult {
    /// Name of the script.
    pub script: String,
    /// How its statements were sent.
    pub protocol: String,
    /// Client count.
    pub clients: u32,
    /// Name of the subject.
    pub subject: String,
    /// Number of blocks in which both committed transactions.
    pub blocks: u32,
    /// TPS relative to the baseline, less 1: exp of the mean logarithm of the blocks' ratios. Absent without blocks,
    /// and if one of them committed nothing in a block of both.
    pub effect: Option<f64>,
    /// Confidence interval and verdict of this level alone, with the subject as B and the baseline as A, by a moderated
    /// variance; absent if `unjudged` says why.
    pub result: Option<Comparison>,
    /// Why there is no verdict; absent if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unjudged: Option<Unjudged>,
    /// Whether the difference is significant among all levels and scripts of the plan together (Holm, 5 % for all).
    pub among_all: bool,
}

/// Why a level has no verdict: the first applicable reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unjudged {
    /// It ran at a rate: the schedule determines TPS, not the server.
    OpenLoop,
    /// One of them committed nothing in a block of both: the remaining blocks would show only its better times.
    NothingCommitted,
    /// A run committed fewer than [`fewest_commits`](super::fewest_commits): TPS takes few distinct values, so blocks
    /// may have no scatter.
    FewCommits,
    /// There are fewer than three blocks.
    TooFewBlocks,
}

/// The result of one subject compared with the baseline in one script, over all its levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScriptResult {
    /// Name of the script.
    pub script: String,
    /// How its statements were sent.
    pub protocol: String,
    /// Name of the subject.
    pub subject: String,
    /// Number of judged levels.
    pub levels: u32,
    /// Confidence interval and verdict of the mean over these levels, block by block.
    pub result: Comparison,
    /// Whether the difference is significant among all levels and scripts of the plan together (Holm, 5 % for all).
    pub among_all: bool,
}

impl LevelResult {
    /// Whether the subject is faster or slower according to the interval of this level.
    pub fn is_decided(&self) -> bool {
        self.result.as_ref().is_some_and(Comparison::is_decided)
    }
}
