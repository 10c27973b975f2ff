//! What a report of a comparison says: the answer first, then what it rests on.

use pgdyno_analysis::compare::{Comparable, Fairness, Verdict};
use pgdyno_record::{BlockKind, ComparisonRecord, RunRecord, SubjectRecord};

use crate::figure::{Figure, Format, Phrase, Source};

/// The comparison in sentences and rows.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonView {
    /// The answer, in one line.
    pub answer: Phrase,
    /// Estimate, interval and tests.
    pub tests: Phrase,
    /// A and B.
    pub arms: Vec<Phrase>,
    /// Whether they can be compared, without a full stop.
    pub comparable: Phrase,
    /// The blocks in the order they ran.
    pub blocks: Vec<BlockRow>,
    /// In what A and B differ.
    pub differences: Vec<DifferenceRow>,
    /// What A against A showed.
    pub floor: Phrase,
}

/// A block.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockRow {
    /// Its number.
    pub number: Option<Figure>,
    /// Whether both of its runs were A's.
    pub same: bool,
    /// `AB` or `BA`, as they ran; `AA`.
    pub order: &'static str,
    /// Result of A per second.
    pub a: Option<Figure>,
    /// Result of B per second.
    pub b: Option<Figure>,
    /// B over A, less 1.
    pub difference: Option<Figure>,
    /// Whether it stands out from the others.
    pub outlier: bool,
}

impl BlockRow {
    /// A word for what is special about it.
    pub fn note(&self) -> &'static str {
        match (self.same, self.outlier) {
            (true, true) => "A against A, outlier",
            (true, false) => "A against A",
            (false, true) => "outlier",
            (false, false) => "",
        }
    }
}

/// Something that A and B do not share.
#[derive(Debug, Clone, PartialEq)]
pub struct DifferenceRow {
    /// Its name.
    pub what: Option<Figure>,
    /// Whether it was the question.
    pub why: Option<Figure>,
    /// With A.
    pub a: Option<Figure>,
    /// With B.
    pub b: Option<Figure>,
}

/// What a number of a comparison means.
pub const METHOD: [&str; 5] = [
    "A block is one run of A and one of B, side by side in time; which goes first, changes in the order AB BA BA AB. \
     Its observation is the logarithm of B over A. The effect is the mean of the observations, turned back into a \
     share, with the interval of Student's t.",
    "When the result is looked at was fixed beforehand, and so was how sure each look has to be. All looks together \
     say faster or slower of two equal things at most one time in twenty. An interval within the margin means: no \
     difference that matters.",
    "The sign-flip test counts in how many of all patterns of signs the mean would be as far from nothing; \
     Hodges-Lehmann is a middle that wild blocks hardly move. Outliers are marked and never left out.",
    "Blocks of two runs of A show what the machine does by itself. An effect smaller than the smallest that so many \
     blocks can show is found only by luck. The table has the blocks of A and B that the answer rests on, without \
     these.",
    "A and B are comparable where nothing differs but what was asked, and what a version brings by itself: defaults \
     that it changed. Whatever else differs may be the reason just as well. Where compilers or flags differ, the \
     question is one of two builds and not of two versions.",
];

impl ComparisonView {
    /// The view of a record's comparison.
    pub fn new(comparison: &ComparisonRecord, record: &RunRecord, source: &Source) -> Self {
        let second = record.subjects.get(1);
        let differences = second.map_or(0, |subject| subject.differences.len());
        Self {
            answer: answer(comparison, source),
            tests: tests(comparison, source),
            arms: record.subjects.iter().enumerate().map(|(at, of)| in_words(at, of, source)).collect(),
            comparable: comparable(second, source),
            blocks: (0..comparison.blocks.len()).map(|at| block(at, comparison, source)).collect(),
            differences: (0..differences).map(|at| difference(at, source)).collect(),
            floor: floor(source),
        }
    }
}

fn at(source: &Source, pointer: &str, format: Format) -> Option<Figure> {
    source.figure(format!("/comparison/{pointer}"), format)
}

fn interval(source: &Source) -> Phrase {
    Phrase::of("[")
        .figure(at(source, "result/low", Format::Points))
        .text(", ")
        .figure(at(source, "result/high", Format::Points))
        .text("]")
}

/// The answer in one line.
pub fn answer(comparison: &ComparisonRecord, source: &Source) -> Phrase {
    let effect = |format| at(source, "result/effect", format);
    let so_far = || Phrase::of("B ").figure(effect(Format::Change)).text(" ").then(interval(source));
    let Some(result) = &comparison.result else {
        return Phrase::of("Cannot tell: too few blocks were made.");
    };
    match result.verdict {
        Verdict::Faster => {
            Phrase::of("B is ").figure(effect(Format::Size)).text(" faster ").then(interval(source))
        }
        Verdict::Slower => {
            Phrase::of("B is ").figure(effect(Format::Size)).text(" slower ").then(interval(source))
        }
        Verdict::NoDifference => Phrase::of("No difference that matters: ").then(so_far()).maybe(
            " is within ± ",
            at(source, "margin", Format::Percent),
            "",
        ),
        Verdict::CannotTell { more_blocks: Some(more) } => {
            let blocks = at(source, "result/verdict/more_blocks", Format::Count);
            Phrase::of("Cannot tell: about ")
                .figure(blocks)
                .text(if more == 1 { " more block" } else { " more blocks" })
                .maybe(", ", at(source, "more_s", Format::Minutes), "")
                .text(". Until now ")
                .then(so_far())
        }
        Verdict::CannotTell { more_blocks: None } => {
            Phrase::of("Cannot tell, and no number of blocks in reason would: lengthen the runs. Until now ")
                .then(so_far())
        }
    }
}

