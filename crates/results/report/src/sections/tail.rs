//! What the slowest transactions waited for. Its figures are not in `run.json`: they refer to the output of
//! `pgdyno why --json`.

use std::fmt::Display;

use pgdyno_core::{
    results::{
        Circumstance, HIDDEN, HolderKind, LockHolder, NO_CLIENT_FREE, NO_SAMPLE, OTHER, Tail, TailCause,
        Tails, UnseenWhy,
    },
    units,
};
use pgdyno_document::{
    block::{Block, Column, Group, Row, Section, Table, Tone},
    figure::{
        Figure,
        Format::{self, Clock, Count, Identifier, Latency, Percent, Seconds, Text},
    },
    phrase::{Phrase, Piece, joined, maybe, phrase},
};
use serde_json::Value;

use crate::{
    run::make_printable,
    source::{Place, Source},
};

/// Share of the tail below which a cause has no sentence of its own.
const IN_SENTENCES: f64 = 0.05;
/// Most sentences about causes.
const MOST_SENTENCES: usize = 4;
/// Share of the tail below which a report does not list a cause; `pgdyno why` lists all.
const LISTED: f64 = 0.01;
/// Most transactions of a cell that a report quotes.
const MOST_QUOTED: usize = 3;

/// The tails as JSON, safe for a terminal.
pub fn source(tails: &Tails) -> Source {
    let mut json = serde_json::to_value(tails).unwrap_or(Value::Null);
    make_printable(&mut json);
    Source(json)
}

/// A place in the tails, below which figures are taken.
#[derive(Debug, Clone)]
pub struct TailPlace<'a> {
    place: Place<'a>,
    /// What distinguishes a pointer from one into `run.json`.
    prefix: &'static str,
}

impl<'a> TailPlace<'a> {
    /// The place of a tail. `prefix` is put in front of the pointers of figures.
    pub fn of(source: &'a Source, tail: usize, prefix: &'static str) -> Self {
        Self { place: source.at(format!("/tails/{tail}")), prefix }
    }

    fn at(&self, below: impl Display) -> Self {
        Self { place: self.place.at(below), prefix: self.prefix }
    }

    /// The figure of a field; `None` if absent.
    pub fn figure(&self, field: impl Display, format: Format) -> Option<Figure> {
        let figure = self.place.figure(field, format)?;
        Some(Figure { pointer: format!("{}{}", self.prefix, figure.pointer), ..figure })
    }
}

/// Prefix of pointers in the report of a run.
const IN_REPORTS: &str = "why#";

/// The section of a run's report; `None` without a tail. Sentences and quotes are those of the cells of `best`.
pub fn section(tails: &Tails, source: &Source, best: &[String]) -> Option<Section> {
    let all: Vec<_> = tails.tails.iter().enumerate().collect();
    let at = |index: usize| TailPlace::of(source, index, IN_REPORTS);
    let is_best = |tail: &Tail| best.contains(&tail.cell);
    let groups = all.iter().map(|(index, tail)| {
        let (at, note) = (at(*index), Phrase::default());
        Group { name: phrase![at.figure("cell", Text), ": ", size(&at)], note, rows: rows(tail, &at, LISTED) }
    });
    let mut blocks = Vec::new();
    for (index, tail) in all.iter().filter(|(_, tail)| is_best(tail)) {
        let at = at(*index);
        let name = phrase![at.figure("cell", Text), ": "];
        let sentences = sentences(tail, &at).into_iter().enumerate();
        let sentences = sentences.map(|(nth, of)| if nth == 0 { phrase![name.clone(), of] } else { of });
        blocks.extend(Block::prose(Tone::Plain, sentences.collect()));
    }
    let table = Table { groups: groups.collect(), ..causes_table() };
    blocks.push(Block::Table(table));
    for (index, tail) in all.iter().filter(|(_, tail)| is_best(tail)) {
        let at = at(*index);
        let quoted = quotes(tail, &at, MOST_QUOTED);
        blocks.extend((!quoted.is_empty()).then_some(Block::Table(quoted)));
        blocks.extend(Block::prose(Tone::Notes, limits(tail, &at)));
    }
    (!tails.tails.is_empty()).then(|| Section::new("What the slowest transactions waited for", blocks))
}

