//! Several subjects, each compared with the baseline, script by script and level by level.

use pgdyno_analysis::compare::{LevelResult, ScriptResult, Unjudged, Verdict};
use pgdyno_core::measure::CellSummary;
use pgdyno_document::{
    block::{Block, Column, Group, Row, Section, Table, Tone},
    figure::{
        Figure,
        Format::{Change, Count, Percent, Points, Text},
    },
    phrase::{Phrase, Piece, joined, maybe, phrase},
};
use pgdyno_record::LevelsRecord;

use crate::{run::Run, sections::differences};

/// The levels of one script over one protocol.
struct Work<'a> {
    run: &'a Run<'a>,
    /// The levels with their indexes in the record, by client count.
    levels: Vec<(usize, &'a LevelResult)>,
}

/// The levels by script and protocol, in the order of the record.
fn works<'a>(run: &'a Run<'a>, levels: &'a LevelsRecord) -> Vec<Work<'a>> {
    let mut works: Vec<Work<'a>> = Vec::new();
    for (index, level) in levels.list.iter().enumerate() {
        let work = |of: &LevelResult| (of.script.clone(), of.protocol.clone());
        match works.iter_mut().find(|own| work(own.levels[0].1) == work(level)) {
            Some(own) => own.levels.push((index, level)),
            None => works.push(Work { run, levels: vec![(index, level)] }),
        }
    }
    works.iter_mut().for_each(|work| work.levels.sort_by_key(|(_, level)| level.clients));
    works
}

impl<'a> Work<'a> {
    fn name(&self) -> Phrase {
        let (index, level) = self.levels[0];
        self.run.script(&self.run.source.at(format!("/levels/list/{index}")), &level.script)
    }

    /// The levels of a subject.
    fn of(&self, subject: usize) -> Vec<(usize, &'a LevelResult)> {
        let name = self.run.record.names()[subject];
        self.levels.iter().copied().filter(|(_, level)| level.subject == name).collect()
    }

    /// The cells of a subject.
    fn cells(&self, subject: usize) -> Vec<usize> {
        let (_, level) = self.levels[0];
        let own = |cell: &CellSummary| {
            (&cell.workload.script, &cell.workload.protocol) == (&level.script, &level.protocol)
                && self.run.place_of(&cell.workload) == subject
        };
        let cells = self.run.record.cells.iter().enumerate();
        cells.filter(|(_, cell)| own(cell)).map(|(index, _)| index).collect()
    }

    /// How much the row of a subject says: most if it has the best cell, or differs from the baseline.
    fn weight(&self, subject: usize, best: Option<usize>) -> u8 {
        let differs = of_kind(&self.of(subject), FASTER).len() + of_kind(&self.of(subject), SLOWER).len() > 0;
        let is_best = best.is_some_and(|best| self.cells(subject).contains(&best));
        u8::from(subject == 0) + 2 * u8::from(differs || is_best)
    }

    /// The cell of a subject at a client count.
    fn cell(&self, subject: usize, clients: u32) -> Option<usize> {
        let at = |cell: &usize| self.run.record.cells[*cell].workload.clients == clients;
        self.cells(subject).into_iter().find(at)
    }
}

/// Every subject in every script: its best level, the comparison with the baseline there, and the verdicts of all
/// levels.
pub fn summary(run: &Run<'_>, levels: &LevelsRecord) -> Table {
    let columns = vec![
        Column::text("subject"),
        Column::number("clients"),
        Column::number("best TPS"),
        Column::words("all vs baseline"),
        Column::text("level by level"),
    ];
    let group = |work: &Work<'_>| {
        let subjects = || 0..run.record.subjects.len();
        let best = run.best(&subjects().flat_map(|subject| work.cells(subject)).collect::<Vec<_>>());
        let row = |subject| Some(Row { weight: work.weight(subject, best), ..summary_row(work, subject)? });
        Group { name: work.name(), rows: subjects().filter_map(row).collect(), ..Group::default() }
    };
    let groups = works(run, levels).iter().map(group).collect();
    Table { group_name: "script", columns, groups, ..Table::default() }
}

