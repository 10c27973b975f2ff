//! What a report says, before it is said in text, Markdown or HTML.

use std::{borrow::Cow, cmp::Reverse, collections::BTreeMap};

use pgdyno_analysis::{Doubt, DoubtKind, doubts};
use pgdyno_core::{
    cpus::cpus_in_words,
    facts::DurabilityTier,
    measure::{Interval, Workload},
    units,
};
use pgdyno_record::{RunRecord, Status};
use serde_json::Value;

use crate::{
    comparison::{self, ComparisonView},
    fact_group::FactGroup,
    facts,
    figure::{Figure, Format, Phrase, Source},
    slowest::{self, SlowCell},
    subjects::{self, SubjectsView},
    tpcc::{self, TpccView},
    verdict, words,
};

/// A report of one run. Every figure in it is tied to its place in `run.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The record that the report is about.
    pub record: RunRecord,
    /// Its intervals.
    pub timeline: Vec<Interval>,
    /// The record as JSON, from which figures are taken.
    pub source: Source,
    /// Name of the experiment, server, instant and status.
    pub heading: Phrase,
    /// How a run that is not complete is headed.
    pub warning: Option<Phrase>,
    /// What was found, a sentence a workload; of a comparison the answer, the arms, and whether they are comparable.
    pub verdict: Vec<Phrase>,
    /// The worst doubts in a sentence, to stand beside what was found; `None` where there is none.
    pub standing: Option<Phrase>,
    /// The comparison, where it is one.
    pub comparison: Option<ComparisonView>,
    /// Several subjects, where there are.
    pub subjects: Option<SubjectsView>,
    /// What the time went for, in a sentence; `None` where that was not kept.
    pub time: Option<Phrase>,
    /// What the run promises for a commit.
    pub durability: Phrase,
    /// Where a server that was made for the run and the driver ran; `None` where the server had every processor.
    pub placed: Option<String>,
    /// The table, a group a workload.
    pub groups: Vec<Group>,
    /// Cells of TPC-C.
    pub tpcc: Vec<TpccView>,
    /// The slowest transactions of each cell of which they were kept.
    pub slowest: Vec<SlowCell>,
    /// Reasons to distrust the result; all of them.
    pub doubts: Vec<DoubtView>,
    /// The balance check in a sentence.
    pub balance: Phrase,
    /// What this machine could tell apart, in a sentence.
    pub noise: Phrase,
    /// Whether the driver was the limit, in a sentence.
    pub driver: Phrase,
    /// Where the time went.
    pub stages: Vec<Stage>,
    /// Facts of host, storage and server.
    pub facts: Vec<FactGroup>,
}

/// What the line that runs it again promises.
pub const AGAIN: &str =
    "With the same seed. What was chosen from facts is chosen anew, from the facts of that day.";

/// The cells of one workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Whose cells they are, where there are several subjects.
    pub subject: Option<Figure>,
    /// Name of the script.
    pub script: Option<Figure>,
    /// Protocol, loop and the factor from TPS to QPS.
    pub note: Phrase,
    /// A row for each number of clients.
    pub rows: Vec<Row>,
}

/// A row of the table. An absent figure is `None`, never 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Index in `run.json`'s `cells`.
    pub index: usize,
    /// Number of clients.
    pub clients: Option<Figure>,
    /// Transactions per second.
    pub tps: Option<Figure>,
    /// Half-width of the 95 % interval as a share of the mean.
    pub spread: Option<Figure>,
    /// TPS of the slowest block.
    pub tps_min: Option<Figure>,
    /// TPS of the fastest block.
    pub tps_max: Option<Figure>,
    /// Statements per second.
    pub qps: Option<Figure>,
    /// Median latency in ms.
    pub p50: Option<Figure>,
    /// 95th percentile in ms.
    pub p95: Option<Figure>,
    /// 99th percentile in ms.
    pub p99: Option<Figure>,
    /// Longest latency in ms.
    pub max: Option<Figure>,
    /// Processors used by the driver.
    pub driver_cpus: Option<Figure>,
    /// Processor time of the driver per transaction in µs.
    pub driver_us: Option<Figure>,
    /// Processors used by the server.
    pub server_cpus: Option<Figure>,
    /// Processor time of the server per transaction in µs.
    pub server_us: Option<Figure>,
    /// Where pages came from.
    pub served_from: Option<Figure>,
    /// Durability tier in a word.
    pub durability: Option<Figure>,
    /// Number of blocks.
    pub blocks: Option<Figure>,
}

