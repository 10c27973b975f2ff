//! A reading as plain text, for `--once`.

use super::{header, panels::PANELS, table::Line};
use crate::reading::Reading;

/// Columns of the text.
const WIDTH: usize = 80;
/// Most rows of a table.
const MOST_ROWS: usize = 20;

/// The header and all panels, in lines of at most 80 columns.
pub(crate) fn once(reading: &Reading) -> String {
    let mut lines: Vec<Line> = header::lines(reading, WIDTH);
    for mut table in PANELS.iter().flat_map(|panel| panel.tables(reading)) {
        let left_out = table.rows.len().saturating_sub(MOST_ROWS);
        table.rows.truncate(MOST_ROWS);
        let table =
            table.note((left_out > 0).then(|| format!("{left_out} more: see --json, or the live view")));
        let found = table.lines(WIDTH, None);
        if !found.is_empty() {
            lines.push(Line::new("", super::table::Mark::Plain));
            lines.extend(found);
        }
    }
    lines.into_iter().map(|line| format!("{}\n", line.text.trim_end())).collect()
}
