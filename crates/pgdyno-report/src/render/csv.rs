//! A table as CSV, for spreadsheets.

use crate::{block::Row, document::Document};

/// A header, then a line a run in the order they ran, or in a comparison a line a block (RFC 4180 with line feeds). An
/// absent value is an empty field.
pub fn csv(document: &Document) -> String {
    let header = document.data.columns.iter().map(|column| column.name.plain()).collect();
    let row = |row: &Row| row.cells.iter().map(|cell| field(&cell.text.plain())).collect();
    let lines: Vec<Vec<String>> = [header].into_iter().chain(document.data.rows().map(row)).collect();
    lines.iter().map(|fields| fields.join(",") + "\n").collect()
}

/// A text as RFC 4180 has it, which no spreadsheet calculates.
fn field(text: &str) -> String {
    let safe = if is_formula(text) { format!("'{text}") } else { text.to_owned() };
    match safe.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", safe.replace('"', "\"\"")),
        false => safe,
    }
}

/// Whether a spreadsheet would calculate a text. Flags of a compiler begin with a minus: what can harm has more in it.
fn is_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '@', '\t', '\r']) || (text.starts_with('-') && text.contains(['(', '|', '!']))
}
