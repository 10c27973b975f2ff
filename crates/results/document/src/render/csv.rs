//! A table as CSV, for spreadsheets.

use crate::{
    block::{Row, Table},
    document::Document,
};

/// A header, then one line per cell (RFC 4180 with line feeds). Absent values are empty fields.
pub fn csv(document: &Document) -> String {
    written(&document.cells)
}

/// As [`csv`], with one line per run in execution order, or in a comparison one line per block.
pub fn csv_blocks(document: &Document) -> String {
    written(&document.data)
}

fn written(table: &Table) -> String {
    let header = table.columns.iter().map(|column| column.name.plain()).collect();
    let row = |row: &Row| row.cells.iter().map(|cell| field(&cell.text.plain())).collect();
    let lines: Vec<Vec<String>> = [header].into_iter().chain(table.rows().map(row)).collect();
    lines.iter().map(|fields| fields.join(",") + "\n").collect()
}

/// A field quoted by RFC 4180, and protected from evaluation as a formula.
fn field(text: &str) -> String {
    let safe = if is_formula(text) { format!("'{text}") } else { text.to_owned() };
    match safe.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", safe.replace('"', "\"\"")),
        false => safe,
    }
}

/// Whether a spreadsheet might evaluate a text as a formula. Compiler flags, which begin with a minus, are harmless.
fn is_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '@', '\t', '\r']) || (text.starts_with('-') && text.contains(['(', '|', '!']))
}
