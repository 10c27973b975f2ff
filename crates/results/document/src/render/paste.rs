//! The short report for e-mail: at most 25 lines of at most 80 columns.

use pgdyno_core::units::plural;

use super::text::concerned;
use crate::{
    block::{Align, Block, Doubt, Facts, Row, Table},
    document::Document,
    layout,
    phrase::Phrase,
    terminal::WIDTH,
    wrap,
};

const LINES: usize = 25;
/// Where omitted sentences are.
const WHOLE: &str = "in the full report";
/// Largest width of names at the beginning of a row, because numbers matter more.
const WIDEST_NAME: usize = 18;

/// Lines reserved for a table: heading, two rows, and the number of omitted rows.
const LEAST_OF_TABLE: usize = 4;

/// What is shortened if lines are scarce.
#[derive(Debug, Clone, Copy)]
struct Short {
    /// Tables to their summaries.
    tables: bool,
    /// Doubts to their names.
    doubts: bool,
}

/// In the order of shortening.
const SHORTER: [Short; 4] = [
    Short { tables: false, doubts: false },
    Short { tables: false, doubts: true },
    Short { tables: true, doubts: false },
    Short { tables: true, doubts: true },
];
const SHORTEST: Short = SHORTER[SHORTER.len() - 1];

/// The short report: results, tables, all doubts, and the exact command that repeats the run.
///
/// If 25 lines do not suffice, sentences at the end are omitted first, then rows of tables (except the summary, or the
/// first rows of a long one), then the details of doubts. No doubt is omitted, no sentence is cut, and the command is
/// never shortened (one of more than 1,000 characters takes more lines).
pub fn paste(document: &Document) -> String {
    let heading = wrap::cut(&format!("pgdyno {}", document.heading.plain()), WIDTH);
    let brief = &document.brief;
    let room = LINES - 1;
    let prose = prose_lines(brief, room.saturating_sub(lines(brief, SHORTEST, 0, LEAST_OF_TABLE).len()));
    let fits = |short: &&Short| lines(brief, **short, prose, usize::MAX).len() <= room;
    let short = *SHORTER.iter().find(fits).unwrap_or(&SHORTEST);
    let without_tables = lines(brief, short, prose, 0).len();
    let lines = lines(brief, short, prose, room.saturating_sub(without_tables));
    [heading].into_iter().chain(lines).map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Lines available for sentences, out of this number of lines.
fn prose_lines(blocks: &[Block], room: usize) -> usize {
    let lines = blocks.iter().map(|block| match block {
        Block::Prose(prose) => fitting(&prose.sentences, room, WHOLE).len(),
        _ => 0,
    });
    lines.sum()
}

/// All blocks, with these numbers of lines for sentences and tables.
fn lines(blocks: &[Block], short: Short, prose: usize, mut tables: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for block in blocks {
        match block {
            Block::Prose(of) => lines.extend(fitting(&of.sentences, prose, WHOLE)),
            Block::Table(of) => {
                let own = table(of, short.tables, tables);
                tables -= own.len();
                lines.extend(own);
            }
            Block::Facts(of) => lines.extend(facts(of)),
            Block::Chart(_) | Block::Lanes(_) | Block::Flame(_) => {}
            Block::Doubts(of) if short.doubts => lines.extend(doubts_in_names(of)),
            Block::Doubts(of) => lines.extend(doubts(of)),
            Block::Code(of) => {
                lines.push("again:".into());
                lines.extend(wrap::command(&of.plain(), WIDTH));
            }
        }
    }
    lines
}

/// A sentence as a whole.
fn sentence(text: &str) -> Vec<String> {
    wrap::prose(text, WIDTH, "", "  ")
}

/// As many whole sentences as fit, including the line with the number of omitted ones, and where these are.
pub(super) fn fitting(sentences: &[Phrase], room: usize, whole: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for (at, text) in sentences.iter().enumerate() {
        let left = sentences.len() - at;
        let more = usize::from(left > 1);
        let next = sentence(&text.plain());
        if lines.len() + next.len() + more > room {
            if lines.len() < room {
                lines.push(format!("({} {whole})", plural(left as u64, "more sentence")));
            }
            break;
        }
        lines.extend(next);
    }
    lines
}

/// A table with a column of group names, as many rows as fit.
fn table(whole: &Table, short: bool, room: usize) -> Vec<String> {
    let summary = whole.summary().filter(|_| short);
    let rows = laid_out(summary.as_ref().unwrap_or(whole));
    let total = whole.rows().count();
    let (mut lines, mut shown) = (Vec::new(), 0);
    for (at, row) in rows.iter().enumerate() {
        let more = usize::from(at < total);
        if lines.len() + row.len() + more > room {
            break;
        }
        lines.extend(row.iter().cloned());
        shown = at;
    }
    if shown == 0 {
        lines.clear();
    }
    if shown < total && lines.len() < room {
        let best = if summary.is_some() { "best rows only; " } else { "" };
        let left = plural((total - shown) as u64, "more row");
        lines.push(format!("({best}{left} in the full report)"));
    }
    lines
}

/// The heading of a table and its rows, each in its lines; nothing without a row.
fn laid_out(table: &Table) -> Vec<Vec<String>> {
    if table.is_empty() {
        return Vec::new();
    }
    // A single name does not need a column: it becomes the heading of the rows.
    let alone = table.groups.len() == 1 && table.columns[0].align == Align::Wrap && table.is_grouped();
    let flat = if alone { table.clone() } else { table.flat() };
    let mut head: Vec<String> = flat.columns.iter().map(|column| column.label()).collect();
    if alone {
        head[0] = table.groups[0].name.plain();
    }
    let texts = |row: &Row| {
        let mut texts: Vec<String> = row.cells.iter().map(|cell| cell.text.plain()).collect();
        texts[0] = wrap::cut(&texts[0], WIDEST_NAME);
        texts
    };
    let rows: Vec<_> = [head].into_iter().chain(flat.rows().map(texts)).collect();
    let aligns: Vec<_> = flat.columns.iter().map(|column| column.align).collect();
    let widths = layout::widths(&aligns, &rows, WIDTH);
    let cut = |row: &Vec<String>| {
        let lines = layout::row(&aligns, &widths, row);
        lines.iter().map(|line| wrap::cut(line, WIDTH)).collect()
    };
    rows.iter().map(cut).collect()
}

fn facts(facts: &Facts) -> Vec<String> {
    let lines = facts.items.iter().flat_map(|fact| {
        let text = wrap::plain(&format!("{}: {}", fact.label.plain(), fact.text.plain()));
        if fact.may_be_cut { vec![wrap::cut(&text, WIDTH)] } else { sentence(&text) }
    });
    lines.collect()
}

fn doubts(doubts: &[Doubt]) -> Vec<String> {
    if doubts.is_empty() {
        return vec!["doubts: none".into()];
    }
    let heading = format!("doubts ({}):", doubts.len());
    let lines = doubts.iter().flat_map(with_detail);
    [heading].into_iter().chain(lines).collect()
}

/// A doubt with what was found, without advice.
pub(super) fn with_detail(doubt: &Doubt) -> Vec<String> {
    let text = format!("{}{}: {}", doubt.title, concerned(doubt), doubt.detail.plain());
    wrap::prose(&text, WIDTH, "  ! ", "    ")
}

fn doubts_in_names(doubts: &[Doubt]) -> Vec<String> {
    if doubts.is_empty() {
        return vec!["doubts: none".into()];
    }
    // Several subjects may have the same one.
    let mut names: Vec<(&str, usize)> = Vec::new();
    for doubt in doubts {
        match names.iter_mut().find(|(title, _)| *title == doubt.title) {
            Some((_, count)) => *count += 1,
            None => names.push((doubt.title, 1)),
        }
    }
    let name = |&(title, count): &(&str, usize)| {
        let name = if count == 1 { title.to_owned() } else { format!("{title} ({count})") };
        name.replace(' ', "\u{a0}")
    };
    let names: Vec<_> = names.iter().map(name).collect();
    sentence(&format!("doubts ({}): {}", doubts.len(), names.join(" · ")))
}
