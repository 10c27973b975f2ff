//! The opening sentences: what was found, in plain English, with its spread.

use pgdyno_core::measure::CellSummary;
use pgdyno_record::{RunRecord, ScriptNoise};

use crate::figure::{Format, Phrase, Source};

/// A sentence for each workload; one that says why there is none where nothing was measured.
pub fn verdict(record: &RunRecord, source: &Source) -> Vec<Phrase> {
    let mut scripts: Vec<&str> = Vec::new();
    for cell in &record.cells {
        if !scripts.contains(&cell.workload.script.as_str()) {
            scripts.push(&cell.workload.script);
        }
    }
    if scripts.is_empty() {
        return vec![Phrase::of("Nothing was measured.")];
    }
    let sentences = scripts.into_iter().filter_map(|script| sentence(record, source, script));
    violated(record, source).into_iter().chain(sentences).collect()
}

/// Numbers of a server that loses data come after that news.
fn violated(record: &RunRecord, source: &Source) -> Option<Phrase> {
    record.balance.as_ref().filter(|balance| balance.violations > 0)?;
    let violations = source.figure("/balance/violations", Format::Count);
    Some(
        Phrase::of("The balance check failed (violations: ")
            .figure(violations)
            .text("): do not use these numbers."),
    )
}

fn sentence(record: &RunRecord, source: &Source, script: &str) -> Option<Phrase> {
    let of_script = |(_, cell): &(usize, &CellSummary)| cell.workload.script == script;
    let cells: Vec<_> = record.cells.iter().enumerate().filter(of_script).collect();
    let best = *cells.iter().max_by(|a, b| a.1.tps.value.total_cmp(&b.1.tps.value))?;
    let at = |field: &str, format| source.figure(format!("/cells/{}/{field}", best.0), format);
    let spread =
        source.share(format!("/cells/{}/tps/half_width", best.0), format!("/cells/{}/tps/value", best.0));
    let phrase = Phrase::default()
        .figure(at("workload/script", Format::Text))
        .text(verb(record, &cells, best.1))
        .figure(at("tps/value", Format::Rate))
        .text(" TPS");
    let phrase = match spread {
        Some(_) => phrase.maybe(" (±\u{a0}", spread, ")"),
        None if best.1.tps.count > 1 => phrase
            .text(" (blocks from ")
            .figure(at("tps/min", Format::Rate))
            .text(" to ")
            .figure(at("tps/max", Format::Rate))
            .text(")"),
        None => phrase.text(" (a single block: spread unknown)"),
    };
    let clients = if best.1.workload.clients == 1 { " client" } else { " clients" };
    Some(
        phrase
            .text(" at ")
            .figure(at("workload/clients", Format::Count))
            .text(clients)
            .maybe(", p99 ", at("latency/p99_ns", Format::Latency), "")
            .then(as_good(record, source, &cells, best.1))
            .text("."),
    )
}

/// A peak has something lower on its right: a maximum at the end of what was tried is none, nor is one that more
/// clients come as near to as this run can tell.
fn verb(record: &RunRecord, cells: &[(usize, &CellSummary)], best: &CellSummary) -> &'static str {
    let mut more = cells.iter().filter(|(_, cell)| cell.workload.clients > best.workload.clients).peekable();
    let falls = more.peek().is_some() && more.all(|(_, cell)| !is_as_good(record, cell, best));
    if falls { " peaks at " } else { " reaches " }
}

/// Whether this run cannot tell a cell from the best one.
fn is_as_good(record: &RunRecord, cell: &CellSummary, best: &CellSummary) -> bool {
    let same = |of: &&ScriptNoise| {
        (&of.script, of.arm, &of.subject)
            == (&best.workload.script, best.workload.arm, &best.workload.subject)
    };
    let own = record.noise_by_script.iter().find(same).map(|of| &of.noise);
    let noise = own.or(record.noise.as_ref().filter(|_| record.noise_by_script.is_empty()));
    noise.is_some_and(|noise| cell.tps.value >= best.tps.value / (1.0 + noise.smallest_difference))
}

/// The fewest clients that this run cannot tell from the best; or that more clients were not tried.
fn as_good(
    record: &RunRecord,
    source: &Source,
    cells: &[(usize, &CellSummary)],
    best: &CellSummary,
) -> Phrase {
    let most = cells.iter().map(|(_, cell)| cell.workload.clients).max();
    let fewer = cells.iter().filter(|(_, cell)| cell.workload.clients < best.workload.clients);
    let near = fewer
        .filter(|(_, cell)| is_as_good(record, cell, best))
        .min_by_key(|(_, cell)| cell.workload.clients);
    match near {
        Some((index, cell)) => Phrase::of("; ")
            .figure(source.figure(format!("/cells/{index}/workload/clients"), Format::Count))
            .text(if cell.workload.clients == 1 { " client gives" } else { " clients give" })
            .text(" the same within what this run can tell apart"),
        None if cells.len() > 1 && most == Some(best.workload.clients) => {
            Phrase::of("; it may rise further, more clients were not tried")
        }
        None => Phrase::default(),
    }
}