fn summary_row(work: &Work<'_>, subject: usize) -> Option<Row> {
    let run = work.run;
    let best = run.best(&work.cells(subject))?;
    let clients = run.record.cells[best].workload.clients;
    let own = work.of(subject);
    let (against, all) = match (subject, over_levels(work, subject)) {
        (0, _) => ("baseline".into(), Phrase::default()),
        (_, Some((effect, verdict))) if of_kind(&own, verdict).len() == own.len() => {
            (effect, by_verdict(run, &own))
        }
        (_, Some((effect, verdict))) => (effect, phrase![verdict, " over all; ", by_verdict(run, &own)]),
        (_, None) => {
            let there = own.iter().find(|(_, level)| level.clients == clients);
            (there.map_or(Phrase::default(), |(index, _)| effect(run, *index)), by_verdict(run, &own))
        }
    };
    let at = run.cell(best);
    let (clients, tps) = (at.figure("workload/clients", Count), at.rate("tps"));
    Some(Row::new(true, [run.name(subject).into(), clients.into(), tps.into(), against.into(), all.into()]))
}

/// The effect of a subject over all levels of a script, with its interval, and the verdict; `None` if the script has a
/// single level, or too few blocks.
fn over_levels(work: &Work<'_>, subject: usize) -> Option<(Phrase, &'static str)> {
    let (run, name) = (work.run, work.run.record.names()[subject]);
    let (_, level) = work.levels[0];
    let own = |of: &ScriptResult| {
        (&of.script, &of.protocol, of.subject.as_str()) == (&level.script, &level.protocol, name)
    };
    let scripts = &run.record.levels.as_ref()?.scripts;
    let index = scripts.iter().position(own)?;
    let at = run.source.at(format!("/levels/scripts/{index}/result"));
    let interval = phrase![" [", at.figure("low", Points), ", ", at.figure("high", Points), "]"];
    let verdict = in_family(scripts[index].result.verdict, scripts[index].among_all);
    Some((phrase![at.figure("effect", Change), interval], verdict))
}

/// A verdict after correction over the plan: a difference that is not significant in the family is none.
fn in_family(verdict: Verdict, among_all: bool) -> &'static str {
    match verdict {
        Verdict::Faster if among_all => FASTER,
        Verdict::Slower if among_all => SLOWER,
        Verdict::NoDifference => NO_DIFFERENCE,
        Verdict::Faster | Verdict::Slower | Verdict::CannotTell { .. } => CANNOT_TELL,
    }
}

/// The effect of a subject at a level, with its confidence interval.
fn effect(run: &Run<'_>, index: usize) -> Phrase {
    let at = run.source.at(format!("/levels/list/{index}"));
    let interval = match (at.figure("result/low", Points), at.figure("result/high", Points)) {
        (Some(low), Some(high)) => phrase![" [", Some(low), ", ", Some(high), "]"],
        _ => Phrase::default(),
    };
    phrase![at.figure("effect", Change), interval]
}

/// The client counts with each verdict, of the differences only those that hold among all levels of the plan: `faster
/// at 1, 4; cannot tell at 16`.
fn by_verdict(run: &Run<'_>, levels: &[(usize, &LevelResult)]) -> Phrase {
    let part = |kind: &'static str| {
        let own = of_kind(levels, kind);
        match own.len() {
            0 => Phrase::default(),
            all if all == levels.len() && all > 1 => phrase![kind, " at all levels"],
            _ => phrase![kind, " at ", clients(run, &own)],
        }
    };
    joined(KINDS.map(part).into_iter().filter(|phrase| !phrase.is_empty()), "; ")
}

fn of_kind<'a>(levels: &[(usize, &'a LevelResult)], kind: &str) -> Vec<(usize, &'a LevelResult)> {
    let kind_in_family = |level: &LevelResult| match &level.result {
        Some(result) => in_family(result.verdict, level.among_all),
        None => kind_of(level),
    };
    levels.iter().copied().filter(|(_, level)| kind_in_family(level) == kind).collect()
}

fn clients(run: &Run<'_>, levels: &[(usize, &LevelResult)]) -> Phrase {
    joined(levels.iter().map(|(index, _)| at(run, *index, "clients")), ", ")
}

fn at(run: &Run<'_>, level: usize, field: &str) -> Option<Figure> {
    run.source.at(format!("/levels/list/{level}")).figure(field, Count)
}

