//! The history of a plan: what changed and when, the sessions, and what another session may bring.

use pgdyno_core::{
    results::{ChangePoint, History, HistoryAxis, ScriptHistory},
    units,
};
use pgdyno_document::{
    Document, Short,
    block::{Block, Column, Fact, Row, Section, Table, Tone},
    chart::{Chart, Mark, Rule, Sign, Stop, StopValue},
    figure::Format::{Change, Count, Instant, Number, Percent, Points, Size, Text},
    phrase::{Phrase, maybe, phrase},
};
use serde_json::Value;

use crate::{
    run::make_printable,
    sections::charts::scales::{linear, ticks},
    source::{Place, Source},
};

/// The history as a document. Its figures refer to the history as JSON. `again` is the command of the last run, if it
/// is known.
pub fn history(history: &History, again: Option<&str>) -> Document {
    let mut json = serde_json::to_value(history).unwrap_or(Value::Null);
    make_printable(&mut json);
    let source = &Source(json);
    let root = source.root();
    let title = phrase!["History of ", root.figure("plan", Text)];
    let heading = phrase![title.clone(), maybe(" · PostgreSQL ", root.figure("build", Text), "")];
    let head = Block::prose(Tone::Lead, sentences(history, source)).into_iter().collect::<Vec<_>>();
    Document {
        id: root.figure("plan", Text).into(),
        title,
        heading,
        warning: None,
        head: head.clone(),
        cards: Vec::new(),
        sections: sections(history, source),
        short: short(history, source, again),
        brief: head,
        cells: data(history, source),
        data: Table::default(),
        foot: "Written by pgdyno from the recorded runs. Every number on this page has a reference to its field in \
               `pgdyno history --format json`."
            .into(),
    }
}

/// What a terminal shows of it: the answers, the numbers, and what to do next.
fn short(history: &History, source: &Source, again: Option<&str>) -> Short {
    let table = |title: &'static str, table: Table| {
        (!table.is_empty()).then(|| Section::new(title, vec![Block::Table(table)]))
    };
    let by_build = if history.by == HistoryAxis::Build { " --by build" } else { "" };
    let whole = phrase!["pgdyno history ", source.root().figure("plan", Text), by_build, " --full"];
    let tables = [
        table("Builds", builds(history, source)),
        table("Another session", cells(history, source)),
        table("Sessions", sessions(history, source)),
    ];
    Short {
        what: vec![machine(source)],
        is_judged: false,
        found: sentences(history, source),
        tables: tables.into_iter().flatten().collect(),
        legend: vec![LEGEND.into()],
        whole,
        next: next(history, again),
        ..Short::default()
    }
}

const LEGEND: &str = "± another session: the range expected for its result. –: needs three sessions.";

/// Commands to continue with: the first run since the last change, and one more session.
fn next(history: &History, again: Option<&str>) -> Vec<(Phrase, Phrase)> {
    let changes = history.scripts.iter().flat_map(|script| &script.changes);
    let last = changes.map(|change| change.session).max();
    let since = last.and_then(|session| {
        let session = history.sessions.iter().find(|one| one.number == session)?;
        session
            .runs
            .first()
            .map(|run| ("see the first run since the last change", format!("pgdyno show {run}")))
    });
    let again = again
        .map(|command| ("measure another session, 20 minutes or more after the last", command.to_owned()));
    since.into_iter().chain(again).map(|(does, command)| (does.into(), command.into())).collect()
}

fn machine(source: &Source) -> Fact {
    Fact::new("machine", source.root().figure("machine", Text))
}

fn sections(history: &History, source: &Source) -> Vec<Section> {
    let charts =
        history.scripts.iter().enumerate().filter_map(|(at, script)| chart(history, script, at, source));
    let charts: Vec<_> = charts.map(Block::Chart).collect();
    let mut all = Vec::new();
    if !charts.is_empty() {
        all.push(Section::new("Sessions in a chart", charts));
    }
    if !history.builds.is_empty() {
        all.push(Section::new("Builds", vec![Block::Table(builds(history, source))]));
    }
    all.push(Section::new("Another session", vec![Block::Table(cells(history, source))]));
    let list = vec![Block::facts(vec![machine(source)]), Block::Table(sessions(history, source))];
    all.push(Section::new("Sessions", list));
    if !history.left_out.is_empty() {
        all.push(Section::new("Left out", vec![Block::Table(left_out(history, source))]));
    }
    let remarks = METHOD.iter().map(|remark| (*remark).into()).collect();
    all.push(Section::new(
        "How to read the numbers",
        Block::prose(Tone::Notes, remarks).into_iter().collect(),
    ));
    all
}

const METHOD: [&str; 4] = [
    "Runs of one plan on the same hardware that began less than 20 minutes apart are one session; its result is their \
     mean. Kernel, settings and the version of pgdyno may differ, and are named where they change.",
    "A change point divides sessions whose results differ more than those of an unchanging machine would in one \
     history of a hundred, by the mean over all cells of a script. Its effect compares the sessions on both sides \
     up to the next change point, with a 95 % confidence interval by Student's t over sessions.",
    "± of another session is a 95 % prediction interval: where the result of one more session like those since \
     the last change point is expected. Its variance is moderated over the cells of a script and never below what \
     is typical of them. Three sessions are needed for it.",
    "Each build is compared with the one before by the sessions of both; differs: significant after Holm correction \
     over all builds (family-wise error 5 %).",
];

