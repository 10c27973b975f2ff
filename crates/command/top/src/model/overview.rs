//! The panel with the most important rows of all others.

use super::{
    panels::{PANELS, Panel},
    table::{Line, Mark, Table},
};
use crate::reading::Reading;

/// As many lines as there is room for: first a few rows of each table, then more of those that have more.
pub(super) fn lines(reading: &Reading, filter: &str, room: usize, height: usize) -> Vec<Line> {
    let mut tables: Vec<Table> = PANELS.iter().filter_map(|panel| first(*panel, reading)).collect();
    tables.iter_mut().for_each(|table| table.keep(filter));
    let shares = shares(&tables, height);
    let mut lines = Vec::new();
    for (mut table, rows) in tables.into_iter().zip(shares) {
        match rows {
            0 => lines.push(in_a_line(&table, room)),
            rows => {
                table.rows.truncate(rows);
                table.notes.clear();
                lines.extend(table.lines(room, None));
            }
        }
    }
    lines.truncate(height);
    lines
}

/// The table of a panel that the overview has.
fn first(panel: Panel, reading: &Reading) -> Option<Table> {
    let wanted = [Panel::Sessions, Panel::Waits, Panel::Locks, Panel::Processes, Panel::Progress];
    let mut table = wanted
        .contains(&panel)
        .then(|| panel.tables(reading))
        .and_then(|tables| tables.into_iter().next())?;
    if let Some((short, _)) = table.title.split_once(" · ") {
        table.title = short.to_owned();
    }
    Some(table)
}

/// How many rows of each table are shown. One with rows takes two lines more, one without is a line.
fn shares(tables: &[Table], height: usize) -> Vec<usize> {
    let mut shares = vec![0; tables.len()];
    let mut left = height.saturating_sub(tables.len());
    loop {
        let before = left;
        for (share, table) in shares.iter_mut().zip(tables) {
            let costs = if *share == 0 { 2 } else { 1 };
            if *share < table.rows.len() && costs <= left {
                *share += 1;
                left -= costs;
            }
        }
        if left == before {
            return shares;
        }
    }
}

/// Title and first note, or how many rows there are.
fn in_a_line(table: &Table, room: usize) -> Line {
    let title = &table.title;
    let rest = match (table.rows.len(), table.notes.first()) {
        (0, Some(note)) => note.clone(),
        (rows, _) => format!("{rows} rows"),
    };
    Line::new(super::cells::cut(&format!("{title}: {rest}"), room), Mark::Dim)
}
