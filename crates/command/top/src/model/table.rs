//! Tables of a panel: filtered, sorted, and as wide as the terminal.

use std::cmp::Ordering;

use super::cells::{cut, fitted, width, wrapped};

/// A line on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// Its text, no wider than requested.
    pub text: String,
    /// How it is shown.
    pub mark: Mark,
}

/// How a line is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// As it is.
    Plain,
    /// A title, or the head of a table.
    Head,
    /// What matters less.
    Dim,
    /// What should be seen.
    Warning,
}

impl Line {
    pub(super) fn new(text: impl Into<String>, mark: Mark) -> Self {
        Self { text: text.into(), mark }
    }
}

/// A column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    /// Its head.
    pub name: &'static str,
    /// Whether it has numbers: they are on the right, and are sorted from the largest on.
    pub is_number: bool,
    /// Widths of the terminal from which on it is shown.
    pub from_width: usize,
    /// Most cells of a text in a terminal of 80.
    pub most: usize,
}

/// A column of numbers.
pub(super) const fn number(name: &'static str) -> Column {
    Column { name, is_number: true, from_width: 0, most: 16 }
}

/// A column of texts, at most so wide.
pub(super) const fn text(name: &'static str, most: usize) -> Column {
    Column { name, is_number: false, from_width: 0, most }
}

impl Column {
    /// The column for terminals of this width or more.
    pub(super) const fn from(self, from_width: usize) -> Self {
        Self { from_width, ..self }
    }
}

/// A cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell {
    text: String,
    /// What a number is sorted by; `None` comes last.
    value: Option<f64>,
}

impl Cell {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), value: None }
    }

    /// A number that is shown as `write` says; absent numbers are shown as such.
    pub(super) fn number(value: Option<f64>, write: impl Fn(f64) -> String) -> Self {
        Self { text: pgdyno_core::units::or_absent(value, write), value }
    }
}

/// A row; those of one group stay together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub cells: Vec<Cell>,
    pub mark: Mark,
    pub group: usize,
}

impl Row {
    pub(super) fn new(cells: impl Into<Vec<Cell>>) -> Self {
        Self { cells: cells.into(), mark: Mark::Plain, group: 0 }
    }

    fn has(&self, words: &str) -> bool {
        self.cells.iter().any(|cell| cell.text.to_lowercase().contains(words))
    }
}

/// A table with its title. What it has no rows for is said in `notes`.
#[derive(Debug, Clone)]
pub(super) struct Table {
    pub title: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    pub notes: Vec<String>,
    /// Whether rows have an order of their own, which no column replaces.
    pub is_tree: bool,
}

impl Table {
    pub(super) fn new(title: impl Into<String>, columns: impl Into<Vec<Column>>, rows: Vec<Row>) -> Self {
        let (title, columns) = (title.into(), columns.into());
        Self { title, columns, rows, notes: Vec::new(), is_tree: false }
    }

    /// Adds a line that says something about the table, such as why it is empty.
    #[must_use]
    pub(super) fn note(mut self, note: Option<String>) -> Self {
        self.notes.extend(note);
        self
    }

    /// Says this if there are no rows, and nothing else says why.
    #[must_use]
    pub(super) fn if_empty(mut self, words: &str) -> Self {
        if self.rows.is_empty() && self.notes.is_empty() {
            self.notes.push(words.to_owned());
        }
        self
    }

    /// Keeps the rows, or the groups of rows, that have these words in upper or lower case.
    pub(super) fn keep(&mut self, words: &str) {
        if words.is_empty() || self.rows.is_empty() {
            return;
        }
        let words = words.to_lowercase();
        match self.is_tree {
            true => {
                let groups: Vec<usize> =
                    self.rows.iter().filter(|row| row.has(&words)).map(|row| row.group).collect();
                self.rows.retain(|row| groups.contains(&row.group));
            }
            false => self.rows.retain(|row| row.has(&words)),
        }
        if self.rows.is_empty() {
            self.notes.push(format!("no row has `{words}`"));
        }
    }

    /// Sorts by the column of this number: numbers from the largest on, texts from a to z, or the other way round.
    /// `None` leaves the rows in their own order.
    pub(super) fn sort(&mut self, by: Option<usize>, is_reversed: bool) {
        if self.is_tree {
            return;
        }
        let Some((at, column)) = by.and_then(|at| Some((at, *self.columns.get(at)?))) else {
            if is_reversed {
                self.rows.reverse();
            }
            return;
        };
        self.rows.sort_by(|a, b| order(&a.cells[at], &b.cells[at], column.is_number, is_reversed));
    }

