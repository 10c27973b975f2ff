//! Is B faster than A? The arithmetic of comparisons, without a clock or a server.
//!
//! The unit is the run, never the transaction. A block is one run of A followed by one of B, or the reverse; its
//! observation is d = ln B − ln A, in which conditions shared by both runs cancel. The looks at the result and their
//! significance levels are fixed in advance; all looks together have a false alarm rate of 5 %, of which those of a
//! comparison that is continued have a fifth. If the servers are restarted between blocks, the mean of a start's blocks
//! is one observation.

pub mod bar;
mod comparable;
mod dependence;
mod difference;
mod differences;
mod disturbed;
mod floor;
mod levels;
mod looks;
mod order;
mod power;
mod settings;
mod sign_flip;
pub mod slots;
mod spread;
mod starts;
mod trimmed;
mod verdict;

pub use pgdyno_core::results::{
    Comparable, ComparedRate, Comparison, Difference, Disturbance, FEWEST_COMMITS, Fairness, Floor,
    LevelResult, Look, ScriptResult, StartScatter, Unjudged, Verdict, Why,
};

pub use comparable::{compare_at_one_server, compare_sides, compare_work};
pub use dependence::{FEWEST_DOUBTED, MAX_CORRELATION, lag_one};
pub use difference::{Asked, AskedProgram, LoadedData, Side};
pub use differences::differences;
pub use disturbed::{disturbances, is_too_disturbed};
pub use floor::floor;
pub use levels::{Levels, levels};
pub use looks::{
    CONTINUED_ALARMS, FALSE_ALARMS, FIRST_LOOK, MAX_BLOCKS, MIN_BLOCKS, continued, looks, only_look,
};
pub use order::{first_of, turns};
pub use power::{POWER, blocks_for, more_blocks, power, smallest_effect};
pub use sign_flip::{EXACT_UP_TO, sign_flip};
pub use spread::{hodges_lehmann, outliers};
pub use starts::{BLOCKS_PER_START, floor_of_starts, judge_starts, scatter_of_starts};
pub use trimmed::{Trimmed, trimmed_at_each_end};
pub use verdict::judge;
