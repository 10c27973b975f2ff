//! The sections of a report for forms that can neither fold nor draw.

use crate::{
    block::{Block, Section, Table},
    phrase::phrase,
};

/// The sections without charts. Of a long table the summary stays in its place, and the whole table comes at the end.
pub fn unfolded(sections: &[Section]) -> Vec<Section> {
    let mut below = Vec::new();
    let shown = sections.iter().filter(|section| !section.folded).map(|section| {
        let blocks = section.blocks.iter().flat_map(|block| match block {
            Block::Table(table) => in_place(section, table, &mut below),
            Block::Chart(_) => Vec::new(),
            other => vec![other.clone()],
        });
        Section { blocks: blocks.collect(), ..section.clone() }
    });
    let mut shown: Vec<Section> = shown.filter(|section| !section.blocks.is_empty()).collect();
    shown.append(&mut below);
    shown
}

/// A table, or its summary with the whole table below.
fn in_place(section: &Section, table: &Table, below: &mut Vec<Section>) -> Vec<Block> {
    let Some(summary) = table.first() else { return vec![Block::Table(table.clone())] };
    let title = phrase![section.title.clone(), ": all rows"];
    let remark = phrase!["The best of each; all rows stand at the end, under \"", title.clone(), "\"."];
    below.push(Section::new(title, vec![Block::Table(table.clone())]));
    vec![Block::Table(summary), Block::text(remark)]
}
