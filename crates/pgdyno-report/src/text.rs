//! The report as text for a terminal, at most 80 columns wide.

use pgdyno_core::units;

use crate::{
    comparison::ComparisonView,
    document::{AGAIN, Document, DoubtView, Group},
    figure::Figure,
    subjects::SubjectsView,
    table::{self, CLIENTS, COST, SPEED},
    tpcc, wrap,
};

/// The terminal that is written for, in columns.
pub const WIDTH: usize = 80;

/// Whether text is coloured with ANSI sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// No: a pipe, a file, or NO_COLOR.
    Plain,
    /// Yes.
    Colour,
}

impl Paint {
    fn wrapped(self, code: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }

    fn bold(self, text: &str) -> String {
        self.wrapped("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.wrapped("2", text)
    }

    pub(crate) fn warn(self, text: &str) -> String {
        self.wrapped("33", text)
    }
}

/// The whole report.
pub fn text(document: &Document, paint: Paint) -> String {
    let mut lines = vec![paint.bold(&wrap::cut(&document.heading.plain(), WIDTH))];
    if let Some(warning) = &document.warning {
        lines.extend(wrap::prose(&warning.plain(), WIDTH, "", "").iter().map(|line| paint.warn(line)));
    }
    lines.push(String::new());
    for sentence in &document.verdict {
        lines.extend(wrap::prose(&sentence.plain(), WIDTH, "", ""));
    }
    lines.extend(wrap::prose(&format!("Durability {}.", document.durability.plain()), WIDTH, "", ""));
    lines
        .extend(document.placed.iter().flat_map(|placed| wrap::prose(&head_sentence(placed), WIDTH, "", "")));
    let standing =
        document.standing.iter().flat_map(|standing| wrap::prose(&standing.plain(), WIDTH, "", ""));
    lines.extend(standing.map(|line| paint.warn(&line)));
    lines.extend(document.comparison.iter().flat_map(|view| comparison(view, paint)));
    lines.extend(document.subjects.iter().flat_map(|view| subjects(view, paint)));
    lines.extend(tables(document, paint));
    lines.extend(tpcc(document, paint));
    lines.extend(slowest(document, paint));
    lines.extend(doubts(document, paint));
    lines.extend(checks(document, paint));
    lines.extend(stages(document, paint));
    lines.extend(facts(document, paint));
    lines.extend(choices(document, paint));
    lines.extend(section(paint, "what a number means"));
    lines.extend(document.method().flat_map(|line| wrap::prose(line, WIDTH, "  ", "  ")));
    lines.extend(section(paint, "run it again"));
    // A name with a line feed in it begins no line of its own; in a command it is part of a word.
    lines.iter_mut().filter(|line| line.contains('\n')).for_each(|line| *line = line.replace('\n', " "));
    lines.extend(wrap::command(&document.record.command, WIDTH));
    lines.extend(wrap::prose(AGAIN, WIDTH, "  ", "  "));
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Where server and driver ran, as a sentence.
pub fn head_sentence(placed: &str) -> String {
    format!("Processors: {placed}.")
}

fn section(paint: Paint, title: &str) -> Vec<String> {
    vec![String::new(), paint.bold(&title.to_uppercase())]
}

/// Blocks, tests and differences of a comparison.
fn comparison(view: &ComparisonView, paint: Paint) -> Vec<String> {
    let mut lines = section(paint, "blocks");
    let text =
        |figure: &Option<Figure>| figure.as_ref().map_or(units::ABSENT, |figure| &figure.text).to_owned();
    lines.push(
        paint.dim(&format!("  {:>5}  ran  {:>12}  {:>12}  {:>10}", "block", "A /s", "B /s", "B over A")),
    );
    lines.extend(view.blocks.iter().map(|row| {
        let (number, a, b, change) = (text(&row.number), text(&row.a), text(&row.b), text(&row.difference));
        format!("  {number:>5}  {:<3}  {a:>12}  {b:>12}  {change:>10}  {}", row.order, row.note())
    }));
    lines.extend(wrap::prose(&view.tests.plain(), WIDTH, "  ", "  "));
    lines.extend(section(paint, "what differs"));
    if view.differences.is_empty() {
        lines.push("  No fact and no setting of the servers that pgdyno saw.".into());
    }
    for row in &view.differences {
        let why = row.why.as_ref().map(|why| format!(" ({})", why.text)).unwrap_or_default();
        lines.push(format!("  {}{}", text(&row.what), paint.dim(&why)));
        lines.extend(wrap::prose(&text(&row.a), WIDTH, "    A  ", "       "));
        lines.extend(wrap::prose(&text(&row.b), WIDTH, "    B  ", "       "));
    }
    lines
}

/// Verdicts, waits and differences of several subjects.
fn subjects(view: &SubjectsView, paint: Paint) -> Vec<String> {
    const NAME: usize = 12;
    let text =
        |figure: &Option<Figure>| figure.as_ref().map_or(units::ABSENT, |figure| &figure.text).to_owned();
    let mut lines = section(paint, "level by level");
    for of in &view.scripts {
        lines.push(paint.bold(&of.name.plain()));
        lines.push(paint.dim(&format!(
            "  {:>7}  {:<NAME$} {:>8}  {:>6} {:>7} {:>14}",
            "clients", "subject", "TPS", "blocks", "beside", "95 % interval"
        )));
        lines.extend(of.rows.iter().map(|row| {
            let subject = wrap::cut_inside(&text(&row.subject), NAME);
            let line = format!(
                "  {:>7}  {subject:<NAME$} {:>8}  {:>6} {:>7} {:>14}  {}",
                text(&row.clients),
                text(&row.tps),
                text(&row.blocks),
                text(&row.effect),
                row.interval(),
                row.marked()
            );
            wrap::cut(&line, WIDTH)
        }));
    }
    lines.extend(wrap::prose(&view.judged.plain(), WIDTH, "  ", "  "));
    if !view.waits.is_empty() {
        lines.extend(section(paint, "what sessions waited for"));
    }
    for waits in &view.waits {
        lines.extend(wrap::prose(
            &format!("{}: {}", waits.cell.plain(), waits.events.plain()),
            WIDTH,
            "  ",
            "      ",
        ));
    }
    for of in &view.differences {
        lines.extend(section(paint, &format!("what differs: {}", text(&of.name))));
        if of.rows.is_empty() {
            lines.push("  No fact and no setting of the servers that pgdyno saw.".into());
        }
        for [what, first, own, why] in &of.rows {
            let line = format!("{} ({}): {} · {}", text(what), text(why), text(first), text(own));
            lines.extend(wrap::prose(&line, WIDTH, "  ", "      "));
        }
    }
    lines
}

fn tables(document: &Document, paint: Paint) -> Vec<String> {
    if document.groups.is_empty() {
        return Vec::new();
    }
    let speed: Vec<_> = [CLIENTS].into_iter().chain(SPEED).collect();
    let cost: Vec<_> = [CLIENTS].into_iter().chain(COST).collect();
    let mut lines = section(paint, "throughput and latency");
    lines.extend(grouped(document, &speed, paint, |group| group.note.plain()));
    lines.extend(section(paint, "what it cost, and where pages came from"));
    lines.extend(grouped(document, &cost, paint, |_| String::new()));
    lines
}

/// One table, its columns as wide in every group, with the header under each workload's name.
fn grouped(
    document: &Document,
    columns: &[table::Column],
    paint: Paint,
    note: impl Fn(&Group) -> String,
) -> Vec<String> {
    let rows: Vec<_> = document.rows().map(|(_, row)| row).collect();
    let lines = table::aligned(columns, &rows);
    let (header, mut rest) = lines.split_at(lines.len() - rows.len());
    let mut out = Vec::new();
    for group in &document.groups {
        out.push(format!("{}  {}", paint.bold(&group.name()), paint.dim(&note(group))));
        out.extend(header.iter().map(|line| paint.dim(&format!("  {line}"))));
        let (own, others) = rest.split_at(group.rows.len());
        out.extend(own.iter().map(|line| format!("  {line}")));
        rest = others;
    }
    out
}

/// Transactions and judgements of each cell of TPC-C.
fn tpcc(document: &Document, paint: Paint) -> Vec<String> {
    const WIDTHS: [usize; 8] = [9, 7, 7, 8, 8, 8, 8, 8];
    const HEADS: [&str; 8] = ["done", "rolled", "failed", "retries", "p50 ms", "p90 ms", "p99 ms", "max ms"];
    if document.tpcc.is_empty() {
        return Vec::new();
    }
    let mut lines = section(paint, "tpc-c");
    for view in &document.tpcc {
        lines.push(paint.bold(&view.name.plain()));
        lines.extend(wrap::prose(&format!("{}; {}", view.rate.plain(), view.how.plain()), WIDTH, "  ", "  "));
        let heads = HEADS.iter().zip(WIDTHS).map(|(head, width)| format!("{head:>width$}"));
        lines.push(paint.dim(&format!("  {:<13}{}", "transaction", heads.collect::<String>())));
        lines.extend(view.rows.iter().map(|row| {
            let figures = row.figures.iter().zip(WIDTHS).map(|(figure, width)| {
                let text = tpcc::cell(figure);
                format!("{text:>width$}")
            });
            format!("  {:<13}{}", tpcc::cell(&row.name), figures.collect::<String>())
        }));
        for one in &view.judged {
            let first = format!("  {:<10}  {:<8}", one.verdict, tpcc::cell(&one.clause));
            let wrapped = wrap::prose(tpcc::cell(&one.words), WIDTH, &first, &" ".repeat(22));
            lines.extend(wrapped.into_iter().map(|line| if one.broken { paint.warn(&line) } else { line }));
        }
    }
    lines
}

/// The slowest transaction of each cell.
fn slowest(document: &Document, paint: Paint) -> Vec<String> {
    if document.slowest.is_empty() {
        return Vec::new();
    }
    let mut lines = section(paint, "the slowest transaction of each cell");
    let names: Vec<_> = document.slowest.iter().map(|slow| slow.cell.plain()).collect();
    let width = names.iter().map(|name| wrap::length(name)).max().unwrap_or(0).min(24);
    for (slow, name) in document.slowest.iter().zip(names) {
        let first = format!("  {:<width$}  ", wrap::cut(&name, width));
        lines.extend(wrap::prose(&slow.attempts[0].plain(), WIDTH, &first, &" ".repeat(width + 4)));
    }
    lines
}

fn doubts(document: &Document, paint: Paint) -> Vec<String> {
    let mut lines = section(paint, &format!("doubts ({})", document.doubts.len()));
    if document.doubts.is_empty() {
        lines.push("  None: pgdyno knows no reason to distrust this result.".into());
    }
    lines.extend(document.doubts.iter().flat_map(|doubt| doubt_lines(doubt, paint)));
    lines
}

fn doubt_lines(doubt: &DoubtView, paint: Paint) -> Vec<String> {
    let cells = cells(doubt);
    let mut lines = vec![paint.warn(&wrap::cut(&format!("  ! {}{cells}", doubt.title), WIDTH))];
    lines.extend(wrap::prose(&doubt.detail.plain(), WIDTH, "    ", "    "));
    lines.extend(wrap::prose(&doubt.advice.plain(), WIDTH, "    → ", "      "));
    lines
}

/// ` (select-only/4, select-only/16)`, or nothing where the whole run is meant.
pub fn cells(doubt: &DoubtView) -> String {
    if doubt.everywhere {
        return " (all cells)".to_owned();
    }
    let names: Vec<_> = doubt.cells.iter().map(|cell| cell.text.as_str()).collect();
    if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) }
}

