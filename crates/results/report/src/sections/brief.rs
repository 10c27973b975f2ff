//! The short report, for e-mail.

use pgdyno_core::units;
use pgdyno_document::{
    block::{Block, Fact, Prose, Tone},
    figure::Format::Text,
    phrase::Phrase,
};

use crate::{
    run::Run,
    sections::{checks, comparison, doubts, head, levels, operations, results, tpcc, verdict},
};

/// Results, machine, tables, all doubts, checks and command.
pub fn blocks(run: &Run<'_>) -> Vec<Block> {
    let mut sentences: Vec<Phrase> = head::warning(run).into_iter().collect();
    let mut tables = Vec::new();
    match (&run.record.comparison, &run.record.levels) {
        (Some(of), _) => sentences.extend(head::compared(run, of)),
        (None, Some(of)) => tables.push(Block::Table(levels::summary(run, of))),
        (None, None) if run.is_of_operations() => sentences.extend(operations::sentences(run)),
        (None, None) if run.record.cells.is_empty() => sentences.extend(verdict::sentences(run)),
        (None, None) => {}
    }
    if run.record.comparison.is_none() {
        let tpcc = tpcc::violated(run).into_iter().chain(tpcc::sentences(run)).chain(tpcc::not_met(run));
        sentences.extend(tpcc);
    }
    if !run.is_of_operations() {
        tables.push(Block::Table(results::short(run)));
    }
    tables.extend(comparison::rates(run).into_iter().flat_map(|section| section.blocks));
    let machine = Fact { may_be_cut: true, ..Fact::new("machine", machine(run)) };
    let facts = vec![machine, Fact::new("durability", head::durability(run))];
    let checks = match run.is_of_operations() {
        true => Vec::new(),
        false => checks::in_short(run),
    };
    let mut blocks = vec![Block::Prose(Prose { sentences, tone: Tone::Lead }), Block::facts(facts)];
    blocks.extend(tables);
    blocks.push(Block::Doubts(doubts::doubts(run)));
    blocks.extend((!checks.is_empty()).then(|| Block::facts(checks)));
    blocks.push(Block::Code(run.root().figure("command", Text).into()));
    blocks
}

/// The machine in one line. The CPU model comes last, because its end can be cut.
pub fn machine(run: &Run<'_>) -> Phrase {
    let host = &run.record.host;
    let placed = head::placed(run).map(|placed| format!(" ({placed})")).unwrap_or_default();
    let cpus = units::plural(host.allowed_cpus().len() as u64, "CPU") + &placed;
    let storage = run.record.storage.as_ref().and_then(|storage| storage.filesystem.clone());
    let parts = [Some(cpus), Some(units::bytes(host.memory.total_bytes)), storage, host.cpu.model.clone()];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ").into()
}
