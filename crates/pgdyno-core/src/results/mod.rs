//! Results as recorded: verdicts, differences, doubts. `pgdyno-analysis` computes them.

mod comparable;
mod comparison;
mod doubt;
mod history;
mod level;

pub use comparable::{Comparable, Difference, Fairness, Why};
pub use comparison::{
    ComparedRate, Comparison, Disturbance, FEWEST_COMMITS, FEWEST_COMMITS_PER_CLIENT, Floor, Look,
    StartScatter, Verdict, fewest_commits,
};
pub use doubt::{Doubt, DoubtKind};
pub use history::{
    BuildDifference, CellHistory, ChangePoint, History, HistoryAxis, LeftOut, ScriptHistory, Session,
};
pub use level::{LevelResult, ScriptResult, Unjudged};
