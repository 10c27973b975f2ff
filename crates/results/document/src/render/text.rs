//! The report as text for a terminal, at most 80 columns wide.

use super::unfold::unfolded;
use crate::{
    block::{Align, Block, Column, Doubt, Fact, Facts, Group, NO_DOUBT, Prose, Row, Section, Table, Tone},
    document::Document,
    layout::{self, GAP},
    phrase::Phrase,
    terminal::{Paint, WIDTH},
    wrap,
};

/// Indent of the content of sections.
pub(super) const INDENT: &str = "  ";

/// The whole report.
pub fn text(document: &Document, paint: Paint) -> String {
    let mut lines = vec![paint.bold(&wrap::cut(&document.heading.plain(), WIDTH))];
    let warning = document.warning.iter().flat_map(|warning| wrap::prose(&warning.plain(), WIDTH, "", ""));
    lines.extend(warning.map(|line| paint.warn(&line)));
    lines.push(String::new());
    lines.extend(blocks(&document.head, "", paint));
    for of in unfolded(&document.sections) {
        lines.push(String::new());
        lines.extend(section(&of, paint));
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A section below its heading.
pub(super) fn section(section: &Section, paint: Paint) -> Vec<String> {
    let title = paint.bold(&section.title.plain().to_uppercase());
    [title].into_iter().chain(blocks(&section.blocks, INDENT, paint)).collect()
}

/// Most lines of a fact among others.
const MOST_OF_FACT: usize = 3;

/// Facts below each other without a title, in few lines; those that may be cut take one.
pub(super) fn facts_in_lines(facts: &[Fact]) -> Vec<String> {
    let widest = facts.iter().map(|fact| wrap::length(&fact.label.plain())).max().unwrap_or(0);
    let next = " ".repeat(widest + GAP);
    let lines = facts.iter().flat_map(|fact| {
        let first = format!("{:<widest$}{:GAP$}", fact.label.plain(), "");
        let most = if fact.may_be_cut { 1 } else { MOST_OF_FACT };
        cut_after(wrap::prose(&fact.text.plain(), WIDTH, &first, &next), most)
    });
    lines.collect()
}

/// The first lines, with an ellipsis if there are more.
pub(super) fn cut_after(mut lines: Vec<String>, most: usize) -> Vec<String> {
    if lines.len() > most {
        lines.truncate(most);
        let last = lines.pop().unwrap_or_default();
        // In the place of the last word, if there is no room behind it.
        let room = wrap::cut_at_word(&last, WIDTH - 2);
        lines.push(format!("{} …", room.trim_end_matches(['…', ' '])));
    }
    lines
}

/// Blocks without a report around them.
pub fn of_blocks(all: &[Block]) -> String {
    blocks(all, "", Paint::Plain).iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Blocks in order, with an empty line before all but prose, which belongs to the preceding block.
pub(super) fn blocks(blocks: &[Block], indent: &str, paint: Paint) -> Vec<String> {
    let is_prose = |at: usize| matches!(blocks[at], Block::Prose(_));
    let apart = |at: usize| !is_prose(at) || (indent.is_empty() && !is_prose(at - 1));
    let lines = blocks.iter().enumerate().flat_map(|(at, of)| {
        let empty = (at > 0 && apart(at)).then(String::new);
        empty.into_iter().chain(block(of, indent, paint))
    });
    lines.collect()
}

fn block(block: &Block, indent: &str, paint: Paint) -> Vec<String> {
    match block {
        Block::Prose(of) => prose(of, indent, paint),
        Block::Table(of) => table(of, indent, paint),
        Block::Facts(of) => facts(of, indent, paint),
        Block::Chart(of) => wrap::prose(of.title, WIDTH, indent, indent),
        Block::Lanes(_) | Block::Flame(_) => Vec::new(),
        Block::Doubts(of) => doubts(of, indent, paint),
        Block::Code(of) => wrap::command(&of.plain(), WIDTH),
    }
}

fn prose(prose: &Prose, indent: &str, paint: Paint) -> Vec<String> {
    let lines = prose.sentences.iter().flat_map(|of| wrap::prose(&of.plain(), WIDTH, indent, indent));
    match prose.tone {
        Tone::Warning => lines.map(|line| paint.warn(&line)).collect(),
        Tone::Plain | Tone::Lead | Tone::Notes => lines.collect(),
    }
}

/// A table with group names above their rows, or within the rows if each group has one row and the width suffices.
fn table(table: &Table, indent: &str, paint: Paint) -> Vec<String> {
    let single = |group: &Group| group.rows.len() == 1 && group.note.is_empty();
    let fits = |table: &Table| {
        let lines = grouped(table, indent, Paint::Plain);
        lines.iter().all(|line| wrap::length(line) <= WIDTH)
    };
    let flat = table.groups.iter().all(single).then(|| table.flat()).filter(fits);
    grouped(flat.as_ref().unwrap_or(table), indent, paint)
}

/// A table with the same column widths in all groups.
fn grouped(table: &Table, indent: &str, paint: Paint) -> Vec<String> {
    if table.is_empty() {
        return Vec::new();
    }
    let aligns: Vec<Align> = table.columns.iter().map(|column| column.align).collect();
    let names: Vec<String> = table.columns.iter().map(|column| column.name.plain()).collect();
    let indent = if table.is_grouped() { INDENT } else { indent };
    let all: Vec<_> = [names.clone()].into_iter().chain(table.rows().map(texts)).collect();
    let widths = layout::widths(&aligns, &all, WIDTH - indent.len());
    let indented = |cells: &[String]| {
        let lines = layout::row(&aligns, &widths, cells).into_iter();
        lines.map(|line| format!("{indent}{line}")).collect::<Vec<_>>()
    };
    let over = over(&table.columns, &widths).map(|line| format!("{indent}{line}"));
    let head = over.into_iter().chain(indented(&names));
    let mut lines: Vec<String> = head.map(|line| paint.dim(&line)).collect();
    for group in &table.groups {
        lines.extend(group_name(group, paint));
        lines.extend(group.rows.iter().flat_map(|row| {
            let lines = indented(&texts(row)).into_iter();
            lines.map(|line| if row.warning { paint.warn(&line) } else { line })
        }));
    }
    lines
}

/// Common headings of neighbouring columns, centred; `None` without any.
fn over(columns: &[Column], widths: &[usize]) -> Option<String> {
    let columns: Vec<_> = columns.iter().zip(widths).collect();
    let spans = columns.chunk_by(|(a, _), (b, _)| !a.over.is_empty() && a.over == b.over);
    let spans = spans.map(|span| {
        let width = span.iter().map(|(_, width)| **width + GAP).sum::<usize>() - GAP;
        format!("{:^width$}", span[0].0.over)
    });
    let line = spans.collect::<Vec<_>>().join(&" ".repeat(GAP));
    (!line.trim().is_empty()).then(|| line.trim_end().to_owned())
}

/// The name of a group, followed by the remark, or with the remark below if it is long.
fn group_name(group: &Group, paint: Paint) -> Vec<String> {
    let (name, note) = (group.name.plain(), group.note.plain());
    let name = wrap::cut(&name, WIDTH);
    match () {
        () if name.is_empty() => Vec::new(),
        () if note.is_empty() => vec![paint.bold(&name)],
        () if wrap::length(&name) + GAP + wrap::length(&note) <= WIDTH => {
            vec![format!("{}  {}", paint.bold(&name), paint.dim(&wrap::plain(&note)))]
        }
        () => {
            let note = wrap::prose(&note, WIDTH, INDENT, INDENT);
            [paint.bold(&name)].into_iter().chain(note.iter().map(|line| paint.dim(line))).collect()
        }
    }
}

fn texts(row: &Row) -> Vec<String> {
    let cells = row.cells.iter();
    cells.map(|cell| cell.bar.map_or_else(|| cell.text.plain(), layout::bar)).collect()
}

fn facts(facts: &Facts, indent: &str, paint: Paint) -> Vec<String> {
    const ALIGNS: [Align; 2] = [Align::Wrap, Align::Wrap];
    let rows = facts.items.iter().map(|fact| vec![fact.label.plain(), fact.text.plain()]);
    let rows: Vec<_> = rows.collect();
    let widths = layout::widths(&ALIGNS, &rows, WIDTH - indent.len());
    let lines = rows.iter().flat_map(|row| layout::row(&ALIGNS, &widths, row));
    let title = (!facts.title.is_empty()).then(|| paint.bold(&facts.title.plain()));
    title.into_iter().chain(lines.map(|line| format!("{indent}{line}"))).collect()
}

fn doubts(doubts: &[Doubt], indent: &str, paint: Paint) -> Vec<String> {
    if doubts.is_empty() {
        return wrap::prose(NO_DOUBT, WIDTH, indent, indent);
    }
    let first = format!("{indent}! ");
    let next = format!("{indent}  ");
    let of = |doubt: &Doubt| {
        let title = format!("{}{}", doubt.title, concerned(doubt));
        let mut lines = wrap::prose(&title, WIDTH, &first, &next);
        lines.iter_mut().for_each(|line| *line = paint.warn(line));
        lines.extend(wrap::prose(&doubt.detail.plain(), WIDTH, &next, &next));
        lines.extend(wrap::prose(&doubt.advice.plain(), WIDTH, &format!("{next}→ "), &format!("{next}  ")));
        lines
    };
    doubts.iter().flat_map(of).collect()
}

/// Most cells named for a doubt; HTML and Markdown have all of them.
const CONCERNED: usize = 12;

/// ` (select-only/4, select-only/16)`, or empty if the doubt concerns the whole run.
pub fn concerned(doubt: &Doubt) -> String {
    let names = doubt.concerned.iter().take(CONCERNED).map(Phrase::plain).collect::<Vec<_>>().join(", ");
    match doubt.concerned.len() {
        0 => String::new(),
        few if few <= CONCERNED => format!(" ({names})"),
        many => format!(" ({names} and {} more)", many - CONCERNED),
    }
}
