//! What a report is made of: sections of blocks. Whoever writes a form of the report knows these and nothing of what
//! they say.

use crate::{chart::Chart, phrase::Phrase};

/// A section of the report.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Heading of the section.
    pub title: Phrase,
    /// Blocks of the section in order.
    pub blocks: Vec<Block>,
    /// Whether only forms that can fold a section away show it.
    pub folded: bool,
}

impl Section {
    /// A section under a heading.
    pub fn new(title: impl Into<Phrase>, blocks: Vec<Block>) -> Self {
        Self { title: title.into(), blocks, folded: false }
    }
}

/// One of the six kinds of block.
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
    /// Reasons to distrust the result. No form may leave one out.
    Doubts(Vec<Doubt>),
    /// A command line.
    Code(Phrase),
}

/// Sentences that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Prose {
    /// The sentences; the first is the most important.
    pub sentences: Vec<Phrase>,
    /// How loud the sentences are.
    pub tone: Tone,
}

/// How loud a text is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tone {
    /// Running text.
    #[default]
    Plain,
    /// What the reader came for.
    Lead,
    /// A warning.
    Warning,
    /// A list of remarks.
    Notes,
}

impl Block {
    /// Prose in a tone; `None` where there is no sentence.
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
    /// Heading of the facts; empty where that of the section suffices.
    pub title: Phrase,
    /// The facts in order.
    pub items: Vec<Fact>,
}

/// A fact and what it is called.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// Name of the fact.
    pub label: Phrase,
    /// The fact.
    pub text: Phrase,
    /// Remarks on it, for forms that have room for a card.
    pub remarks: Vec<Phrase>,
    /// Whether a form with little room may leave out its end.
    pub may_be_cut: bool,
}

impl Fact {
    /// A fact without remarks, to be shown as a whole.
    pub fn new(label: impl Into<Phrase>, text: impl Into<Phrase>) -> Self {
        Self { label: label.into(), text: text.into(), remarks: Vec::new(), may_be_cut: false }
    }
}

/// A reason to distrust the result.
#[derive(Debug, Clone, PartialEq)]
pub struct Doubt {
    /// Name of the doubt.
    pub title: &'static str,
    /// What it concerns, one by one; empty is everything.
    pub concerned: Vec<Phrase>,
    /// What was seen.
    pub detail: Phrase,
    /// What to do about it.
    pub advice: Phrase,
    /// Whether it makes the numbers useless.
    pub severe: bool,
}

/// What is said where there is no doubt.
pub const NO_DOUBT: &str = "None: pgdyno knows no reason to distrust this result.";

/// Rows under columns, in groups.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// What a group is, for forms that give its name a column of its own.
    pub group_name: &'static str,
    /// The columns in order.
    pub columns: Vec<Column>,
    /// The groups in order; of a table without groups one without a name.
    pub groups: Vec<Group>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// What several neighbouring columns have in common, above their names; empty where there is nothing.
    pub over: &'static str,
    /// Name of the column.
    pub name: Phrase,
    /// How its cells stand.
    pub align: Align,
}

/// How the cells of a column stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words, to the left, on one line.
    Left,
    /// Numbers, to the right.
    Right,
    /// Text, to the left, on several lines where it is long.
    Wrap,
}

/// Rows that belong together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Group {
    /// Name of the group; empty where there is one only.
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
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// What stands in it.
    pub text: Phrase,
    /// Further lines, for forms that have room for them.
    pub more: Vec<Phrase>,
    /// A share from 0 to 1, drawn as a bar in place of the text.
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

    /// The cell with further lines, for forms that have room for them.
    #[must_use]
    pub fn with(mut self, more: impl IntoIterator<Item = Phrase>) -> Self {
        self.more.extend(more);
        self
    }
}

impl Row {
    /// A row that is part of the summary or not.
    pub fn new(main: bool, cells: impl IntoIterator<Item = Cell>) -> Self {
        Self { cells: cells.into_iter().collect(), main, warning: false }
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

    /// The column below a heading that it shares with its neighbours.
    #[must_use]
    pub fn under(self, over: &'static str) -> Self {
        Self { over, ..self }
    }

    /// The heading on one line.
    pub fn label(&self) -> String {
        format!("{} {}", self.over, self.name.plain()).trim().to_owned()
    }
}

/// Rows from which on a table is long.
const LONG: usize = 30;

impl Table {
    /// A table without groups.
    pub fn new(columns: Vec<Column>, rows: Vec<Row>) -> Self {
        Self { group_name: "", columns, groups: vec![Group { rows, ..Group::default() }] }
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

    /// The table with the names of its groups in a column of their own, for forms without headings between rows.
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

    /// The rows of the summary alone, without remarks; `None` where they are all rows, or none.
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

    /// The summary of a long table, which is shown first with the whole table folded or below; `None` of a short one.
    pub fn first(&self) -> Option<Self> {
        if self.rows().count() < LONG { None } else { self.summary() }
    }
}
