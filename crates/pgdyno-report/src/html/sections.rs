//! The sections of the page from top to bottom.

use maud::{Markup, PreEscaped, html};

use super::inline::{figure, phrase};
use crate::{
    chart::{Chart, charts, of_comparison, of_subjects},
    comparison::ComparisonView,
    document::{AGAIN, Document, DoubtView, Group, Row},
    figure::{Figure, Format},
    subjects::{ScriptLevels, SubjectsView},
    table::{CLIENTS, COST, Column, SPEED},
    text,
    tpcc::{COLUMNS, TpccView},
};

pub(super) fn all(document: &Document) -> Markup {
    html! {
        (top(document))
        (keys(document))
        @if let Some(view) = &document.comparison { (comparison(document, view)) }
        @if let Some(view) = &document.subjects { (subjects(document, view)) }
        @if !document.groups.is_empty() { (results(document)) }
        (doubts(document))
        (checks(document))
        @for view in &document.tpcc { (tpcc(view)) }
        (slowest(document))
        @if let Some(chart) = of_comparison(document) { div.charts { (one_chart(&chart)) } }
        @if document.subjects.is_none() {
            @for index in 0..document.groups.len() { (group_charts(document, index)) }
        }
        @if !document.stages.is_empty() { (stages(document)) }
        (facts(document))
        (choices(document))
        h2 { "What a number means" }
        ul.method data-fixed { @for line in document.method() { li { (line) } } }
        (again(document))
    }
}

fn at(document: &Document, pointer: &str, format: Format) -> Markup {
    figure(document.source.figure(pointer, format).as_ref())
}

fn top(document: &Document) -> Markup {
    let id = document.source.figure("/id", Format::Text);
    html! {
        header {
            div.top {
                div { span.brand { "pgdyno" } span.mono { (figure(id.as_ref())) } }
                button #theme type="button" hidden { "Dark" }
            }
            h1 { (at(document, "/plan/description", Format::Text)) }
            p.sub { (phrase(&document.heading)) }
            @if let Some(warning) = &document.warning { p.banner { (phrase(warning)) } }
            @for sentence in &document.verdict { p.lead { (phrase(sentence)) } }
            @if let Some(placed) = &document.placed { p.lead { (text::head_sentence(placed)) } }
            @if let Some(standing) = &document.standing { p.lead.standing { a href="#doubts" { (phrase(standing)) } } }
        }
    }
}

fn keys(document: &Document) -> Markup {
    html! {
        dl.keys {
            @if document.subjects.is_none() {
                @for group in &document.groups { @if let Some(row) = best(group) { (peak(document, group, row)) } }
            }
            @if document.comparison.is_some() { (floor(document)) }
            @else if let Some(server) = document.rows().next().map(|(_, row)| row) {
                div.key {
                    dt { "Durability" }
                    dd.big { (figure(server.durability.as_ref())) }
                    dd.more { (promise(document)) }
                }
            }
            @if document.comparison.is_none() { (noise(document)) }
            div.key {
                dt { "Doubts" }
                dd.big { a href="#doubts" { (at(document, "/doubts", Format::Length)) } }
                dd.more {
                    @if document.doubts.is_empty() { "nothing speaks against it" }
                    @else { "each with advice below" }
                }
            }
        }
    }
}

/// The scatter between blocks.
fn noise(document: &Document) -> Markup {
    html! {
        div.key {
            dt { "Noise floor" }
            dd.big { (at(document, &worst_floor(document), Format::Percent)) }
            dd.more {
                @if document.record.noise.is_none() { "not known: takes two blocks of a cell" }
                @else if document.subjects.is_some() { "smaller differences between two cells may mean nothing" }
                @else if document.record.noise_by_script.len() < 2 { "smaller differences mean nothing here" }
                @else {
                    @for index in 0..document.record.noise_by_script.len() {
                        @let of = format!("/noise_by_script/{index}");
                        @if index > 0 { ", " }
                        (at(document, &format!("{of}/script"), Format::Text)) " "
                        (at(document, &format!("{of}/noise/smallest_difference"), Format::Percent))
                    }
                }
            }
        }
    }
}

/// The script whose cells scatter most: what is said of all of them is true of that one, too.
fn worst_floor(document: &Document) -> String {
    let scripts = document.record.noise_by_script.iter().enumerate();
    let smallest = |of: &pgdyno_record::ScriptNoise| of.noise.smallest_difference;
    match scripts.max_by(|(_, a), (_, b)| smallest(a).total_cmp(&smallest(b))) {
        Some((index, _)) => format!("/noise_by_script/{index}/noise/smallest_difference"),
        None => "/noise/smallest_difference".to_owned(),
    }
}

