//! The report in a mail: at most 25 lines of at most 80 columns.

use pgdyno_core::units::{self, plural};
use pgdyno_record::ScriptNoise;

use crate::{
    document::{Document, Row},
    table::{self, CLIENTS, COST, Column, SPEED},
    text, tpcc, wrap,
};

const WIDTH: usize = 80;
const LINES: usize = 25;

/// Most sentences about several subjects.
const ANSWERS: usize = 6;

/// The short report: table, durability tier, all doubts, noise floor and the exact command that runs it
/// again.
///
/// Where 25 lines are short, cells give way first (the best of each workload stays), then the words of the
/// doubts; no doubt is left out, no sentence is cut, and the command is never shortened (one of more than 1,000
/// characters takes more lines).
pub fn paste(document: &Document) -> String {
    let heading = wrap::cut(&format!("pgdyno {}", document.heading.plain()), WIDTH);
    let mut facts = machine(document);
    facts.extend(sentence(&format!("durability: {}", document.durability.plain())));
    let mut foot = sentence(&noise(document));
    foot.extend(sentence(&balance(document)));
    foot.push("again:".into());
    foot.extend(wrap::command(&document.record.command, WIDTH));
    let all: Vec<_> = document.rows().map(|(_, row)| row).collect();
    let best: Vec<_> = document.groups.iter().filter_map(|group| best(&group.rows)).collect();
    let (whole, compact) = (doubts_in_full(document), doubts_in_names(document));
    let room = LINES.saturating_sub(1 + facts.len() + foot.len());
    let least = table_lines(document, &best).len() + compact.len();
    let said = fitting(&sentences(document), room.saturating_sub(least));
    let room = room.saturating_sub(said.len());
    let fits = |rows: &[&Row], doubts: &[String]| table_lines(document, rows).len() + doubts.len() <= room;
    let (rows, doubts) = match () {
        () if fits(&all, &whole) => (all, whole),
        () if fits(&all, &compact) => (all, compact),
        () if fits(&best, &whole) => (best, whole),
        () => (best, compact),
    };
    let body = table_lines(document, &rows).into_iter().chain(doubts);
    let head = [heading].into_iter().chain(said).chain(facts);
    head.chain(body).chain(foot).map(|line| format!("{}\n", line.trim_end())).collect()
}

/// What the report says in sentences, the most important first.
fn sentences(document: &Document) -> Vec<String> {
    let warning = document.warning.iter().map(|warning| warning.plain());
    let answers = document.subjects.iter().flat_map(|view| view.answers.iter().take(ANSWERS));
    let compared = document.comparison.iter().flat_map(|_| &document.verdict);
    let found = compared.chain(answers).map(|sentence| sentence.plain());
    let alone = document.comparison.is_none() && !document.tpcc.is_empty();
    let tpcc = if alone { of_tpcc(document) } else { Vec::new() };
    warning.chain(found).chain(tpcc).collect()
}

/// A sentence as a whole.
fn sentence(text: &str) -> Vec<String> {
    wrap::prose(text, WIDTH, "", "  ")
}

/// As many sentences as there is room for, each as a whole; the line that says how many are left out counts.
fn fitting(sentences: &[String], room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for (at, text) in sentences.iter().enumerate() {
        let left = sentences.len() - at;
        let more = usize::from(left > 1);
        let next = sentence(text);
        if lines.len() + next.len() + more > room {
            if lines.len() < room {
                lines.push(format!("({} more in the whole report)", plural(left as u64, "sentence")));
            }
            break;
        }
        lines.extend(next);
    }
    lines
}

/// What TPC-C came to.
fn of_tpcc(document: &Document) -> Vec<String> {
    let broken = tpcc::violated(&document.record).map(|sentence| sentence.plain());
    let found = tpcc::verdict(&document.record, &document.source);
    let sentences = broken.into_iter().chain(found.iter().map(|sentence| sentence.plain()));
    sentences.chain(tpcc::not_met(&document.tpcc)).collect()
}

fn machine(document: &Document) -> Vec<String> {
    let host = &document.record.host;
    let processors = plural(host.cpu.allowed.len() as u64, "processor");
    let placed = document.placed.as_ref().map(|placed| format!(" ({placed})")).unwrap_or_default();
    let processors = format!("{processors}{placed}");
    let storage = document.record.storage.as_ref().and_then(|storage| storage.filesystem.clone());
    // The model comes last: its end is what a line can best do without.
    let parts =
        [Some(processors), Some(units::bytes(host.memory.total_bytes)), storage, host.cpu.model.clone()];
    let line = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    vec![wrap::cut(&format!("machine: {line}"), WIDTH)]
}

