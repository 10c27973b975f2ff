//! A probed table in words.

use pgdyno_core::probe::Shape;
use pgdyno_document::{
    figure::Format::{Bytes, Count, Text},
    phrase::{Phrase, phrase},
};

use crate::source::Place;

/// Name, partitions and sizes.
pub(super) fn shaped(at: &Place<'_>, shape: &Shape) -> Phrase {
    let partitions = match shape.partitions {
        0 => Phrase::default(),
        1 => phrase![at.figure("partitions", Count), " partition, "],
        _ => phrase![at.figure("partitions", Count), " partitions, "],
    };
    phrase![
        at.figure("name", Text),
        ": ",
        partitions,
        "table ",
        at.figure("table_bytes", Bytes),
        ", indexes ",
        at.figure("index_bytes", Bytes)
    ]
}
