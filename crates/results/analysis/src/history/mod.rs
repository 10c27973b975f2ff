//! The recorded runs of one plan on one machine: sessions, change points, and what another session may bring.

mod change_points;
mod comparable;

use std::collections::BTreeSet;

use jiff::Timestamp;
use pgdyno_core::{
    measure::{CellSummary, Workload},
    results::{
        BuildDifference, CellHistory, ChangePoint, History, HistoryAxis, LeftOut, ScriptHistory, Session,
    },
};
use pgdyno_record::RunRecord;

use crate::statistics::{Prior, Scatter, holm, mean, two_sided};
use change_points::{change_points, difference};
pub use comparable::{build_of, machine_of};
use comparable::{changed, why_not};

/// Runs whose begins are less far apart than this share the state of the machine: they are one session.
pub const SESSION_S: i64 = 20 * 60;
/// Fewest sessions for an interval of another one.
const FEWEST_SESSIONS: usize = 3;

/// Level of all differences between builds together.
const LEVEL_OF_BUILDS: f64 = 0.05;

/// What a history is about.
#[derive(Debug, Clone, Default)]
pub struct Asked<'a> {
    /// Name of the plan; `None` is that of the last run that can have a history.
    pub plan: Option<&'a str>,
    /// Whether the axis is the server's build.
    pub by_build: bool,
}

/// The history of the runs of a plan that are comparable with its last one. `records` are in order of their begin.
/// `None` if there is no such run.
pub fn history(records: &[RunRecord], asked: &Asked<'_>) -> Option<History> {
    let is_wanted = |record: &&RunRecord| asked.plan.is_none_or(|plan| record.plan.name == plan);
    let last =
        records.iter().rev().filter(is_wanted).find(|record| why_not(record, record, true).is_none())?;
    let (mut taken, mut left_out) = (Vec::new(), Vec::new());
    for record in records.iter().filter(|record| record.plan.name == last.plan.name) {
        match why_not(record, last, !asked.by_build) {
            None => taken.push(record),
            Some(why) => left_out.push(LeftOut { run: record.id.clone(), why }),
        }
    }
    let sessions = sessions(&taken);
    let list = described(&sessions);
    let scripts = scripts(&sessions, &list, !asked.by_build);
    Some(History {
        plan: last.plan.name.clone(),
        machine: machine_of(last),
        build: (!asked.by_build).then(|| build_of(last)),
        by: if asked.by_build { HistoryAxis::Build } else { HistoryAxis::Time },
        builds: if asked.by_build { by_build(&scripts, &list) } else { Vec::new() },
        sessions: list,
        scripts,
        left_out,
    })
}

/// Groups runs, in order of their begin, into sessions of the same build.
fn sessions<'a>(records: &[&'a RunRecord]) -> Vec<Vec<&'a RunRecord>> {
    let mut sessions: Vec<Vec<&RunRecord>> = Vec::new();
    for record in records {
        let joins = sessions.last().and_then(|session| session.last()).is_some_and(|before| {
            began(record) - began(before) < SESSION_S && build_of(record) == build_of(before)
        });
        match sessions.last_mut().filter(|_| joins) {
            Some(session) => session.push(record),
            None => sessions.push(vec![record]),
        }
    }
    sessions
}

/// Begin of a run in seconds since 1970.
fn began(record: &RunRecord) -> i64 {
    record.started_at.parse::<Timestamp>().map_or(0, Timestamp::as_second)
}

fn described(sessions: &[Vec<&RunRecord>]) -> Vec<Session> {
    let one = |(at, runs): (usize, &Vec<&RunRecord>)| {
        let before = at.checked_sub(1).and_then(|before| sessions[before].last());
        Session {
            number: at as u32 + 1,
            began_at: runs[0].started_at.clone(),
            runs: runs.iter().map(|run| run.id.clone()).collect(),
            build: build_of(runs[0]),
            changed: before.map_or_else(Vec::new, |before| changed(before, runs[0])),
        }
    };
    sessions.iter().enumerate().map(one).collect()
}

/// A cell with the mean of ln(TPS) of each session.
struct Series {
    workload: Workload,
    logs: Vec<f64>,
}

/// The cells that every session has, in the order of the first session, with their results.
fn series(sessions: &[Vec<&RunRecord>]) -> Vec<Series> {
    let Some(first) = sessions.first().and_then(|session| session.first()) else { return Vec::new() };
    let of = |workload: &Workload| {
        let log_of = |session: &Vec<&RunRecord>| {
            let is_it = |cell: &&CellSummary| cell.workload == *workload && cell.tps.value > 0.0;
            let own = session.iter().filter_map(|run| run.cells.iter().find(is_it));
            mean(&own.map(|cell| cell.tps.value.ln()).collect::<Vec<_>>())
        };
        let logs: Option<Vec<f64>> = sessions.iter().map(log_of).collect();
        Some(Series { workload: workload.clone(), logs: logs? })
    };
    first.cells.iter().filter_map(|cell| of(&cell.workload)).collect()
}

/// All scripts; change points are looked for over time only.
fn scripts(sessions: &[Vec<&RunRecord>], list: &[Session], over_time: bool) -> Vec<ScriptHistory> {
    let all = series(sessions);
    let names: BTreeSet<(usize, String)> = all
        .iter()
        .map(|one| {
            let name = script_name(&one.workload);
            let first = all.iter().position(|other| script_name(&other.workload) == name);
            (first.unwrap_or(0), name)
        })
        .collect();
    let of_name = |(_, name): (usize, String)| {
        let own: Vec<&Series> = all.iter().filter(|one| script_name(&one.workload) == name).collect();
        script(name, &own, list, over_time)
    };
    names.into_iter().map(of_name).collect()
}