/// What is most important, first the changes.
fn sentences(history: &History, source: &Source) -> Vec<Phrase> {
    match history.by {
        HistoryAxis::Time => history
            .scripts
            .iter()
            .enumerate()
            .map(|(at, script)| of_script(history, script, &place(source, at)))
            .collect(),
        HistoryAxis::Build if history.builds.is_empty() => vec!["All sessions are of one build.".into()],
        HistoryAxis::Build => {
            let all = history.builds.iter().enumerate();
            all.map(|(at, _)| of_builds(&source.at(format!("/builds/{at}")))).collect()
        }
    }
}

fn place(source: &Source, script: usize) -> Place<'_> {
    source.at(format!("/scripts/{script}"))
}

/// The last change of a script, or that there is none.
fn of_script(history: &History, script: &ScriptHistory, at: &Place<'_>) -> Phrase {
    let name = at.figure("script", Text);
    let Some((last, change)) = script.changes.iter().enumerate().next_back() else {
        let sessions = history.sessions.len() as u64;
        return phrase![name, format!(" shows no change in {}.", units::plural(sessions, "session"))];
    };
    let at = at.at(format!("changes/{last}"));
    phrase![
        name,
        " is ",
        at.figure("effect", Size),
        if change.effect < 0.0 { " slower [" } else { " faster [" },
        at.figure("low", Points),
        ", ",
        at.figure("high", Points),
        "] since ",
        at.figure("at", Instant),
        with_it(change, &at),
    ]
}

/// What else changed at a change point.
fn with_it(change: &ChangePoint, at: &Place<'_>) -> Phrase {
    const MOST: usize = 3;
    let mut found = phrase!["; nothing else is known to have changed then."];
    if !change.changed.is_empty() {
        found = phrase!["; changed at the same time: "];
        for (nth, what) in at.texts("changed", change.changed.len(), MOST).into_iter().enumerate() {
            found = phrase![found, if nth > 0 { "; " } else { "" }, what];
        }
    }
    match change.changed.len().saturating_sub(MOST) {
        _ if change.changed.is_empty() => found,
        0 => phrase![found, "."],
        more => phrase![found, format!(" and {more} more.")],
    }
}

fn of_builds(at: &Place<'_>) -> Phrase {
    phrase![
        at.figure("script", Text),
        ": ",
        at.figure("to", Text),
        " ",
        at.figure("effect", Change),
        maybe(" [", at.figure("low", Points), ", "),
        maybe("", at.figure("high", Points), "]"),
        " over ",
        at.figure("from", Text),
        ".",
    ]
}

fn sessions(history: &History, source: &Source) -> Table {
    let mut columns = vec![Column::number("session"), Column::words("begin"), Column::number("runs")];
    if history.by == HistoryAxis::Build {
        columns.push(Column::text("build"));
    }
    let scripts = source.value("/scripts").and_then(Value::as_array).map_or(0, Vec::len);
    columns.extend(
        (0..scripts)
            .map(|at| Column::number(place(source, at).figure("script", Text)).under("over the mean")),
    );
    columns.push(Column::text("what changed before it"));
    let rows = history.sessions.iter().enumerate().map(|(at, session)| {
        let of = source.at(format!("/sessions/{at}"));
        let changed = of.texts("changed", session.changed.len(), session.changed.len());
        let changed = changed
            .into_iter()
            .enumerate()
            .fold(Phrase::default(), |all, (nth, one)| phrase![all, if nth > 0 { "; " } else { "" }, one]);
        let mut cells = vec![
            of.figure("number", Count).into(),
            of.figure("began_at", Instant).into(),
            of.figure("runs", pgdyno_document::figure::Format::Length).into(),
        ];
        if history.by == HistoryAxis::Build {
            cells.push(of.figure("build", Text).into());
        }
        cells.extend(
            (0..scripts).map(|script| place(source, script).figure(format!("over_mean/{at}"), Change).into()),
        );
        cells.push(changed.into());
        Row::new(at + 8 >= history.sessions.len(), cells)
    });
    Table::new(columns, rows.collect())
}

/// The expected result of another session, cell by cell.
fn cells(history: &History, source: &Source) -> Table {
    let columns = vec![
        Column::text("script"),
        Column::number("clients"),
        Column::number("TPS"),
        Column::number("± another session"),
        Column::number("sessions scatter by"),
        Column::number("± of it"),
    ];
    let rows = history.scripts.iter().enumerate().flat_map(|(script, of)| {
        (0..of.cells.len()).map(move |cell| {
            let at = source.at(format!("/scripts/{script}/cells/{cell}"));
            let cells = [
                place(source, script).figure("script", Text).into(),
                at.figure("clients", Count).into(),
                at.rate_within("mean_tps", "another_session").into(),
                at.figure("another_session", Number).into(),
                at.figure("between_sessions", Percent).into(),
                at.share("another_session", "mean_tps").into(),
            ];
            Row::new(true, cells)
        })
    });
    Table::new(columns, rows.collect())
}