/// A doubt with its heading.
#[derive(Debug, Clone, PartialEq)]
pub struct DoubtView {
    /// Heading.
    pub title: &'static str,
    /// What was seen.
    pub detail: Phrase,
    /// What to do.
    pub advice: Phrase,
    /// The cells concerned; empty is the whole run.
    pub cells: Vec<Figure>,
    /// Whether it concerns every cell of several.
    pub everywhere: bool,
    /// Whether it says that the numbers are of no use at all.
    pub severe: bool,
}

/// A stage and its share of the time.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// Its name.
    pub name: Phrase,
    /// Its length.
    pub duration: Option<Figure>,
    /// Its share of all stages, 0 to 1: the length of a bar.
    pub share: f64,
}

/// What a number means here.
pub const METHOD: [&str; 5] = [
    "A cell is one script at one number of clients. It ran once in every block; TPS is the mean over its \
     blocks and ± the half-width of the 95 % interval of that mean (Student's t). A transaction counts \
     when its commit was acknowledged within the measured interval; the warm-up is left out.",
    "Latency runs from the instant an attempt was due to its answer. Percentiles come from the added \
     histograms of all blocks, never from averaged percentiles; one with fewer than 100 samples beyond it \
     is not shown.",
    "QPS counts SQL statements without BEGIN and END: TPS times the factor in the table. CPU is processor \
     time measured over the interval: processors used on average, and microseconds per transaction.",
    "Served from follows from measured reads: shared buffers, the operating system's page cache, or the \
     disk. The durability tier says what a crash may take of what was acknowledged.",
    "A dash is a value that could not be measured; it is never a zero. The doubts above are part of the \
     result.",
];

impl Group {
    /// Subject and script.
    pub fn name(&self) -> String {
        let script = self.script.as_ref().map_or(units::ABSENT, |figure| &figure.text);
        self.subject.as_ref().map_or_else(|| script.to_owned(), |whose| format!("{} {script}", whose.text))
    }
}

impl Document {
    /// The report of a record and its intervals (which may be empty).
    pub fn new(record: &RunRecord, timeline: &[Interval]) -> Self {
        let printable = printable_record(record);
        let record = &*printable;
        let source = Source(serde_json::to_value(record).unwrap_or(Value::Null));
        let groups = groups(record, &source);
        let compared = record.comparison.as_ref();
        let comparison = compared.map(|compared| ComparisonView::new(compared, record, &source));
        let several = record.subjects.len() > 1;
        let levels = record.levels.as_ref();
        let subjects = levels.map(|levels| SubjectsView::new(levels, record, &source));
        let verdict: Vec<Phrase> = match (&comparison, &subjects) {
            (Some(view), _) => {
                let sentences = [&view.answer].into_iter().chain(&view.arms).chain([&view.comparable]);
                sentences.cloned().map(ended).collect()
            }
            (None, Some(view)) => {
                let found = view.answers.iter().chain(&view.subjects).cloned().map(ended);
                subjects::violated(record, &source).into_iter().chain(found).collect()
            }
            (None, None) => verdict::verdict(record, &source),
        };
        let of_tpcc = tpcc::verdict(record, &source);
        let verdict = tpcc::violated(record).into_iter().chain(of_tpcc).chain(verdict).collect();
        let checked = several.then(|| subjects::balance(record, &source)).flatten();
        let tiers = several.then(|| subjects::durability(record));
        Self {
            heading: heading(record, &source),
            warning: warning(record, &source),
            verdict,
            durability: tiers.unwrap_or_else(|| durability(record)),
            standing: standing(record),
            placed: placed(record),
            tpcc: tpcc::views(record, &source),
            slowest: slowest::slowest(record, &source),
            doubts: doubt_views(record, &source),
            balance: tpcc::consistency(record, &source)
                .or(checked)
                .unwrap_or_else(|| balance(record, &source)),
            noise: comparison.as_ref().map_or_else(|| noise(record, &source), |view| view.floor.clone()),
            driver: driver(record, &source),
            comparison,
            subjects,
            time: time(record, &source),
            stages: stages(record, &source),
            facts: facts::facts(record, &source),
            groups,
            source,
            timeline: timeline.to_vec(),
            record: record.clone(),
        }
    }