/// How many transactions the tail has, and how slow they were.
pub fn size(at: &TailPlace<'_>) -> Phrase {
    phrase![
        "the slowest ",
        at.figure("part", Percent),
        ", ",
        at.figure("transactions", Count),
        " transactions over ",
        at.figure("over_ns", Latency),
        maybe(" (median of all ", at.figure("p50_ns", Latency), ")"),
    ]
}

/// What the tail waited for, in sentences: the largest causes, then what no sample shows.
pub fn sentences(tail: &Tail, at: &TailPlace<'_>) -> Vec<Phrase> {
    let has_sentence = |(nth, cause): &(usize, &TailCause)| *nth == 0 || cause.share >= IN_SENTENCES;
    let causes = tail.causes.iter().enumerate().filter(has_sentence).take(MOST_SENTENCES);
    let sentence = |(nth, cause): (usize, &TailCause)| {
        let own = at.at(format!("causes/{nth}"));
        let of = match nth {
            0 => phrase![" of the slowest ", at.figure("part", Percent), " of transactions "],
            _ => " ".into(),
        };
        let few = if cause.high - cause.low > 0.1 { interval(&own) } else { Phrase::default() };
        phrase![own.figure("share", Percent), few, of, did(cause, &own), "."]
    };
    causes.map(sentence).collect()
}

/// ` [51, 70]`
fn interval(at: &TailPlace<'_>) -> Phrase {
    phrase![" [", at.figure("low", Percent), ", ", at.figure("high", Percent), "]"]
}

/// What transactions did, as the rest of a sentence.
fn did(cause: &TailCause, at: &TailPlace<'_>) -> Phrase {
    let did: Phrase = match cause.wait.as_str() {
        "running" => "ran, or waited for a CPU".into(),
        "client" => "waited within the transaction for the driver or the network".into(),
        "Lock" => "waited for a lock".into(),
        NO_CLIENT_FREE => "had not begun, though they were due: no client was free".into(),
        NO_SAMPLE => return "have no sample".into(),
        HIDDEN => "waited for what the server hides from the observer's role".into(),
        OTHER => "waited for other things, each of them rarer".into(),
        _ => phrase!["waited for ", at.figure("wait", Text)],
    };
    phrase![did, context(cause, at)]
}

/// What happened meanwhile, and who held the lock.
fn context(cause: &TailCause, at: &TailPlace<'_>) -> Phrase {
    phrase![
        during(&cause.during),
        cause.holder.as_ref().map_or_else(Phrase::default, |of| held(of, &at.at("holder")))
    ]
}

/// ` during checkpoints and while a device stalled`
fn during(all: &[Circumstance]) -> Phrase {
    let words = |of: &Circumstance| Phrase::from(circumstance(*of));
    match all {
        [] => Phrase::default(),
        all => phrase![" ", joined(all.iter().map(words), " and ")],
    }
}

fn circumstance(of: Circumstance) -> &'static str {
    match of {
        Circumstance::Checkpoint => "during checkpoints",
        Circumstance::Autovacuum => "during autovacuum",
        Circumstance::DeviceStall => "while a device stalled",
        Circumstance::CpuSaturated => "while all CPUs were busy",
        Circumstance::Steal => "while other guests took CPU time",
        Circumstance::DriverStarved => "while the driver waited for a CPU",
    }
}

/// ` on pgbench_branches, held by pid 4711 (…)`
fn held(of: &LockHolder, at: &TailPlace<'_>) -> Phrase {
    let on = match of.relation {
        Some(_) => maybe(" on ", at.figure("relation", Text), ""),
        None => maybe(" in `", at.figure("waiting", Text), "`"),
    };
    let statement = maybe("`", at.figure("statement", Text), "`");
    let by = match of.kind {
        HolderKind::Session => {
            let age = maybe("in a transaction of up to ", at.figure("transaction_age_s", Seconds), "");
            let known = [statement, maybe("", at.figure("state", Text), ""), age];
            let known = joined(known.into_iter().filter(|of| !of.is_empty()), ", ");
            let who = maybe("pid ", at.figure("pid", Identifier), "");
            let who = if who.is_empty() { "other sessions".into() } else { who };
            phrase![", held by ", who, " (", known, ")"]
        }
        HolderKind::Clients if statement.is_empty() => ", held by other clients of the run".into(),
        HolderKind::Clients => phrase![", held by other clients of the run, most often in ", statement],
        HolderKind::PreparedTransaction => phrase![", held by a prepared transaction (", statement, ")"],
        HolderKind::Deadlock => ", in a deadlock that was not resolved yet".into(),
        HolderKind::NotSeen => ", the holder not seen".into(),
    };
    phrase![on, by]
}

