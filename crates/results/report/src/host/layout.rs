//! A layout of storage as text.

use pgdyno_core::units::printable;
use pgdyno_document::{
    block::{Block, Fact, Tone},
    phrase::Phrase,
    text_of_blocks,
};
use pgdyno_layout::{Layout, fstab};

/// The numbers of a layout, each with what it comes from, then notes, and the next commands.
pub fn layout(layout: &Layout) -> String {
    let disks: Vec<&str> = layout.request.disks.iter().map(|disk| disk.path.as_str()).collect();
    let what = format!(
        "{} on {}: {} by {}. Nothing was changed.",
        layout.request.filesystem.name(),
        printable(&disks.join(", ")),
        layout.request.raid.words(),
        layout.request.manager.name()
    );
    let numbers = layout.numbers().into_iter().map(|number| {
        let text = format!("{}: {}", number.value, number.because);
        Fact::new(number.what, printable(&text).into_owned())
    });
    let notes: Vec<Phrase> = layout.notes.iter().map(|note| Phrase::from(note.clone())).collect();
    let next =
        "--script prints the script that creates it, --takedown the one that removes it, --fstab the mounts:";
    let head = [Block::text(what), Block::facts(numbers.collect())];
    let blocks: Vec<Block> =
        head.into_iter().chain(Block::prose(Tone::Notes, notes)).chain([Block::text(next)]).collect();
    format!("{}\n{}", text_of_blocks(&blocks), fstab(layout))
}