fn script_name(workload: &Workload) -> String {
    match workload.protocol.as_str() {
        "prepared" => workload.script.clone(),
        other => format!("{} ({other})", workload.script),
    }
}

fn script(name: String, cells: &[&Series], list: &[Session], over_time: bool) -> ScriptHistory {
    let sessions = list.len();
    let centred = |series: &Series| {
        let middle = mean(&series.logs).unwrap_or(0.0);
        series.logs.iter().map(|log| log - middle).collect::<Vec<_>>()
    };
    let centred: Vec<Vec<f64>> = cells.iter().map(|series| centred(series)).collect();
    let at = |session: usize| mean(&centred.iter().map(|cell| cell[session]).collect::<Vec<_>>());
    let common: Vec<f64> = (0..sessions).filter_map(at).collect();
    let found = if over_time { change_points(&common) } else { Vec::new() };
    let edges: Vec<usize> = [0].into_iter().chain(found.iter().map(|change| change.at)).collect();
    let change = |(nth, change): (usize, &change_points::Change)| {
        let end = edges.get(nth + 2).copied().unwrap_or(sessions);
        let step = difference(&common[edges[nth]..change.at], &common[change.at..end])?;
        let session = &list[change.at];
        Some(ChangePoint {
            session: session.number,
            at: session.began_at.clone(),
            effect: step.step.exp_m1(),
            low: step.low.exp_m1(),
            high: step.high.exp_m1(),
            p: change.p,
            changed: session.changed.clone(),
        })
    };
    ScriptHistory {
        script: name,
        cells: cell_histories(cells, *edges.last().unwrap_or(&0)),
        over_mean: common.iter().map(|log| log.exp_m1()).collect(),
        changes: found.iter().enumerate().filter_map(change).collect(),
    }
}

/// The cells of a script. What another session may bring follows from the sessions since the last change point: a
/// prediction interval by Student's t, with a variance moderated over the cells.
fn cell_histories(cells: &[&Series], since: usize) -> Vec<CellHistory> {
    let last = |series: &Series| series.logs[since..].to_vec();
    let own: Vec<Option<Scatter>> = cells.iter().map(|series| Scatter::of(&last(series))).collect();
    let prior = Prior::fit(&own.iter().copied().flatten().collect::<Vec<_>>());
    let one = |(series, own): (&&Series, &Option<Scatter>)| {
        let logs = last(series);
        let mean_tps = mean(&logs).unwrap_or(0.0).exp();
        let scatter = own.filter(|_| logs.len() >= FEWEST_SESSIONS).map(|own| {
            // A narrow scatter of few sessions is luck.
            let moderated = prior.map_or(own, |prior| prior.moderate(own));
            let least = prior.map_or(0.0, |prior| prior.typical());
            Scatter { variance: moderated.variance.max(least), degrees: own.degrees }
        });
        let another = |scatter: Scatter| {
            let error = (scatter.variance * (1.0 + 1.0 / logs.len() as f64)).sqrt();
            mean_tps * (two_sided(0.05, scatter.degrees) * error).exp_m1()
        };
        CellHistory {
            clients: series.workload.clients,
            rate_per_s: series.workload.rate_per_s,
            tps: series.logs.iter().map(|log| log.exp()).collect(),
            mean_tps,
            between_sessions: scatter.map(|scatter| scatter.variance.sqrt()),
            another_session: scatter.map(another),
        }
    };
    cells.iter().zip(&own).map(one).collect()
}

/// Differences of each build to the one before, as one family.
fn by_build(scripts: &[ScriptHistory], list: &[Session]) -> Vec<BuildDifference> {
    let mut builds: Vec<&str> = Vec::new();
    for session in list {
        if !builds.contains(&session.build.as_str()) {
            builds.push(&session.build);
        }
    }
    let of = |script: &ScriptHistory, build: &str| -> Vec<f64> {
        let own = script.over_mean.iter().zip(list).filter(|(_, session)| session.build == build);
        own.map(|(share, _)| share.ln_1p()).collect()
    };
    let mut found = Vec::new();
    for script in scripts {
        for pair in builds.windows(2) {
            let (from, to) = (of(script, pair[0]), of(script, pair[1]));
            let judged = difference(&from, &to).filter(|_| from.len() > 1 && to.len() > 1);
            let step = mean(&to).unwrap_or(0.0) - mean(&from).unwrap_or(0.0);
            let difference = BuildDifference {
                script: script.script.clone(),
                from: pair[0].to_owned(),
                to: pair[1].to_owned(),
                from_sessions: from.len() as u32,
                to_sessions: to.len() as u32,
                effect: step.exp_m1(),
                low: judged.map(|judged| judged.low.exp_m1()),
                high: judged.map(|judged| judged.high.exp_m1()),
                significant: false,
            };
            found.push((difference, judged.map(|judged| judged.p)));
        }
    }
    let p: Vec<f64> = found.iter().filter_map(|(_, p)| *p).collect();
    let mut adjusted = holm(&p).into_iter();
    let mut marked = |(difference, p): (BuildDifference, Option<f64>)| {
        let significant = p.and_then(|_| adjusted.next()).is_some_and(|p| p <= LEVEL_OF_BUILDS);
        BuildDifference { significant, ..difference }
    };
    found.into_iter().map(&mut marked).collect()
}

#[cfg(test)]
mod tests;
