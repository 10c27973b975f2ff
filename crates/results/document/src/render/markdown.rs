//! The report as Markdown, for an issue or a wiki.

use super::unfold::unfolded;
use crate::{
    block::{Align, Block, Cell, Column, Doubt, Facts, NO_DOUBT, Prose, Section, Table, Tone},
    document::Document,
    layout,
    phrase::{Phrase, Piece},
};

/// The whole report.
pub fn markdown(document: &Document) -> String {
    let mut out = vec![format!("# {}", said(&document.heading))];
    out.extend(document.warning.iter().map(|warning| format!("> **{}**", said(warning))));
    out.extend(document.head.iter().map(block));
    out.extend(unfolded(&document.sections).iter().map(section));
    out.join("\n\n") + "\n"
}

fn section(section: &Section) -> String {
    let blocks = section.blocks.iter().map(block);
    [format!("## {}", said(&section.title))].into_iter().chain(blocks).collect::<Vec<_>>().join("\n\n")
}

fn block(block: &Block) -> String {
    match block {
        Block::Prose(of) => prose(of),
        Block::Table(of) => table(of),
        Block::Facts(of) => facts(of),
        Block::Chart(of) => escaped(of.title),
        Block::Lanes(_) | Block::Flame(_) => String::new(),
        Block::Doubts(of) => doubts(of),
        Block::Code(of) => fenced(&of.plain()),
    }
}

fn prose(prose: &Prose) -> String {
    let mark = |sentence: &Phrase| match prose.tone {
        Tone::Notes => format!("- {}", said(sentence)),
        Tone::Warning => format!("**{}**", said(sentence)),
        Tone::Plain | Tone::Lead => said(sentence),
    };
    prose.sentences.iter().map(mark).collect::<Vec<_>>().join("\n")
}

/// A table with a column of group names, and a list of remarks on groups above.
fn table(table: &Table) -> String {
    let notes = table.groups.iter().filter(|group| !group.note.is_empty());
    let notes: Vec<_> =
        notes.map(|group| format!("- {}: {}", said(&group.name), said(&group.note))).collect();
    let notes = if notes.is_empty() { String::new() } else { notes.join("\n") + "\n\n" };
    let table = table.flat();
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let names = line(table.columns.iter().map(|column| escaped(&column.label())).collect());
    let rule = |column: &Column| if column.align == Align::Right { "---:".into() } else { "---".into() };
    let rules = line(table.columns.iter().map(rule).collect());
    let rows = table.rows().map(|row| line(row.cells.iter().map(|one| cell(one, row.warning)).collect()));
    notes + &[names, rules].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

fn cell(cell: &Cell, warning: bool) -> String {
    let text = match cell.bar {
        Some(share) => layout::bar(share),
        None => said(&cell.text),
    };
    if warning && !text.is_empty() { format!("**{text}**") } else { text }
}

fn facts(facts: &Facts) -> String {
    let title =
        if facts.title.is_empty() { String::new() } else { format!("### {}\n\n", said(&facts.title)) };
    let items = facts.items.iter().map(|fact| format!("| {} | {} |", said(&fact.label), said(&fact.text)));
    format!("{title}| | |\n|---|---|\n{}", items.collect::<Vec<_>>().join("\n"))
}

fn doubts(doubts: &[Doubt]) -> String {
    let line = |doubt: &Doubt| {
        let concerned: Vec<_> = doubt.concerned.iter().map(said).collect();
        let concerned =
            if concerned.is_empty() { String::new() } else { format!(" ({})", concerned.join(", ")) };
        let (title, detail, advice) = (escaped(doubt.title), said(&doubt.detail), said(&doubt.advice));
        format!("- **{title}**{concerned}: {detail} *{advice}*")
    };
    if doubts.is_empty() { NO_DOUBT.into() } else { doubts.iter().map(line).collect::<Vec<_>>().join("\n") }
}

/// A phrase as Markdown.
fn said(phrase: &Phrase) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Fixed(text) => (*text).to_owned(),
        Piece::Text(text) => escaped(text),
        Piece::Figure(figure) => escaped(&figure.text),
    };
    phrase.0.iter().map(piece).collect()
}

/// Escapes a text for Markdown.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' => out.extend(['\\', c]),
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A code block whose fence is longer than any run of backticks within.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}sh\n{text}\n{fence}")
}
