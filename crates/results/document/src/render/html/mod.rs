//! The report as one self-contained HTML file, without network access or other files.

mod blocks;
mod flame;
mod inline;
mod lanes;
mod svg;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use self::{
    blocks::{block, side_by_side},
    inline::phrase,
};
use crate::document::Document;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
const LANES_SCRIPT: &str = include_str!("lanes.js");
/// Content security policy that blocks all requests.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      base-uri 'none'; \
                      form-action 'none'";

/// Mark in the first kilobyte of every report written by [`html`], which identifies it.
pub const HTML_MARK: &str = r#"<meta name="generator" content="pgdyno">"#;

/// The whole report as HTML.
///
/// Every value of the run is in an element with `data-src` (its JSON pointer in `run.json`), `data-value` (the recorded
/// value), `data-format` and, for a share, `data-of` (pointer of the whole); charts have the same for each point. The
/// charts over time name for each series the stream, the kind of its lines and the field, such as
/// `observations#/host/all/user`. Text in `data-fixed` elements comes from pgdyno, not from the run.
pub fn html(document: &Document) -> String {
    let title = format!("pgdyno: {}", document.heading.plain());
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="generator" content="pgdyno";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main { (top(document)) (sections(document)) footer { (phrase(&document.foot)) } }
                script { (PreEscaped(SCRIPT)) (PreEscaped(LANES_SCRIPT)) }
            }
        }
    };
    page.into_string()
}

fn top(document: &Document) -> Markup {
    html! {
        header {
            div.top {
                div { span.brand { "pgdyno" } span.mono { (phrase(&document.id)) } }
                button #theme type="button" hidden { "Dark" }
            }
            h1 { (phrase(&document.title)) }
            p.sub { (phrase(&document.heading)) }
            @if let Some(warning) = &document.warning { p.banner { (phrase(warning)) } }
            @for one in &document.head { (block(one)) }
        }
        dl.keys {
            @for card in &document.cards {
                div.key {
                    dt { (phrase(&card.label)) }
                    dd.big { (phrase(&card.text)) }
                    dd.more { @for remark in &card.remarks { span { (phrase(remark)) } } }
                }
            }
        }
    }
}

fn sections(document: &Document) -> Markup {
    html! {
        @for section in &document.sections {
            @if section.folded {
                details {
                    summary { (phrase(&section.title)) }
                    @for one in &section.blocks { (block(one)) }
                }
            } @else {
                h2 id=[section.anchor] { (phrase(&section.title)) }
                (side_by_side(&section.blocks))
            }
        }
    }
}