    /// The lines: title, head, rows and notes. `sorted` is the number of the column that is marked in the head.
    pub(super) fn lines(&self, room: usize, sorted: Option<usize>) -> Vec<Line> {
        let mut lines = Vec::new();
        if !self.title.is_empty() {
            lines.push(Line::new(cut(&self.title, room), Mark::Head));
        }
        let shown: Vec<usize> =
            (0..self.columns.len()).filter(|at| self.columns[*at].from_width <= room).collect();
        if !self.rows.is_empty() {
            let widths = self.widths(&shown, room);
            let heads: Vec<String> = shown.iter().map(|at| self.head(*at, sorted)).collect();
            let head = self.line(&heads, &shown, &widths, room);
            lines.extend((!head.is_empty()).then(|| Line::new(head, Mark::Head)));
            for row in &self.rows {
                let cells: Vec<String> = shown.iter().map(|at| row.cells[*at].text.clone()).collect();
                lines.push(Line::new(self.line(&cells, &shown, &widths, room), row.mark));
            }
        }
        let notes = self.notes.iter().flat_map(|note| wrapped(note, room));
        lines.extend(notes.map(|line| Line::new(line, Mark::Dim)));
        lines
    }

    /// The head of a column.
    fn head(&self, at: usize, sorted: Option<usize>) -> String {
        let name = self.columns[at].name;
        if sorted == Some(at) && !self.is_tree { format!("{name}*") } else { name.to_owned() }
    }

    /// Widths of all columns but the last one, which takes what is left.
    fn widths(&self, shown: &[usize], room: usize) -> Vec<usize> {
        let widest = |at: &usize| {
            let cells = self.rows.iter().map(|row| width(&row.cells[*at].text));
            // One for the mark of the sorted column.
            let natural = cells.chain([width(self.columns[*at].name) + 1]).max().unwrap_or(0);
            natural.min(self.columns[*at].most * room.max(80) / 80)
        };
        shown.iter().map(widest).collect()
    }

    fn line(&self, texts: &[String], shown: &[usize], widths: &[usize], room: usize) -> String {
        let mut line = String::new();
        for (place, at) in shown.iter().enumerate() {
            let is_last = place + 1 == shown.len();
            if place > 0 {
                line.push(' ');
            }
            match is_last && !self.columns[*at].is_number {
                true => line.push_str(&cut(&texts[place], room.saturating_sub(width(&line)))),
                false => line.push_str(&fitted(&texts[place], widths[place], self.columns[*at].is_number)),
            }
        }
        cut(line.trim_end(), room)
    }
}

/// Absent numbers come last in either order.
fn order(a: &Cell, b: &Cell, is_number: bool, is_reversed: bool) -> Ordering {
    let order = match (is_number, a.value, b.value) {
        (true, Some(a), Some(b)) => b.total_cmp(&a),
        (true, Some(_), None) => return Ordering::Less,
        (true, None, Some(_)) => return Ordering::Greater,
        _ => a.text.cmp(&b.text),
    };
    if is_reversed { order.reverse() } else { order }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let row = |pid: f64, name: &str, age: Option<f64>| {
            let number = |value| Cell::number(value, |value| format!("{value}"));
            Row::new([number(Some(pid)), Cell::text(name), number(age), Cell::text(format!("SELECT {name}"))])
        };
        let rows = vec![row(10.0, "bob", None), row(9.0, "Ann", Some(1.5)), row(8.0, "carl", Some(30.0))];
        Table::new("T", [number("PID"), text("ROLE", 6), number("AGE"), text("STATEMENT", 80)], rows)
    }

    fn first(table: &Table) -> Vec<&str> {
        table.rows.iter().map(|row| row.cells[1].text.as_str()).collect()
    }

    #[test]
    fn numbers_are_sorted_as_numbers_and_absent_ones_come_last() {
        let mut table = table();
        table.sort(Some(0), false);
        assert_eq!(first(&table), ["bob", "Ann", "carl"], "10 is more than 9");
        table.sort(Some(2), false);
        assert_eq!(first(&table), ["carl", "Ann", "bob"]);
        table.sort(Some(2), true);
        assert_eq!(first(&table), ["Ann", "carl", "bob"]);
        table.sort(Some(1), false);
        assert_eq!(first(&table), ["Ann", "bob", "carl"]);
        table.sort(Some(99), true);
        assert_eq!(first(&table), ["carl", "bob", "Ann"], "no such column");
    }

    #[test]
    fn a_filter_keeps_rows_and_says_if_none_is_left() {
        let mut kept = table();
        kept.keep("select ANN");
        assert_eq!(first(&kept), ["Ann"]);
        kept.keep("dora");
        assert_eq!((kept.rows.len(), kept.notes.as_slice()), (0, &["no row has `dora`".to_owned()][..]));
        let mut tree = table();
        tree.is_tree = true;
        tree.rows[1].group = 1;
        tree.rows[2].group = 1;
        tree.keep("carl");
        assert_eq!(first(&tree), ["Ann", "carl"], "who blocks whom stays together");
    }

    #[test]
    fn lines_keep_to_the_width_and_mark_what_they_are_sorted_by() {
        let lines = table().lines(24, Some(2));
        let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "T",
                " PID ROLE  AGE* STATEME…",
                "  10 bob      – SELECT …",
                "   9 Ann    1.5 SELECT …",
                "   8 carl    30 SELECT …",
            ]
        );
        assert!(table().lines(3, None).iter().all(|line| width(&line.text) <= 3));
    }
}