/// What happened meanwhile, and who held the lock, without its statement.
fn named(all: &[Circumstance], of: Option<&LockHolder>, at: &TailPlace<'_>) -> Phrase {
    let by: Phrase = match of.map(|of| of.kind) {
        None => Phrase::default(),
        Some(HolderKind::Session) => match maybe(", held by pid ", at.figure("holder/pid", Identifier), "") {
            single if !single.is_empty() => single,
            _ => ", held by other sessions".into(),
        },
        Some(HolderKind::Clients) => ", held by other clients of the run".into(),
        Some(HolderKind::PreparedTransaction) => ", held by a prepared transaction".into(),
        Some(HolderKind::Deadlock) => ", in a deadlock".into(),
        Some(HolderKind::NotSeen) => ", the holder not seen".into(),
    };
    phrase![during(all), by]
}

fn causes_table() -> Table {
    let interval: Phrase = Piece::Fixed("95 % interval").into();
    let columns = vec![
        Column::text("waited for"),
        Column::number("share"),
        Column::number(interval),
        Column::number("seen in"),
        Column::number("samples"),
    ];
    Table { group_name: "cell", ..Table::new(columns, Vec::new()) }
}

/// The causes of a tail.
pub fn causes(tail: &Tail, at: &TailPlace<'_>) -> Table {
    Table { groups: vec![Group { rows: rows(tail, at, 0.0), ..Group::default() }], ..causes_table() }
}

/// The causes with at least this share.
fn rows(tail: &Tail, at: &TailPlace<'_>, least: f64) -> Vec<Row> {
    let row = |(nth, cause): (usize, &TailCause)| {
        let own = at.at(format!("causes/{nth}"));
        let interval = phrase![own.figure("low", Percent), " – ", own.figure("high", Percent)];
        let samples = own.figure("samples", Count).filter(|_| cause.samples > 0);
        let samples = samples.map_or_else(Phrase::default, |of| Some(of).into());
        let cells = [
            waited(&cause.wait, own.figure("wait", Text), named(&cause.during, cause.holder.as_ref(), &own))
                .into(),
            own.figure("share", Percent).into(),
            interval.into(),
            own.figure("seen_in", Count).into(),
            samples.into(),
        ];
        Row::new(nth == 0, cells)
    };
    let listed = |(nth, cause): &(usize, &TailCause)| *nth == 0 || cause.share >= least;
    tail.causes.iter().enumerate().filter(listed).map(row).collect()
}

/// What was waited for, as a name.
fn waited(wait: &str, name: Option<Figure>, context: Phrase) -> Phrase {
    let named: Phrase = match wait {
        "running" => "running (on a CPU, or in the queue for one)".into(),
        "client" => "client (the driver, or the network)".into(),
        "Lock" => "a lock".into(),
        NO_CLIENT_FREE => "a free client".into(),
        NO_SAMPLE => "no sample".into(),
        HIDDEN => "hidden".into(),
        OTHER => "others, together".into(),
        _ => name.into(),
    };
    phrase![named, context]
}

/// The slowest transactions with what was seen of them.
pub fn quotes(tail: &Tail, at: &TailPlace<'_>, most: usize) -> Table {
    let columns = vec![Column::number("after"), Column::number("samples"), Column::text("seen")];
    let group = |(nth, _): (usize, &pgdyno_core::results::SlowTransaction)| {
        let own = at.at(format!("slowest/{nth}"));
        Group { name: transaction(&own), note: statement(&own), rows: seen(tail, &own, nth) }
    };
    let groups = tail.slowest.iter().enumerate().take(most).map(group).collect();
    Table { group_name: "transaction", columns, groups, ..Table::default() }
}

fn transaction(at: &TailPlace<'_>) -> Phrase {
    phrase![
        at.figure("latency_ns", Latency),
        maybe(" at ", at.figure("at_s", Seconds), ""),
        maybe(" (", at.figure("ended_at", Clock), ")"),
        maybe(", pid ", at.figure("backend_pid", Identifier), ""),
    ]
}

