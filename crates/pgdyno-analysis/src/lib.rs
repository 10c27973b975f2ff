//! What recorded numbers mean: spread, steadiness, noise floor and doubts.

pub mod cells;
pub mod compare;
mod doubt;
pub mod doubts;
pub mod edited;
mod estimate;
pub mod find_rate;
pub mod noise;
pub mod over_blocks;
pub mod steady;
pub mod student;
pub mod tpcc;

pub use doubt::{Doubt, DoubtKind};
pub use doubts::{Evidence, judge};
pub use estimate::MAX_HALF_WIDTH;
