//! The comparison part of `run.json`.

use std::collections::BTreeSet;

use pgdyno_core::{
    measure::{Arm, Estimate},
    results::{ComparedRate, Comparison, Disturbance, Floor, Look, StartScatter},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::LoadStageRecord;

/// Is the second subject, B, faster than the first, A?
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonRecord {
    /// The rate that is compared.
    pub by: ComparedRate,
    /// A difference within ± this share does not matter.
    pub margin: f64,
    /// The planned looks at the result, fixed before the first block.
    pub looks: Vec<Look>,
    /// Blocks in the order they ran.
    pub blocks: Vec<BlockRecord>,
    /// The loads of the blocks, if loads are compared, in execution order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<TimedLoad>,
    /// Mean of A per second over the blocks that the result is computed from, with its spread. Absent without a block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a_per_s: Option<Estimate>,
    /// The same of B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b_per_s: Option<Estimate>,
    /// Mean duration of a block in seconds.
    pub block_s: Option<f64>,
    /// The result; absent with fewer than two blocks of A and B.
    pub result: Option<Comparison>,
    /// Whether blocks that other load disturbed count as well, as was requested.
    pub keep_disturbed: bool,
    /// Whether other load disturbed so many blocks that there is no answer: the machine is too busy.
    pub too_disturbed: bool,
    /// CPUs that the idle servers used in the run during which they used most; absent if none was visible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_cpus: Option<f64>,
    /// Estimated seconds for the additional blocks if the verdict is `cannot tell`.
    pub more_s: Option<f64>,
    /// How much starts of the servers differ; absent with one start, or fewer than two whole ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts: Option<StartScatter>,
    /// The noise floor; absent with fewer than three blocks.
    pub floor: Option<Floor>,
}

/// One load of the tables of an arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimedLoad {
    /// Number of the block, from 1.
    pub block: u32,
    /// The arm.
    pub arm: Arm,
    /// Rows of all tables.
    pub rows: u64,
    /// Seconds from the first row to the last key.
    pub duration_s: f64,
    /// The stages in execution order.
    pub stages: Vec<LoadStageRecord>,
}

/// One run of A and one of B, one right after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockRecord {
    /// Number of the block in execution order, from 1.
    pub number: u32,
    /// The arm that ran first.
    pub first: Arm,
    /// Number of the start of the servers that it ran on, from 1; absent with one start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<u32>,
    /// Start of the block in seconds since the start of the run.
    pub start_s: f64,
    /// Result of A per second.
    pub a_per_s: f64,
    /// Result of B per second.
    pub b_per_s: f64,
    /// ln B − ln A, the observation that the statistics use.
    pub ln_ratio: f64,
    /// Relative difference: B over A, less 1.
    pub difference: f64,
    /// Whether the block is an outlier among those that count. Outliers are included in the result.
    pub outlier: bool,
    /// What the block met that makes it not count. Absent for a block that counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<Disturbance>,
}

impl BlockRecord {
    /// Computes the observation from the results of A and B, both above 0.
    pub fn new(number: u32, first: Arm, start_s: f64, [a_per_s, b_per_s]: [f64; 2]) -> Self {
        let ln_ratio = b_per_s.ln() - a_per_s.ln();
        let difference = ln_ratio.exp_m1();
        Self {
            number,
            first,
            start: None,
            start_s,
            a_per_s,
            b_per_s,
            ln_ratio,
            difference,
            outlier: false,
            disturbed: None,
        }
    }
}

impl ComparisonRecord {
    /// The blocks that met no other load, in execution order.
    pub fn undisturbed(&self) -> impl Iterator<Item = &BlockRecord> {
        self.blocks.iter().filter(|block| block.disturbed.is_none())
    }

    /// The observations of the undisturbed blocks, in execution order.
    pub fn ln_ratios(&self) -> Vec<f64> {
        self.undisturbed().map(|block| block.ln_ratio).collect()
    }

    /// The results of A and of B per second in the undisturbed blocks, in execution order.
    pub fn rates(&self) -> [Vec<f64>; 2] {
        let blocks = || self.undisturbed();
        [blocks().map(|block| block.a_per_s).collect(), blocks().map(|block| block.b_per_s).collect()]
    }

    /// The blocks that the result is computed from, numbered from 0 as in their runs; all blocks if there is no result
    /// yet. All figures of an arm are computed from these blocks.
    pub fn counted_blocks(&self) -> BTreeSet<u32> {
        let counted = self.result.as_ref().map_or(usize::MAX, |result| result.blocks as usize);
        self.undisturbed().take(counted).map(|block| block.number - 1).collect()
    }
}
