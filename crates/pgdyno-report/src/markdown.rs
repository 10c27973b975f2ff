//! The report as Markdown, for an issue or a wiki.

use crate::{
    comparison::ComparisonView,
    document::{AGAIN, Document, Row},
    figure::Figure,
    slowest::SlowCell,
    subjects::{CellWaits, LevelRow, ScriptLevels, SubjectDifferences, SubjectsView},
    table::{CLIENTS, COST, Column, SPEED},
    text,
    tpcc::{COLUMNS, JudgedRow, ScriptRow, TpccView},
};

/// The whole report.
pub fn markdown(document: &Document) -> String {
    let mut out = vec![format!("# {}", escaped(&document.heading.plain()))];
    if let Some(warning) = &document.warning {
        out.push(format!("> **{}**", escaped(&warning.plain())));
    }
    let verdict = document.verdict.iter().map(|sentence| escaped(&sentence.plain()));
    let standing = document.standing.iter().map(|standing| format!("**{}**", escaped(&standing.plain())));
    out.push(
        verdict
            .chain([format!("Durability {}.", document.durability.plain())])
            .chain(document.placed.iter().map(|placed| text::head_sentence(placed)))
            .chain(standing)
            .collect::<Vec<_>>()
            .join("\n"),
    );
    if let Some(view) = &document.comparison {
        out.push(format!("## Blocks\n\n{}\n\n{}", blocks(view), escaped(&view.tests.plain())));
        out.push(format!("## What differs\n\n{}", differences(view)));
    }
    if let Some(view) = &document.subjects {
        out.push(format!("## Level by level\n\n{}\n\n{}", levels(view), escaped(&view.judged.plain())));
        out.extend(waits(view));
        out.extend(view.differences.iter().map(of_subject));
    }
    if !document.groups.is_empty() {
        out.push(format!("## Results\n\n{}\n\n{}", table(document, &SPEED), table(document, &COST)));
    }
    out.extend(document.tpcc.iter().map(tpcc));
    if !document.slowest.is_empty() {
        let line = |slow: &SlowCell| {
            format!("- {}: {}", escaped(&slow.cell.plain()), escaped(&slow.attempts[0].plain()))
        };
        let lines: Vec<_> = document.slowest.iter().map(line).collect();
        out.push(format!("## The slowest transaction of each cell\n\n{}", lines.join("\n")));
    }
    out.push(format!("## Doubts ({})\n\n{}", document.doubts.len(), doubts(document)));
    let (balance, noise) = (escaped(&document.balance.plain()), escaped(&document.noise.plain()));
    let driver = escaped(&document.driver.plain());
    let check = if document.tpcc.is_empty() { "Balance" } else { "Consistency" };
    out.push(format!("## Checks\n\n- {check}: {balance}\n- Noise floor: {noise}\n- Driver: {driver}"));
    if !document.stages.is_empty() {
        let time = document.time.iter().map(|time| format!("{}\n\n", escaped(&time.plain())));
        out.push(format!("## Where the time went\n\n{}{}", time.collect::<String>(), stages(document)));
    }
    out.extend(document.facts.iter().map(|group| {
        let items =
            group.items.iter().map(|(label, fact)| format!("| {label} | {} |", escaped(&fact.plain())));
        format!(
            "## {}\n\n| | |\n|---|---|\n{}",
            escaped(&group.title.plain()),
            items.collect::<Vec<_>>().join("\n")
        )
    }));
    out.push(format!("## Chosen from facts\n\n{}", choices(document)));
    let method: Vec<_> = document.method().map(|line| format!("- {line}")).collect();
    out.push(format!("## What a number means\n\n{}", method.join("\n")));
    out.push(format!("## Run it again\n\n{}\n\n{AGAIN}", fenced(&document.record.command)));
    out.join("\n\n") + "\n"
}

/// Text that Markdown takes as it is.
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

fn table(document: &Document, columns: &[Column]) -> String {
    let columns: Vec<_> = [CLIENTS].into_iter().chain(columns.iter().copied()).collect();
    let mut headers: Vec<String> = Vec::new();
    for column in &columns {
        // A column without a name of its own belongs to the one before it.
        let name = match (column.header, headers.last()) {
            ("", Some(before)) => format!("{} {}", before.split(' ').next().unwrap_or_default(), column.unit),
            _ => column.label(),
        };
        headers.push(name);
    }
    let rule: Vec<_> = columns.iter().map(|column| if column.words { "---" } else { "---:" }).collect();
    let row = |(group, row): (&crate::document::Group, &Row)| {
        let cells: Vec<_> = columns.iter().map(|column| escaped(column.text(row))).collect();
        format!("| {} | {} |", escaped(&group.name()), cells.join(" | "))
    };
    let rows: Vec<_> = document.rows().map(row).collect();
    format!("| script | {} |\n| --- | {} |\n{}", headers.join(" | "), rule.join(" | "), rows.join("\n"))
}