/// Single transactions, for whoever looks for them in the server's log.
fn slowest(document: &Document) -> Markup {
    html! {
        @if !document.slowest.is_empty() {
            h2 { "The slowest transactions" }
            dl.checks.slowest {
                @for slow in &document.slowest {
                    div {
                        dt { (phrase(&slow.cell)) }
                        dd { @for attempt in &slow.attempts { p { (phrase(attempt)) } } }
                    }
                }
            }
        }
    }
}

/// What a comparison could have shown.
fn floor(document: &Document) -> Markup {
    html! {
        div.key {
            dt { "Can show" }
            dd.big { (at(document, "/comparison/floor/smallest_effect", Format::Percent)) }
            dd.more { "the smallest effect, by A against A" }
        }
    }
}

/// Blocks, tests and differences.
fn comparison(document: &Document, view: &ComparisonView) -> Markup {
    html! {
        h2 { "Blocks" }
        p { (phrase(&view.tests)) }
        div.scroll tabindex="0" {
            table.plain {
                thead {
                    tr { @for name in ["Block", "Ran", "A /s", "B /s", "B over A", ""] { th scope="col" { (name) } } }
                }
                tbody {
                    @for row in &view.blocks {
                        tr {
                            td { (figure(row.number.as_ref())) }
                            td { (row.order) }
                            @for value in [&row.a, &row.b, &row.difference] { td { (figure(value.as_ref())) } }
                            td { (row.note()) }
                        }
                    }
                }
            }
        }
        h2 { "What differs" }
        @if view.differences.is_empty() {
            p.fine { "No fact and no setting of the servers that pgdyno saw." }
        } @else {
            (plain_table(document, "/subjects/1/differences", view.differences.len(),
                &[("what", "What"), ("a", "A"), ("b", "B"), ("why", "Why")]))
        }
    }
}

/// Several subjects: charts, verdicts and differences.
fn subjects(document: &Document, view: &SubjectsView) -> Markup {
    html! {
        @for (number, of) in view.scripts.iter().enumerate() {
            h2 { (phrase(&of.name)) }
            @let work = (of.work.0.as_str(), of.work.1.as_str());
            div.charts { @for chart in &of_subjects(document, number, work) { (one_chart(chart)) } }
            (levels(of))
        }
        p { (phrase(&view.judged)) }
        @for of in &view.differences {
            h2 { "What differs: " (figure(of.name.as_ref())) }
            @if of.rows.is_empty() {
                p.fine { "No fact and no setting of the servers that pgdyno saw." }
            } @else {
                (plain_table(document, &format!("/subjects/{}/differences", of.at), of.rows.len(),
                    &[("what", "What"), ("a", "The first"), ("b", "This one"), ("why", "Why")]))
            }
        }
        @if !view.waits.is_empty() {
            h2 { "What sessions waited for" }
            dl.checks.slowest {
                @for waits in &view.waits { div { dt { (phrase(&waits.cell)) } dd { (phrase(&waits.events)) } } }
            }
        }
    }
}

const LEVEL_COLUMNS: [&str; 8] =
    ["Clients", "Subject", "TPS", "TPS of the first", "Blocks", "Beside it", "95 % interval", ""];

fn levels(of: &ScriptLevels) -> Markup {
    html! {
        div.scroll tabindex="0" {
            table.plain.levels {
                thead data-fixed {
                    tr {
                        @for name in LEVEL_COLUMNS {
                            th scope="col" { (name) }
                        }
                    }
                }
                tbody {
                    @for row in &of.rows {
                        tr {
                            @for value in [&row.clients, &row.subject, &row.tps, &row.reference] {
                                td { (figure(value.as_ref())) }
                            }
                            @for value in [&row.blocks, &row.effect] {
                                td { (figure(value.as_ref())) }
                            }
                            td {
                                @if row.low.is_some() {
                                    "[" (figure(row.low.as_ref())) ", " (figure(row.high.as_ref())) "]"
                                } @else { (figure(None)) }
                            }
                            td { (row.marked()) }
                        }
                    }
                }
            }
        }
    }
}

/// What the tier promises, without its name.
fn promise(document: &Document) -> String {
    let label = document.durability.plain();
    label.split_once(": ").map_or(label.clone(), |(_, promise)| promise.to_owned())
}

fn best(group: &Group) -> Option<&Row> {
    let tps = |row: &Row| row.tps.as_ref().and_then(|tps| tps.value.as_f64()).unwrap_or(0.0);
    group.rows.iter().max_by(|a, b| tps(a).total_cmp(&tps(b)))
}

