//! What cells used of the disks that were measured in the same run.

use pgdyno_core::disk::{DiskShare, DiskWork};
use pgdyno_document::{
    block::{Block, Column, Row, Section, Table},
    figure::Format::{BytesEachSecond, Part, Percent, Rate, Text},
    phrase::{Phrase, phrase},
};

use crate::{run::Run, source::Place};

/// Share above which the measurement of a disk understates it, beyond what scatters.
const UNDERSTATED: f64 = 1.05;

/// A row for each cell, device and kind of work; `None` if no disk was measured.
pub fn section(run: &Run<'_>) -> Option<Section> {
    let shares = &run.record.disk_shares;
    let place = |index: usize| run.root().at("disk_shares").at(index);
    let names = ["used", "measured", "share"].map(Column::number);
    let columns = ["cell", "device", "per second"].map(Column::words).into_iter().chain(names).collect();
    let rows = shares.iter().enumerate().map(|(index, of)| row(&place(index), of)).collect();
    let table = Block::Table(Table::new(columns, rows));
    let highest = shares.iter().enumerate().max_by(|a, b| a.1.share.total_cmp(&b.1.share));
    let sentence = highest.map(|(index, of)| Block::text(sentence(&place(index), of)));
    (!shares.is_empty())
        .then(|| Section::new("Share of the measured disk", sentence.into_iter().chain([table]).collect()))
}

fn row(at: &Place<'_>, of: &DiskShare) -> Row {
    let format = match of.work {
        DiskWork::Reads | DiskWork::Writes => Rate,
        DiskWork::ReadBytes | DiskWork::WrittenBytes => BytesEachSecond,
    };
    let [used, measured] = ["used_per_s", "measured_per_s"].map(|field| at.figure(field, format).into());
    let [cell, device] = ["cell", "device"].map(|field| Phrase::from(at.figure(field, Text)).into());
    Row::new(
        of.share > UNDERSTATED,
        [
            cell,
            device,
            Phrase::from(words(of.work)).into(),
            used,
            measured,
            at.figure("share", Percent).into(),
        ],
    )
}

fn words(work: DiskWork) -> &'static str {
    match work {
        DiskWork::Reads => "reads",
        DiskWork::ReadBytes => "bytes read",
        DiskWork::Writes => "writes",
        DiskWork::WrittenBytes => "bytes written",
    }
}

/// The highest share, and what it means.
fn sentence(at: &Place<'_>, of: &DiskShare) -> Phrase {
    let [cell, device] = ["cell", "device"].map(|field| at.figure(field, Text));
    match of.share > UNDERSTATED {
        true => phrase![
            "The measurement understates ",
            device,
            ": ",
            cell,
            " reached ",
            at.figure("share", Percent),
            " of the ",
            words(of.work),
            " that it found. The database merges or combines requests, or the measurement was too small."
        ],
        false => phrase![
            cell,
            " used ",
            at.figure("share", Part),
            " of the ",
            words(of.work),
            " that ",
            device,
            " reached in its own measurement; other shares are lower."
        ],
    }
}