fn statement(at: &TailPlace<'_>) -> Phrase {
    let lag = at.figure("lag_ns", Latency).filter(|lag| lag.value.as_u64() != Some(0));
    let late = maybe("", lag, " before it began; ");
    phrase![
        late,
        maybe("", at.figure("statement_ns", Latency), " in "),
        maybe("", at.figure("statement", Text), "")
    ]
}

fn seen(tail: &Tail, at: &TailPlace<'_>, nth: usize) -> Vec<Row> {
    let all = &tail.slowest[nth].seen;
    if all.is_empty() {
        return vec![Row::new(false, ["".into(), "".into(), "no sample".into()])];
    }
    let row = |(change, of): (usize, &pgdyno_core::results::SeenWaiting)| {
        let own = at.at(format!("seen/{change}"));
        let context = named(&of.during, of.holder.as_ref(), &own);
        let cells = [
            own.figure("after_s", Seconds).into(),
            own.figure("samples", Count).into(),
            waited(&of.wait, own.figure("wait", Text), context).into(),
        ];
        Row::new(nth == 0, cells)
    };
    all.iter().enumerate().map(row).collect()
}

/// What happened meanwhile, over all that was waited for.
pub fn circumstances(tail: &Tail, at: &TailPlace<'_>) -> Vec<Phrase> {
    let sentence = |(nth, of): (usize, &pgdyno_core::results::TailCircumstance)| {
        let own = at.at(format!("circumstances/{nth}"));
        let of_time = maybe(" (in ", own.figure("of_time", Percent), " of the time)");
        phrase![own.figure("share", Percent), " of them were slow ", circumstance(of.during), of_time]
    };
    let sentences = tail.circumstances.iter().enumerate().filter(|(_, of)| of.share >= IN_SENTENCES);
    let sentences: Vec<_> = sentences.map(sentence).collect();
    if sentences.is_empty() { sentences } else { vec![phrase![joined(sentences, "; "), "."]] }
}

/// What cannot be known.
pub fn limits(tail: &Tail, at: &TailPlace<'_>) -> Vec<Phrase> {
    let unseen = tail.unseen.iter().enumerate().map(|(nth, of)| {
        let share = at.at(format!("unseen/{nth}")).figure("share", Percent);
        phrase![share, " have no sample: ", why(of.why), "."]
    });
    let some = (tail.recorded < tail.transactions).then(|| {
        phrase![
            at.figure("recorded", Count),
            " of ",
            at.figure("transactions", Count),
            " are recorded individually, and represent the others of their second.",
        ]
    });
    let old: Option<Phrase> = (!tail.has_wait_events).then(|| {
        "This server has no wait events (later versions do): a sample shows only whether it waited for a lock.".into()
    });
    let holders = tail.causes.iter().position(|of| {
        of.share >= IN_SENTENCES && of.holder.as_ref().is_some_and(|of| of.kind == HolderKind::NotSeen)
    });
    let asked = holders.map(|_| "Lock holders are queried less often than samples are taken.".into());
    let hidden = tail.causes.iter().any(|of| of.wait == HIDDEN);
    let hidden = hidden
        .then(|| "The role of the observer may not see all sessions: grant it pg_read_all_stats.".into());
    unseen.chain(some).chain(old).chain(asked).chain(hidden).collect()
}

fn why(of: UnseenWhy) -> &'static str {
    match of {
        UnseenWhy::BetweenSamples => "they were so short that they fell between two samples",
        UnseenWhy::Gap => "no sample could be taken then",
        UnseenWhy::Crowded => "a sample names the oldest transactions only, and others were older",
        UnseenWhy::NotInTransaction => {
            "the server was idle for them when samples were taken; the time was spent in the driver or the network"
        }
        UnseenWhy::PidUnknown => "their server process is not known, as behind a pooler",
    }
}

/// The largest cause of a tail in a few words, with its share.
pub fn in_short(tail: &Tail, at: &TailPlace<'_>) -> Phrase {
    let own = at.at("causes/0");
    let first = tail.causes.first();
    first.map_or_else(
        || units::ABSENT.into(),
        |cause| {
            let what = waited(&cause.wait, own.figure("wait", Text), during(&cause.during));
            phrase![own.figure("share", Percent), " ", what]
        },
    )
}
