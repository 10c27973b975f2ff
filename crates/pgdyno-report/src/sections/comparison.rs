//! A comparison of two subjects in blocks: the answer, then the blocks and tests.

use pgdyno_analysis::compare::Verdict;
use pgdyno_core::measure::Arm;
use pgdyno_record::{BlockRecord, ComparisonRecord, SubjectRecord};

use crate::{
    block::{Block, Column, Row, Section, Table},
    figure::{
        Format::{Change, Confidence, Count, Minutes, Number, Percent, Points, Rate, Seconds, Size, Text},
        Source,
    },
    phrase::{Phrase, maybe, phrase},
    run::Run,
};

/// Number of last blocks in the summary of a long table.
const LAST: usize = 8;

/// The answer in one line, without a full stop.
pub fn answer(comparison: &ComparisonRecord, source: &Source) -> Phrase {
    let at = source.at("/comparison");
    let effect = |format| at.figure("result/effect", format);
    let interval = phrase!["[", at.figure("result/low", Points), ", ", at.figure("result/high", Points), "]"];
    let Some(result) = &comparison.result else {
        return "Cannot tell: too few blocks.".into();
    };
    let so_far = phrase!["So far B is ", effect(Change), " ", interval.clone()];
    match result.verdict {
        Verdict::Faster => phrase!["B is ", effect(Size), " faster ", interval],
        Verdict::Slower => phrase!["B is ", effect(Size), " slower ", interval],
        Verdict::NoDifference => phrase![
            "No difference that matters: B ",
            effect(Change),
            " ",
            interval,
            maybe(" is within ± ", at.figure("margin", Percent), ""),
        ],
        Verdict::CannotTell { more_blocks: Some(more) } => phrase![
            "Cannot tell: about ",
            at.figure("result/verdict/more_blocks", Count),
            if more == 1 { " more block" } else { " more blocks" },
            maybe(", ", at.figure("more_s", Minutes), ""),
            ". ",
            so_far,
        ],
        Verdict::CannotTell { more_blocks: None } => {
            phrase![
                "Cannot tell, and no reasonable number of blocks would suffice: use longer runs. ",
                so_far
            ]
        }
    }
}

/// The answer and the arms, without full stops.
pub fn sentences(run: &Run<'_>, comparison: &ComparisonRecord) -> Vec<Phrase> {
    let arms = run.record.subjects.iter().enumerate().map(|(index, arm)| in_words(run, index, arm));
    [answer(comparison, &run.source)].into_iter().chain(arms).collect()
}

fn in_words(run: &Run<'_>, index: usize, arm: &SubjectRecord) -> Phrase {
    let at = run.subject(index);
    let version = maybe(": PostgreSQL ", at.figure("server/version", Text), "");
    let known = phrase![run.name(index), " ", at.figure("said", Text), version];
    // Does not repeat what the requested arm already contains.
    let said = |word: &Option<String>| word.as_ref().is_some_and(|word| arm.said.contains(word.as_str()));
    match () {
        () if said(&arm.command) || said(&arm.script) => known,
        () if arm.command.is_some() => phrase![known, maybe(", command ", at.figure("command", Text), "")],
        () => phrase![known, maybe(", ", at.figure("script", Text), "")],
    }
}

/// The blocks in execution order, and the tests over them.
pub fn section(run: &Run<'_>, comparison: &ComparisonRecord) -> Section {
    let columns = vec![
        Column::number("block"),
        Column::words("order"),
        Column::number("A /s"),
        Column::number("B /s"),
        Column::number("B over A"),
        Column::words(""),
    ];
    let count = comparison.blocks.len();
    let rows = comparison.blocks.iter().enumerate().map(|(index, block)| {
        let at = run.source.at(format!("/comparison/blocks/{index}"));
        let cells = [
            at.figure("number", Count).into(),
            order(block).into(),
            at.figure("a_per_s", Rate).into(),
            at.figure("b_per_s", Rate).into(),
            at.figure("difference", Change).into(),
            if block.outlier { "outlier" } else { "" }.into(),
        ];
        Row::new(block.outlier || index + LAST >= count, cells)
    });
    let table = Block::Table(Table::new(columns, rows.collect()));
    Section::new("Blocks", vec![table, Block::text(tests(run, comparison))])
}

/// The arms of a block in execution order.
fn order(block: &BlockRecord) -> &'static str {
    match block.first {
        Arm::A => "AB",
        Arm::B => "BA",
    }
}

fn tests(run: &Run<'_>, comparison: &ComparisonRecord) -> Phrase {
    if comparison.result.is_none() {
        return "Too few blocks for a test.".into();
    }
    let at = run.source.at("/comparison");
    phrase![
        at.figure("result/blocks", Count),
        " blocks, ",
        at.figure("result/alpha", Confidence),
        " confidence interval. Hodges-Lehmann ",
        at.figure("result/hodges_lehmann", Change),
        maybe(", sign-flip p ", at.figure("result/sign_flip_p", Number), ""),
        ". Blocks scatter by ",
        at.figure("result/between_blocks", Percent),
        " (standard deviation)",
        maybe(" and take ", at.figure("block_s", Seconds), " each"),
        ".",
    ]
}

/// The noise floor in a sentence: the scatter of the blocks, and what it allows to show.
pub fn floor(run: &Run<'_>) -> Phrase {
    let at = run.source.at("/comparison/floor");
    let Some(smallest) = at.figure("smallest_effect", Percent) else {
        return "Unknown: needs at least three blocks.".into();
    };
    phrase![
        "blocks scatter by ",
        at.figure("between_blocks", Percent),
        " [",
        at.figure("low", Percent),
        ", ",
        at.figure("high", Percent),
        "] (standard deviation of B over A); the smallest effect that ",
        at.figure("shown_by_blocks", Count),
        " blocks can show here is about ",
        Some(smallest),
        ", and about ",
        at.figure("blocks_for_effect", Count),
        " blocks would show ",
        at.figure("effect", Percent),
        " four times in five.",
    ]
}
