//! Is B faster than A? The arithmetic of comparisons, without a clock or a server.
//!
//! The unit is the run, never the transaction. A block is one run of A followed by one of B, or the reverse; its
//! observation is d = ln B − ln A, in which conditions shared by both runs cancel. The looks at the result and their
//! significance levels are fixed in advance; all looks together have a false alarm rate of at most 5 % (Bonferroni's
//! inequality).

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

pub use pgdyno_core::results::{
    Comparable, Comparison, Difference, FEWEST_COMMITS, Fairness, Floor, LevelResult, Look, Unjudged,
    Verdict, Why,
};

pub use comparable::{compare_at_one_server, compare_sides, compare_work};
pub use difference::{Asked, AskedProgram, LoadedData, Side};
pub use differences::differences;
pub use floor::floor;
pub use levels::levels;
pub use looks::{EARLY_LOOKS, FALSE_ALARMS, MAX_BLOCKS, MIN_BLOCKS, looks};
pub use order::{first_of, turns};
pub use power::{POWER, more_blocks, power, smallest_effect};
pub use sign_flip::{EXACT_UP_TO, sign_flip};
pub use spread::{hodges_lehmann, outliers};
pub use verdict::judge;
