//! The columns of the table, for all renderers.

use pgdyno_core::units::ABSENT;

use crate::{document::Row, figure::Figure};

/// A column: its header, its unit, whether it holds words, and its figure in a row.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Header.
    pub header: &'static str,
    /// Unit; empty where there is none.
    pub unit: &'static str,
    /// Whether it holds words, which stand to the left.
    pub words: bool,
    /// Its figure.
    pub get: fn(&Row) -> Option<&Figure>,
}

impl Column {
    /// Header and unit on one line.
    pub fn label(&self) -> String {
        [self.header, self.unit].iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(" ")
    }

    /// What stands in a row.
    pub fn text<'a>(&self, row: &'a Row) -> &'a str {
        (self.get)(row).map_or(ABSENT, |figure| &figure.text)
    }
}

const fn number(header: &'static str, unit: &'static str, get: fn(&Row) -> Option<&Figure>) -> Column {
    Column { header, unit, words: false, get }
}

const fn words(header: &'static str, get: fn(&Row) -> Option<&Figure>) -> Column {
    Column { header, unit: "", words: true, get }
}

/// Number of clients: the first column of every table.
pub const CLIENTS: Column = number("clients", "", |row| row.clients.as_ref());

/// What was reached.
pub const SPEED: [Column; 7] = [
    number("TPS", "", |row| row.tps.as_ref()),
    number("±", "", |row| row.spread.as_ref()),
    number("QPS", "", |row| row.qps.as_ref()),
    number("p50", "ms", |row| row.p50.as_ref()),
    number("p95", "ms", |row| row.p95.as_ref()),
    number("p99", "ms", |row| row.p99.as_ref()),
    number("max", "ms", |row| row.max.as_ref()),
];

/// What it cost, and under which conditions.
pub const COST: [Column; 7] = [
    number("driver", "CPUs", |row| row.driver_cpus.as_ref()),
    number("", "µs/txn", |row| row.driver_us.as_ref()),
    number("server", "CPUs", |row| row.server_cpus.as_ref()),
    number("", "µs/txn", |row| row.server_us.as_ref()),
    words("served from", |row| row.served_from.as_ref()),
    words("durability", |row| row.durability.as_ref()),
    number("blocks", "", |row| row.blocks.as_ref()),
];

/// Lines of a table with aligned columns, two blanks between them: one or two lines of header (units on the
/// second), then a line a row.
pub fn aligned(columns: &[Column], rows: &[&Row]) -> Vec<String> {
    let one_line = columns.iter().all(|column| column.unit.is_empty() || column.unit == "ms");
    let headers: Vec<Vec<String>> = match one_line {
        true => vec![columns.iter().map(Column::label).collect()],
        false => vec![
            columns.iter().map(|c| c.header.to_owned()).collect(),
            columns.iter().map(|c| c.unit.to_owned()).collect(),
        ],
    };
    let cells = rows.iter().map(|row| columns.iter().map(|c| c.text(row).to_owned()).collect());
    let lines: Vec<Vec<String>> = headers.into_iter().chain(cells).collect();
    let width = |at: usize| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<_> = (0..columns.len()).map(width).collect();
    lines.iter().map(|line| align(columns, &widths, line)).collect()
}

fn align(columns: &[Column], widths: &[usize], line: &[String]) -> String {
    let cell = |((column, width), text): ((&Column, &usize), &String)| match column.words {
        true => format!("{text:<width$}"),
        false => format!("{text:>width$}"),
    };
    let cells = columns.iter().zip(widths).zip(line).map(cell);
    cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}
