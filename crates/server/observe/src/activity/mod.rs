//! Reads what a server says of its own activity, without an interpretation: waits, locks, counters, statements,
//! progress and log.
//!
//! Every reader queries what the server's major version has. What an old major lacks, or a role may not see, is absent,
//! and no error. The readers keep no clock: the caller decides when to ask, and passes the session to ask with.

mod clock;
mod counters;
mod locks;
mod log;
mod pace;
mod position;
mod prepared;
mod progress;
mod sessions;
mod sql;
mod statements;
mod waits;

pub use clock::ClockReader;
pub use counters::{CounterReader, TableReader};
pub use locks::BlockedReader;
pub use log::{LogEntry, LogFollower, LogFormat, LogNews, LogParser, LogPlace};
pub use pace::Pace;
pub use position::PositionReader;
pub use progress::ProgressReader;
pub use sessions::{MOST_BUSY, SessionReader};
pub use statements::{StatementChange, StatementReader, StatementSupport};
pub use waits::{ActivitySample, WaitReader, WaitTally};