    /// What the numbers mean, in the words of this kind of report.
    pub fn method(&self) -> impl Iterator<Item = &'static str> {
        let compared: &[&str] = if self.comparison.is_some() { &comparison::METHOD } else { &[] };
        let several: &[&str] = if self.subjects.is_some() { &subjects::METHOD } else { &[] };
        let tpcc: &[&str] = if self.tpcc.is_empty() { &[] } else { &tpcc::METHOD };
        compared.iter().chain(several).chain(tpcc).chain(&METHOD).copied()
    }

    /// The rows of all workloads.
    pub fn rows(&self) -> impl Iterator<Item = (&Group, &Row)> {
        self.groups.iter().flat_map(|group| group.rows.iter().map(move |row| (group, row)))
    }
}

/// A record whose texts a terminal can show: what servers and other people wrote may hold what it would obey.
pub fn printable_record(record: &RunRecord) -> Cow<'_, RunRecord> {
    let mut json = serde_json::to_value(record).unwrap_or(Value::Null);
    if !make_printable(&mut json) {
        return Cow::Borrowed(record);
    }
    // Texts stay texts: what was a record is one still.
    serde_json::from_value(json).map_or(Cow::Borrowed(record), Cow::Owned)
}

/// Tells whether something was changed.
fn make_printable(json: &mut Value) -> bool {
    match json {
        Value::String(text) => match units::printable_lines(text) {
            Cow::Borrowed(_) => false,
            Cow::Owned(printable) => {
                *text = printable;
                true
            }
        },
        // Every one of them, not only as far as the first that is changed.
        Value::Array(list) => list.iter_mut().map(make_printable).fold(false, |any, one| any | one),
        Value::Object(fields) => fields.values_mut().map(make_printable).fold(false, |any, one| any | one),
        _ => false,
    }
}

/// A sentence with its full stop.
fn ended(phrase: Phrase) -> Phrase {
    phrase.text(".")
}

/// Most subjects that a heading names.
const HEADED: usize = 5;

fn heading(record: &RunRecord, source: &Source) -> Phrase {
    let mut phrase = Phrase::default().figure(source.figure("/plan/name", Format::Text));
    let version = |at: usize| source.figure(format!("/subjects/{at}/server/version"), Format::Text);
    match (&record.comparison, record.subjects.len()) {
        (Some(_), _) => phrase = phrase.maybe(" · A ", version(0), "").maybe(" · B ", version(1), ""),
        (None, 0 | 1) => phrase = phrase.maybe(" · PostgreSQL ", version(0), ""),
        (None, subjects) => {
            for index in 0..subjects.min(HEADED) {
                let name = source.figure(format!("/subjects/{index}/name"), Format::Text);
                phrase = phrase.maybe(if index == 0 { " · " } else { ", " }, name, "");
            }
        }
    }
    phrase
        .maybe(" · scale ", source.figure("/plan/scale", Format::Count), "")
        .maybe(" · ", source.figure("/started_at", Format::Instant), "")
        .maybe(" · ", source.figure("/status", Format::Word), "")
}

fn warning(record: &RunRecord, source: &Source) -> Option<Phrase> {
    let phrase = match record.status {
        Status::Complete => return None,
        Status::Partial => Phrase::of("PARTIAL: this run is still going on, or was killed."),
        Status::Stopped => Phrase::of("STOPPED before its end")
            .maybe(": ", source.figure("/error", Format::Text), "")
            .text("."),
    };
    let made = source.figure("/runs", Format::Length).filter(|_| !record.runs.is_empty());
    Some(phrase.maybe(" What follows rests on the runs it made: ", made, "."))
}

