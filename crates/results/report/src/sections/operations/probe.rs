//! Probes of tables.

use pgdyno_core::probe::{Count, CountTable, Ddl, DdlTable, Depth, Probe, Sizes};

use super::{shape::shaped, touch};
use pgdyno_document::{
    block::{Block, Cell, Column, Group, Row, Table, Tone},
    figure::{
        Figure,
        Format::{self, Bytes, LeastSeconds, MedianSeconds, MostSeconds, Number, Rate, Text, Word},
    },
    phrase::{Phrase, joined, maybe, phrase},
};

use crate::source::Place;

/// What a probe found.
pub fn blocks(at: &Place<'_>, probe: &Probe) -> Vec<Block> {
    let found = match probe {
        Probe::Ddl(of) => ddl(at, of),
        Probe::Count(of) => count(at, of),
        Probe::FirstTouch(of) => touch::first_touch(at, of),
        Probe::Partitions(of) => touch::partitions(at, of),
        Probe::Depth(of) => depth(at, of),
        Probe::Sizes(of) => sizes(at, of),
    };
    [Block::text(heading(&at.at("server")))].into_iter().chain(found).collect()
}

/// Version and database of the probed server.
pub fn heading(at: &Place<'_>) -> Phrase {
    phrase!["PostgreSQL ", at.figure("version", Text), ", database ", at.figure("database", Text)]
}

/// Median, minimum and maximum of repetitions.
fn times(at: &Place<'_>) -> [Cell; 3] {
    [MedianSeconds, LeastSeconds, MostSeconds].map(|format| at.figure("seconds", format).into())
}

/// A figure, or nothing where there is none to expect.
fn or_nothing(figure: Option<Figure>) -> Cell {
    maybe("", figure, "").into()
}

fn without_checkpoints(made: bool) -> Vec<Phrase> {
    let warning = "! without a CHECKPOINT before each measurement: the role lacks the privilege";
    if made { Vec::new() } else { vec![warning.into()] }
}

fn ddl(at: &Place<'_>, of: &Ddl) -> Vec<Block> {
    let compares = of.tables.len() > 1;
    let is_shared = of.tables.iter().flat_map(|table| &table.statements).any(|one| one.sessions.is_some());
    let extra = Extra { compares, is_shared, is_committed: of.committed };
    let mut columns = vec![Column::text("statement")];
    columns.extend(is_shared.then(|| Column::number("sessions")));
    columns.extend(["median", "min", "max"].map(Column::number));
    columns.extend(of.committed.then(|| Column::number("commit")));
    columns.push(Column::number("WAL"));
    columns.push(Column::words("rewrite"));
    columns.extend(compares.then(|| Column::number("× first")));
    let group = |(index, table): (usize, &DdlTable)| {
        let own = at.at("tables").at(index);
        let tried = table.statements.iter().enumerate().filter(|(_, one)| one.left_out.is_none());
        let rows = tried.map(|(index, _)| statement(&own.at("statements").at(index), &extra));
        Group { name: shaped(&own.at("table"), &table.table), note: Phrase::default(), rows: rows.collect() }
    };
    let groups = of.tables.iter().enumerate().map(group).collect();
    let table = Table { group_name: "table", columns, groups, summary_in_head: false };
    let skipped = of.tables.iter().enumerate().flat_map(|(index, table)| skipped(at, index, table));
    let end = Block::text(match of.committed {
        false => "Changes were rolled back: the times do not include commits.",
        true => {
            "Changes were committed and undone: the tables keep dropped columns. Load them again before you \
             measure them."
        }
    });
    let remarks = [
        Block::prose(Tone::Notes, skipped.collect()),
        Block::prose(Tone::Warning, without_checkpoints(of.checkpoints)),
    ];
    [Block::Table(table)].into_iter().chain(remarks.into_iter().flatten()).chain([end]).collect()
}

/// Columns that only some tables of statements have.
struct Extra {
    compares: bool,
    is_shared: bool,
    is_committed: bool,
}

fn statement(at: &Place<'_>, extra: &Extra) -> Row {
    let name: Phrase = at.figure("statement", Text).into();
    let mut cells = vec![Cell::from(name)];
    cells.extend(extra.is_shared.then(|| or_nothing(at.figure("sessions", Format::Count))));
    cells.extend(times(at));
    cells.extend(extra.is_committed.then(|| or_nothing(at.figure("commit_seconds", MedianSeconds))));
    cells.push(at.figure("wal_bytes", Bytes).into());
    cells.push(or_nothing(at.figure("rewritten", Word)));
    cells.extend(extra.compares.then(|| or_nothing(at.figure("times_of_first", Number))));
    Row::new(false, cells)
}

/// Statements that were left out, with the reasons.
fn skipped(at: &Place<'_>, index: usize, table: &DdlTable) -> Vec<Phrase> {
    let own = at.at("tables").at(index);
    let left_out = table.statements.iter().enumerate().filter(|(_, one)| one.left_out.is_some());
    let one = |(index, _): (usize, _)| {
        let at = own.at("statements").at(index);
        phrase!["skipped: ", at.figure("statement", Text), ": ", at.figure("left_out", Text)]
    };
    left_out.map(one).collect()
}

