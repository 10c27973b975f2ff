//! What the short report for a terminal selects from the whole one.

use pgdyno_analysis::compare::ComparedRate;
use pgdyno_core::units;
use pgdyno_document::{
    Short,
    block::{Block, Fact, Section, Table, Tone},
    figure::Format::{Bytes, Count, Nanoseconds, Rate, Text, Word},
    phrase::{Phrase, Piece, joined, maybe, phrase},
};
use pgdyno_record::OperationRecord;

use crate::{
    run::{Run, clients},
    sections::{
        brief, checks, choices, comparison, doubts, head, levels, limits, load, operations, profile, results,
        tpcc, verdict,
    },
};

/// Most settings that are named.
const MOST_SETTINGS: usize = 6;
/// Most client counts that are named one by one.
const MOST_COUNTS: usize = 9;

/// The selection for a run.
pub fn short(run: &Run<'_>) -> Short {
    let mut tables = results(run);
    let results = tables.len();
    tables.extend(profile::most_telling(run));
    tables.extend(operations::sections(run).into_iter().filter_map(only_tables));
    Short {
        what: what(run),
        is_judged: true,
        doubts: doubts::doubts(run),
        failed: failed(run),
        found: found(run),
        legend: legend(&tables),
        tables,
        results,
        passed: passed(run),
        directory: run.kept.map(|kept| units::printable(&kept.directory).into_owned()),
        whole: phrase!["pgdyno show ", run.in_commands(), " --full"],
        next: choices::next(run),
    }
}

fn what(run: &Run<'_>) -> Vec<Fact> {
    let cut = |label, text: Phrase| Fact { may_be_cut: true, ..Fact::new(label, text) };
    let server = server(run).map(|server| Fact::new("server", server));
    let machine = cut("machine", brief::machine(run));
    let measured = (!run.is_of_operations()).then(|| cut("measured", measured(run)));
    let has_load = matches!(run.record.subjects.as_slice(), [only] if only.load.is_some());
    let loaded = has_load.then(|| cut("loaded", load::in_short(&run.subject(0).at("load"))));
    let durability = Fact::new("durability", head::durability(run));
    server.into_iter().chain([machine]).chain(loaded).chain(measured).chain([durability]).collect()
}

/// The only server, with the settings that the user chose for it. Several are in the sentences and the tables.
fn server(run: &Run<'_>) -> Option<Phrase> {
    let facts = run.only_server()?;
    let at = run.subject(0).at("server");
    let chosen = facts
        .settings
        .iter()
        .enumerate()
        .filter(|(_, of)| TELLING.contains(&of.name.as_str()))
        .take(MOST_SETTINGS);
    let settings = chosen.map(|(index, _)| {
        let own = at.at("settings").at(index);
        phrase![", ", own.figure("name", Text), " ", own.figure("value", Text)]
    });
    Some(phrase![
        "PostgreSQL ",
        at.figure("version", Text),
        ", ",
        at.figure("source", Word),
        ", shared_buffers ",
        at.figure("shared_buffers_bytes", Bytes),
        joined(settings, ""),
    ])
}

/// Settings that decide about throughput, besides shared_buffers.
const TELLING: [&str; 8] = [
    "max_wal_size",
    "checkpoint_timeout",
    "synchronous_commit",
    "fsync",
    "full_page_writes",
    "wal_compression",
    "jit",
    "huge_pages",
];

/// Tables, clients, intervals and blocks.
fn measured(run: &Run<'_>) -> Phrase {
    let at = run.root().at("plan");
    let blocks = if run.record.plan.blocks == 1 { " block" } else { " blocks" };
    let blocks = phrase![at.figure("blocks", Count), blocks];
    let scale = maybe("scale ", at.figure("scale", Count), "; ");
    if run.compares_loads() {
        return phrase![scale, blocks, " of a load of A and one of B"];
    }
    if run.compares_storage() {
        return phrase![at.figure("duration_ns", Nanoseconds), " of each, ", blocks];
    }
    let counts = &run.record.plan.clients;
    let named = (0..counts.len()).map(|index| at.figure(format!("clients/{index}"), Count));
    let said = match counts.as_slice() {
        [] => Phrase::default(),
        [only] => phrase![joined(named, ""), clients(*only), "; "],
        few if few.len() <= MOST_COUNTS => phrase![joined(named, ", "), " clients; "],
        _ => {
            let ends = [0, counts.len() - 1].map(|index| at.figure(format!("clients/{index}"), Count));
            phrase![joined(ends, " … "), " clients; "]
        }
    };
    phrase![
        scale,
        said,
        maybe("at ", at.figure("rate_per_s", Rate), "/s, "),
        at.figure("duration_ns", Nanoseconds),
        " after ",
        at.figure("warmup_ns", Nanoseconds),
        " of warm-up, ",
        blocks,
    ]
}

