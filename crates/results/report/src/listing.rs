//! Listing of runs.

use pgdyno_analysis::DoubtKind;
use pgdyno_core::units;
use pgdyno_document::{
    Paint, WIDTH,
    block::Align,
    layout,
    phrase::{Phrase, maybe, phrase},
    wrap,
};
use pgdyno_record::{Listed, RunRecord};
use serde_json::{Value, json};

use crate::{
    run::{Run, printable_record},
    sections::{comparison, operations},
    source::Source,
};

const ALIGNS: [Align; 6] = [Align::Left, Align::Left, Align::Left, Align::Left, Align::Right, Align::Right];
const HEAD: [&str; 6] = ["ID", "STATUS", "WHEN (UTC)", "SERVER", "SCALE", "DOUBTS"];

/// A table of runs in the order given: a line each, and below it the best TPS of every script. An
/// unreadable run is listed with the reason.
pub fn listing(runs: &[Listed], paint: Paint) -> String {
    let records: Vec<_> = runs.iter().map(|run| run.record.as_ref().map(|of| printable_record(of))).collect();
    let cells = runs.iter().zip(&records).map(|(run, record)| {
        let rest = record.as_deref().map_or_else(|_| ["broken", "", "", "", ""].map(str::to_owned), cells);
        [units::printable(&run.id).into_owned()].into_iter().chain(rest).collect()
    });
    let rows: Vec<Vec<String>> = [HEAD.map(str::to_owned).to_vec()].into_iter().chain(cells).collect();
    let widths = layout::widths(&ALIGNS, &rows, usize::MAX);
    let mut first = rows.iter().map(|row| layout::row(&ALIGNS, &widths, row).join(""));
    let mut lines: Vec<String> = first.next().into_iter().map(|head| paint.dim(&head)).collect();
    for (line, record) in first.zip(&records) {
        match record {
            Ok(record) => {
                lines.extend([line].into_iter().chain(below(record)));
                if record.doubts.iter().any(|doubt| doubt.kind == DoubtKind::Edited) {
                    lines.push(paint.warn("  edited after it was recorded"));
                }
            }
            Err(why) => {
                lines.push(paint.warn(&line));
                lines.extend(wrap::prose(&units::printable_lines(why), WIDTH, "  ", "  "));
            }
        }
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Status, time, versions, scale and number of doubts.
fn cells(record: &RunRecord) -> [String; 5] {
    [
        status(record),
        record.started_at.get(..16).map_or_else(String::new, |instant| instant.replace('T', " ")),
        versions(record),
        record.plan.scale.map_or_else(|| units::ABSENT.to_owned(), units::count),
        record.doubts.len().to_string(),
    ]
}

/// The answer of a comparison, else the best of every script.
fn below(record: &RunRecord) -> Vec<String> {
    let said = match &record.comparison {
        Some(comparison) => comparison::answer(record, comparison, &source_of(record)).plain(),
        None if !record.operations.is_empty() && record.cells.is_empty() => {
            let sentences = operations::sentences(&Run::new(record, &[]));
            sentences.iter().map(Phrase::plain).collect::<Vec<_>>().join(" ")
        }
        None => {
            let run = Run::new(record, &[]);
            let best = best(record).into_iter().map(|index| reached(&run, index).replace(' ', "\u{a0}"));
            best.collect::<Vec<_>>().join(" · ")
        }
    };
    if said.is_empty() { Vec::new() } else { wrap::prose(&said, WIDTH, "  ", "  ") }
}

/// The server's version; the distinct versions of several servers.
fn versions(record: &RunRecord) -> String {
    let servers = record.subjects.iter().filter_map(|subject| subject.server.as_ref());
    let mut versions: Vec<_> = servers.map(|server| server.version.as_str()).collect();
    versions.dedup();
    if versions.is_empty() { units::ABSENT.to_owned() } else { versions.join("/") }
}

fn source_of(record: &RunRecord) -> Source {
    Source(serde_json::to_value(record).unwrap_or(Value::Null))
}

fn status(record: &RunRecord) -> String {
    let word = serde_json::to_value(record.status).ok();
    word.as_ref().and_then(Value::as_str).unwrap_or(units::ABSENT).to_owned()
}

/// TPS of a cell with its interval, as in the report.
fn reached(run: &Run<'_>, index: usize) -> String {
    let (cell, at) = (&run.record.cells[index], run.cell(index));
    let spread = maybe(" (± ", at.share("tps/half_width", "tps/value"), ")").plain();
    let clients = units::plural(u64::from(cell.workload.clients), "client");
    format!("{} {} TPS{spread} at {clients}", cell.workload.script, phrase![at.rate("tps")].plain())
}

/// The cell with the highest TPS of every script, in the order of the record.
fn best(record: &RunRecord) -> Vec<usize> {
    let mut best: Vec<usize> = Vec::new();
    for (index, cell) in record.cells.iter().enumerate() {
        let same = |other: &&mut usize| record.cells[**other].workload.script == cell.workload.script;
        match best.iter_mut().find(same) {
            Some(other) if cell.tps.value > record.cells[*other].tps.value => *other = index,
            Some(_) => {}
            None => best.push(index),
        }
    }
    best
}

/// The runs as JSON: a list of objects with `id`, `path` and `status`; of a run that can be read
/// `started_at`, `server_version`, `scale`, `best`, `doubts` (their kinds) and of a comparison the `answer`; of
/// a broken one (`status` is `broken`) the `reason`.
pub fn listing_json(runs: &[Listed]) -> Value {
    runs.iter().map(one_json).collect()
}

fn one_json(run: &Listed) -> Value {
    let path = run.path.display().to_string();
    match &run.record {
        Err(why) => json!({"id": run.id, "path": path, "status": "broken", "reason": why}),
        Ok(record) => json!({
            "id": run.id,
            "path": path,
            "status": record.status,
            "started_at": record.started_at,
            "server_version": Some(versions(record)).filter(|versions| versions != units::ABSENT),
            "scale": record.plan.scale,
            "best": best(record).into_iter().map(|index| &record.cells[index]).map(|cell| json!({
                "script": cell.workload.script,
                "clients": cell.workload.clients,
                "tps": cell.tps,
            })).collect::<Vec<_>>(),
            "answer": record.comparison.as_ref().map(|comparison| {
                comparison::answer(record, comparison, &source_of(record)).plain()
            }),
            "doubts": record.doubts.iter().map(|doubt| doubt.kind).collect::<Vec<_>>(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use testkit::fixtures;

    use super::*;

    #[test]
    fn good_and_broken_runs_stand_side_by_side() {
        let of = |id: &str, record| Listed { path: PathBuf::from(id), id: id.into(), record };
        let runs = [
            of("20261120T101502Z-bench-7f3a", Ok(Box::new(fixtures::complete().record))),
            of("20261120T111502Z-bench-0001", Err("run.json: it is not complete JSON".into())),
            of("20261120T121502Z-bench-0002", Ok(Box::new(fixtures::zero_cells().record))),
        ];
        let text = listing(&runs, Paint::Plain);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[1].contains("complete  2026-11-20 10:15  18.4       50       3"), "{text}");
        assert!(lines[2].starts_with("  select-only ") && lines[3].starts_with("  tpcb-like "), "{text}");
        assert!(lines[2..4].iter().all(|line| line.contains(" TPS (± ")), "{text}");
        assert!(lines[4].ends_with("broken") && lines[5].contains("not complete JSON"), "{text}");
        assert!(lines[6].contains("stopped") && lines[6].contains("–"), "{text}");
        let json = listing_json(&runs);
        assert_eq!(json[0]["best"][1]["script"], "tpcb-like");
        assert_eq!(json[1]["status"], "broken");
        assert_eq!(json[2]["server_version"], Value::Null);
    }

    #[test]
    fn escape_sequences_in_a_record_do_not_reach_the_terminal() {
        let mut record = fixtures::complete().record;
        record.subjects[0].server.as_mut().expect("the fixture has one").version =
            "18\u{1b}[2J\nforged".into();
        let of = |id: &str, record| Listed { path: PathBuf::from(id), id: id.into(), record };
        let runs = [
            of("a\u{1b}]0;x\u{7}", Ok(Box::new(record))),
            of("b", Err("unknown variant `\u{1b}[31m`".into())),
        ];
        let text = listing(&runs, Paint::Plain);
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        assert!(text.contains("a\\u{1b}]0;x") && text.contains("18\\u{1b}[2J forged"), "{text}");
    }
}