fn peak(document: &Document, group: &Group, row: &Row) -> Markup {
    // Of TPC-C New-Orders are what is spoken of.
    let nopm = document.source.figure(format!("/cells/{}/tpcc/nopm/value", row.index), Format::Rate);
    html! {
        div.key {
            dt {
                @if group.subject.is_some() { (figure(group.subject.as_ref())) " " }
                (figure(group.script.as_ref()))
            }
            @match &nopm {
                Some(_) => dd.big { (figure(nopm.as_ref())) " " span.unit { "NOPM" } },
                None => dd.big { (figure(row.tps.as_ref())) " " span.unit { "TPS" } },
            }
            dd.more.pieces {
                @if nopm.is_some() { span { (figure(row.tps.as_ref())) " TPS" } }
                @if row.spread.is_some() { span { "± " (figure(row.spread.as_ref())) } }
                @else { span { "spread unknown" } }
                span {
                    (figure(row.clients.as_ref()))
                    @if is_one(row.clients.as_ref()) { " client" } @else { " clients" }
                }
                @if row.p99.is_some() { span { "p99 " (figure(row.p99.as_ref())) " ms" } }
            }
        }
    }
}

fn is_one(figure: Option<&Figure>) -> bool {
    figure.is_some_and(|figure| figure.value.as_u64() == Some(1))
}

fn results(document: &Document) -> Markup {
    let columns: Vec<_> = [CLIENTS].into_iter().chain(SPEED).chain(COST).collect();
    html! {
        h2 { "Results" }
        div.scroll tabindex="0" {
            table {
                thead {
                    tr.spans data-fixed {
                        th colspan="3" {} th.qps {} th colspan="4" { "latency, ms" } th colspan="2" { "driver" }
                        th colspan="2" { "server" } th {} th {} th {}
                    }
                    tr data-fixed { @for column in &columns { (header(column)) } }
                }
                @for group in &document.groups {
                    tbody {
                        tr.group {
                            th colspan=(columns.len()) scope="rowgroup" {
                                @if group.subject.is_some() { (figure(group.subject.as_ref())) " " }
                                (figure(group.script.as_ref())) span.note { (phrase(&group.note)) }
                            }
                        }
                        @for row in &group.rows {
                            tr { @for column in &columns { (cell(column, row)) } }
                        }
                    }
                }
            }
        }
    }
}

/// Transactions and judgements of a cell of TPC-C.
fn tpcc(view: &TpccView) -> Markup {
    html! {
        h2 { "TPC-C: " (phrase(&view.name)) }
        p { strong { (phrase(&view.rate)) } "; " (phrase(&view.how)) }
        div.scroll tabindex="0" {
            table {
                thead {
                    tr data-fixed {
                        th.word scope="col" { "transaction" }
                        @for (head, ..) in &COLUMNS { th scope="col" { (head) } }
                    }
                }
                tbody {
                    @for row in &view.rows {
                        tr {
                            td.word { (figure(row.name.as_ref())) }
                            @for one in &row.figures { td { (figure(one.as_ref())) } }
                        }
                    }
                }
            }
        }
        @if view.judged.iter().any(|one| one.broken) {
            ul.doubts {
                @for one in view.judged.iter().filter(|one| one.broken) {
                    li {
                        strong { (one.verdict) } span.cells { (figure(one.clause.as_ref())) }
                        p { (figure(one.words.as_ref())) }
                    }
                }
            }
        }
        dl.checks {
            @for one in view.judged.iter().filter(|one| !one.broken) {
                div {
                    dt { (figure(one.clause.as_ref())) " " (one.verdict) }
                    dd { (figure(one.words.as_ref())) }
                }
            }
        }
    }
}

/// The unit of a latency stands above its four columns.
fn header(column: &Column) -> Markup {
    let latency = column.unit == "ms";
    let name = if matches!(column.header, "driver" | "server" | "") { "" } else { column.header };
    html! {
        th.word[column.words].qps[column.header == "QPS"] scope="col" {
            (name) @if !column.unit.is_empty() && !latency { " " span.unit { (column.unit) } }
        }
    }
}

fn cell(column: &Column, row: &Row) -> Markup {
    let tps = column.header == "TPS";
    let several = row.blocks.as_ref().and_then(|blocks| blocks.value.as_u64()).is_some_and(|count| count > 1);
    html! {
        td.word[column.words].strong[tps].qps[column.header == "QPS"] {
            (figure((column.get)(row)))
            @if tps && several {
                span.range title="lowest and highest block" {
                    (figure(row.tps_min.as_ref())) " – " (figure(row.tps_max.as_ref()))
                }
            }
        }
    }
}

fn doubts(document: &Document) -> Markup {
    html! {
        h2 #doubts { "Doubts" }
        @if document.doubts.is_empty() {
            p.fine { "None: pgdyno knows no reason to distrust this result." }
        } @else {
            ul.doubts { @for doubt in &document.doubts { (one_doubt(doubt)) } }
        }
    }
}

