//! Chosen values, settings, and the command that repeats the run.

use pgdyno_analysis::{
    compare::{LevelResult, MAX_BLOCKS, Verdict},
    doubts::{Key, Measuring},
};
use pgdyno_core::{measure::CellSummary, observe::ObserveLevel};
use pgdyno_document::{
    block::{Block, Column, Row, Section, Table},
    figure::Format::{Count, Length, Minutes, Text},
    phrase::{Phrase, maybe, phrase},
};
use pgdyno_record::{ComparisonRecord, Found, OperationRecord, Status};

use crate::{run::Run, sections::operations};

/// Remark on the command.
const AGAIN: &str =
    "With the same seed. Values chosen from facts are chosen again, from the facts found then.";

/// Values chosen from facts, with the reasons; `None` without any.
pub fn chosen(run: &Run<'_>) -> Option<Section> {
    let table = texts(
        run,
        "choices",
        run.record.choices.len(),
        [("name", "choice"), ("value", "value"), ("reason", "reason")],
    );
    (!table.is_empty()).then(|| Section::new("Chosen from facts", vec![Block::Table(table)]))
}

/// Non-default settings of a single server; `None` without one.
pub fn settings(run: &Run<'_>) -> Option<Section> {
    let list = "subjects/0/server/settings";
    let count = run.only_server()?.settings.len();
    let table = texts(run, list, count, [("name", "setting"), ("value", "value"), ("source", "from")]);
    let number = run.root().figure(list, Length);
    let title = phrase!["Non-default settings (", number, ")"];
    (count > 0).then(|| Section { folded: true, ..Section::new(title, vec![Block::Table(table)]) })
}

/// A table of texts with a row for each element of a list and a column for each field.
fn texts(run: &Run<'_>, list: &str, count: usize, columns: [(&str, &'static str); 3]) -> Table {
    let row = |index: usize| {
        let at = run.root().at(list).at(index);
        Row::new(false, columns.map(|(field, _)| at.figure(field, Text).into()))
    };
    let columns = columns.map(|(_, heading)| Column::text(heading));
    Table::new(columns.into(), (0..count).map(row).collect())
}

/// The next commands, each after what it does: to continue, then to repeat.
pub fn next(run: &Run<'_>) -> Vec<(Phrase, Phrase)> {
    let command = phrase![run.root().figure("command", Text)];
    let again = (!run.record.command.is_empty() && can_be_repeated(run)).then(|| (repeated(run), command));
    continuation(run).into_iter().chain(operations::next(run)).chain(explanation(run)).chain(again).collect()
}

/// How many times the median the p99 of a cell must be to be worth a question.
const MANY_TIMES: u64 = 10;

/// The command that shows why the slowest transactions were slow, if they were and sessions were observed.
fn explanation(run: &Run<'_>) -> Option<(Phrase, Phrase)> {
    let is_slow = |cell: &CellSummary| {
        let latency = cell.latency.as_ref()?;
        Some(latency.p99_ns? >= MANY_TIMES * latency.p50_ns?.max(1))
    };
    let observed = run.record.observers.as_ref().is_some_and(|of| of.level == ObserveLevel::All);
    let slow = run.record.cells.iter().filter_map(is_slow).any(|is_slow| is_slow);
    let does = "see what the slowest transactions waited for";
    (observed && slow).then(|| (does.into(), phrase!["pgdyno why ", run.in_commands()]))
}

/// Whether the same command can be given again: not where it makes tables that are there now.
fn can_be_repeated(run: &Run<'_>) -> bool {
    let makes_tables = |of: &OperationRecord| {
        matches!(of.found, Found::Load(_) | Found::Copies(_)) && of.duration_s.is_some()
    };
    !run.is_of_operations() || !run.record.operations.iter().any(makes_tables)
}

