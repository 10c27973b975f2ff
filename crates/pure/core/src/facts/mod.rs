//! Facts about server, connection and instrument at the time of a measurement.
//!
//! A fact that could not be determined is `None`, never 0: absent stays absent.

pub mod amount;
mod build;
mod choice;
mod connection;
mod durability;
pub(crate) mod instrument;
mod preset;
mod server;

pub use build::{
    BuildFacts, COMPILED_BY, FEATURES, MadeFacts, PatchFacts, block_bytes_of_configure, compiler,
    features_of_configure, same_build, wal_segment_mb_of_configure,
};
pub use choice::Choice;
pub use connection::{ConnectionFacts, PoolerFacts, Transport};
pub use durability::{CommitSettings, DurabilityTier, RunDurability, SessionsSeen, Weakness};
#[cfg(any(test, feature = "samples"))]
pub use instrument::samples;
pub use instrument::{Ceiling, ClockFacts, Instrument, Machine, TimerLag};
pub use preset::{PresetChange, PresetFacts};
pub use server::{
    DatabaseFacts, SECRET_SETTINGS, SESSION, ServerFacts, ServerSource, Setting, is_private_setting, major_of,
};
