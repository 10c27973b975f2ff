//! Results of measuring storage and clocks. `pgdyno-disk` measures them.

pub mod clock;
pub mod costs;
mod declared;
pub mod io;
mod io_presets;
mod published;
mod share;
pub mod sync;

use clock::ClockReport;
use costs::DiskCosts;
pub use declared::{CellCost, DeclaredStorage, NominalShare, NominalUnit};
use io::{IoReport, Saturation};
pub use io_presets::IoPreset;
pub use published::PublishedFigure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use share::{DiskShare, DiskWork};
use sync::SyncReport;

/// What a measurement of storage or of the clock found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Disk {
    /// Synchronous writes in a directory.
    Sync(Box<SyncReport>),
    /// Reads and writes at depth.
    Io(Box<IoReport>),
    /// Throughput and latency by operations in flight.
    Saturation(Box<Saturation>),
    /// What pages cost for the planner.
    Costs(Box<DiskCosts>),
    /// The cost of a timer call.
    Clock(Box<ClockReport>),
}

impl Disk {
    /// The directory or block device; `None` for a clock.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Sync(of) => Some(&of.place.storage.path),
            Self::Io(of) => Some(&of.path),
            Self::Saturation(of) => Some(&of.path),
            Self::Costs(of) => Some(&of.path),
            Self::Clock(_) => None,
        }
    }
}
