//! The sections of a report for plain-text forms, which can neither fold nor draw.

use crate::{
    block::{Block, Section, Table},
    phrase::phrase,
};

/// The sections without charts. Long tables are moved to the end; their place has the summary.
pub fn unfolded(sections: &[Section]) -> Vec<Section> {
    let mut below = Vec::new();
    let shown = sections.iter().filter(|section| !section.folded).map(|section| {
        let blocks = section.blocks.iter().flat_map(|block| match block {
            Block::Table(table) => in_place(section, table, &mut below),
            Block::Chart(_) | Block::Lanes(_) | Block::Flame(_) => Vec::new(),
            other => vec![other.clone()],
        });
        Section { blocks: blocks.collect(), ..section.clone() }
    });
    let mut shown: Vec<Section> = shown.filter(|section| !section.blocks.is_empty()).collect();
    shown.append(&mut below);
    shown
}

/// A table, or its summary with a reference to the whole table at the end.
fn in_place(section: &Section, table: &Table, below: &mut Vec<Section>) -> Vec<Block> {
    let Some(summary) = table.shown_in_place() else { return vec![Block::Table(table.clone())] };
    let title = phrase![section.title.clone(), ": all rows"];
    let best = if summary.is_empty() { "The head has the best levels" } else { "Some rows only" };
    let remark = phrase![best, "; all rows are at the end, under \"", title.clone(), "\"."];
    below.push(Section::new(title, vec![Block::Table(table.clone())]));
    let summary = (!summary.is_empty()).then_some(Block::Table(summary));
    summary.into_iter().chain([Block::text(remark)]).collect()
}