fn durability(record: &RunRecord) -> Phrase {
    match record.subjects.first().and_then(|subject| subject.server.as_ref()) {
        Some(server) => match tiers_of_cells(record) {
            tiers if tiers.len() > 1 => Phrase::of(differing(&tiers)),
            _ => Phrase::of(server.durability.label()),
        },
        None => Phrase::of("not known: there was no server"),
    }
}

/// A server that is somebody else's is where it is.
fn placed(record: &RunRecord) -> Option<String> {
    let (plan, cpus) = (&record.plan, record.host.cpu.allowed.len());
    if plan.server != "own" { None } else { cpus_in_words(&plan.server_cpus, &plan.driver_cpus, cpus) }
}

/// The tiers of the cells where they differ, the weakest first, each with the names of its cells.
fn tiers_of_cells(record: &RunRecord) -> BTreeMap<Reverse<DurabilityTier>, Vec<String>> {
    let mut tiers: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for cell in &record.cells {
        let Some(tier) = cell.durability else { return BTreeMap::new() };
        tiers.entry(Reverse(tier)).or_default().push(cell.workload.cell());
    }
    tiers
}

fn differing(tiers: &BTreeMap<Reverse<DurabilityTier>, Vec<String>>) -> String {
    let one = |(Reverse(tier), cells): (&Reverse<DurabilityTier>, &Vec<String>)| {
        format!("of {} {}", cells.join(", "), tier.label())
    };
    format!("differs. {}", tiers.iter().map(one).collect::<Vec<_>>().join("; "))
}

