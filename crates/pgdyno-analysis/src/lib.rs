//! What recorded numbers mean: spread, steadiness, noise floor and doubts.

pub mod cells;
pub mod compare;
pub mod doubts;
pub mod edited;
mod estimate;
pub mod find_rate;
pub mod noise;
pub mod over_blocks;
pub mod steady;
pub mod student;
pub mod tpcc;

pub use doubts::{Evidence, judge};
pub use estimate::MAX_HALF_WIDTH;
pub use pgdyno_core::results::{Doubt, DoubtKind};
