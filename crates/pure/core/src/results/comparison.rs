//! The result of a comparison of A and B in blocks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A look at the result, fixed before the first block.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Look {
    /// Number of blocks before the look.
    pub blocks: u32,
    /// Share of false positives that this look may produce without a true difference; its interval has the confidence
    /// level 1 − alpha.
    pub alpha: f64,
}

/// The answer of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "answer")]
pub enum Verdict {
    /// The whole confidence interval is within the equivalence margin.
    NoDifference,
    /// The interval is above 0.
    Faster,
    /// The interval is below 0.
    Slower,
    /// None of these.
    CannotTell {
        /// Estimated number of further blocks needed; absent if no reasonable number would suffice.
        more_blocks: Option<u32>,
    },
}

/// The rate by which A and B are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ComparedRate {
    /// Transactions per second, or the rate that a command prints.
    #[default]
    Tps,
    /// New-Orders per second that were not rolled back: NOPM over 60.
    NewOrders,
    /// Rows per second of loading all tables, from the first row to the last key.
    LoadedRows,
    /// Writes of 8 KiB per second in a directory, each with `fdatasync`: what commits cost there.
    Syncs,
    /// Random reads of 8 KiB per second from a file in a directory, past the page cache.
    Reads,
}

/// The result of a comparison. Effects are shares: 0.07 means that B is 7 % faster than A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Number of blocks used.
    pub blocks: u32,
    /// Number of the look, from 1; 0 if the first was not reached, and then there is no answer.
    pub look: u32,
    /// The confidence level of the interval is 1 − alpha.
    pub alpha: f64,
    /// exp of the mean of ln B − ln A, less 1. From eight blocks (or starts) on, one in eight is left out at each end.
    pub effect: f64,
    /// Lower end of the confidence interval (Student's t).
    pub low: f64,
    /// Upper end of the confidence interval.
    pub high: f64,
    /// The effect by the Hodges-Lehmann estimate, which is robust to outliers.
    pub hodges_lehmann: f64,
    /// Exact two-sided p of the sign-flip test; absent for more than 32 blocks.
    pub sign_flip_p: Option<f64>,
    /// Standard deviation of ln B − ln A between blocks, or with several starts between their means.
    pub between_blocks: f64,
    /// Correlation of ln B − ln A with that of the block (or start) before; absent with fewer than eight, or without
    /// scatter. The higher it is, the wider is the interval.
    pub correlation: Option<f64>,
    /// Whether the sign-flip test or the Hodges-Lehmann estimate contradicts the interval.
    pub tests_disagree: bool,
    /// The answer.
    pub verdict: Verdict,
}

/// Fewest commits of a run for a verdict. With fewer, a single commit is at least one per cent, and TPS takes few
/// distinct values: blocks may have no scatter, and the interval would be too narrow.
pub const FEWEST_COMMITS: u64 = 100;

/// Fewest commits of each client in a run. Clients that begin together stay in step for a while, and then a run counts
/// whole rounds of them: with transactions of 1.3 s in 5 s, TPS can be off by a fifth in every block alike.
pub const FEWEST_COMMITS_PER_CLIENT: u64 = 50;

/// Fewest commits of a run with this number of clients for a verdict, or for an interval that can be trusted.
pub fn fewest_commits(clients: u32) -> u64 {
    FEWEST_COMMITS.max(FEWEST_COMMITS_PER_CLIENT * u64::from(clients))
}

/// The noise floor of a comparison: how much its blocks scatter, and what that allows to show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Floor {
    /// Number of blocks.
    pub blocks: u32,
    /// Standard deviation of ln B − ln A between the blocks, or with several starts between their means; as a share for
    /// small values.
    pub between_blocks: f64,
    /// Lower end of its 95 % confidence interval (chi-squared).
    pub low: f64,
    /// Upper end of that interval.
    pub high: f64,
    /// The smallest effect, as a share, that `shown_by_blocks` blocks with this noise detect with 80 % power.
    pub smallest_effect: f64,
    /// Number of blocks at the last look.
    pub shown_by_blocks: u32,
    /// An effect, as a share, somewhat above the equivalence margin.
    pub effect: f64,
    /// Number of blocks that detect `effect` with 80 % power; absent if no reasonable number does.
    pub blocks_for_effect: Option<u32>,
}

/// What a block met that makes it not count. The rule does not look at the block's result.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Disturbance {
    /// Other programs used the CPUs more than usual.
    OtherLoad {
        /// CPUs they used on average in the run.
        cpus: f64,
    },
    /// The hypervisor took more CPU time than usual.
    Steal {
        /// Its share of the CPU time.
        share: f64,
    },
    /// Threads of server and driver waited for a CPU longer than usual.
    Waiting {
        /// Threads that waited on average in the run.
        threads: f64,
    },
}

/// How much starts of the servers differ: the scatter of ln B − ln A within starts and between them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StartScatter {
    /// Number of whole starts.
    pub starts: u32,
    /// Standard deviation between blocks of the same start, as a share for small values.
    pub within: f64,
    /// Standard deviation between starts beyond what their blocks explain; 0 if they explain all of it.
    pub between: f64,
    /// Upper end of its 95 % confidence interval.
    pub between_high: f64,
}

impl Disturbance {
    /// The disturbance in words.
    pub fn words(self) -> String {
        match self {
            Self::OtherLoad { cpus } => format!("other programs used {cpus:.2} CPUs"),
            Self::Steal { share } => format!("the hypervisor took {:.1} % of the CPU time", share * 100.0),
            Self::Waiting { threads } => format!("{threads:.1} threads waited for a CPU"),
        }
    }
}

impl Floor {
    /// The noise floor of starts as one of blocks: each start has `blocks` of them.
    #[must_use]
    pub fn of_starts(self, blocks: u32) -> Self {
        Self {
            blocks: self.blocks * blocks,
            shown_by_blocks: self.shown_by_blocks * blocks,
            blocks_for_effect: self.blocks_for_effect.map(|starts| starts.saturating_mul(blocks)),
            ..self
        }
    }
}

impl Comparison {
    /// The result over starts as one over blocks: each start has `blocks` of them.
    #[must_use]
    pub fn of_starts(self, blocks: u32) -> Self {
        let verdict = match self.verdict {
            Verdict::CannotTell { more_blocks } => {
                Verdict::CannotTell { more_blocks: more_blocks.map(|starts| starts.saturating_mul(blocks)) }
            }
            settled => settled,
        };
        Self { blocks: self.blocks * blocks, verdict, ..self }
    }

    /// Removes the answer if a run used by the comparison committed fewer than [`fewest_commits`]: longer runs help,
    /// more blocks do not.
    #[must_use]
    pub fn resting_on(self, enough_commits: bool) -> Self {
        match enough_commits {
            true => self,
            false => Self { verdict: Verdict::CannotTell { more_blocks: None }, ..self },
        }
    }

    /// Whether there is an answer: no further block is needed.
    pub fn is_settled(&self) -> bool {
        !matches!(self.verdict, Verdict::CannotTell { .. })
    }

    /// Whether B is faster or slower than A.
    pub fn is_decided(&self) -> bool {
        matches!(self.verdict, Verdict::Faster | Verdict::Slower)
    }
}