fn tpcc(view: &TpccView) -> String {
    let heads = COLUMNS.map(|(head, ..)| head).join(" | ");
    let rule = COLUMNS.map(|_| "---:").join(" | ");
    let row = |row: &ScriptRow| {
        let figures: Vec<_> = row.figures.iter().map(cell).collect();
        format!("| {} | {} |", cell(&row.name), figures.join(" | "))
    };
    let rows: Vec<_> = view.rows.iter().map(row).collect();
    let judged = |one: &JudgedRow| format!("- {}: {} ({})", cell(&one.clause), cell(&one.words), one.verdict);
    let judged: Vec<_> = view.judged.iter().map(judged).collect();
    let (name, rate, how) = (view.name.plain(), view.rate.plain(), view.how.plain());
    format!(
        "## TPC-C: {}\n\n{}; {}\n\n| transaction | {heads} |\n|---|{rule}|\n{}\n\n{}",
        escaped(&name),
        escaped(&rate),
        escaped(&how),
        rows.join("\n"),
        judged.join("\n")
    )
}

fn blocks(view: &ComparisonView) -> String {
    let lines = view.blocks.iter().map(|row| {
        let figures = [&row.number, &row.a, &row.b, &row.difference].map(cell);
        let [number, a, b, change] = figures;
        format!("| {number} | {} | {a} | {b} | {change} | {} |", row.order, row.note())
    });
    let head = "| block | ran | A /s | B /s | B over A | |\n|---:|---|---:|---:|---:|---|";
    format!("{head}\n{}", lines.collect::<Vec<_>>().join("\n"))
}

fn differences(view: &ComparisonView) -> String {
    if view.differences.is_empty() {
        return "No fact and no setting of the servers that pgdyno saw.".into();
    }
    let lines = view.differences.iter().map(|row| {
        let [what, a, b, why] = [&row.what, &row.a, &row.b, &row.why].map(cell);
        format!("| {what} | {a} | {b} | {why} |")
    });
    format!("| what | A | B | why |\n|---|---|---|---|\n{}", lines.collect::<Vec<_>>().join("\n"))
}

fn levels(view: &SubjectsView) -> String {
    let row = |of: &ScriptLevels, row: &LevelRow| {
        let script = escaped(&of.name.plain());
        let figures = [&row.clients, &row.subject, &row.tps, &row.reference, &row.blocks, &row.effect];
        let figures = figures.map(cell).join(" | ");
        format!("| {script} | {figures} | {} | {} |", escaped(&row.interval()), escaped(&row.marked()))
    };
    let rows = view.scripts.iter().flat_map(|of| of.rows.iter().map(|one| row(of, one)));
    let head = "| script | clients | subject | TPS | TPS of the first | blocks | beside it | 95 % interval | |\n\
                |---|---:|---|---:|---:|---:|---:|---|---|";
    format!("{head}\n{}", rows.collect::<Vec<_>>().join("\n"))
}

fn waits(view: &SubjectsView) -> Option<String> {
    let line =
        |waits: &CellWaits| format!("- {}: {}", escaped(&waits.cell.plain()), escaped(&waits.events.plain()));
    let lines: Vec<_> = view.waits.iter().map(line).collect();
    (!lines.is_empty()).then(|| format!("## What sessions waited for\n\n{}", lines.join("\n")))
}

fn of_subject(of: &SubjectDifferences) -> String {
    let heading = format!("## What differs: {}", cell(&of.name));
    if of.rows.is_empty() {
        return format!("{heading}\n\nNo fact and no setting of the servers that pgdyno saw.");
    }
    let lines: Vec<_> =
        of.rows.iter().map(|row| format!("| {} |", row.each_ref().map(cell).join(" | "))).collect();
    format!("{heading}\n\n| what | the first | this one | why |\n|---|---|---|---|\n{}", lines.join("\n"))
}

fn cell(figure: &Option<Figure>) -> String {
    figure.as_ref().map_or_else(|| "–".to_owned(), |figure| escaped(&figure.text))
}

fn doubts(document: &Document) -> String {
    if document.doubts.is_empty() {
        return "None: pgdyno knows no reason to distrust this result.".into();
    }
    let line = |doubt: &crate::document::DoubtView| {
        let cells = escaped(&text::cells(doubt));
        let (detail, advice) = (escaped(&doubt.detail.plain()), escaped(&doubt.advice.plain()));
        format!("- **{}**{cells}: {detail} *{advice}*", doubt.title)
    };
    document.doubts.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn stages(document: &Document) -> String {
    let line = |stage: &crate::document::Stage| {
        let duration = stage.duration.as_ref().map_or("–", |figure| &figure.text);
        format!("| {} | {duration} |", escaped(&stage.name.plain()))
    };
    let lines: Vec<_> = document.stages.iter().map(line).collect();
    format!("| stage | time |\n|---|---:|\n{}", lines.join("\n"))
}

fn choices(document: &Document) -> String {
    let lines = document.record.choices.iter().map(|choice| {
        format!("| {} | {} | {} |", escaped(&choice.name), escaped(&choice.value), escaped(&choice.reason))
    });
    format!("| what | value | why |\n|---|---|---|\n{}", lines.collect::<Vec<_>>().join("\n"))
}