fn builds(history: &History, source: &Source) -> Table {
    let columns = vec![
        Column::text("script"),
        Column::text("build"),
        Column::text("the one before"),
        Column::number("sessions"),
        Column::number("difference"),
        Column::number("95 % interval"),
        Column::words(""),
    ];
    let rows = history.builds.iter().enumerate().map(|(index, of)| {
        let at = source.at(format!("/builds/{index}"));
        let interval =
            phrase![maybe("[", at.figure("low", Points), ", "), maybe("", at.figure("high", Points), "]")];
        let cells = [
            at.figure("script", Text).into(),
            at.figure("to", Text).into(),
            at.figure("from", Text).into(),
            phrase![at.figure("to_sessions", Count), " and ", at.figure("from_sessions", Count)].into(),
            at.figure("effect", Change).into(),
            interval.into(),
            if of.significant { "differs" } else { "" }.into(),
        ];
        Row::new(true, cells)
    });
    Table::new(columns, rows.collect())
}

fn left_out(history: &History, source: &Source) -> Table {
    let rows = (0..history.left_out.len()).map(|index| {
        let at = source.at(format!("/left_out/{index}"));
        Row::new(index < 10, [at.figure("run", Text).into(), at.figure("why", Text).into()])
    });
    Table::new(vec![Column::words("run"), Column::text("why")], rows.collect())
}

/// One line for each session and cell, in machine units.
fn data(history: &History, source: &Source) -> Table {
    use pgdyno_document::figure::Format::Raw;
    let names = ["session", "began_at", "build", "script", "clients", "tps"];
    let columns = names.map(Column::number).into();
    let rows = history.sessions.iter().enumerate().flat_map(|(session, _)| {
        history.scripts.iter().enumerate().flat_map(move |(script, of)| {
            (0..of.cells.len()).map(move |cell| {
                let (of_session, of_script) =
                    (source.at(format!("/sessions/{session}")), place(source, script));
                let at = of_script.at(format!("cells/{cell}"));
                let cells = [
                    of_session.figure("number", Raw).into(),
                    of_session.figure("began_at", Raw).into(),
                    of_session.figure("build", Raw).into(),
                    of_script.figure("script", Raw).into(),
                    at.figure("clients", Raw).into(),
                    at.figure(format!("tps/{session}"), Raw).into(),
                ];
                Row::new(true, cells)
            })
        })
    });
    Table::new(columns, rows.collect())
}

/// Sessions of a script over their mean, with its change points.
fn chart(history: &History, script: &ScriptHistory, index: usize, source: &Source) -> Option<Chart> {
    let shares = &script.over_mean;
    if shares.len() < 2 {
        return None;
    }
    let top = shares.iter().fold(0.01_f64, |top, share| top.max(share.abs())) * 115.0;
    let above = ticks(top, 3);
    let both = above.iter().skip(1).rev().map(|tick| -tick).chain(above.iter().copied()).collect();
    let numbers = (1..=shares.len()).map(|number| number as f64).collect();
    let x = linear(0.4, shares.len() as f64 + 0.6, numbers, |x| format!("{x:.0}"));
    let edge = |change: &ChangePoint| {
        let at = f64::from(change.session) - 0.5;
        Mark::Rule(Rule::Limit, (at, -top), (at, top))
    };
    let points = || shares.iter().enumerate().map(|(at, share)| (at as f64 + 1.0, share * 100.0));
    let marks = [Mark::Rule(Rule::Axis, (x.min, 0.0), (x.max, 0.0)), Mark::Line(index, points().collect())];
    let signs = points().map(|point| Mark::Sign(index, Sign::Disc, point));
    let stop = |(at, (x, y)): (usize, (f64, f64))| {
        let src = format!("/scripts/{index}/over_mean/{at}");
        let text = source.figure(&*src, Change).map_or_else(String::new, |figure| figure.text);
        let value = source.value(&src).cloned().unwrap_or_default();
        let began = history.sessions[at].began_at.get(..16).unwrap_or_default().replace('T', " ");
        Stop {
            x,
            label: format!("session {}, {began} UTC", at + 1),
            values: vec![StopValue { y, series: index, text, src, value }],
        }
    };
    Some(Chart {
        id: format!("history-{index}"),
        title: "TPS over the mean of all sessions",
        label: script.script.clone(),
        note: "TPS over its mean in per cent, mean over the cells of the script; sessions in order; vertical lines are \
               change points",
        legend: vec![(index, script.script.clone())],
        marks: marks.into_iter().chain(script.changes.iter().map(edge)).chain(signs).collect(),
        x,
        y: linear(-top, top, both, |y| format!("{y:+} %").replace("+0 %", "0")),
        stops: points().enumerate().map(stop).collect(),
        height: 240,
        wide: true,
    })
}