/// What the repeated command does, and what it should have more of.
fn repeated(run: &Run<'_>) -> Phrase {
    let again = if run.is_of_operations() { "the same again" } else { "the same again, with the same seed" };
    let by = Measuring::of(run.record);
    let undecided = |verdict| matches!(verdict, Some(Verdict::CannotTell { .. }));
    if run.record.comparison.as_ref().is_some_and(|of| of.too_disturbed) {
        return format!(
            "{again}; first stop other programs, or count disturbed blocks as well (--keep-disturbed)"
        )
        .into();
    }
    let result = run.record.comparison.as_ref().and_then(|of| of.result.as_ref());
    if undecided(result.map(|of| of.verdict)) && continuation(run).is_none() {
        let (more, key) = match run.compares_loads() {
            true => ("loads of more rows", Key::Scale),
            false => ("longer runs", Key::Duration),
        };
        return format!("{again}; {more} scatter less ({})", key.named(by)).into();
    }
    let more = run.record.levels.as_ref().and_then(|levels| most_blocks(&levels.list));
    let Some(level) = more.filter(|_| result.is_none()) else { return again.into() };
    let more = run.root().figure(format!("levels/list/{level}/result/verdict/more_blocks"), Count);
    let key = Key::Blocks.named(by);
    phrase![again, "; levels are judged once, so a new run needs about ", more, " more blocks (", key, ")"]
}

/// The level without an answer that needs most blocks.
fn most_blocks(levels: &[LevelResult]) -> Option<usize> {
    let more = |level: &LevelResult| match level.result.as_ref()?.verdict {
        Verdict::CannotTell { more_blocks } => more_blocks,
        _ => None,
    };
    (0..levels.len())
        .filter(|level| more(&levels[*level]).is_some())
        .max_by_key(|level| more(&levels[*level]))
}

/// How this very run is continued, and what that does; `None` if it cannot be, or has its answer.
fn continuation(run: &Run<'_>) -> Option<(Phrase, Phrase)> {
    let record = run.record;
    let resume = phrase!["pgdyno resume ", run.in_commands()];
    match record.status {
        _ if record.pgbench.is_some() => None,
        Status::Complete => {
            let more = more_blocks(record.comparison.as_ref()?)?;
            let at = run.root().at("comparison");
            let does = phrase![
                "continue this comparison with the blocks that it lacks",
                maybe(", ", at.figure("more_s", Minutes), ""),
            ];
            let more = at.figure("result/verdict/more_blocks", Count).filter(|of| of.value == more);
            Some((does, phrase![resume, " --more-blocks ", more]))
        }
        Status::Partial | Status::Stopped if record.plan.blocks > 0 => {
            Some(("continue this run; what was measured is kept".into(), resume))
        }
        Status::Partial | Status::Stopped => {
            let is_load = |of: &OperationRecord| of.name == "load" && of.duration_s.is_none();
            let broke_off = record.operations.iter().any(is_load) && !record.command.contains("--resume");
            let command = phrase![run.root().figure("command", Text), " --resume"];
            broke_off.then_some((
                "continue this load; rows that the tables kept are not loaded again".into(),
                command,
            ))
        }
    }
}

/// How many blocks a comparison without an answer lacks; `None` if it has one, or if that is too many.
fn more_blocks(comparison: &ComparisonRecord) -> Option<u32> {
    let Verdict::CannotTell { more_blocks } = comparison.result.as_ref()?.verdict else { return None };
    let made = comparison.looks.last()?.blocks;
    more_blocks.filter(|more| !comparison.too_disturbed && made.saturating_add(*more) <= MAX_BLOCKS)
}

/// The command that continues the run; `None` if it cannot be continued.
pub fn continued(run: &Run<'_>) -> Option<Section> {
    let (does, command) = continuation(run)?;
    let remark = Block::text(phrase!["To ", does, "."]);
    Some(Section::new("Continue", vec![Block::Code(command), remark]))
}

/// The command that repeats the run.
pub fn again(run: &Run<'_>) -> Section {
    let command = phrase![run.root().figure("command", Text)];
    let remark = (!run.is_of_operations()).then(|| Block::text(AGAIN));
    Section::new("Repeat this run", [Block::Code(command)].into_iter().chain(remark).collect())
}
