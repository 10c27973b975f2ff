//! What a report of several subjects says: each beside the first, script by script and level by level.

use pgdyno_analysis::compare::{Comparable, Fairness, LevelResult, Unjudged, Verdict};
use pgdyno_core::{facts::DurabilityTier, measure::Workload, units};
use pgdyno_record::{LevelsRecord, RunRecord, SubjectRecord};

use crate::figure::{Figure, Format, Phrase, Source};

/// Several subjects in sentences and rows.
#[derive(Debug, Clone, PartialEq)]
pub struct SubjectsView {
    /// The subjects with their versions, and whether each can be compared with the first; without full stops.
    pub subjects: Vec<Phrase>,
    /// What each came to beside the first, a sentence for a script, a protocol and a subject.
    pub answers: Vec<Phrase>,
    /// How many levels were judged, and what that means.
    pub judged: Phrase,
    /// The levels by their scripts and protocols.
    pub scripts: Vec<ScriptLevels>,
    /// In what each differs from the first.
    pub differences: Vec<SubjectDifferences>,
    /// What sessions waited for, a line for a cell.
    pub waits: Vec<CellWaits>,
}

/// The levels of one script over one protocol.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptLevels {
    /// Its name, with the protocol behind it where it ran over several.
    pub name: Phrase,
    /// Its name and its protocol as the record has them.
    pub work: (String, String),
    /// A row for a level and a subject.
    pub rows: Vec<LevelRow>,
}

/// A subject beside the first at one level.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelRow {
    /// Number of clients.
    pub clients: Option<Figure>,
    /// Name of the subject.
    pub subject: Option<Figure>,
    /// Its TPS.
    pub tps: Option<Figure>,
    /// The TPS of the first.
    pub reference: Option<Figure>,
    /// Blocks in which both committed something.
    pub blocks: Option<Figure>,
    /// By how much it is faster.
    pub effect: Option<Figure>,
    /// Lower end of the interval.
    pub low: Option<Figure>,
    /// Upper end.
    pub high: Option<Figure>,
    /// The verdict.
    pub verdict: &'static str,
    /// Whether it holds among all levels together.
    pub among_all: bool,
}

impl LevelRow {
    /// The interval in brackets; a dash where there is none.
    pub fn interval(&self) -> String {
        let text = |figure: &Option<Figure>| figure.as_ref().map(|figure| figure.text.clone());
        match text(&self.low).zip(text(&self.high)) {
            Some((low, high)) => format!("[{low}, {high}]"),
            None => units::ABSENT.to_owned(),
        }
    }

    /// The verdict, marked where it holds among all levels together.
    pub fn marked(&self) -> String {
        format!("{}{}", self.verdict, if self.among_all { " *" } else { "" })
    }
}

/// In what a subject differs from the first.
#[derive(Debug, Clone, PartialEq)]
pub struct SubjectDifferences {
    /// Number of the subject, from 0.
    pub at: usize,
    /// Its name.
    pub name: Option<Figure>,
    /// What differs, what the first has, what it has, and why.
    pub rows: Vec<[Option<Figure>; 4]>,
}

/// What the sessions of a cell waited for.
#[derive(Debug, Clone, PartialEq)]
pub struct CellWaits {
    /// The cell.
    pub cell: Phrase,
    /// The most frequent with their shares.
    pub events: Phrase,
}

/// What a number of several subjects means.
pub const METHOD: [&str; 4] = [
    "At every level the subjects ran one after the other within each block, in an order that changes from block to \
     block and begins where the seed says, all with the same rows. Each has a server and data of its own; the others \
     are idle meanwhile.",
    "A level is judged by the logarithms of the ratios within its blocks: their mean turned back into a share, and the \
     interval of Student's t at 95 %. An interval above nothing is faster, below nothing slower, within the margin no \
     difference that matters, else it cannot tell. There is no verdict in an open loop, where TPS is the schedule's, \
     and none where a run committed fewer than 100.",
    "Every level is judged by itself: of twenty levels without any difference about one is called faster or slower all \
     the same. A star marks those that stay so where all levels together may be wrong one time in twenty (Bonferroni).",
    "What sessions waited for was looked at ten times a second, in pg_stat_activity, by a session of pgdyno's own: \
     `running` waited for nothing that its version tells of (9.6 tells of no I/O), `client` for its client, or, \
     once that had spoken, for a processor: a session tells nothing else before it runs. \
     Of what is `not seen` the server tells nothing. Versions name wait events differently.",
];

