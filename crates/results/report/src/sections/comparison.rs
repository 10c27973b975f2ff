//! A comparison of two subjects in blocks: the answer, then the blocks and tests.

use pgdyno_analysis::{
    DoubtKind,
    compare::{ComparedRate, Comparison, Verdict},
};
use pgdyno_core::{measure::Arm, units::plural};
use pgdyno_document::{
    block::{Block, Cell, Column, Row, Section, Table},
    figure::Format::{
        Change, Confidence, Count, Factor, Minutes, Number, Percent, Points, Rate, Seconds, Size, Text,
    },
    phrase::{Phrase, maybe, phrase},
};
use pgdyno_record::{BlockRecord, ComparisonRecord, RunRecord, SubjectRecord};

use crate::{
    run::Run,
    source::{Place, Source},
};

/// Effect from which on a factor is easier to read than per cent.
const MANIFOLD: f64 = 1.0;
/// Number of last blocks in the summary of a long table.
const LAST: usize = 8;

/// The answer in one line, without a full stop. What was seen of one start of each server is said of these alone.
pub fn answer(record: &RunRecord, comparison: &ComparisonRecord, source: &Source) -> Phrase {
    let answer = answer_of_blocks(comparison, source);
    let is_settled = comparison.result.as_ref().is_some_and(Comparison::is_settled);
    let one_start = record.doubts.iter().any(|doubt| doubt.kind == DoubtKind::OneStart);
    phrase![answer, if is_settled && one_start { ", for this pair of servers" } else { "" }]
}

fn answer_of_blocks(comparison: &ComparisonRecord, source: &Source) -> Phrase {
    let at = source.at("/comparison");
    let effect = |format| at.figure("result/effect", format);
    let interval = phrase!["[", at.figure("result/low", Points), ", ", at.figure("result/high", Points), "]"];
    if comparison.too_disturbed {
        let (all, counted) = (comparison.blocks.len(), comparison.undisturbed().count());
        let many = (all - counted) as u64;
        return format!(
            "Cannot be measured here now: other load disturbed {} of {all}",
            plural(many, "block")
        )
        .into();
    }
    let Some(result) = &comparison.result else {
        return "Cannot tell: too few blocks".into();
    };
    let so_far = phrase!["So far B is ", effect(Change), " ", interval.clone()];
    match result.verdict {
        Verdict::Faster if result.effect >= MANIFOLD => {
            let end = |end: &str| at.figure(format!("result/{end}"), Factor);
            phrase!["B is ", end("effect"), " times as fast [", end("low"), ", ", end("high"), "]"]
        }
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
            let longer = match comparison.by {
                ComparedRate::LoadedRows => "load more rows",
                ComparedRate::Tps | ComparedRate::NewOrders | ComparedRate::Syncs | ComparedRate::Reads => {
                    "use longer runs"
                }
            };
            let words = "Cannot tell, and no reasonable number of blocks would suffice: ";
            phrase![words, longer, ". ", so_far]
        }
    }
}

/// The answer and the arms, without full stops.
pub fn sentences(run: &Run<'_>, comparison: &ComparisonRecord) -> Vec<Phrase> {
    let arms = run.record.subjects.iter().enumerate().map(|(index, arm)| in_words(run, index, arm));
    [answer(run.record, comparison, &run.source)].into_iter().chain(arms).collect()
}

fn in_words(run: &Run<'_>, index: usize, arm: &SubjectRecord) -> Phrase {
    let at = run.subject(index);
    let version = maybe(": PostgreSQL ", at.figure("server/version", Text), "");
    let known = phrase![run.name(index), " ", at.figure("said", Text), version];
    // Does not repeat what the requested arm already contains.
    let said = |word: &Option<String>| word.as_ref().is_some_and(|word| arm.said.contains(word.as_str()));
    match () {
        () if said(&arm.command) || said(&arm.script) => known,
        () if run.compares_storage() => phrase![known, maybe(", ", at.figure("command", Text), "")],
        () if arm.command.is_some() => phrase![known, maybe(", command ", at.figure("command", Text), "")],
        () => phrase![known, maybe(", ", at.figure("script", Text), "")],
    }
}

