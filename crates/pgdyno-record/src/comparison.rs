//! What a comparison adds to `run.json`.

use pgdyno_core::{
    advice::Choice,
    analysis::compare::{Comparable, Comparison, Difference, Floor, Look},
    facts::{ConnectionFacts, ServerFacts, StorageFacts},
    measure::Arm,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BalanceRecord, HeldRecord, LoadRecord};

/// Is B faster than A?
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonRecord {
    /// A difference within ± this share does not matter.
    pub margin: f64,
    /// When the result was to be looked at, fixed beforehand.
    pub looks: Vec<Look>,
    /// Blocks of A against A that were to be made.
    pub aa_blocks: u32,
    /// A, then B.
    pub arms: Vec<ArmRecord>,
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
    /// Whether A and B can be compared; absent in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparable: Option<Comparable>,
    /// Facts and settings that A and B do not share.
    pub differences: Vec<Difference>,
}

/// One of the two subjects.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmRecord {
    /// What was asked for, in the grammar of the command line, without secrets.
    pub said: String,
    /// Name of its script; absent for a command.
    pub script: Option<String>,
    /// The command that measures it, without secrets; absent where pgdyno drives.
    pub command: Option<String>,
    /// Its server; absent for a command that brings its own.
    pub server: Option<ServerFacts>,
    /// The way to its server; absent where that was made for the comparison.
    pub connection: Option<ConnectionFacts>,
    /// Storage under its data, where that is another file system than the run's `storage`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<StorageFacts>,
    /// Settings that were chosen for its server and not for the other.
    pub choices: Vec<Choice>,
    /// The load of its tables.
    pub load: Option<LoadRecord>,
    /// Sizes, and what of them lay in shared buffers, before and after the runs; absent in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldRecord>,
    /// The check of its data.
    pub balance: Option<BalanceRecord>,
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

    /// One of the arms.
    pub fn arm(&self, arm: Arm) -> Option<&ArmRecord> {
        self.arms.get(arm.index())
    }
}

impl ArmRecord {
    /// The way to its server, also where that was made for the run; `None` where no server is known.
    pub fn way(&self) -> Option<ConnectionFacts> {
        self.server.as_ref()?;
        Some(self.connection.clone().unwrap_or_else(ConnectionFacts::of_own_server))
    }
}
