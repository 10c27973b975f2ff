//! What recorded numbers mean: spread, steadiness, noise floor and doubts.

mod doubt;

pub use doubt::{Doubt, DoubtKind};
