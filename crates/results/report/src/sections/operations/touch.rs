//! First looks at tables, and the cost of partitions.

use pgdyno_core::probe::{FirstTouch, PartitionedTable, Partitions, TouchedTable};

use super::shape::shaped;
use pgdyno_document::{
    block::{Block, Cell, Column, Group, Row, Table, Tone},
    figure::Format::{Bytes, Count, MedianSeconds, Text},
    phrase::{Phrase, maybe, phrase},
};

use crate::source::Place;

/// Planning and executing apart, in the first and the second execution of new sessions.
pub(super) fn first_touch(at: &Place<'_>, of: &FirstTouch) -> Vec<Block> {
    let times = ["planning", "execution"].map(Column::number);
    let pages = |head: &'static str| ["hit", "read"].map(|name| Column::number(name).under(head));
    let columns = [Column::words("in its session")].into_iter().chain(times);
    let columns = columns.chain(pages("pages to plan")).chain(pages("to execute")).collect();
    let group = |(index, table): (usize, &TouchedTable)| {
        let own = at.at("tables").at(index);
        let name = shaped(&own.at("table"), &table.table);
        let rows = (0..table.executions.len()).map(|execution| touch(&own.at("executions").at(execution)));
        Group { name, note: Phrase::default(), rows: rows.collect() }
    };
    let groups = of.tables.iter().enumerate().map(group).collect();
    let table = Table { group_name: "table", columns, groups, summary_in_head: false };
    let whole = |(index, table): (usize, &TouchedTable)| {
        let own = at.at("tables").at(index);
        let name = own.at("table").figure("name", Text);
        phrase![
            "SELECT * FROM ",
            name,
            " LIMIT ",
            at.figure("limit", Count),
            " took ",
            own.figure("statement_seconds", MedianSeconds),
            " as the first statement of a session",
            maybe("; the planner expects ", own.figure("rows_estimated", Count), " rows in the table"),
            if table.analyzed { "" } else { ", which was never analyzed" },
            "."
        ]
    };
    let wholes = of.tables.iter().enumerate().map(|table| Block::text(whole(table)));
    let cold = of.cold.then_some(
        "Files were dropped from the page cache before each session; pages in shared buffers are still hits.",
    );
    let end = "Times are medians, pages those of the first session.";
    [Block::Table(table)]
        .into_iter()
        .chain(wholes)
        .chain([end].into_iter().chain(cold).map(Block::text))
        .collect()
}

fn touch(at: &Place<'_>) -> Row {
    let name: Phrase = at.figure("execution", Text).into();
    let times = ["planning_seconds", "execution_seconds"].map(|of| at.figure(of, MedianSeconds).into());
    let pages = ["planning_hit_pages", "planning_read_pages", "hit_pages", "read_pages"];
    let pages = pages.map(|of| at.figure(of, Count).into());
    Row::new(false, [Cell::from(name)].into_iter().chain(times).chain(pages))
}

/// Ways of executing, catalogs and memory, for each table.
pub(super) fn partitions(at: &Place<'_>, of: &Partitions) -> Vec<Block> {
    let first = ["plan", "execute", "scans", "locks"].map(|name| Column::number(name).under("first"));
    let later = ["plan", "execute", "locks"].map(|name| Column::number(name).under("later"));
    let columns = [Column::words("way")].into_iter().chain(first).chain(later).collect();
    let group = |(index, table): (usize, &PartitionedTable)| {
        let own = at.at("tables").at(index);
        let done = table.ways.iter().enumerate().filter(|(_, way)| way.left_out.is_none());
        let rows = done.map(|(way, _)| way_row(&own.at("ways").at(way))).collect();
        Group { name: shaped(&own.at("table"), &table.table), note: Phrase::default(), rows }
    };
    let groups = of.tables.iter().enumerate().map(group).collect();
    let ways = Table { group_name: "table", columns, groups, summary_in_head: false };
    let skipped = of.tables.iter().enumerate().flat_map(|(index, table)| skipped(at, index, table));
    let notes = Block::prose(Tone::Notes, skipped.collect());
    let end = "All ways but the last look up one row by its primary key, and all but the first of them by a prepared \
               statement; all rows are planned only. Times are medians. Locks are held until the end of the \
               transaction; in brackets those by the fast path.";
    let blocks = [Block::Table(ways)].into_iter().chain(notes).chain([Block::text(end)]);
    blocks.chain([Block::Table(catalogs(at, of))]).chain(caches(at, of)).collect()
}

fn way_row(at: &Place<'_>) -> Row {
    let name: Phrase = at.figure("way", Text).into();
    let cost = |of: &str| {
        let own = at.at(of);
        let times = ["planning_seconds", "execution_seconds"].map(|of| own.figure(of, MedianSeconds).into());
        let locks =
            phrase![own.figure("locks", Count), maybe(" (", own.figure("fast_path_locks", Count), ")")];
        (times, Cell::from(locks))
    };
    let ([planning, execution], locks) = cost("first");
    let scans = at.at("first").figure("scans", Count).into();
    let (later, later_locks) = cost("later");
    let cells = [Cell::from(name), planning, execution, scans, locks];
    Row::new(false, cells.into_iter().chain(later).chain([later_locks]))
}

/// Ways that were left out, with the reasons.
fn skipped(at: &Place<'_>, index: usize, table: &PartitionedTable) -> Vec<Phrase> {
    let own = at.at("tables").at(index);
    let left_out = table.ways.iter().enumerate().filter(|(_, way)| way.left_out.is_some());
    let one = |(index, _): (usize, _)| {
        let at = own.at("ways").at(index);
        phrase!["skipped: ", at.figure("way", Text), ": ", at.figure("left_out", Text)]
    };
    left_out.map(one).collect()
}

fn catalogs(at: &Place<'_>, of: &Partitions) -> Table {
    let numbers = ["rows", "size of rows", "whole catalog"].map(Column::number);
    let columns = [Column::words("catalog")].into_iter().chain(numbers).collect();
    let group = |(index, table): (usize, &PartitionedTable)| {
        let own = at.at("tables").at(index);
        let row = |index: usize| {
            let own = own.at("catalogs").at(index);
            let name: Phrase = own.figure("catalog", Text).into();
            let sizes = ["row_bytes", "size_bytes"].map(|of| own.figure(of, Bytes).into());
            Row::new(false, [Cell::from(name), own.figure("rows", Count).into()].into_iter().chain(sizes))
        };
        let name: Phrase = own.at("table").figure("name", Text).into();
        Group { name, note: Phrase::default(), rows: (0..table.catalogs.len()).map(row).collect() }
    };
    let groups = of.tables.iter().enumerate().map(group).collect();
    Table { group_name: "table", columns, groups, summary_in_head: false }
}

/// What planning a query for all rows adds to the memory of a session.
fn caches(at: &Place<'_>, of: &Partitions) -> Vec<Block> {
    let known = of.tables.iter().enumerate().filter(|(_, table)| table.cache_bytes.is_some());
    let one = |(index, _): (usize, _)| {
        let own = at.at("tables").at(index);
        let name = own.at("table").figure("name", Text);
        Block::text(phrase![
            "Planning for all rows of ",
            name,
            " added ",
            own.figure("cache_bytes", Bytes),
            " to the caches of each session."
        ])
    };
    known.map(one).collect()
}