fn best(rows: &[Row]) -> Option<&Row> {
    let tps = |row: &Row| row.tps.as_ref().and_then(|figure| figure.value.as_f64()).unwrap_or(0.0);
    rows.iter().max_by(|a, b| tps(a).total_cmp(&tps(b)))
}

fn table_lines(document: &Document, rows: &[&Row]) -> Vec<String> {
    if rows.is_empty() {
        if document.comparison.is_some() {
            return Vec::new();
        }
        return document.verdict.iter().take(2).flat_map(|said| sentence(&said.plain())).collect();
    }
    let [tps, spread, _, p50, _, p99, max] = SPEED;
    let columns: [Column; 7] = [CLIENTS, tps, spread, p50, p99, max, COST[4]];
    let lines = table::aligned(&columns, rows);
    let scripts = scripts(document, rows);
    let width = scripts.iter().map(|script| wrap::length(script)).max().unwrap_or(0).min(18);
    let mut table: Vec<_> = scripts
        .iter()
        .zip(lines)
        .map(|(script, line)| wrap::cut(&format!("{:<width$}  {line}", wrap::cut(script, width)), WIDTH))
        .collect();
    let left_out = document.rows().count() - rows.len();
    if left_out > 0 {
        table.push(format!(
            "(the best of each script; {} more in the whole report)",
            plural(left_out as u64, "cell")
        ));
    }
    table
}

/// The first column: its header and the script of each row.
fn scripts(document: &Document, rows: &[&Row]) -> Vec<String> {
    let of_row = |row: &&Row| {
        let workload = &document.record.cells[row.index].workload;
        format!("{} {}", workload.subject.as_deref().unwrap_or_default(), workload.script)
            .trim_start()
            .to_owned()
    };
    [String::from("script")].into_iter().chain(rows.iter().map(of_row)).collect()
}

fn doubts_in_full(document: &Document) -> Vec<String> {
    if document.doubts.is_empty() {
        return vec!["doubts: none".into()];
    }
    let heading = format!("doubts ({}):", document.doubts.len());
    let lines = document.doubts.iter().flat_map(|doubt| {
        let text = format!("{}{}: {}", doubt.title, text::cells(doubt), doubt.detail.plain());
        wrap::prose(&text, WIDTH, "  ! ", "    ")
    });
    [heading].into_iter().chain(lines).collect()
}

fn doubts_in_names(document: &Document) -> Vec<String> {
    // Several servers may have the same one.
    let mut names: Vec<(&str, usize)> = Vec::new();
    for doubt in &document.doubts {
        match names.iter_mut().find(|(title, _)| *title == doubt.title) {
            Some((_, count)) => *count += 1,
            None => names.push((doubt.title, 1)),
        }
    }
    let name = |&(title, count): &(&str, usize)| match count {
        1 => title.to_owned(),
        count => format!("{title} ({count})"),
    };
    let names: Vec<_> = names.iter().map(name).collect();
    let text = format!("doubts ({}): {}", document.doubts.len(), names.join(" · "));
    wrap::prose(&text, WIDTH, "", "  ")
}

fn noise(document: &Document) -> String {
    if let Some(comparison) = &document.record.comparison {
        return comparison.floor.as_ref().map_or_else(
            || "noise floor: not known".into(),
            |floor| format!("noise floor: {} can be shown here", units::percent(floor.smallest_effect)),
        );
    }
    let scripts = &document.record.noise_by_script;
    let of_script =
        |of: &ScriptNoise| format!("{} ({})", units::percent(of.noise.smallest_difference), of.script);
    match &document.record.noise {
        // With several subjects there are too many for a line: the worst speaks for all.
        Some(_) if document.subjects.is_some() => {
            let worst = scripts.iter().map(|of| of.noise.smallest_difference).fold(0.0, f64::max);
            format!("noise floor: differences under {} may mean nothing here", units::percent(worst))
        }
        Some(_) if scripts.len() > 1 => {
            let each = scripts.iter().map(of_script).collect::<Vec<_>>().join(", ");
            format!("noise floor: differences under {each} mean nothing here")
        }
        Some(noise) => format!(
            "noise floor: differences under {} mean nothing here",
            units::percent(noise.smallest_difference)
        ),
        None => "noise floor: not known".into(),
    }
}

fn balance(document: &Document) -> String {
    if !document.tpcc.is_empty() {
        return format!("consistency: {}", document.balance.plain());
    }
    if document.comparison.is_some() || document.subjects.is_some() {
        return format!("balance check: {}", document.balance.plain());
    }
    match document.record.subjects.first().and_then(|subject| subject.balance.as_ref()) {
        Some(balance) => format!(
            "balance check ({}): {} examined, {}",
            balance.mode,
            plural(balance.rows_examined, "row"),
            plural(balance.violations, "violation")
        ),
        None => "balance check: not made".into(),
    }
}