/// The rates of A and B where no server was driven: rows of loads, operations on storage, or what commands print. Other
/// comparisons have cells, with more figures.
pub fn rates(run: &Run<'_>) -> Option<Section> {
    let comparison = run.record.comparison.as_ref().filter(|_| run.record.cells.is_empty())?;
    let (title, rate) = match comparison.by {
        ComparedRate::LoadedRows => ("Rows loaded per second", "rows/s"),
        ComparedRate::Syncs => ("Synchronous writes per second", "writes/s"),
        ComparedRate::Reads => ("Random reads per second", "reads/s"),
        ComparedRate::Tps | ComparedRate::NewOrders => ("Results of the commands", "per second"),
    };
    let columns = [rate, "±", "least", "most", "blocks"].map(Column::number);
    let columns = [Column::words("arm")].into_iter().chain(columns).collect();
    let arms = [&comparison.a_per_s, &comparison.b_per_s].into_iter().enumerate();
    let rows = arms.filter(|(_, of)| of.is_some()).map(|(index, _)| {
        let arm = run.source.at(RATES[index]);
        let cells: [Cell; 6] = [
            run.name(index).into(),
            arm.rate_within("value", "half_width").into(),
            arm.share("half_width", "value").into(),
            arm.figure("min", Rate).into(),
            arm.figure("max", Rate).into(),
            arm.figure("count", Count).into(),
        ];
        Row::new(true, cells)
    });
    let table = Table::new(columns, rows.collect());
    (!table.is_empty()).then(|| Section::new(title, vec![Block::Table(table)]))
}

/// Where the rates of A and B are.
pub const RATES: [&str; 2] = ["/comparison/a_per_s", "/comparison/b_per_s"];

/// Why the means of A and B differ the other way than the answer says; `None` if they do not.
pub fn contradiction(run: &Run<'_>, comparison: &ComparisonRecord) -> Option<Phrase> {
    let effect = comparison.result.as_ref()?.effect;
    let means = match run.record.cells.as_slice() {
        [a, b] => [a.tps.value, b.tps.value],
        [] => [comparison.a_per_s.as_ref()?.value, comparison.b_per_s.as_ref()?.value],
        _ => return None,
    };
    let is_other_way = comparison.by != ComparedRate::NewOrders && (means[1] - means[0]) * effect < 0.0;
    let words = "The means of A and B differ in the opposite direction: the answer compares A and B within each block \
                 and averages these ratios, so that single blocks weigh less";
    is_other_way.then(|| words.into())
}

/// The blocks in execution order, and the tests over them.
pub fn section(run: &Run<'_>, comparison: &ComparisonRecord) -> Section {
    let has_starts = run.record.plan.blocks_per_start.is_some();
    let columns = vec![
        Column::number("block"),
        Column::words(if has_starts { "start, order" } else { "order" }),
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
            order(block, &at).into(),
            at.figure("a_per_s", Rate).into(),
            at.figure("b_per_s", Rate).into(),
            at.figure("difference", Change).into(),
            remark(block).into(),
        ];
        Row::new(block.outlier || block.disturbed.is_some() || index + LAST >= count, cells)
    });
    let table = Block::Table(Table::new(columns, rows.collect()));
    Section::new("Blocks", vec![table, Block::text(tests(run, comparison))])
}

/// The loads of the blocks, stage by stage; `None` if no loads are compared.
pub fn loads(run: &Run<'_>, comparison: &ComparisonRecord) -> Option<Section> {
    if comparison.loads.is_empty() {
        return None;
    }
    let mut names: Vec<&str> = Vec::new();
    for stage in comparison.loads.iter().flat_map(|load| &load.stages) {
        if !names.contains(&stage.name.as_str()) {
            names.push(&stage.name);
        }
    }
    let count = comparison.loads.len();
    let rows = comparison.loads.iter().enumerate().map(|(index, load)| {
        let at = run.source.at(format!("/comparison/loads/{index}"));
        let arm = if load.arm == Arm::A { "A" } else { "B" };
        let seconds = names.iter().map(|name| {
            let stage = load.stages.iter().position(|stage| stage.name == **name);
            stage.and_then(|stage| at.at("stages").at(stage).figure("duration_s", Seconds)).into()
        });
        let cells = [at.figure("block", Count).into(), arm.into(), at.figure("rows", Count).into()];
        let all = at.figure("duration_s", Seconds).into();
        Row::new(index + LAST >= count, cells.into_iter().chain(seconds).chain([all]))
    });
    let first = [Column::number("block"), Column::words("arm"), Column::number("rows")];
    let stages = names.iter().copied().chain(["all"]).map(|name| Column::number(name).under("time of"));
    let columns = first.into_iter().chain(stages).collect();
    Some(Section::new("Loads", vec![Block::Table(Table::new(columns, rows.collect()))]))
}

/// Why a block does not count, or that it is an outlier.
fn remark(block: &BlockRecord) -> String {
    match block.disturbed {
        Some(met) => format!("not counted: {}", met.words()),
        None => if block.outlier { "outlier" } else { "" }.to_owned(),
    }
}

/// The start of a block, if there are several, and its arms in execution order.
fn order(block: &BlockRecord, at: &Place<'_>) -> Phrase {
    let order = match block.first {
        Arm::A => "AB",
        Arm::B => "BA",
    };
    phrase![maybe("", at.figure("start", Count), " "), order]
}

