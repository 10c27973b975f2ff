//! All lines of a screen.

use super::{
    cells::cut,
    header, overview,
    panels::{Panel, tabs},
    table::{Line, Mark},
    view::View,
};
use crate::reading::Reading;

/// A screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Screen {
    /// Its lines, as many as it is high.
    pub lines: Vec<Line>,
    /// Lines of the panel that it has room for.
    pub page: usize,
    /// Columns by which the panel can be sorted.
    pub columns: usize,
    /// The first line of the panel that is shown: at its end less than requested.
    pub from_line: usize,
}

/// Lines of a screen above the panel, and below it.
const AROUND: usize = 7;

/// Puts a screen together. `hint` is a line of the program's own, such as why a key did nothing.
pub(crate) fn screen(
    reading: &Reading,
    view: &View,
    hint: Option<&str>,
    (width, height): (usize, usize),
) -> Screen {
    let page = height.saturating_sub(AROUND);
    let (body, columns) = body(reading, view, width, page);
    let from_line = view.from_line.min(body.len().saturating_sub(page));
    let below = body.len().saturating_sub(from_line + page);
    let mut lines = header::lines(reading, width);
    lines.push(Line::new(cut(&tabs(view.panel(), width), width), Mark::Head));
    lines.extend(body.into_iter().skip(from_line).take(page));
    lines.truncate(height.saturating_sub(1));
    lines.resize(height.saturating_sub(1), Line::new("", Mark::Plain));
    if height > 0 {
        lines.push(footer(view, hint, below, width));
    }
    Screen { lines, page, columns, from_line }
}

fn body(reading: &Reading, view: &View, width: usize, page: usize) -> (Vec<Line>, usize) {
    if view.shows_help {
        return (help(reading, width), 0);
    }
    if view.panel() == Panel::Overview {
        return (overview::lines(reading, &view.filter, width, page), 0);
    }
    let mut tables = view.panel().tables(reading);
    let columns = tables.first().filter(|table| !table.is_tree).map_or(0, |table| table.columns.len());
    let (sorted, is_reversed) = (view.sorted[view.panel], view.reversed[view.panel]);
    if let Some(first) = tables.first_mut() {
        first.sort(sorted, is_reversed);
    }
    let mut lines = Vec::new();
    for (at, mut table) in tables.into_iter().enumerate() {
        table.keep(&view.filter);
        lines.extend(table.lines(width, sorted.filter(|_| at == 0)));
    }
    (lines, columns)
}

fn footer(view: &View, hint: Option<&str>, below: usize, width: usize) -> Line {
    if view.types_filter {
        return Line::new(
            cut(&format!("filter: {}_  Enter keeps it, Esc clears it", view.filter), width),
            Mark::Warning,
        );
    }
    let paused = if view.is_paused { "PAUSED (p continues)  " } else { "" };
    let filter = if view.filter.is_empty() { String::new() } else { format!("filter: {}  ", view.filter) };
    let more = if below > 0 { format!("{below} more below  ") } else { String::new() };
    let keys = "1-8 panel  s sort  r reverse  / filter  p pause  ? help  q quit";
    let mark = if view.is_paused || hint.is_some() { Mark::Warning } else { Mark::Dim };
    Line::new(
        cut(
            &format!(
                "{paused}{}{filter}{more}{keys}",
                hint.map_or_else(String::new, |hint| format!("{hint}  "))
            ),
            width,
        ),
        mark,
    )
}

/// What the keys do.
const HELP: [(&str, &str); 13] = [
    ("1 … 8, Tab, ← →", "panels"),
    ("↑ ↓ j k, PageUp, PageDown, g", "scroll; g and Home go to the top"),
    ("s", "sort by the next column (marked *), at last as before"),
    ("r", "reverse the order"),
    ("/", "show only rows with these words; Esc clears it"),
    ("p, blank", "freeze the screen; readings continue"),
    ("Ctrl-L", "draw everything again"),
    ("Ctrl-Z", "suspend; `fg` continues"),
    ("q, Ctrl-C", "quit"),
    ("", ""),
    ("rates", "cover the time between two readings"),
    ("–", "not known; each panel says why in a line"),
    ("top itself", "CPU of this program + of its server process"),
];

fn help(reading: &Reading, width: usize) -> Vec<Line> {
    let line = |(keys, what): &(&str, &str)| Line::new(cut(&format!("{keys:<30}{what}"), width), Mark::Plain);
    let head = Line::new(cut("HELP: the keys", width), Mark::Head);
    let cost = Line::new(cut(&format!("{:<30}{}", "", header::cost(reading)), width), Mark::Plain);
    [head].into_iter().chain(HELP.iter().map(line)).chain([cost]).collect()
}
