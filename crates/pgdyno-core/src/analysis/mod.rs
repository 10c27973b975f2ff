//! What recorded numbers mean: spread, steadiness, noise floor and doubts.

pub mod balance;
pub mod cells;
mod doubt;
pub mod doubts;
mod estimate;
pub mod noise;
pub mod steady;
pub mod student;

pub use doubt::{Doubt, DoubtKind};
pub use doubts::{Evidence, judge};
