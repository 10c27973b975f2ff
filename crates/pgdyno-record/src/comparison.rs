//! The comparison part of `run.json`.

use std::collections::BTreeSet;

use pgdyno_core::{
    measure::Arm,
    results::{Comparison, Floor, Look},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Is the second subject, B, faster than the first, A?
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonRecord {
    /// A difference within ± this share does not matter.
    pub margin: f64,
    /// The planned looks at the result, fixed before the first block.
    pub looks: Vec<Look>,
    /// Planned A/A blocks.
    pub aa_blocks: u32,
    /// Blocks in the order they ran.
    pub blocks: Vec<BlockRecord>,
    /// Mean duration of a block in seconds.
    pub block_s: Option<f64>,
    /// The result; absent with fewer than two blocks of A and B.
    pub result: Option<Comparison>,
    /// Estimated seconds for the additional blocks if the verdict is `cannot tell`.
    pub more_s: Option<f64>,
    /// The noise floor measured by A/A blocks; absent with fewer than two of them.
    pub floor: Option<Floor>,
}

/// Kind of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BlockKind {
    /// One run of A and one of B.
    Ab,
    /// Two runs of A (A/A), for the noise floor.
    Aa,
}

/// Two runs, one right after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockRecord {
    /// Number of the block in execution order, from 1.
    pub number: u32,
    /// Kind of the block.
    pub kind: BlockKind,
    /// The arm that ran first. In an A/A block the second run is called B.
    pub first: Arm,
    /// Start of the block in seconds since the start of the run.
    pub start_s: f64,
    /// Result of A per second.
    pub a_per_s: f64,
    /// Result of B per second; in an A/A block, of the run called B.
    pub b_per_s: f64,
    /// ln B − ln A, the observation that the statistics use.
    pub ln_ratio: f64,
    /// Relative difference: B over A, less 1.
    pub difference: f64,
    /// Whether the block is an outlier among the blocks of its kind. Outliers are included in the result.
    pub outlier: bool,
}

impl BlockRecord {
    /// Computes the observation from the results of A and B, both above 0.
    pub fn new(number: u32, kind: BlockKind, first: Arm, start_s: f64, [a_per_s, b_per_s]: [f64; 2]) -> Self {
        let ln_ratio = b_per_s.ln() - a_per_s.ln();
        let difference = ln_ratio.exp_m1();
        Self { number, kind, first, start_s, a_per_s, b_per_s, ln_ratio, difference, outlier: false }
    }
}

impl ComparisonRecord {
    /// The observations of the blocks of a kind, in execution order.
    pub fn ln_ratios(&self, kind: BlockKind) -> Vec<f64> {
        self.blocks.iter().filter(|block| block.kind == kind).map(|block| block.ln_ratio).collect()
    }

    /// The results of A and of B per second in the A/B blocks, in execution order.
    pub fn rates(&self) -> [Vec<f64>; 2] {
        let both = || self.blocks.iter().filter(|block| block.kind == BlockKind::Ab);
        [both().map(|block| block.a_per_s).collect(), both().map(|block| block.b_per_s).collect()]
    }

    /// The A/B blocks that the result is computed from, numbered from 0 as in their runs; all A/B blocks if there is no
    /// result yet. All figures of an arm are computed from these blocks.
    pub fn counted_blocks(&self) -> BTreeSet<u32> {
        let both = self.blocks.iter().filter(|block| block.kind == BlockKind::Ab);
        let counted = self.result.as_ref().map_or(usize::MAX, |result| result.blocks as usize);
        both.take(counted).map(|block| block.number - 1).collect()
    }

    /// Whether a block, numbered from 0 as in its runs, is an A/A block.
    pub fn is_aa_block(&self, block: u32) -> bool {
        self.blocks.iter().any(|other| other.kind == BlockKind::Aa && other.number == block + 1)
    }
}