/// Most wait events that a line names.
const EVENTS: usize = 4;
/// Most names that a sentence lists.
const NAMES: usize = 6;

impl SubjectsView {
    /// The view of a record's subjects.
    pub fn new(levels: &LevelsRecord, record: &RunRecord, source: &Source) -> Self {
        let subjects = record.subjects.iter().enumerate();
        Self {
            subjects: subjects.clone().map(|(at, of)| subject(at, of, source)).collect(),
            answers: answers(levels, record, source),
            judged: judged(levels, source),
            scripts: scripts(levels, record, source),
            differences: subjects.skip(1).map(|(at, of)| differences(at, of, source)).collect(),
            waits: waits(record, source),
        }
    }
}

fn at(source: &Source, pointer: &str, format: Format) -> Option<Figure> {
    source.figure(format!("/levels/{pointer}"), format)
}

fn name(index: usize, source: &Source) -> Option<Figure> {
    source.figure(format!("/subjects/{index}/name"), Format::Text)
}

fn subject(index: usize, subject: &SubjectRecord, source: &Source) -> Phrase {
    let of = |field: &str, format| source.figure(format!("/subjects/{index}/{field}"), format);
    let phrase = Phrase::default().figure(name(index, source)).maybe(
        ": PostgreSQL ",
        of("server/version", Format::Text),
        "",
    );
    let phrase = phrase.maybe(", build ", of("server/build/made/name", Format::Text), "");
    match &subject.comparable {
        None if index == 0 => phrase.text(", what the others are held against"),
        None => phrase,
        Some(comparable) => phrase.text("; ").then(fairness(index, comparable, source)),
    }
}

/// Whether it can be compared with the first.
fn fairness(index: usize, comparable: &Comparable, source: &Source) -> Phrase {
    let list = |before: &str, field: &str, names: &[String]| {
        let pointer = format!("/subjects/{index}/comparable/{field}");
        Phrase::of(before).list(source, &pointer, names.len(), NAMES)
    };
    let Comparable { asked, besides, unknown, defaults_of_version, .. } = comparable;
    match comparable.verdict {
        Fairness::Alike => Phrase::of("like it in all that was seen"),
        Fairness::AlikeButForWhatWasAsked => {
            let phrase = list("alike but for what was asked: ", "asked", asked);
            match defaults_of_version.is_empty() {
                true => phrase,
                false => phrase.then(list(
                    "; defaults of the version: ",
                    "defaults_of_version",
                    defaults_of_version,
                )),
            }
        }
        Fairness::DiffersBesides => list("differs in more than what was asked: ", "besides", besides),
        Fairness::NotKnown => list("whether it is alike is not known. Not seen: ", "unknown", unknown),
    }
}

/// A script and how its statements were sent.
type Work<'a> = (&'a str, &'a str);

fn work(level: &LevelResult) -> Work<'_> {
    (&level.script, &level.protocol)
}

/// The name of the script that a pointer's `script` tells, with its `protocol` behind it where it ran over several.
pub fn name_of_work(record: &RunRecord, source: &Source, pointer: &str, script: &str) -> Phrase {
    let at = |field: &str| source.figure(format!("{pointer}/{field}"), Format::Text);
    let workloads = record.cells.iter().map(|cell| &cell.workload);
    let mut protocols = workloads.filter(|own| own.script == script).map(|own| &own.protocol);
    let first = protocols.next();
    let several = protocols.any(|other| Some(other) != first);
    Phrase::default().figure(at("script")).maybe(" (", at("protocol").filter(|_| several), ")")
}

/// What stands in an order, each once.
fn each_once<'a>(all: impl Iterator<Item = Work<'a>>) -> Vec<Work<'a>> {
    all.fold(Vec::new(), |mut once, one| {
        if !once.contains(&one) {
            once.push(one);
        }
        once
    })
}

/// The levels of one subject, that of a number in the list, in one script over one protocol.
type Levels<'a> = (usize, Vec<(usize, &'a LevelResult)>);

