//! TPC-C parameters of a run, and TPC-C results of a cell.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Estimate, LatencySummary};
use crate::tpcc::{DISTRICTS, Mix, Shape, Shares};

/// TPC-C parameters and counts of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TpccRun {
    /// Number of warehouses in the tables, of all sets if there are several.
    pub warehouses: u64,
    /// How statements were sent.
    pub shape: Shape,
    /// Isolation level: as requested, otherwise the default of the role.
    pub isolation: Option<String>,
    /// Most tries per transaction; 0 is no limit.
    pub max_tries: u32,
    /// Whether ten terminals per warehouse ran with keying and think times.
    pub paced: bool,
    /// Transactions after which each client ended; absent if the time ended the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transactions: Option<u64>,
    /// Number of sets of tables, if several were driven at one time; absent for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sets: Option<u32>,
    /// Number of driver processes; absent if pgdyno drove the clients itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drivers: Option<u32>,
    /// Weights of the transactions, in per cent.
    pub weights: [u32; 5],
    /// Whether the NURand constant of the load is known: the constant of a run must differ from it by certain amounts
    /// (clause 2.1.6.1).
    pub load_constant_known: bool,
    /// A sentence saying that this is not a TPC result.
    pub note: String,
    /// Counts of inputs of the transactions executed within the measured interval.
    pub shares: Shares,
}

impl TpccRun {
    /// The transaction mix; that of the specification if all weights are 0.
    pub fn mix(&self) -> Mix {
        Mix::new(self.weights).unwrap_or(Mix::SPECIFICATION)
    }

    /// Number of terminals of a paced run.
    pub fn terminals(&self) -> u64 {
        self.warehouses * DISTRICTS
    }
}

/// One of several sets of tables over all blocks of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetCell {
    /// Its schema or database.
    pub name: String,
    /// Number of warehouses in its tables.
    pub warehouses: u64,
    /// Clients that drove it.
    pub clients: u32,
    /// Number of the driver process, from 1; absent if pgdyno drove it itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<u32>,
    /// New-Orders per minute that were not rolled back, over the blocks.
    pub nopm: Option<Estimate>,
    /// Transactions of all kinds per minute, over the blocks.
    pub tpm: Option<Estimate>,
    /// Its share of the transactions of all sets, 0 to 1; absent if there were none.
    pub share: Option<f64>,
    /// Latency over all blocks (histograms added).
    pub latency: Option<LatencySummary>,
    /// Requirements of the specification, for this set alone.
    pub judged: Vec<Judged>,
}

/// TPC-C results of a cell over all its blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TpccCell {
    /// Parameters, with counts summed over all blocks.
    pub run: TpccRun,
    /// New-Orders per minute that were not rolled back, over the blocks.
    pub nopm: Option<Estimate>,
    /// New-Orders per minute, those rolled back for an unused item included: the throughput of clause 5.4, in which a
    /// transaction counts when its terminal has the answer.
    pub completed_per_min: Option<f64>,
    /// Transactions of all kinds per minute, over the blocks: tpmTOTAL in articles.
    pub tpm: Option<Estimate>,
    /// Requirements of the specification.
    pub judged: Vec<Judged>,
    /// The sets of tables, if several were driven at one time; their rates add up to those above.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sets: Vec<SetCell>,
}

/// A requirement of the specification, and whether it was met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// Number of the clause.
    pub clause: String,
    /// The requirement and the finding, in words.
    pub words: String,
    /// Whether it was met; `None` if this run does not show it.
    pub holds: Option<bool>,
}