/// A sentence for every check that failed.
fn failed(run: &Run<'_>) -> Vec<Phrase> {
    let operations = operations::sentences(run).into_iter().zip(&run.record.operations).enumerate();
    let operations = operations.filter(|(_, (_, of))| has_failed(of));
    let name = |index: usize| run.root().figure(format!("operations/{index}/name"), Text);
    let operations =
        operations.map(|(index, (sentence, _))| phrase!["FAILED: ", name(index), ": ", sentence]);
    let of_runs = tpcc::violated(run).into_iter().chain(checks::violated(run));
    of_runs.chain(tpcc::not_met(run).map(|clauses| phrase![clauses, "."])).chain(operations).collect()
}

fn has_failed(operation: &OperationRecord) -> bool {
    operation.passed == Some(false)
}

/// The results in sentences: answers, the best of each script, the subjects, and what operations did.
fn found(run: &Run<'_>) -> Vec<Phrase> {
    let mut found = match (&run.record.comparison, &run.record.levels) {
        (Some(of), _) => {
            let by = match of.by {
                ComparedRate::Tps => None,
                ComparedRate::NewOrders => {
                    Some("A and B are compared by New-Orders per second (NOPM over 60).")
                }
                ComparedRate::LoadedRows => Some("A and B are compared by rows loaded per second."),
                ComparedRate::Syncs => {
                    Some("A and B are compared by writes of 8 KiB with fdatasync per second.")
                }
                ComparedRate::Reads => Some("A and B are compared by random reads of 8 KiB per second."),
            };
            let by = by.map(|by| Piece::Fixed(by).into());
            head::compared(run, of).into_iter().chain(by).collect()
        }
        (None, Some(_)) => levels::subjects(run),
        (None, None) if run.is_of_operations() => Vec::new(),
        (None, None) => verdict::sentences(run),
    };
    if run.record.comparison.is_none() {
        found.splice(0..0, tpcc::sentences(run));
    }
    found.extend(limits::sentences(run));
    let operations = operations::sentences(run).into_iter().zip(&run.record.operations);
    found.extend(operations.filter(|(_, of)| !has_failed(of)).map(|(sentence, _)| sentence));
    found
}

/// The tables of what runs measured.
fn results(run: &Run<'_>) -> Vec<Section> {
    let table = |title: &'static str, table: Table| {
        (!table.is_empty()).then(|| Section::new(title, vec![Block::Table(table)]))
    };
    let levels = run.record.levels.as_ref().map(|of| levels::summary(run, of));
    let levels = levels.and_then(|levels| table("Compared with the baseline", levels));
    let speed = table("Throughput and latency", results::of_a_terminal(run));
    let speed = speed.into_iter().chain(comparison::rates(run));
    levels.into_iter().chain(speed).chain(tpcc::sets(run)).collect()
}

/// The tables of a section and its warnings; `None` without a table.
fn only_tables(section: Section) -> Option<Section> {
    let is_kept = |block: &Block| match block {
        Block::Table(table) => !table.is_empty(),
        Block::Prose(prose) => prose.tone == Tone::Warning,
        _ => false,
    };
    let blocks: Vec<_> = section.blocks.into_iter().filter(is_kept).collect();
    let has_table = blocks.iter().any(|block| matches!(block, Block::Table(_)));
    has_table.then_some(Section { blocks, ..section })
}

/// What the signs in these tables mean.
fn legend(tables: &[Section]) -> Vec<Phrase> {
    let tables = || {
        tables.iter().flat_map(|section| &section.blocks).filter_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        })
    };
    let has_column =
        |name: &str| tables().any(|table| table.columns.iter().any(|of| of.name.plain() == name));
    let has_dash = tables()
        .flat_map(Table::rows)
        .any(|row| row.cells.iter().any(|cell| cell.text.plain() == units::ABSENT));
    let spread = has_column("±").then_some("±: half a confidence interval of the mean.");
    let dash = has_dash.then_some("–: not measured, or too few samples.");
    let both = spread.into_iter().chain(dash).collect::<Vec<_>>().join(" ");
    (!both.is_empty()).then(|| both.into()).into_iter().collect()
}

fn passed(run: &Run<'_>) -> Vec<Fact> {
    match run.is_of_operations() || run.record.cells.is_empty() && run.record.comparison.is_none() {
        true => Vec::new(),
        false => checks::in_short(run),
    }
}
