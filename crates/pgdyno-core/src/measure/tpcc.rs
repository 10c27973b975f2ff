//! What a run drove TPC-C with, and what a cell of such runs came to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Estimate;
use crate::tpcc::{DISTRICTS, Mix, Shape, Shares};

/// How a run drove TPC-C, beside what every run has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TpccRun {
    /// Warehouses of the tables.
    pub warehouses: u64,
    /// How transactions were sent.
    pub shape: Shape,
    /// Isolation level: that which was asked for, else what sessions of the role have.
    pub isolation: Option<String>,
    /// Most tries of a transaction; 0 is no limit.
    pub max_tries: u32,
    /// Whether ten terminals a warehouse keyed and thought.
    pub paced: bool,
    /// Weights of the transactions, in per cent.
    pub weights: [u32; 5],
    /// Whether the constant is known by which the load drew last names: that of a run must be apart from it
    /// (clause 2.1.6.1).
    #[serde(default)]
    pub load_constant_known: bool,
    /// That it is no TPC result, in a sentence.
    #[serde(default)]
    pub note: String,
    /// What was entered, of the transactions that were carried out within the measured interval.
    pub shares: Shares,
}

impl TpccRun {
    /// Its mix; that of the specification where its weights are none.
    pub fn mix(&self) -> Mix {
        Mix::new(self.weights).unwrap_or(Mix::SPECIFICATION)
    }

    /// Terminals of a paced run.
    pub fn terminals(&self) -> u64 {
        self.warehouses * DISTRICTS
    }
}

/// A cell of TPC-C over all its blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TpccCell {
    /// How it was driven, shares of all blocks added up.
    pub run: TpccRun,
    /// New-Orders a minute that were not rolled back, over the blocks.
    pub nopm: Option<Estimate>,
    /// Transactions a minute of all kinds, over the blocks: what the articles call tpmTOTAL.
    pub tpm: Option<Estimate>,
    /// What the specification asks for.
    pub judged: Vec<Judged>,
}

/// Something that the specification asks for, and whether a run had it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// Number of the clause.
    pub clause: String,
    /// What was asked for and found, in words.
    pub words: String,
    /// Whether it was so; `None` where this run cannot tell.
    pub holds: Option<bool>,
}