fn count(at: &Place<'_>, of: &Count) -> Vec<Block> {
    let workers = ["asked", "ran"].map(|name| Column::number(name).under("workers"));
    let numbers = ["median", "min", "max", "rows/s"].map(Column::number);
    let pages = ["hit", "read"].map(|name| Column::number(name).under("pages"));
    let columns = [Column::words("by")].into_iter().chain(workers).chain(numbers).chain(pages);
    let columns = columns.chain([Column::text("plan")]);
    let group = |(index, table): (usize, &CountTable)| {
        let own = at.at("tables").at(index);
        let name =
            phrase![shaped(&own.at("table"), &table.table), ", ", own.figure("rows", Format::Count), " rows"];
        let rows = (0..table.ways.len()).map(|way| way_row(&own.at("ways").at(way))).collect();
        Group { name, note: Phrase::default(), rows }
    };
    let groups = of.tables.iter().enumerate().map(group).collect();
    let table = Table { group_name: "table", columns: columns.collect(), groups, summary_in_head: false };
    let mut warnings: Vec<Phrase> =
        of.tables.iter().enumerate().flat_map(|(index, table)| unexpected(at, index, table)).collect();
    warnings.extend(without_checkpoints(of.checkpoints));
    let end = "Pages and workers are from the first count of each line, which is not timed.";
    let warnings = Block::prose(Tone::Warning, warnings);
    [Block::Table(table)].into_iter().chain(warnings).chain([Block::text(end)]).collect()
}

fn way_row(at: &Place<'_>) -> Row {
    let plan = at.at("plan");
    let by: Phrase = at.figure("by", Word).into();
    let mut cells = vec![Cell::from(by), at.figure("workers_asked", Format::Count).into()];
    let planned = phrase![plan.figure("workers_planned", Format::Count), " planned"];
    cells.push(Cell::from(plan.figure("workers_launched", Format::Count)).with([planned]));
    cells.extend(times(at));
    cells.push(at.figure("rows_per_s", Rate).into());
    cells.extend(["hit_pages", "read_pages"].map(|of| plan.figure(of, Format::Count).into()));
    cells.push(scans(&plan).into());
    Row::new(false, cells)
}

/// The scans of a plan: `8 × Seq Scan`.
fn scans(plan: &Place<'_>) -> Phrase {
    let several = plan.figure("scan_count", Format::Count).filter(|count| count.value != 1);
    let names = joined((0..).map_while(|at| plan.figure(format!("scans/{at}"), Text)).map(Some), " and ");
    match several.as_ref().is_some_and(|count| count.value == 0) {
        true => "no scan".into(),
        false => phrase![maybe("", several, " × "), names],
    }
}

/// Counts with another plan than requested, or that had to look into the table.
fn unexpected(at: &Place<'_>, index: usize, table: &CountTable) -> Vec<Phrase> {
    let way = |number: usize| at.at("tables").at(index).at("ways").at(number);
    let other = table.ways.iter().enumerate().filter(|(_, way)| !way.as_asked()).map(|(number, _)| {
        let own = way(number);
        phrase!["! requested ", own.figure("by", Word), ", but the server chose ", scans(&own.at("plan"))]
    });
    let fetched = table.ways.iter().position(|way| way.plan.heap_fetches > 0).map(|number| {
        let rows = way(number).figure("plan/heap_fetches", Format::Count);
        phrase!["! the index-only scan fetched ", rows, " rows from the table; VACUUM helps"]
    });
    other.chain(fetched).collect()
}

fn depth(at: &Place<'_>, of: &Depth) -> Vec<Block> {
    let row = |index: usize| {
        let own = at.at("indexes").at(index);
        let name: Phrase = own.figure("name", Text).into();
        let fields = ["rows_estimated", "pages", "pages_predicted", "levels", "levels_predicted"];
        let figures = fields.map(|field| own.figure(field, Format::Count).into());
        Row::new(false, [Cell::from(name)].into_iter().chain(figures))
    };
    let names = ["rows", "pages", "predicted", "levels", "predicted"].map(Column::number);
    let columns = [Column::words("index")].into_iter().chain(names).collect();
    let table = Table::new(columns, (0..of.indexes.len()).map(row).collect());
    let note = Block::text("Levels: pages from the root to a leaf. Rows: estimate of the last ANALYZE.");
    let missing = (!of.measured).then(|| {
        Block::text(
            "Levels were not measured: this requires the extension pageinspect (--create-extension) and a \
             superuser.",
        )
    });
    [Block::Table(table), note].into_iter().chain(missing).collect()
}

fn sizes(at: &Place<'_>, of: &Sizes) -> Vec<Block> {
    let lists = [
        ("tables", of.tables.iter().any(|size| size.partitions > 0), of.tables.len()),
        ("indexes", of.indexes.iter().any(|size| size.partitions > 0), of.indexes.len()),
        ("databases", false, of.databases.len()),
        ("tablespaces", false, of.tablespaces.len()),
    ];
    let table = |(list, parted, count): (&'static str, bool, usize)| {
        let row = |index: usize| {
            let own = at.at(list).at(index);
            let name: Phrase = own.figure("name", Text).into();
            let parts = own.figure("partitions", Format::Count).filter(|parts| parts.value != 0);
            let parts = parted.then(|| or_nothing(parts));
            let size = own.figure("bytes", Bytes).into();
            Row::new(false, [Cell::from(name)].into_iter().chain(parts).chain([size]))
        };
        let parts = parted.then(|| Column::number("partitions"));
        let columns = [Column::words(list)].into_iter().chain(parts).chain([Column::number("size")]);
        Block::Table(Table::new(columns.collect(), (0..count).map(row).collect()))
    };
    lists.into_iter().filter(|(.., count)| *count > 0).map(table).collect()
}
