//! The server: how it is made, spoken to, loaded, driven, observed and checked.

pub mod fake;
pub mod gauge;
pub mod libpq;
pub mod load;
pub mod observe;
pub mod probe;
pub mod provision;
pub mod targets;
pub mod verify;
pub mod wire;
