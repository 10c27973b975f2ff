//! What a comparison of A and B in blocks came to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A look at the result, fixed before the first block.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Look {
    /// After so many blocks.
    pub blocks: u32,
    /// The share of false alarms that this look may raise where there is no difference; its interval is at 1 − alpha.
    pub alpha: f64,
}

/// The answer of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "answer")]
pub enum Verdict {
    /// The whole interval lies within the margin.
    NoDifference,
    /// The interval lies above 0.
    Faster,
    /// The interval lies below 0.
    Slower,
    /// It does neither.
    CannotTell {
        /// About how many blocks more it takes; absent where no number of blocks in reason would do.
        more_blocks: Option<u32>,
    },
}

/// What a comparison came to. Effects are shares: 0.07 is B 7 % faster than A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Blocks that it rests on.
    pub blocks: u32,
    /// Number of the look from 1; 0 where the first was not reached, and then there is no answer.
    pub look: u32,
    /// The interval is at 1 − alpha.
    pub alpha: f64,
    /// exp of the mean of ln B − ln A, less 1.
    pub effect: f64,
    /// Lower end of its interval (Student's t).
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The same by the Hodges-Lehmann estimate, which wild blocks hardly move.
    pub hodges_lehmann: f64,
    /// Exact two-sided p of the sign-flip test; absent for more than 32 blocks.
    pub sign_flip_p: Option<f64>,
    /// Standard deviation of ln B − ln A between blocks.
    pub between_blocks: f64,
    /// Whether the sign-flip test or the Hodges-Lehmann estimate says something else than the interval.
    pub tests_disagree: bool,
    /// The answer.
    pub verdict: Verdict,
}

/// Fewest commits of a run for a verdict. Of fewer, one more or less is a per cent and more, and TPS comes in steps:
/// blocks of equal steps have no scatter, and an interval that is too sure.
pub const FEWEST_COMMITS: u64 = 100;

/// The noise floor by blocks of two runs of A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Floor {
    /// Blocks of A against A.
    pub blocks: u32,
    /// Root mean square of ln of the second A over the first: what two equal things differ by, as a share for small
    /// values.
    pub between_runs: f64,
    /// The smallest effect, as a share, that `shown_by_blocks` blocks of such noise find four times in five.
    pub smallest_effect: f64,
    /// The number of blocks of the last look.
    pub shown_by_blocks: u32,
    /// Whether A seems to differ from A: the interval of the mean at 99 % excludes 0.
    pub differs: bool,
}

impl Comparison {
    /// The same without an answer where a run that it rests on committed fewer than [`FEWEST_COMMITS`]: no number of
    /// blocks mends that, longer runs do. `fewest` is `None` where commits were not counted.
    #[must_use]
    pub fn resting_on(self, fewest: Option<u64>) -> Self {
        match fewest.is_some_and(|fewest| fewest < FEWEST_COMMITS) {
            true => Self { verdict: Verdict::CannotTell { more_blocks: None }, ..self },
            false => self,
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