fn one_doubt(doubt: &DoubtView) -> Markup {
    html! {
        li.severe[doubt.severe] {
            strong { (doubt.title) }
            @if doubt.everywhere { span.cells { "all cells" } }
            @else if !doubt.cells.is_empty() {
                span.cells { (list(&doubt.cells)) }
            }
            p { (phrase(&doubt.detail)) }
            p.advice { (phrase(&doubt.advice)) }
        }
    }
}

fn list(figures: &[Figure]) -> Markup {
    html! { @for (index, one) in figures.iter().enumerate() { @if index > 0 { ", " } (figure(Some(one))) } }
}

fn checks(document: &Document) -> Markup {
    html! {
        h2 { "Checks" }
        dl.checks {
            div {
                dt { @if document.tpcc.is_empty() { "Balance check" } @else { "Consistency" } }
                dd { (phrase(&document.balance)) }
            }
            div { dt { "Noise floor" } dd { (phrase(&document.noise)) } }
            div { dt { "Driver" } dd { (phrase(&document.driver)) } }
        }
    }
}

fn group_charts(document: &Document, index: usize) -> Markup {
    let drawn = charts(document, index);
    html! {
        @if !drawn.is_empty() {
            h2 {
                @if let Some(whose) = &document.groups[index].subject { (figure(Some(whose))) " " }
                (figure(document.groups[index].script.as_ref()))
            }
            div.charts { @for chart in &drawn { (one_chart(chart)) } }
        }
    }
}

fn one_chart(chart: &Chart) -> Markup {
    // `</script>` within the data would end it.
    let data = chart.data().to_string().replace('<', "\\u003c");
    html! {
        figure.wide[chart.wide] id=(chart.id) {
            figcaption {
                span { (chart.title) }
                @if !chart.legend.is_empty() {
                    span.legend data-fixed {
                        @for (colour, name) in &chart.legend {
                            span { i class={ "c" (colour % crate::chart::SERIES) } {} (name) }
                        }
                    }
                }
                span.axes { (chart.axes) }
            }
            div.canvas { (PreEscaped(&chart.svg)) }
            output {}
            script.stops type="application/json" { (PreEscaped(data)) }
        }
    }
}

fn stages(document: &Document) -> Markup {
    html! {
        h2 { "Where the time went" }
        @if let Some(time) = &document.time { p { (phrase(time)) } }
        div.stages {
            @for stage in &document.stages {
                span { (phrase(&stage.name)) }
                span.time { (figure(stage.duration.as_ref())) }
                span { div.bar style={ "width:" (format!("{:.2}", stage.share * 100.0)) "%" } {} }
            }
        }
    }
}

fn facts(document: &Document) -> Markup {
    html! {
        h2 { "Facts" }
        div.facts {
            @for group in &document.facts {
                section {
                    h3 { (phrase(&group.title)) }
                    dl { @for (label, fact) in &group.items { dt { (label) } dd { (phrase(fact)) } } }
                }
            }
        }
    }
}

fn choices(document: &Document) -> Markup {
    let choices = document.record.choices.len();
    let only = document.record.subjects.first().filter(|_| document.record.subjects.len() == 1);
    let server = only.and_then(|subject| subject.server.as_ref());
    let settings = server.map_or(0, |server| server.settings.len());
    html! {
        @if choices > 0 {
            h2 { "Settings, and why" }
            (plain_table(document, "/choices", choices,
                &[("name", "What"), ("value", "Value"), ("reason", "Why")]))
        }
        @if settings > 0 {
            details {
                summary {
                    "All settings that do not have their default ("
                    (at(document, "/subjects/0/server/settings", Format::Length)) ")"
                }
                (plain_table(document, "/subjects/0/server/settings", settings,
                    &[("name", "Setting"), ("value", "Value"), ("source", "From")]))
            }
        }
    }
}

/// A table of texts: a row for each element of a list, a column for each (field, header). `why` is a word.
fn plain_table(document: &Document, list: &str, count: usize, columns: &[(&str, &str)]) -> Markup {
    let format = |field: &str| if field == "why" { Format::Word } else { Format::Text };
    html! {
        div.scroll tabindex="0" {
            table.plain {
                thead { tr { @for (_, header) in columns { th scope="col" { (header) } } } }
                tbody {
                    @for index in 0..count {
                        tr {
                            @for (field, _) in columns {
                                td { (at(document, &format!("{list}/{index}/{field}"), format(field))) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn again(document: &Document) -> Markup {
    html! {
        h2 { "Run it again" }
        div.again {
            pre #command { (at(document, "/command", Format::Text)) }
            button #copy type="button" hidden { "Copy" }
        }
        p.more { (AGAIN) }
        footer {
            "Written by pgdyno " (at(document, "/tool/version", Format::Text)) " (commit "
            (at(document, "/tool/commit", Format::Text)) ") from run.json, format "
            (at(document, "/version", Format::Count)) ". Every number on this page carries its place there."
        }
    }
}