/// The cells grouped by script, protocol and rate, in the order they stand in the record.
fn groups(record: &RunRecord, source: &Source) -> Vec<Group> {
    let mut groups: Vec<(usize, Group)> = Vec::new();
    for (index, cell) in record.cells.iter().enumerate() {
        let same = |&(first, _): &(usize, Group)| {
            let other = &record.cells[first].workload;
            let own = &cell.workload;
            let kind = |of: &Workload| (of.script.clone(), of.protocol.clone(), of.rate_per_s);
            own.subject == other.subject && kind(other) == kind(own)
        };
        let at = groups.iter().position(same).unwrap_or_else(|| {
            groups.push((index, group(index, source)));
            groups.len() - 1
        });
        groups[at].1.rows.push(row(index, record, source));
    }
    if record.levels.is_some() {
        // In which order they ran, is by chance.
        groups.sort_by_key(|(first, _)| {
            let (script, _, subject) = subjects::cell_order(record, *first);
            (script, subject)
        });
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

fn group(index: usize, source: &Source) -> Group {
    let at = |field: &str, format| source.figure(format!("/cells/{index}/{field}"), format);
    let rate = at("workload/rate_per_s", Format::Rate);
    let note = Phrase::default().figure(at("workload/protocol", Format::Text)).text(" protocol, ");
    let note = match rate {
        Some(_) => note.text("open loop at ").figure(rate).text("/s"),
        None if is_paced(index, source) => note.text("terminals that key and think"),
        None => note.text("closed loop"),
    };
    Group {
        subject: at("workload/subject", Format::Text),
        script: at("workload/script", Format::Text),
        note: note.maybe(", QPS = TPS × ", at("statements_per_transaction", Format::Count), ""),
        rows: Vec::new(),
    }
}

/// Whether a cell is one of TPC-C's terminals at their pace.
fn is_paced(index: usize, source: &Source) -> bool {
    let paced = source.0.pointer(&format!("/cells/{index}/tpcc/run/paced"));
    paced.and_then(Value::as_bool).unwrap_or(false)
}

fn row(index: usize, record: &RunRecord, source: &Source) -> Row {
    let path = |field: &str| format!("/cells/{index}/{field}");
    let at = |field: &str, format| source.figure(path(field), format);
    let ms = |field: &str| at(&format!("latency/{field}"), Format::Milliseconds);
    Row {
        index,
        clients: at("workload/clients", Format::Count),
        tps: at("tps/value", Format::Rate),
        spread: source.share(path("tps/half_width"), path("tps/value")),
        tps_min: at("tps/min", Format::Rate),
        tps_max: at("tps/max", Format::Rate),
        qps: at("qps/value", Format::Rate),
        p50: ms("p50_ns"),
        p95: ms("p95_ns"),
        p99: ms("p99_ns"),
        max: ms("max_ns"),
        driver_cpus: at("driver_cpus", Format::Number),
        driver_us: at("driver_cpu_us_per_transaction", Format::Number),
        server_cpus: at("server_cpus", Format::Number),
        server_us: at("server_cpu_us_per_transaction", Format::Number),
        served_from: at("served_from", Format::Word),
        durability: at("durability", Format::Word).or_else(|| {
            let subject = subjects::place(record, &record.cells[index].workload);
            source.figure(format!("/subjects/{subject}/server/durability"), Format::Word)
        }),
        blocks: at("tps/count", Format::Count),
    }
}

/// The worst doubts by their names, in the order of the list: for whoever reads the number and nothing else.
fn standing(record: &RunRecord) -> Option<Phrase> {
    const NAMED: usize = 3;
    let kinds = || record.doubts.iter().map(|doubt| doubt.kind);
    let (edited, others): (Vec<_>, Vec<_>) = kinds().partition(|kind| *kind == DoubtKind::Edited);
    let mut names: Vec<String> = Vec::new();
    for kind in edited.into_iter().chain(others) {
        // Several servers may have the same one.
        let name = words::doubt(kind).to_lowercase();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let unfit = kinds().any(|kind| matches!(kind, DoubtKind::ScreeningRun | DoubtKind::Edited));
    let beginning = if unfit { "Not publishable: " } else { "Doubtful: " };
    let others = if names.len() > NAMED { " and other doubts" } else { "" };
    let named = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    (!names.is_empty()).then(|| Phrase::of(format!("{beginning}{named}{others}.")))
}

fn doubt_views(record: &RunRecord, source: &Source) -> Vec<DoubtView> {
    let cells = record.cells.len();
    let view = |(index, doubt): (usize, &Doubt)| DoubtView {
        everywhere: cells > 1 && doubt.cells.len() == cells,
        ..doubt_view(index, doubt, source)
    };
    record.doubts.iter().enumerate().map(view).collect()
}

fn doubt_view(index: usize, doubt: &Doubt, source: &Source) -> DoubtView {
    let at = |field: &str| source.figure(format!("/doubts/{index}/{field}"), Format::Text);
    DoubtView {
        title: words::doubt(doubt.kind),
        detail: Phrase::default().figure(at("detail")),
        advice: Phrase::default().figure(at("advice")),
        severe: matches!(
            doubt.kind,
            DoubtKind::BalanceViolated | DoubtKind::Inconsistent | DoubtKind::Implausible | DoubtKind::Edited
        ),
        everywhere: false,
        cells: (0..doubt.cells.len()).filter_map(|cell| at(&format!("cells/{cell}"))).collect(),
    }
}

fn balance(record: &RunRecord, source: &Source) -> Phrase {
    let at = |field: &str, format| source.figure(format!("/subjects/0/balance/{field}"), format);
    let Some(balance) = record.subjects.first().and_then(|subject| subject.balance.as_ref()) else {
        let phrase = Phrase::of("Not checked: no balance check was made (check: ")
            .figure(source.figure("/plan/balance_check", Format::Text))
            .text(").");
        // Of a plan with SQL of its own it is worth a word why.
        let reason = record.choices.iter().position(|choice| choice.name == "balance");
        let reason = reason.filter(|_| record.material.is_some());
        let reason = reason.and_then(|at| source.figure(format!("/choices/{at}/reason"), Format::Text));
        return phrase.maybe(" Why: ", reason, ".");
    };
    let count = |field: &str, one: bool, noun: &str| {
        let noun = if one { format!(" {noun}") } else { format!(" {noun}s") };
        Phrase::default().figure(at(field, Format::Count)).text(noun)
    };
    let phrase = Phrase::of(if balance.violations == 0 { "Passed" } else { "VIOLATED" })
        .text(" (")
        .figure(at("mode", Format::Text))
        .text("): ")
        .then(count("rows_examined", balance.rows_examined == 1, "row"))
        .text(" examined, ")
        .then(count("violations", balance.violations == 1, "violation"))
        .text("; history holds ")
        .then(count("history_rows", balance.history_rows == 1, "row"))
        .text(" for ")
        .then(count("committed", balance.committed == 1, "commit"))
        .text(", ")
        .figure(at("in_doubt", Format::Count))
        .text(" in doubt.");
    (0..balance.examples.len()).fold(phrase, |phrase, i| {
        phrase.maybe(" First seen: ", at(&format!("examples/{i}"), Format::Text), ".")
    })
}

/// What each script's cells could tell apart, since reads and writes scatter differently; of all together where a
/// record does not tell scripts apart.
fn noise(record: &RunRecord, source: &Source) -> Phrase {
    if record.noise.is_none() {
        return Phrase::of("Not known: it takes at least two blocks of a cell to see it.");
    }
    let scripts = record.noise_by_script.len();
    let all = if scripts > 0 { None } else { Some(floor("/noise", source)) };
    let of_script = |index: usize| {
        let script = source.figure(format!("/noise_by_script/{index}/script"), Format::Text);
        let floor = floor(&format!("/noise_by_script/{index}/noise"), source);
        let before = if index > 0 { " " } else { "" };
        let subject = source.figure(format!("/noise_by_script/{index}/subject"), Format::Text);
        Phrase::of(before).maybe("", subject, " ").figure(script).text(": ").then(floor)
    };
    all.into_iter().chain((0..scripts).map(of_script)).fold(Phrase::default(), Phrase::then)
}

fn floor(pointer: &str, source: &Source) -> Phrase {
    let at = |field: &str, format| source.figure(format!("{pointer}/{field}"), format);
    Phrase::of("blocks of one cell differ by ")
        .figure(at("between_blocks", Format::Percent))
        .text(" (standard deviation, ")
        .figure(at("degrees_of_freedom", Format::Count))
        .text(" degrees of freedom); a difference under ")
        .figure(at("smallest_difference", Format::Percent))
        .text(" between two cells means nothing here.")
}

/// The run whose worker was busiest speaks for all.
fn driver(record: &RunRecord, source: &Source) -> Phrase {
    let runs = record.runs.iter().enumerate();
    let busiest = runs.max_by(|(_, a), (_, b)| a.cpu.busiest_worker.total_cmp(&b.cpu.busiest_worker));
    let Some((index, run)) = busiest else { return Phrase::of("Not known: pgdyno drove nothing.") };
    let verdict = if run.cpu.busiest_worker > doubts::MAX_DRIVER_BUSY {
        " of the time: it may have been the limit."
    } else {
        " of the time: its own work was not the limit."
    };
    Phrase::of("The driver's busiest thread was on a processor for at most ")
        .figure(source.figure(format!("/runs/{index}/cpu/busiest_worker"), Format::Percent))
        .text(verdict)
}

/// Shares of the whole time.
fn time(record: &RunRecord, source: &Source) -> Option<Phrase> {
    record.time.as_ref()?;
    let share = |part: &str| source.share(format!("/time/{part}_s"), "/time/whole_s");
    Some(
        Phrase::of("Of ")
            .figure(source.figure("/time/whole_s", Format::Seconds))
            .text(": measured ")
            .figure(share("measured"))
            .text(", warm-up ")
            .figure(share("warmup"))
            .text(", load ")
            .figure(share("load"))
            .text(", resets ")
            .figure(share("reset"))
            .text(", CHECKPOINTs ")
            .figure(share("checkpoint"))
            .text(", servers made ")
            .figure(share("server"))
            .text(". ")
            .figure(share("overhead"))
            .text(" was none of these: connections ")
            .figure(share("connect"))
            .text(", the rest ")
            .figure(share("rest"))
            .text("."),
    )
}

fn stages(record: &RunRecord, source: &Source) -> Vec<Stage> {
    let whole: f64 = record.stages.iter().map(|stage| stage.duration_s).sum();
    let stage = |(index, stage): (usize, &pgdyno_record::StageRecord)| Stage {
        name: Phrase::default().figure(source.figure(format!("/stages/{index}/name"), Format::Text)),
        duration: source.figure(format!("/stages/{index}/duration_s"), Format::Seconds),
        share: if whole > 0.0 { stage.duration_s / whole } else { 0.0 },
    };
    record.stages.iter().enumerate().map(stage).collect()
}