/// All levels.
pub fn section(run: &Run<'_>, levels: &LevelsRecord) -> Section {
    let columns = vec![
        Column::number("clients"),
        Column::text("subject"),
        Column::number("TPS"),
        Column::number("blocks"),
        Column::words("vs baseline"),
        Column::words(""),
    ];
    let best = run.best_cells();
    let works = works(run, levels);
    let group = |work: &Work<'_>| Group { name: work.name(), rows: rows(work, &best), ..Group::default() };
    let groups = works.iter().map(group).collect();
    let table = Table { group_name: "script", columns, groups, summary_in_head: true };
    let blocks = [Block::Table(table)].into_iter().chain(Block::prose(Tone::Plain, judged(run, levels)));
    Section::new("Level by level", blocks.collect())
}

/// For every client count the baseline, then the other subjects.
fn rows(work: &Work<'_>, best: &[usize]) -> Vec<Row> {
    let run = work.run;
    let mut rows = Vec::new();
    for same_level in work.levels.chunk_by(|(_, a), (_, b)| a.clients == b.clients) {
        let clients = same_level[0].1.clients;
        let row = |subject: usize, blocks: Option<Figure>, effect: Phrase, verdict: Phrase| {
            let cell = work.cell(subject, clients)?;
            let place = run.cell(cell);
            let [clients, tps] = [place.figure("workload/clients", Count), place.rate("tps")];
            let name = run.name(subject);
            let cells =
                [clients.into(), name.into(), tps.into(), blocks.into(), effect.into(), verdict.into()];
            Some(Row::new(best.contains(&cell), cells))
        };
        let blocks = work.cell(0, clients).and_then(|cell| run.cell(cell).figure("tps/count", Count));
        rows.extend(row(0, blocks, "baseline".into(), Phrase::default()));
        rows.extend(same_level.iter().filter_map(|(index, level)| {
            let subject = run.record.names().iter().position(|name| *name == level.subject)?;
            let star = if level.among_all { " *" } else { "" };
            let verdict = phrase![kind_of(level), star];
            row(subject, at(run, *index, "blocks"), effect(run, *index), verdict)
        }));
    }
    rows
}

const FASTER: &str = "faster";
const SLOWER: &str = "slower";
const NO_DIFFERENCE: &str = "no difference";
const CANNOT_TELL: &str = "cannot tell";
const OPEN_LOOP: &str = "open loop";
const NOTHING_COMMITTED: &str = "no commit";
const FEW_COMMITS: &str = "few commits";
const NOT_JUDGED: &str = "not judged";

/// The verdicts, in the order of a sentence.
const KINDS: [&str; 8] =
    [FASTER, SLOWER, NO_DIFFERENCE, CANNOT_TELL, OPEN_LOOP, NOTHING_COMMITTED, FEW_COMMITS, NOT_JUDGED];

fn kind_of(level: &LevelResult) -> &'static str {
    match level.result.as_ref().map(|result| result.verdict) {
        Some(Verdict::Faster) => FASTER,
        Some(Verdict::Slower) => SLOWER,
        Some(Verdict::NoDifference) => NO_DIFFERENCE,
        Some(Verdict::CannotTell { .. }) => CANNOT_TELL,
        None => match level.unjudged {
            Some(Unjudged::OpenLoop) => OPEN_LOOP,
            Some(Unjudged::NothingCommitted) => NOTHING_COMMITTED,
            Some(Unjudged::FewCommits) => FEW_COMMITS,
            Some(Unjudged::TooFewBlocks) | None => NOT_JUDGED,
        },
    }
}

/// Reasons for levels without a verdict.
const REASONS: [(&str, &str); 4] = [
    (OPEN_LOOP, "open loop: TPS follows the schedule, so there is no verdict; compare latencies."),
    (NOTHING_COMMITTED, "no commit: one of the two committed nothing in a block, so there is no verdict."),
    (FEW_COMMITS, "few commits: too few commits in a run for a verdict; use longer runs."),
    (NOT_JUDGED, "not judged: a confidence interval needs three blocks."),
];

/// What a star after a verdict means.
const STAR: &str =
    "* significant after Holm correction over all levels and scripts (family-wise error: one in twenty).";