/// A sentence for each subject in each script, and one for all that cannot be told apart at any level.
fn answers(levels: &LevelsRecord, record: &RunRecord, source: &Source) -> Vec<Phrase> {
    let works = each_once(levels.list.iter().map(work));
    let levels_of = |of: Work<'_>, other: usize| -> Levels<'_> {
        let name = &record.subjects[other].name;
        let levels = levels.list.iter().enumerate();
        (other, levels.filter(|(_, level)| work(level) == of && level.subject == *name).collect())
    };
    let others = 1..record.subjects.len();
    let all = works.iter().flat_map(|of| others.clone().map(move |other| levels_of(*of, other)));
    let is_open = |(_, levels): &Levels<'_>| levels.iter().all(|(_, level)| kind_of(level) == "cannot tell");
    let (open, mut told): (Vec<_>, Vec<_>) = all.filter(|(_, levels)| !levels.is_empty()).partition(is_open);
    let several_open = open.len() > 1;
    if !several_open {
        told.extend(open.iter().cloned());
    }
    let answers = told.iter().filter_map(|(other, levels)| answer(levels, *other, record, source));
    answers.chain(several_open.then(|| untold(&open, record, source))).collect()
}

/// Subjects that cannot be told apart from the first at any level, script by script.
fn untold(open: &[Levels<'_>], record: &RunRecord, source: &Source) -> Phrase {
    let mut phrase = Phrase::of("Not to be told apart from ").figure(name(0, source)).text(" at any level: ");
    let mut before = None;
    for (other, levels) in open {
        let (first, level) = levels[0];
        if before == Some(work(level)) {
            phrase = phrase.text(", ");
        } else {
            let pointer = format!("/levels/list/{first}");
            let script = name_of_work(record, source, &pointer, &level.script);
            phrase = phrase.text(if before.is_some() { "; " } else { "" }).then(script).text(" ");
        }
        phrase = phrase.figure(name(*other, source));
        before = Some(work(level));
    }
    phrase
}

/// One subject in one script over one protocol: at which levels it is what.
fn answer(
    levels: &[(usize, &LevelResult)],
    other: usize,
    record: &RunRecord,
    source: &Source,
) -> Option<Phrase> {
    let (first, level) = levels.first()?;
    let mut phrase = name_of_work(record, source, &format!("/levels/list/{first}"), &level.script)
        .text(": ")
        .figure(name(other, source))
        .text(" beside ")
        .figure(name(0, source));
    let mut mark = " is ";
    for kind in KINDS {
        let own: Vec<_> = levels.iter().filter(|(_, level)| kind_of(level) == kind).collect();
        let (Some(low), Some(high)) = (
            own.iter().min_by(|a, b| order(a.1).total_cmp(&order(b.1))),
            own.iter().max_by(|a, b| order(a.1).total_cmp(&order(b.1))),
        ) else {
            continue;
        };
        phrase = phrase.text(mark).text(words_of(kind, mark)).text(" at ");
        for (nth, (index, _)) in own.iter().enumerate() {
            let comma = if nth > 0 { ", " } else { "" };
            phrase = phrase.text(comma).figure(at(source, &format!("list/{index}/clients"), Format::Count));
        }
        mark = "; ";
        if !matches!(kind, "faster" | "slower") {
            continue;
        }
        let effect = |index: usize| at(source, &format!("list/{index}/effect"), Format::Change);
        phrase = phrase.text(" (").figure(effect(low.0));
        if low.0 != high.0 {
            phrase = phrase.text(" to ").figure(effect(high.0));
        }
        phrase = phrase.text(")");
    }
    Some(phrase.text(" clients"))
}

/// What a level can be, in the order of a sentence.
const KINDS: [&str; 8] = [
    "faster",
    "slower",
    "no different",
    "cannot tell",
    OPEN_LOOP,
    NOTHING_COMMITTED,
    FEW_COMMITS,
    "not judged",
];
const OPEN_LOOP: &str = "open loop";
const NOTHING_COMMITTED: &str = "no commit";
const FEW_COMMITS: &str = "few commits";

/// The words of a kind in a sentence, behind its subject or behind another kind.
fn words_of(kind: &'static str, mark: &str) -> &'static str {
    match (kind, mark) {
        (OPEN_LOOP, _) => "not judged (an open loop: TPS is the schedule's; compare latencies)",
        (NOTHING_COMMITTED, _) => "not judged (in a block one of the two committed nothing)",
        (FEW_COMMITS, _) => "not judged (a run committed too few for that: lengthen the runs)",
        ("no different", _) => "not different by anything that matters",
        ("cannot tell", " is ") => "not to be told apart",
        ("cannot tell", _) => "cannot tell",
        ("not judged", " is ") => "not judged for want of blocks",
        ("not judged", _) => "not judged",
        (kind, _) => kind,
    }
}

fn order(level: &LevelResult) -> f64 {
    level.effect.unwrap_or(0.0)
}

fn kind_of(level: &LevelResult) -> &'static str {
    match level.result.as_ref().map(|result| result.verdict) {
        Some(Verdict::Faster) => "faster",
        Some(Verdict::Slower) => "slower",
        Some(Verdict::NoDifference) => "no different",
        Some(Verdict::CannotTell { .. }) => "cannot tell",
        None => match level.unjudged {
            Some(Unjudged::OpenLoop) => OPEN_LOOP,
            Some(Unjudged::NothingCommitted) => NOTHING_COMMITTED,
            Some(Unjudged::FewCommits) => FEW_COMMITS,
            Some(Unjudged::TooFewBlocks) | None => "not judged",
        },
    }
}

fn judged(levels: &LevelsRecord, source: &Source) -> Phrase {
    if levels.judged == 0 {
        let all = |kind| levels.list.iter().all(|level| kind_of(level) == kind);
        return Phrase::of(match () {
            () if all("not judged") => "No level was judged: an interval takes two blocks.",
            () if all(OPEN_LOOP) => {
                "No level was judged: in an open loop TPS is the schedule's. Compare latencies."
            }
            () => "No level was judged; why, stands beside each.",
        });
    }
    Phrase::of("Levels judged, each by itself: ")
        .figure(at(source, "judged", Format::Count))
        .text("; the margin of what matters is ± ")
        .figure(at(source, "margin", Format::Percent))
        .text(". A star: so among all of them together, too.")
}

fn scripts(levels: &LevelsRecord, record: &RunRecord, source: &Source) -> Vec<ScriptLevels> {
    let of_work = |of: Work<'_>| {
        let levels = levels.list.iter().enumerate();
        let mut own: Vec<_> = levels.filter(|(_, level)| work(level) == of).collect();
        own.sort_by_key(|(_, level)| level.clients);
        let first = own.first().map_or(0, |(index, _)| *index);
        ScriptLevels {
            name: name_of_work(record, source, &format!("/levels/list/{first}"), of.0),
            work: (of.0.to_owned(), of.1.to_owned()),
            rows: own.into_iter().map(|(index, level)| row(index, level, record, source)).collect(),
        }
    };
    each_once(levels.list.iter().map(work)).into_iter().map(of_work).collect()
}