fn tests(comparison: &ComparisonRecord, source: &Source) -> Phrase {
    if comparison.result.is_none() {
        return Phrase::of("There is nothing to test.");
    }
    at_look(source)
        .text(". Hodges-Lehmann ")
        .figure(at(source, "result/hodges_lehmann", Format::Change))
        .maybe(", sign-flip p ", at(source, "result/sign_flip_p", Format::Number), "")
        .text(". Blocks scatter by ")
        .figure(at(source, "result/between_blocks", Format::Percent))
        .text(" (standard deviation)")
        .maybe(" and take ", at(source, "block_s", Format::Seconds), " each")
        .text(".")
}

fn at_look(source: &Source) -> Phrase {
    Phrase::default()
        .figure(at(source, "result/blocks", Format::Count))
        .text(" blocks; the interval may miss the truth ")
        .figure(at(source, "result/alpha", Format::Percent))
        .text(" of the time")
}

fn in_words(index: usize, arm: &SubjectRecord, source: &Source) -> Phrase {
    let of_arm = |field: &str, format| source.figure(format!("/subjects/{index}/{field}"), format);
    let phrase = Phrase::default().figure(of_arm("name", Format::Text));
    let phrase = phrase.text(" ").figure(of_arm("said", Format::Text));
    let phrase = phrase.maybe(": PostgreSQL ", of_arm("server/version", Format::Text), "");
    let work =
        if arm.command.is_some() { of_arm("command", Format::Text) } else { of_arm("script", Format::Text) };
    let kind = if arm.command.is_some() { ", command " } else { ", " };
    // What has been said of it is not said again.
    let said = |word: &Option<String>| word.as_ref().is_some_and(|word| arm.said.contains(word.as_str()));
    if said(&arm.command) || said(&arm.script) { phrase } else { phrase.maybe(kind, work, "") }
}

fn block(index: usize, comparison: &ComparisonRecord, source: &Source) -> BlockRow {
    let of_block = |field: &str, format| at(source, &format!("blocks/{index}/{field}"), format);
    let record = &comparison.blocks[index];
    let same = record.kind == BlockKind::Aa;
    BlockRow {
        number: of_block("number", Format::Count),
        same,
        order: match (same, record.first.letter()) {
            (true, _) => "AA",
            (false, "A") => "AB",
            (false, _) => "BA",
        },
        a: of_block("a_per_s", Format::Rate),
        b: of_block("b_per_s", Format::Rate),
        difference: of_block("difference", Format::Change),
        outlier: record.outlier,
    }
}

fn difference(index: usize, source: &Source) -> DifferenceRow {
    let of = |field: &str, format| source.figure(format!("/subjects/1/differences/{index}/{field}"), format);
    let of_row = |field: &str| of(field, Format::Text);
    let why = of("why", Format::Word);
    DifferenceRow { what: of_row("what"), why, a: of_row("a"), b: of_row("b") }
}

/// Most names that a sentence lists; the table below it has all of them.
const NAMES: usize = 6;

/// The verdict on A and B in one sentence.
fn comparable(second: Option<&SubjectRecord>, source: &Source) -> Phrase {
    let Some(comparable) = second.and_then(|subject| subject.comparable.as_ref()) else {
        return Phrase::of(
            "Whether A and B are alike was not judged: it ended before their servers were there",
        );
    };
    let list = |before: &str, field: &str, names: &[String]| {
        let pointer = format!("/subjects/1/comparable/{field}");
        Phrase::of(before).list(source, &pointer, names.len(), NAMES)
    };
    let Comparable { asked, besides, unknown, .. } = comparable;
    let phrase = match comparable.verdict {
        Fairness::Alike => Phrase::of("A and B are alike"),
        Fairness::AlikeButForWhatWasAsked => {
            list("A and B are alike but for what was asked: ", "asked", asked)
        }
        Fairness::DiffersBesides => list("A and B differ in more than what was asked: ", "besides", besides),
        Fairness::NotKnown => list("Whether A and B are alike is not known. Not seen: ", "unknown", unknown),
    };
    let defaults = &comparable.defaults_of_version;
    match (comparable.verdict, defaults.is_empty()) {
        (Fairness::AlikeButForWhatWasAsked, false) => {
            phrase.then(list("; defaults of the version: ", "defaults_of_version", defaults))
        }
        _ => phrase,
    }
}

fn floor(source: &Source) -> Phrase {
    let Some(smallest) = at(source, "floor/smallest_effect", Format::Percent) else {
        return Phrase::of("Not known: it takes at least two blocks of A against A to see it.");
    };
    Phrase::of("A and A differ by ")
        .figure(at(source, "floor/between_runs", Format::Percent))
        .text(" (root mean square of ")
        .figure(at(source, "floor/blocks", Format::Count))
        .text(" blocks): the smallest effect that ")
        .figure(at(source, "floor/shown_by_blocks", Format::Count))
        .text(" blocks can show here is about ")
        .figure(Some(smallest))
        .text(".")
}