fn tests(run: &Run<'_>, comparison: &ComparisonRecord) -> Phrase {
    if comparison.result.is_none() {
        return "Too few blocks for a test.".into();
    }
    let at = run.source.at("/comparison");
    phrase![
        at.figure("result/blocks", Count),
        match comparison.by {
            ComparedRate::Tps => " blocks, ",
            ComparedRate::NewOrders => " blocks, compared by New-Orders per second (NOPM over 60), ",
            ComparedRate::LoadedRows => {
                " blocks, compared by rows loaded per second from the first row to the last key, "
            }
            ComparedRate::Syncs => " blocks, compared by writes of 8 KiB with fdatasync per second, ",
            ComparedRate::Reads => " blocks, compared by random reads of 8 KiB per second, ",
        },
        at.figure("result/alpha", Confidence),
        " confidence interval. Hodges-Lehmann ",
        at.figure("result/hodges_lehmann", Change),
        maybe(", sign-flip p ", at.figure("result/sign_flip_p", Number), ""),
        ". ",
        scattering(run, "Means of starts scatter by ", "Blocks scatter by "),
        at.figure("result/between_blocks", Percent),
        " (standard deviation)",
        maybe("; a block takes ", at.figure("block_s", Seconds), ""),
        ".",
        again(comparison),
        starts(run),
        slots(run),
    ]
}

/// How many blocks other load disturbed; they do not count.
fn again(comparison: &ComparisonRecord) -> String {
    match (comparison.blocks.len() - comparison.undisturbed().count()) as u64 {
        0 => String::new(),
        1 => " 1 block was disturbed by other load and does not count.".to_owned(),
        more => format!(" {more} blocks were disturbed by other load and do not count."),
    }
}

/// Words for the units of a comparison, which are starts or blocks.
fn scattering(run: &Run<'_>, starts: &'static str, blocks: &'static str) -> &'static str {
    if run.record.plan.blocks_per_start.is_some() { starts } else { blocks }
}

/// How much starts of the servers differ, compared with the blocks of one.
fn starts(run: &Run<'_>) -> Phrase {
    let at = run.source.at("/comparison/starts");
    let starts = at.figure("starts", Count);
    if starts.is_none() {
        return Phrase::default();
    }
    phrase![
        " Over ",
        starts,
        " starts of both servers: blocks of a start scatter by ",
        at.figure("within", Percent),
        ", starts by ",
        at.figure("between", Percent),
        " beyond that (at most ",
        at.figure("between_high", Percent),
        ").",
    ]
}

/// That runs were slots, and what the idle servers did in them.
fn slots(run: &Run<'_>) -> Phrase {
    if !run.record.plan.slots {
        return Phrase::default();
    }
    let idle = run.source.at("/comparison").figure("idle_cpus", Number);
    phrase![
        " Runs were slots over connections that stayed open within a start",
        maybe("; the idle server used at most ", idle, " CPUs"),
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
        scattering(run, "means of starts scatter by ", "blocks scatter by "),
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

#[cfg(test)]
mod tests {
    use pgdyno_record::RunRecord;
    use testkit::fixtures;

    use super::*;
    use crate::sections::choices;

    fn changed(mut record: RunRecord, change: impl FnOnce(&mut ComparisonRecord)) -> RunRecord {
        change(record.comparison.as_mut().expect("it is a comparison"));
        record
    }

    fn answered(record: &RunRecord) -> String {
        let run = Run::new(record, &[]);
        answer(record, record.comparison.as_ref().expect("it is a comparison"), &run.source).plain()
    }

    #[test]
    fn what_is_many_times_as_fast_is_not_said_in_per_cent() {
        let record = changed(fixtures::faster().record, |of| {
            let result = of.result.as_mut().expect("it has one");
            (result.effect, result.low, result.high) = (48.834, 45.084, 52.889);
        });
        assert_eq!(answered(&record), "B is 49.8 times as fast [46.1, 53.9]");
        assert!(answered(&fixtures::faster().record).contains(" % faster ["));
    }

    /// The means of a table may differ the other way than the answer: that is explained, and only then.
    #[test]
    fn means_that_contradict_the_answer_are_explained() {
        let said = |record: &RunRecord| {
            let run = Run::new(record, &[]);
            contradiction(&run, record.comparison.as_ref().expect("it is a comparison")).is_some()
        };
        let mut record = fixtures::faster().record;
        assert!(!said(&record));
        record.cells[0].tps.value = record.cells[1].tps.value * 1.01;
        assert!(said(&record));
    }

    #[test]
    fn the_next_command_fits_what_was_compared() {
        let repeated = |record: &RunRecord| {
            let next = choices::next(&Run::new(record, &[]));
            next.last().expect("it can be repeated").0.plain()
        };
        let loads = repeated(&fixtures::loads().record);
        assert!(loads.ends_with("loads of more rows scatter less (--scale)"), "{loads}");
        let busy = repeated(&changed(fixtures::commands().record, |of| of.too_disturbed = true));
        assert!(busy.contains("stop other programs") && busy.contains("--keep-disturbed"), "{busy}");
    }
}