fn checks(document: &Document, paint: Paint) -> Vec<String> {
    let mut lines = section(paint, "checks");
    lines.extend(wrap::prose(
        &document.balance.plain(),
        WIDTH,
        &format!("  {:<13}", data_check(document)),
        "               ",
    ));
    lines.extend(wrap::prose(&document.noise.plain(), WIDTH, "  noise floor  ", "               "));
    lines.extend(wrap::prose(&document.driver.plain(), WIDTH, "  driver       ", "               "));
    lines
}

/// What the check of data is called: TPC-C's tables have conditions, TPC-B's balances.
pub fn data_check(document: &Document) -> &'static str {
    if document.tpcc.is_empty() { "balance" } else { "consistency" }
}

fn stages(document: &Document, paint: Paint) -> Vec<String> {
    const BAR: f64 = 40.0;
    if document.stages.is_empty() {
        return Vec::new();
    }
    let mut lines = section(paint, "where the time went");
    lines.extend(document.time.iter().flat_map(|time| wrap::prose(&time.plain(), WIDTH, "  ", "  ")));
    for stage in &document.stages {
        let name = wrap::cut(&stage.name.plain(), 18);
        let duration = stage.duration.as_ref().map_or(units::ABSENT, |figure| &figure.text);
        let bar = "▇".repeat((stage.share * BAR).round() as usize);
        lines.push(format!("  {name:<18}{duration:>14}  {}", paint.dim(&bar)));
    }
    lines
}

fn facts(document: &Document, paint: Paint) -> Vec<String> {
    let mut lines = Vec::new();
    for group in &document.facts {
        lines.extend(section(paint, &group.title.plain()));
        for (label, fact) in &group.items {
            lines.extend(wrap::prose(&fact.plain(), WIDTH, &format!("  {label:<16}"), &" ".repeat(18)));
        }
    }
    lines
}

fn choices(document: &Document, paint: Paint) -> Vec<String> {
    let choices = &document.record.choices;
    if choices.is_empty() {
        return Vec::new();
    }
    let mut lines = section(paint, "chosen from facts");
    let width = choices.iter().map(|choice| wrap::length(&choice.name)).max().unwrap_or(0).min(32);
    for choice in choices {
        let first = format!("  {:<width$}  ", choice.name);
        let text = format!("{}: {}", choice.value, choice.reason);
        lines.extend(wrap::prose(&text, WIDTH, &first, &" ".repeat(width + 4)));
    }
    lines
}
