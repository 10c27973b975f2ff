//! Results as recorded: verdicts, differences, doubts. `pgdyno-analysis` computes them.

mod bottleneck;
mod comparable;
mod comparison;
mod doubt;
mod history;
mod level;
mod tail;

pub use bottleneck::{Bottleneck, BottleneckKind, CellLimits, Confidence};
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
pub use tail::{
    Circumstance, HIDDEN, HolderKind, LockHolder, NO_CLIENT_FREE, NO_SAMPLE, OTHER, SeenWaiting,
    SlowTransaction, Tail, TailCause, TailCircumstance, TailUnseen, Tails, UnseenWhy,
};
