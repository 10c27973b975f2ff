//! Is B faster than A? The arithmetic of comparisons, without a clock or a server.
//!
//! The unit is the run, never the transaction. A block is one run of A and one of B, side by side in time; its
//! observation is d = ln B − ln A, so that what both runs of a block share, cancels. How often is looked at the result,
//! and how sure each look has to be, is fixed beforehand, and all looks together raise a false alarm at most one time
//! in twenty (Bonferroni's inequality).

pub mod bar;
mod comparable;
mod difference;
mod differences;
mod floor;
mod levels;
mod looks;
mod order;
mod power;
mod settings;
mod sign_flip;
pub mod slots;
mod spread;
mod verdict;

pub use comparable::{Comparable, Fairness};
pub use difference::{Asked, AskedProgram, Difference, LoadedData, Side, Why};
pub use differences::differences;
pub use floor::Floor;
pub use levels::{LevelResult, Unjudged, levels};
pub use looks::{EARLY_LOOKS, FALSE_ALARMS, Look, MAX_BLOCKS, MIN_BLOCKS, looks};
pub use order::{first_of, turns};
pub use power::{POWER, more_blocks, power, smallest_effect};
pub use sign_flip::{EXACT_UP_TO, sign_flip};
pub use spread::{hodges_lehmann, outliers};
pub use verdict::{Comparison, FEWEST_COMMITS, Verdict, judge};