/// Confidence and margin of the verdicts, and reasons for missing ones.
fn judged(run: &Run<'_>, levels: &LevelsRecord) -> Vec<Phrase> {
    let place = run.source.at("/levels");
    let known = match levels.judged {
        0 => "No level was judged.".into(),
        count => phrase![
            place.figure("judged", Count),
            if count == 1 { " level" } else { " levels, each" },
            Piece::Fixed(" at 95 %"),
            maybe("; equivalence margin ±", place.figure("margin", Percent), ""),
            ".",
        ],
    };
    let star = levels.list.iter().any(|level| level.among_all);
    let star = star.then(|| STAR.into());
    let has = |kind: &str| levels.list.iter().any(|level| kind_of(level) == kind);
    let reasons = REASONS.into_iter().filter(|(kind, _)| has(kind)).map(|(_, reason)| reason.into());
    [known].into_iter().chain(star).chain(reasons).collect()
}

/// The subjects with their versions, and whether each is comparable with the baseline.
pub fn subjects(run: &Run<'_>) -> Vec<Phrase> {
    let of = |index: usize| {
        let at = run.subject(index);
        let verdict = match index {
            0 => " (baseline)".into(),
            _ => differences::of_one(run, index).map_or_else(Phrase::default, |of| phrase!["; ", of]),
        };
        let version = maybe(": PostgreSQL ", at.figure("server/version", Text), "");
        let build = maybe(", build ", at.figure("server/build/made/name", Text), "");
        phrase![run.name(index), version, build, verdict, "."]
    };
    (0..run.record.subjects.len()).map(of).collect()
}

#[cfg(test)]
mod tests {
    use pgdyno_record::RunRecord;
    use testkit::fixtures::several;

    use super::*;

    /// Adds the script over a second protocol.
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
        let run = Run::new(&record, &[]);
        let levels = record.levels.as_ref().expect("there are some");
        let names: Vec<_> = works(&run, levels).iter().map(|work| work.name().plain()).collect();
        assert_eq!(names, ["select-only (prepared)", "select-only (simple)"]);
        let rows = |table: &Table| table.groups.iter().map(|group| group.rows.len()).collect::<Vec<_>>();
        assert_eq!(rows(&summary(&run, levels)), [3, 3]);
        let section = section(&run, levels);
        let table = section.blocks.iter().find_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        });
        assert_eq!(rows(table.expect("there is one")), [9, 9], "three levels of three subjects");
    }

    /// The last column of a table.
    fn last_column(table: &Table) -> Vec<String> {
        table.rows().filter_map(|row| row.cells.last()).map(|cell| cell.text.plain()).collect()
    }

    #[test]
    fn the_head_has_the_verdicts_of_all_levels() {
        let mut record = several().record;
        let levels = record.levels.as_mut().expect("there are some");
        let open = levels.list.iter_mut().filter(|level| level.subject == "build=lto");
        for result in open.filter_map(|level| level.result.as_mut()) {
            result.verdict = Verdict::CannotTell { more_blocks: None };
        }
        let run = Run::new(&record, &[]);
        let table = summary(&run, record.levels.as_ref().expect("there are some"));
        let want = [
            "",
            "cannot tell over all; faster at 1; slower at 16; no difference at 4",
            "faster over all; cannot tell at all levels",
        ];
        assert_eq!(last_column(&table), want);
    }

    #[test]
    fn the_reason_of_a_missing_verdict_is_given() {
        for (why, reason, verdict) in [
            (Unjudged::OpenLoop, "compare latencies", OPEN_LOOP),
            (Unjudged::NothingCommitted, "one of the two committed nothing", NOTHING_COMMITTED),
            (Unjudged::FewCommits, "use longer runs", FEW_COMMITS),
            (Unjudged::TooFewBlocks, "needs three blocks", NOT_JUDGED),
        ] {
            let mut record = several().record;
            let levels = record.levels.as_mut().expect("there are some");
            let level = levels.list.iter_mut().find(|level| level.clients == 4 && level.subject == "pg=18");
            let level = level.expect("it ran");
            (level.result, level.unjudged) = (None, Some(why));
            let run = Run::new(&record, &[]);
            let levels = record.levels.as_ref().expect("there are some");
            let said: Vec<_> = judged(&run, levels).iter().map(Phrase::plain).collect();
            assert!(said.iter().any(|sentence| sentence.contains(reason)), "{said:?}");
            let table = summary(&run, levels);
            assert!(last_column(&table)[1].ends_with(&format!("; {verdict} at 4")), "{table:?}");
        }
    }
}
