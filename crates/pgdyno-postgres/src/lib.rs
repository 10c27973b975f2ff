//! Work at a server: how it is loaded, driven, observed, probed and checked.

pub mod gauge;
pub mod load;
pub mod observe;
pub mod probe;
pub mod targets;
pub mod verify;