fn row(index: usize, level: &LevelResult, record: &RunRecord, source: &Source) -> LevelRow {
    let of = |field: &str, format| at(source, &format!("list/{index}/{field}"), format);
    let tps = |subject: &str| {
        let own = |workload: &Workload| {
            (&*workload.script, &*workload.protocol, workload.clients, workload.subject.as_deref())
                == (&*level.script, &*level.protocol, level.clients, Some(subject))
        };
        let cell = record.cells.iter().position(|cell| own(&cell.workload))?;
        source.figure(format!("/cells/{cell}/tps/value"), Format::Rate)
    };
    LevelRow {
        clients: of("clients", Format::Count),
        subject: of("subject", Format::Text),
        tps: tps(&level.subject),
        reference: record.subjects.first().and_then(|first| tps(&first.name)),
        blocks: of("blocks", Format::Count),
        effect: of("effect", Format::Change),
        low: of("result/low", Format::Points),
        high: of("result/high", Format::Points),
        verdict: match kind_of(level) {
            "no different" => "no difference",
            kind => kind,
        },
        among_all: level.among_all,
    }
}

fn differences(index: usize, subject: &SubjectRecord, source: &Source) -> SubjectDifferences {
    let row = |row: usize| {
        let below = format!("/subjects/{index}/differences/{row}");
        let of = |field: &str, format| source.figure(format!("{below}/{field}"), format);
        [of("what", Format::Text), of("a", Format::Text), of("b", Format::Text), of("why", Format::Word)]
    };
    let count = subject.differences.len();
    SubjectDifferences { at: index, name: name(index, source), rows: (0..count).map(row).collect() }
}

fn waits(record: &RunRecord, source: &Source) -> Vec<CellWaits> {
    let of_cell = |(index, cell): (usize, &pgdyno_core::measure::CellSummary)| {
        let seen = cell.waits.as_ref().filter(|waits| waits.sessions > 0)?;
        let at = |field: &str, format| source.figure(format!("/cells/{index}/{field}"), format);
        let mut events = Phrase::default();
        for event in 0..seen.events.len().min(EVENTS) {
            let share = source.share(
                format!("/cells/{index}/waits/events/{event}/count"),
                format!("/cells/{index}/waits/sessions"),
            );
            let comma = if event > 0 { ", " } else { "" };
            let name = at(&format!("waits/events/{event}/event"), Format::Text);
            events = events.text(comma).figure(name).text(" ").figure(share);
        }
        let workload = format!("/cells/{index}/workload");
        let cell = name_of_work(record, source, &workload, &cell.workload.script)
            .text("/")
            .figure(at("workload/clients", Format::Count))
            .text(" ")
            .figure(at("workload/subject", Format::Text));
        Some(((cell_order(record, index)), CellWaits { cell, events }))
    };
    let mut found: Vec<_> = record.cells.iter().enumerate().filter_map(of_cell).collect();
    found.sort_by_key(|(order, _)| *order);
    found.into_iter().map(|(_, waits)| waits).collect()
}

