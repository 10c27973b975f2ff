//! What a comparison adds to `run.json`.

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
    /// When the result was to be looked at, fixed beforehand.
    pub looks: Vec<Look>,
    /// Blocks of A against A that were to be made.
    pub aa_blocks: u32,
    /// Blocks in the order they ran.
    pub blocks: Vec<BlockRecord>,
    /// Seconds that a block took, on average.
    pub block_s: Option<f64>,
    /// What came out; absent below two blocks of A and B.
    pub result: Option<Comparison>,
    /// Seconds that the further blocks would take where it cannot tell.
    pub more_s: Option<f64>,
    /// A against A; absent below two such blocks.
    pub floor: Option<Floor>,
}

/// What was compared within a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BlockKind {
    /// A and B.
    Ab,
    /// A and A, for the noise floor.
    Aa,
}

/// Two runs side by side in time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockRecord {
    /// Its number in the order they ran, from 1.
    pub number: u32,
    /// What was compared.
    pub kind: BlockKind,
    /// Which went first. Of two runs of A the one that stands in B's place goes by that name here.
    pub first: Arm,
    /// Start in seconds since the start of the run.
    pub start_s: f64,
    /// Result of A, per second.
    pub a_per_s: f64,
    /// Result of B, per second; in a block of A and A, of the run in B's place.
    pub b_per_s: f64,
    /// ln B − ln A: the observation.
    pub ln_ratio: f64,
    /// The same as a share: B over A, less 1.
    pub difference: f64,
    /// Whether it stands out from the others of its kind. It counts all the same.
    pub outlier: bool,
}

impl BlockRecord {
    /// A block from its two results, both above 0.
    pub fn of(number: u32, kind: BlockKind, first: Arm, start_s: f64, [a_per_s, b_per_s]: [f64; 2]) -> Self {
        let ln_ratio = b_per_s.ln() - a_per_s.ln();
        let difference = ln_ratio.exp_m1();
        Self { number, kind, first, start_s, a_per_s, b_per_s, ln_ratio, difference, outlier: false }
    }
}

impl ComparisonRecord {
    /// The observations of a kind, in the order they were made.
    pub fn ln_ratios(&self, kind: BlockKind) -> Vec<f64> {
        self.blocks.iter().filter(|block| block.kind == kind).map(|block| block.ln_ratio).collect()
    }

    /// Results of A and of B, per second, in the blocks of both in the order they were made.
    pub fn rates(&self) -> [Vec<f64>; 2] {
        let both = || self.blocks.iter().filter(|block| block.kind == BlockKind::Ab);
        [both().map(|block| block.a_per_s).collect(), both().map(|block| block.b_per_s).collect()]
    }

    /// The blocks of A and B that the result rests on, by the number that their runs have (from 0); all that were made
    /// where there is no result yet. What is said of an arm is said of these.
    pub fn counted_blocks(&self) -> BTreeSet<u32> {
        let both = self.blocks.iter().filter(|block| block.kind == BlockKind::Ab);
        let counted = self.result.as_ref().map_or(usize::MAX, |result| result.blocks as usize);
        both.take(counted).map(|block| block.number - 1).collect()
    }

    /// Whether both runs of a block, given by the number that they have, were A's.
    pub fn is_same_twice(&self, block: u32) -> bool {
        self.blocks.iter().any(|of| of.kind == BlockKind::Aa && of.number == block + 1)
    }
}
