//! What runs came to, as it stands in a record: verdicts, differences, doubts. How it is found is the matter of
//! `pgdyno-analysis`.

mod comparable;
mod comparison;
mod doubt;
mod level;

pub use comparable::{Comparable, Difference, Fairness, Why};
pub use comparison::{Comparison, FEWEST_COMMITS, Floor, Look, Verdict};
pub use doubt::{Doubt, DoubtKind};
pub use level::{LevelResult, Unjudged};