/// Where a cell belongs in a list: by script and protocol in the order they ran, clients, subject.
pub fn cell_order(record: &RunRecord, cell: usize) -> (usize, u32, usize) {
    let own = &record.cells[cell].workload;
    let work = |of: &Workload| (of.script.clone(), of.protocol.clone());
    let script = record.cells.iter().position(|other| work(&other.workload) == work(own)).unwrap_or(cell);
    (script, own.clients, place(record, own))
}

/// The number of a workload's subject; 0 where there is none.
pub fn place(record: &RunRecord, workload: &Workload) -> usize {
    record.place_of(workload).unwrap_or(0)
}

/// The durability tiers of several subjects.
pub fn durability(record: &RunRecord) -> Phrase {
    let tiers: Vec<_> = record.subjects.iter().map(tier).collect();
    match tiers.split_first() {
        Some((Some(first), others)) if others.iter().all(|tier| tier.as_ref() == Some(first)) => {
            Phrase::of(*first)
        }
        Some((None, others)) if others.iter().all(Option::is_none) => {
            Phrase::of("not known: the commands bring their own servers")
        }
        _ => {
            let words = record.subjects.iter().zip(tiers);
            let words =
                words.map(|(subject, tier)| format!("{} {}", subject.name, tier.unwrap_or("not known")));
            Phrase::of(format!("differs. {}", words.collect::<Vec<_>>().join("; ")))
        }
    }
}

/// The tier of a subject in words; `None` where it brings its own server.
fn tier(subject: &SubjectRecord) -> Option<&'static str> {
    let tier = subject.server.as_ref()?.durability;
    Some(match (&subject.command, tier) {
        (Some(_), DurabilityTier::Full) => {
            "full by the server's settings: what the sessions of the command set is not seen"
        }
        _ => tier.label(),
    })
}

/// The checks of several subjects' data in a sentence each.
pub fn balance(record: &RunRecord, source: &Source) -> Option<Phrase> {
    let mut phrase = Phrase::default();
    for (index, subject) in record.subjects.iter().enumerate() {
        let Some(balance) = &subject.balance else { continue };
        let at = |field: &str, format| source.figure(format!("/subjects/{index}/balance/{field}"), format);
        let of = |field: &str| at(field, Format::Count);
        let blank = if phrase.0.is_empty() { "" } else { " " };
        phrase = phrase
            .text(blank)
            .figure(name(index, source))
            .text(if balance.violations == 0 { " passed: " } else { " VIOLATED: " })
            .figure(of("rows_examined"))
            .text(" rows examined, history held ")
            .figure(of("history_rows"))
            .text(" rows for ")
            .figure(of("committed"))
            .text(" commits, ")
            .figure(of("in_doubt"))
            .text(" in doubt.");
        for example in 0..balance.examples.len() {
            let seen = at(&format!("examples/{example}"), Format::Text);
            phrase = phrase.maybe(" Seen: ", seen, ".");
        }
    }
    (!phrase.0.is_empty()).then_some(phrase)
}

/// Numbers of a server that loses data come after that news.
pub fn violated(record: &RunRecord, source: &Source) -> Option<Phrase> {
    let failed =
        |at: &usize| record.subjects[*at].balance.as_ref().is_some_and(|balance| balance.violations > 0);
    let mut failed = (0..record.subjects.len()).filter(failed).peekable();
    failed.peek()?;
    let phrase = failed.fold(Phrase::of("The balance check failed:"), |phrase, at| {
        phrase.text(" ").figure(name(at, source))
    });
    Some(phrase.text(". Do not use these numbers."))
}

#[cfg(test)]
mod tests {
    use pgdyno_record::fixtures::several;

    use super::*;
    use crate::{
        chart::{Chart, of_subjects},
        document::Document,
    };

