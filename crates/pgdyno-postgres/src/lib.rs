//! The server: how it is made, spoken to, loaded, driven, observed and checked.

pub mod targets;
pub mod wire;
