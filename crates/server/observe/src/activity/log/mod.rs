//! The server's log: lines parsed into events, and a file that is followed while the server writes it.

mod event;
mod follow;
mod line;
mod place;

pub use follow::{LogFollower, LogNews};
pub use line::{LogEntry, LogFormat, LogParser};
pub use place::LogPlace;