    /// The same script a second time over another protocol.
    fn over_two_protocols(record: &mut RunRecord) {
        let mut cells = record.cells.clone();
        cells.iter_mut().for_each(|cell| cell.workload.protocol = "simple".into());
        record.cells.extend(cells);
        let levels = record.levels.as_mut().expect("there are some");
        let mut more = levels.list.clone();
        more.iter_mut().for_each(|level| level.protocol = "simple".into());
        levels.list.extend(more);
    }

    #[test]
    fn one_script_over_two_protocols_is_two_works() {
        let mut record = several().record;
        over_two_protocols(&mut record);
        let document = Document::new(&record, &[]);
        let view = document.subjects.as_ref().expect("there are some");
        let names: Vec<_> = view.scripts.iter().map(|of| of.name.plain()).collect();
        assert_eq!(names, ["select-only (prepared)", "select-only (simple)"]);
        assert!(view.scripts.iter().all(|of| of.rows.len() == 6), "three levels of two subjects");
        let of: Vec<_> = view.answers.iter().map(|answer| answer.plain()).collect();
        assert_eq!(of.len(), 4, "{of:?}");
        assert!(of[2].starts_with("select-only (simple): pg=18 beside pg=9.6 is"), "{of:?}");
        assert_eq!(of[2].replace("simple", "prepared"), of[0]);
        assert!(view.waits[9].cell.plain().starts_with("select-only (simple)/1 "), "{:?}", view.waits);
        let html = crate::html(&document);
        assert_eq!(html.matches("id=\"subjects-tps-1\"").count(), 1, "a chart for each");
        let stops = |chart: &Chart| chart.stops.iter().map(|stop| stop.values.len()).collect::<Vec<_>>();
        let chart = &of_subjects(&document, 1, ("select-only", "simple"))[0];
        assert_eq!(stops(chart), [3, 3, 3], "a value for each subject");
        assert!(chart.svg.contains("select-only (simple)"));
    }

    #[test]
    fn what_cannot_be_told_at_any_level_is_one_sentence() {
        let answers = |open: &[&str]| -> Vec<String> {
            let mut record = several().record;
            over_two_protocols(&mut record);
            let levels = record.levels.as_mut().expect("there are some");
            let own = levels.list.iter_mut().filter(|level| open.contains(&&*level.subject));
            for result in own.filter_map(|level| level.result.as_mut()) {
                result.verdict = Verdict::CannotTell { more_blocks: None };
            }
            let source = Source(serde_json::to_value(&record).expect("plain data"));
            let view = SubjectsView::new(record.levels.as_ref().expect("there are some"), &record, &source);
            view.answers.iter().map(Phrase::plain).collect()
        };
        let all = answers(&["pg=18", "build=lto"]);
        let open = "Not to be told apart from pg=9.6 at any level: select-only (prepared) pg=18, build=lto; \
                    select-only (simple) pg=18, build=lto";
        assert_eq!(all, [open]);
        let one = answers(&["pg=18"]);
        assert_eq!(one.len(), 3, "two of lto, one of all that is open: {one:?}");
        assert!(one[2].ends_with(": select-only (prepared) pg=18; select-only (simple) pg=18"), "{one:?}");
    }

    #[test]
    fn why_a_level_was_not_judged_is_said() {
        for (why, sentence, row) in [
            (Unjudged::OpenLoop, "(an open loop: TPS is the schedule's; compare latencies)", "open loop"),
            (Unjudged::NothingCommitted, "(in a block one of the two committed nothing)", "no commit"),
            (Unjudged::FewCommits, "lengthen the runs)", "few commits"),
            (Unjudged::TooFewBlocks, "; not judged at 4", "not judged"),
        ] {
            let mut record = several().record;
            let levels = record.levels.as_mut().expect("there are some");
            let level = levels.list.iter_mut().find(|level| level.clients == 4 && level.subject == "pg=18");
            let level = level.expect("it ran");
            (level.result, level.unjudged) = (None, Some(why));
            let source = Source(serde_json::to_value(&record).expect("plain data"));
            let view = SubjectsView::new(record.levels.as_ref().expect("there are some"), &record, &source);
            let answer = view.answers[0].plain();
            assert!(answer.contains("not judged") && answer.contains(sentence), "{answer}");
            assert!(answer.ends_with(" at 4 clients"), "{answer}");
            let rows = view.scripts[0].rows.iter();
            let verdicts: Vec<_> = rows.map(|row| row.verdict).collect();
            assert!(verdicts.contains(&row), "{verdicts:?}");
        }
    }
}
