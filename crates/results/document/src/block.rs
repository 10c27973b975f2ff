//! Sections and blocks of a report. The renderers know these and nothing about their content.

use std::{cmp::Reverse, collections::BTreeSet, sync::Arc};

use crate::{chart::Chart, flame::Flame, lanes::Lanes, phrase::Phrase};

/// A section of the report.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Heading of the section.
    pub title: Phrase,
    /// Blocks of the section in order.
    pub blocks: Vec<Block>,
    /// Whether only forms that can fold sections show it.
    pub folded: bool,
    /// What links within a page call it.
    pub anchor: Option<&'static str>,
}

impl Section {
    /// A section under a heading.
    pub fn new(title: impl Into<Phrase>, blocks: Vec<Block>) -> Self {
        Self { title: title.into(), blocks, folded: false, anchor: None }
    }
}

/// One of the eight kinds of block.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Sentences.
    Prose(Prose),
    /// Rows under columns.
    Table(Table),
    /// Facts, each with a label.
    Facts(Facts),
    /// A chart; forms of plain text leave it out.
    Chart(Chart),
    /// Charts with one time axis; forms of plain text leave them out.
    Lanes(Arc<Lanes>),
    /// A flame graph; forms of plain text leave it out.
    Flame(Arc<Flame>),
    /// Reasons to distrust the result. No form may omit one.
    Doubts(Vec<Doubt>),
    /// A command line.
    Code(Phrase),
}

/// Sentences that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Prose {
    /// The sentences; the first is the most important.
    pub sentences: Vec<Phrase>,
    /// Emphasis of the sentences.
    pub tone: Tone,
}

/// Emphasis of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tone {
    /// Plain text.
    #[default]
    Plain,
    /// The main results.
    Lead,
    /// A warning.
    Warning,
    /// A list of remarks.
    Notes,
}

impl Block {
    /// Prose in a tone; `None` without a sentence.
    pub fn prose(tone: Tone, sentences: Vec<Phrase>) -> Option<Self> {
        (!sentences.is_empty()).then_some(Self::Prose(Prose { sentences, tone }))
    }

    /// A paragraph of one sentence or more.
    pub fn text(sentence: impl Into<Phrase>) -> Self {
        Self::Prose(Prose { sentences: vec![sentence.into()], tone: Tone::Plain })
    }

    /// Facts without a title.
    pub fn facts(items: Vec<Fact>) -> Self {
        Self::Facts(Facts { title: Phrase::default(), items })
    }
}

/// Facts under a title, which may be empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// Heading of the facts; empty if the heading of the section suffices.
    pub title: Phrase,
    /// The facts in order.
    pub items: Vec<Fact>,
}

/// A fact with a label.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// Name of the fact.
    pub label: Phrase,
    /// The fact.
    pub text: Phrase,
    /// Remarks on it, for forms that have room for a card.
    pub remarks: Vec<Phrase>,
    /// Whether the short report may cut the end of the fact.
    pub may_be_cut: bool,
}

impl Fact {
    /// A fact without remarks that may not be cut.
    pub fn new(label: impl Into<Phrase>, text: impl Into<Phrase>) -> Self {
        Self { label: label.into(), text: text.into(), remarks: Vec::new(), may_be_cut: false }
    }
}

/// A reason to distrust the result.
#[derive(Debug, Clone, PartialEq)]
pub struct Doubt {
    /// Name of the doubt.
    pub title: &'static str,
    /// The cells concerned; empty for the whole run.
    pub concerned: Vec<Phrase>,
    /// The finding.
    pub detail: Phrase,
    /// The advice.
    pub advice: Phrase,
    /// Whether the doubt makes the numbers useless.
    pub severe: bool,
}

/// Sentence of a run without doubts.
pub const NO_DOUBT: &str = "None: pgdyno knows no reason to distrust this result.";

/// Rows under columns, in groups.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// Heading of the column of group names, for forms that have one.
    pub group_name: &'static str,
    /// The columns in order.
    pub columns: Vec<Column>,
    /// The groups in order; a table without groups has one without a name.
    pub groups: Vec<Group>,
    /// Whether the head of the report already shows the summary.
    pub summary_in_head: bool,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Common heading of several neighbouring columns; may be empty.
    pub over: &'static str,
    /// Name of the column.
    pub name: Phrase,
    /// Alignment of the cells.
    pub align: Align,
}

/// Alignment of the cells of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words on one line, left-aligned.
    Left,
    /// Numbers, right-aligned.
    Right,
    /// Text, left-aligned, on several lines if necessary.
    Wrap,
}

/// Rows that belong together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Group {
    /// Name of the group; empty if there is only one.
    pub name: Phrase,
    /// A remark on the group; may be empty.
    pub note: Phrase,
    /// The rows in order.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// A cell for every column.
    pub cells: Vec<Cell>,
    /// Whether the row is part of the table's summary.
    pub main: bool,
    /// Whether the row is a warning.
    pub warning: bool,
    /// How much the row says: of a table that is cut, the rows with the largest weights stay.
    pub weight: u8,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Content of the cell.
    pub text: Phrase,
    /// Further lines, shown by forms with enough space.
    pub more: Vec<Phrase>,
    /// A share from 0 to 1, drawn as a bar instead of the text.
    pub bar: Option<f64>,
}

impl<P: Into<Phrase>> From<P> for Cell {
    fn from(text: P) -> Self {
        Self { text: text.into(), more: Vec::new(), bar: None }
    }
}

