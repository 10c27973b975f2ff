//! Measurements of storage and of the clock.

mod clock;
mod costs;
mod io;
mod published;
mod saturation;
mod side_by_side;
mod sync;

use pgdyno_core::disk::Disk;
use pgdyno_document::{
    block::Block,
    figure::Format::Text,
    phrase::{Phrase, maybe, phrase},
};

pub use side_by_side::section as side_by_side;

use crate::source::Place;

/// Title of the section of a measurement.
pub fn title(of: &Disk) -> &'static str {
    match of {
        Disk::Sync(_) => "Synchronous writes",
        Disk::Io(_) => "Reads and writes",
        Disk::Saturation(_) => "Saturation",
        Disk::Costs(_) => "Costs of pages",
        Disk::Clock(_) => "Clock",
    }
}

/// Where it was measured; empty for a clock.
pub fn place(at: &Place<'_>, of: &Disk) -> Phrase {
    match of {
        Disk::Sync(_) => maybe(" in ", at.at("sync/place/storage").figure("path", Text), ""),
        Disk::Io(_) => maybe(" in ", at.figure("io/path", Text), ""),
        Disk::Saturation(_) => maybe(" in ", at.figure("saturation/path", Text), ""),
        Disk::Costs(_) => maybe(" in ", at.figure("costs/path", Text), ""),
        Disk::Clock(_) => Phrase::default(),
    }
}

/// The blocks of a measurement.
pub fn blocks(at: &Place<'_>, of: &Disk) -> Vec<Block> {
    match of {
        Disk::Sync(of) => sync::blocks(&at.at("sync"), of),
        Disk::Io(of) => io::blocks(&at.at("io"), of),
        Disk::Saturation(of) => saturation::blocks(&at.at("saturation"), of),
        Disk::Costs(of) => costs::blocks(&at.at("costs"), of),
        Disk::Clock(of) => clock::blocks(&at.at("clock"), of),
    }
}

/// The result of a measurement in a sentence.
pub fn sentence(at: &Place<'_>, of: &Disk) -> Phrase {
    let found = match of {
        Disk::Sync(of) => sync::sentence(&at.at("sync"), of),
        Disk::Io(of) => io::sentence(&at.at("io"), of),
        Disk::Saturation(of) => saturation::sentence(&at.at("saturation"), of),
        Disk::Costs(of) => costs::sentence(&at.at("costs"), of),
        Disk::Clock(of) => return clock::sentence(&at.at("clock"), of),
    };
    let named = match of {
        Disk::Sync(_) => at.at("sync/place/storage").figure("path", Text),
        Disk::Io(_) => at.figure("io/path", Text),
        Disk::Saturation(_) => at.figure("saturation/path", Text),
        Disk::Costs(_) => at.figure("costs/path", Text),
        Disk::Clock(_) => None,
    };
    phrase![named, ": ", found]
}
