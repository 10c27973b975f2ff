//! The blocks of the page.

use maud::{Markup, PreEscaped, html};

use super::{flame, inline::phrase, lanes, svg};
use crate::{
    block::{Align, Block, Cell, Column, Doubt, Facts, Group, NO_DOUBT, Prose, Row, Table, Tone},
    chart::{COLOURS, Chart},
    phrase::Phrase,
};

/// Blocks of a section; neighbouring facts or charts are placed side by side.
pub(super) fn side_by_side(blocks: &[Block]) -> Markup {
    let kind = |block: &Block| match block {
        Block::Facts(facts) if !facts.title.is_empty() => "facts",
        Block::Chart(_) => "charts",
        _ => "",
    };
    html! {
        @for same in blocks.chunk_by(|a, b| kind(a) == kind(b)) {
            @match kind(&same[0]) {
                "" => { @for one in same { (block(one)) } },
                class => { div class=(class) { @for one in same { (block(one)) } } },
            }
        }
    }
}

pub(super) fn block(block: &Block) -> Markup {
    match block {
        Block::Prose(of) => prose(of),
        Block::Table(of) => folded(&of.clone().without_headings_of_single_rows()),
        Block::Facts(of) => facts(of),
        Block::Chart(of) => chart(of),
        Block::Lanes(of) => lanes::lanes(of),
        Block::Flame(of) => flame::flame(of),
        Block::Doubts(of) => doubts(of),
        Block::Code(of) => code(of),
    }
}

fn prose(prose: &Prose) -> Markup {
    html! {
        @match prose.tone {
            Tone::Plain => { @for one in &prose.sentences { p { (phrase(one)) } } },
            Tone::Lead => { @for one in &prose.sentences { p.lead { (phrase(one)) } } },
            Tone::Warning => {
                @for one in &prose.sentences { p.lead.standing { a href="#doubts" { (phrase(one)) } } }
            },
            Tone::Notes => { ul.method { @for one in &prose.sentences { li { (phrase(one)) } } } },
        }
    }
}

/// A table; a long one as its summary with all rows folded.
fn folded(whole: &Table) -> Markup {
    html! {
        @match whole.shown_in_place() {
            None => { @if !whole.is_empty() { (table(whole)) } },
            Some(first) => {
                @if !first.is_empty() { (table(&first)) }
                details { summary { "All rows" } (table(whole)) }
            },
        }
    }
}

fn table(table: &Table) -> Markup {
    html! {
        div.scroll tabindex="0" {
            table {
                thead data-fixed {
                    @if table.columns.iter().any(|column| !column.over.is_empty()) { (over(&table.columns)) }
                    tr {
                        @for column in &table.columns {
                            th class=[class(column)] scope="col" { (phrase(&column.name)) }
                        }
                    }
                }
                @for group in &table.groups { (rows(group, &table.columns)) }
            }
        }
    }
}

/// Common headings of neighbouring columns.
fn over(columns: &[Column]) -> Markup {
    html! {
        tr.spans {
            @for span in columns.chunk_by(|a, b| !a.over.is_empty() && a.over == b.over) {
                th colspan=(span.len()) { (span[0].over) }
            }
        }
    }
}

fn rows(group: &Group, columns: &[Column]) -> Markup {
    html! {
        tbody {
            @if !group.name.is_empty() {
                tr.group {
                    th colspan=(columns.len()) scope="rowgroup" {
                        (phrase(&group.name)) @if !group.note.is_empty() { span.note { (phrase(&group.note)) } }
                    }
                }
            }
            @for row in &group.rows { (one_row(row, columns)) }
        }
    }
}

fn one_row(row: &Row, columns: &[Column]) -> Markup {
    html! {
        tr.warning[row.warning] {
            @for (cell, column) in row.cells.iter().zip(columns) { td class=[class(column)] { (within(cell)) } }
        }
    }
}

fn within(cell: &Cell) -> Markup {
    html! {
        @match cell.bar {
            Some(share) => div.bar style={ "width:" (format!("{:.2}", share * 100.0)) "%" } {},
            None => (phrase(&cell.text)),
        }
        @for more in &cell.more { span.range { (phrase(more)) } }
    }
}

fn class(column: &Column) -> Option<&'static str> {
    match column.align {
        Align::Right => None,
        Align::Left => Some("word"),
        Align::Wrap => Some("word wrap"),
    }
}

fn facts(facts: &Facts) -> Markup {
    let items = html! {
        @for fact in &facts.items { div { dt { (phrase(&fact.label)) } dd { (phrase(&fact.text)) } } }
    };
    html! {
        @if facts.title.is_empty() { dl.checks { (items) } }
        @else { section { h3 { (phrase(&facts.title)) } dl.checks { (items) } } }
    }
}

fn doubts(doubts: &[Doubt]) -> Markup {
    html! {
        @if doubts.is_empty() { p.fine #doubts { (NO_DOUBT) } }
        @else { ul.doubts #doubts { @for doubt in doubts { (one_doubt(doubt)) } } }
    }
}

fn one_doubt(doubt: &Doubt) -> Markup {
    html! {
        li.severe[doubt.severe] {
            strong { (doubt.title) }
            @if !doubt.concerned.is_empty() {
                span.cells {
                    @for (index, one) in doubt.concerned.iter().enumerate() {
                        @if index > 0 { ", " } (phrase(one))
                    }
                }
            }
            p { (phrase(&doubt.detail)) }
            p.advice { (phrase(&doubt.advice)) }
        }
    }
}

fn chart(chart: &Chart) -> Markup {
    let drawing = svg::draw(chart);
    // `</script>` within the data would end it.
    let data = chart.data(drawing.place).to_string().replace('<', "\\u003c");
    html! {
        figure.wide[chart.wide] id=(chart.id) {
            figcaption {
                span { (chart.title) }
                @if !chart.legend.is_empty() {
                    span.legend data-fixed {
                        @for (series, name) in &chart.legend {
                            span { i class={ "c" (series % COLOURS) } {} (name) }
                        }
                    }
                }
                span.axes { (chart.note) }
            }
            div.canvas { (drawing.picture) }
            output {}
            script.stops type="application/json" { (PreEscaped(data)) }
        }
    }
}

fn code(command: &Phrase) -> Markup {
    html! {
        div.again {
            pre #command { (phrase(command)) }
            button #copy type="button" hidden { "Copy" }
        }
    }
}
