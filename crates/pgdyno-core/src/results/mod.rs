//! Results as recorded: verdicts, differences, doubts. `pgdyno-analysis` computes them.

mod comparable;
mod comparison;
mod doubt;
mod level;

pub use comparable::{Comparable, Difference, Fairness, Why};
pub use comparison::{
    Comparison, FEWEST_COMMITS, FEWEST_COMMITS_PER_CLIENT, Floor, Look, Verdict, fewest_commits,
};
pub use doubt::{Doubt, DoubtKind};
pub use level::{LevelResult, ScriptResult, Unjudged};
