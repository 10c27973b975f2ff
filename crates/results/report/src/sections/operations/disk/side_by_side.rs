//! The same measurements of several directories, and published ones, in columns next to each other.

use pgdyno_core::disk::{Disk, PublishedFigure, io::IoReport, sync::SyncReport};
use pgdyno_document::{
    block::{Block, Cell, Column, Row, Section, Table, Tone},
    figure::{
        Figure,
        Format::{Rate, Text},
    },
    phrase::{Phrase, phrase},
};

use super::{published, sync};
use crate::source::Place;

/// A section with the rates of what was measured in at least two directories, or of what was published; `None` if there
/// is only one.
pub fn section<'a>(
    all: impl Iterator<Item = (Place<'a>, &'a Disk)>,
    (published, at): (&[PublishedFigure], &Place<'_>),
) -> Option<Section> {
    let (mut syncs, mut ios) = (Vec::new(), Vec::new());
    for (at, of) in all {
        match of {
            Disk::Sync(of) => syncs.push((at.at("sync"), of.as_ref())),
            Disk::Io(of) => ios.push((at.at("io"), of.as_ref())),
            Disk::Saturation(_) | Disk::Costs(_) | Disk::Clock(_) => {}
        }
    }
    let known = Published { figures: published, at, storages: published::storages(published) };
    let tables = [sync_table(&syncs, &known), io_table(&ios, &known)].into_iter().flatten();
    let mut blocks: Vec<Block> = tables.map(Block::Table).collect();
    if blocks.is_empty() {
        return None;
    }
    blocks.extend(Block::prose(Tone::Notes, known.doubtful()));
    Some(Section::new("Storage side by side", blocks))
}

/// Published figures, with the storages that they are of.
struct Published<'a> {
    figures: &'a [PublishedFigure],
    at: &'a Place<'a>,
    storages: Vec<&'a str>,
}

impl Published<'_> {
    fn columns(&self) -> impl Iterator<Item = Column> {
        self.storages.iter().map(|storage| Column::number(format!("{storage} (published)")))
    }

    /// The cells of a row, by the name of its figure.
    fn cells(&self, name: Option<&str>) -> Vec<Cell> {
        let cell = |storage: &&str| name.map_or_else(Phrase::default, |name| self.cell(name, storage)).into();
        self.storages.iter().map(cell).collect()
    }

    fn cell(&self, name: &str, storage: &str) -> Phrase {
        let is_it = |of: &PublishedFigure| of.name == name && of.storage.as_deref() == Some(storage);
        let Some(index) = self.figures.iter().position(is_it) else { return Phrase::default() };
        let mark = if self.figures[index].suspect.is_some() { " ?" } else { "" };
        phrase![self.at.at(index).figure("value", Rate), mark]
    }

    /// Why figures with a question mark are doubtful.
    fn doubtful(&self) -> Vec<Phrase> {
        let doubted = self.figures.iter().enumerate().filter(|(_, of)| of.suspect.is_some());
        let why = |(index, _): (usize, &PublishedFigure)| {
            let own = self.at.at(index);
            let [name, storage] = ["name", "storage"].map(|field| own.figure(field, Text));
            phrase!["? ", name, " of ", storage, ": ", own.figure("suspect", Text)]
        };
        doubted.map(why).collect()
    }
}

/// The columns: what was measured, the directories, and the published storages.
fn columns(first: &'static str, paths: Vec<Option<Figure>>, known: &Published<'_>) -> Vec<Column> {
    let paths = paths.into_iter().map(|path| Column::number(Phrase::from(path)));
    [Column::words(first)].into_iter().chain(paths).chain(known.columns()).collect()
}

fn sync_table(all: &[(Place<'_>, &SyncReport)], known: &Published<'_>) -> Option<Table> {
    let (_, first) = all.first()?;
    if all.len() < 2 && known.storages.is_empty() {
        return None;
    }
    let paths = all.iter().map(|(at, _)| at.at("place/storage").figure("path", Text)).collect();
    let rows = first.tests.iter().map(|test| {
        let rate = |(at, of): &(Place<'_>, &SyncReport)| {
            let same = of.tests.iter().position(|other| sync::is_same(other, test))?;
            at.at("tests").at(same).at("timing").figure("rate_per_s", Rate)
        };
        let cells = all.iter().map(rate).map(Into::into);
        let published = known.cells(published::of_sync(test).as_deref());
        Row::new(false, [Phrase::from(sync::words(test)).into()].into_iter().chain(cells).chain(published))
    });
    Some(Table::new(columns("writes per second", paths, known), rows.collect()))
}

/// Patterns in rows: operations per second.
fn io_table(all: &[(Place<'_>, &IoReport)], known: &Published<'_>) -> Option<Table> {
    let mut paths: Vec<&str> = Vec::new();
    let mut patterns: Vec<&IoReport> = Vec::new();
    for (_, of) in all {
        if !paths.contains(&of.path.as_str()) {
            paths.push(&of.path);
        }
        if !patterns.iter().any(|known| is_same(known, of)) {
            patterns.push(of);
        }
    }
    if paths.is_empty() || (paths.len() < 2 && known.storages.is_empty()) {
        return None;
    }
    let named = paths.iter().map(|path| {
        let found = all.iter().find(|(_, of)| of.path == *path);
        found.and_then(|(at, _)| at.figure("path", Text))
    });
    let columns = columns("operations per second", named.collect(), known);
    let rows = patterns.iter().map(|pattern| {
        let cell = |path: &&str| {
            let found = all.iter().find(|(_, of)| of.path == *path && is_same(of, pattern));
            found.map_or_else(Phrase::default, |(at, of)| rates(at, of))
        };
        let cells = paths.iter().map(|path| cell(path).into());
        let published = known.cells(published::of_io(&pattern.pattern).as_deref());
        let name = Phrase::from(pattern.pattern.name.clone());
        Row::new(false, [name.into()].into_iter().chain(cells).chain(published))
    });
    Some(Table::new(columns, rows.collect()))
}

fn is_same(one: &IoReport, other: &IoReport) -> bool {
    let (one, other) = (&one.pattern, &other.pattern);
    (&one.name, one.block_bytes, one.depth, one.jobs)
        == (&other.name, other.block_bytes, other.depth, other.jobs)
}

fn rates(at: &Place<'_>, of: &IoReport) -> Phrase {
    let kinds = [("reads", of.reads.is_some()), ("writes", of.writes.is_some())];
    let each = kinds.into_iter().filter(|(_, is_there)| *is_there);
    let each = each.map(|(kind, _)| Phrase::from(at.at(kind).figure("rate_per_s", Rate)));
    each.reduce(|all, more| phrase![all, " + ", more]).unwrap_or_default()
}