impl Cell {
    /// A bar of a share from 0 to 1.
    pub fn bar(share: f64) -> Self {
        Self { bar: Some(share), ..Self::from("") }
    }

    /// The cell with further lines, shown by forms with enough space.
    #[must_use]
    pub fn with(mut self, more: impl IntoIterator<Item = Phrase>) -> Self {
        self.more.extend(more);
        self
    }
}

impl Row {
    /// A row, `main` if it is part of the summary.
    pub fn new(main: bool, cells: impl IntoIterator<Item = Cell>) -> Self {
        Self { cells: cells.into_iter().collect(), main, warning: false, weight: u8::from(main) }
    }
}

impl Column {
    /// A column of numbers.
    pub fn number(name: impl Into<Phrase>) -> Self {
        Self { over: "", name: name.into(), align: Align::Right }
    }

    /// A column of words on one line.
    pub fn words(name: impl Into<Phrase>) -> Self {
        Self { align: Align::Left, ..Self::number(name) }
    }

    /// A column of text that may take several lines.
    pub fn text(name: impl Into<Phrase>) -> Self {
        Self { align: Align::Wrap, ..Self::number(name) }
    }

    /// The column below a heading shared with its neighbours.
    #[must_use]
    pub fn under(self, over: &'static str) -> Self {
        Self { over, ..self }
    }

    /// The heading on one line.
    pub fn label(&self) -> String {
        format!("{} {}", self.over, self.name.plain()).trim().to_owned()
    }
}

/// Weight of a row with a warning.
const WARNING: u8 = 4;

/// Fewest rows of a long table.
const LONG: usize = 30;

impl Table {
    /// A table without groups.
    pub fn new(columns: Vec<Column>, rows: Vec<Row>) -> Self {
        Self { columns, groups: vec![Group { rows, ..Group::default() }], ..Self::default() }
    }

    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.groups.iter().flat_map(|group| &group.rows)
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows().next().is_none()
    }

    /// Whether groups have names.
    pub fn is_grouped(&self) -> bool {
        self.groups.iter().any(|group| !group.name.is_empty())
    }

    /// The table with a column of group names, for forms without headings between rows.
    #[must_use]
    pub fn flat(&self) -> Self {
        if !self.is_grouped() {
            return self.clone();
        }
        let columns = [Column::text(self.group_name)].into_iter().chain(self.columns.iter().cloned());
        let rows = self.groups.iter().flat_map(|group| {
            let named = |row: &Row| {
                let cells = [group.name.clone().into()].into_iter().chain(row.cells.iter().cloned());
                Row { cells: cells.collect(), ..*row }
            };
            group.rows.iter().map(named)
        });
        Self::new(columns.collect(), rows.collect())
    }

    /// The table with a column of group names if a heading above each row would take as much room as the rows. Remarks
    /// are further lines below the names.
    #[must_use]
    pub fn without_headings_of_single_rows(self) -> Self {
        if self.groups.len() < 2 || self.groups.iter().any(|group| group.rows.len() != 1) {
            return self;
        }
        let mut flat = self.flat();
        let rows = flat.groups.iter_mut().flat_map(|group| &mut group.rows);
        for (row, group) in rows.zip(self.groups) {
            row.cells[0].more.extend((!group.note.is_empty()).then_some(group.note));
        }
        flat
    }

    /// The summary rows without remarks; `None` if they are all rows, or if there are none.
    pub fn summary(&self) -> Option<Self> {
        let main = self.rows().filter(|row| row.main).count();
        if main == 0 || main == self.rows().count() {
            return None;
        }
        let of = |group: &Group| {
            let rows = group.rows.iter().filter(|row| row.main).cloned().collect();
            Group { name: group.name.clone(), rows, ..Group::default() }
        };
        let groups = self.groups.iter().map(of).filter(|group| !group.rows.is_empty()).collect();
        Some(Self { groups, ..self.clone() })
    }

    /// This many rows that say most, in the order of the table.
    #[must_use]
    pub fn most_telling(&self, rows: usize) -> Self {
        let mut by_weight: Vec<usize> = (0..self.rows().count()).collect();
        let weights: Vec<u8> =
            self.rows().map(|row| row.weight.max(u8::from(row.warning) * WARNING)).collect();
        by_weight.sort_by_key(|row| Reverse(weights[*row]));
        let kept: BTreeSet<usize> = by_weight.into_iter().take(rows).collect();
        let mut at = 0;
        let mut of = |group: &Group| {
            let first = at;
            at += group.rows.len();
            let rows = group.rows.iter().enumerate().filter(|(row, _)| kept.contains(&(first + row)));
            Group { rows: rows.map(|(_, row)| row.clone()).collect(), ..group.clone() }
        };
        let groups: Vec<_> = self.groups.iter().map(&mut of).collect();
        let groups = groups.into_iter().filter(|group| !group.rows.is_empty()).collect();
        Self { groups, ..self.clone() }
    }

    /// The part of a long table that is shown in its place, while the whole table is folded or at the end of the
    /// report: the summary, or nothing if the head shows it. `None` for a short table.
    pub fn shown_in_place(&self) -> Option<Self> {
        match self.rows().count() < LONG {
            true => None,
            false if self.summary_in_head => Some(Self { groups: Vec::new(), ..self.clone() }),
            false => self.summary(),
        }
    }
}
