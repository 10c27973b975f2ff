//! What was true of the host, the storage and the server while a number was measured.
//!
//! A fact that could not be had is `None`, never 0: absent stays absent.

mod connection;
mod durability;
mod host;
pub(crate) mod instrument;
mod server;

pub use connection::{ConnectionFacts, PoolerFacts};
pub use durability::DurabilityTier;
pub use host::{CgroupLimits, CpuFacts, HostFacts, HugePages, MemoryFacts, StorageFacts, SyncCheck};
pub use instrument::{Ceiling, ClockFacts, Instrument, Machine, TimerLag};
pub use server::{BuildFacts, ServerFacts, ServerSource, Setting, major_of};
