//! Compares every number of the charts over time with the lines of its stream, and bounds the size of the page.

use pgdyno_core::{
    measure::SteadyVerdict,
    observe::{Observed, What},
};
use scraper::{Html, Selector};
use serde_json::Value;
use testkit::fixtures::{self, Fixture};

use super::page_with;

/// Largest page, of a run of any length.
const MOST_BYTES: usize = 5_000_000;
/// Most points of a series.
const MOST_POINTS: usize = 4_000;

fn select(page: &Html, selector: &str) -> Vec<String> {
    let selector = Selector::parse(selector).expect("a selector");
    page.select(&selector).map(|element| element.text().collect()).collect()
}

/// The data of the charts over time.
fn axis(page: &str) -> Value {
    let page = Html::parse_document(page);
    let found = select(&page, "script.axis");
    assert_eq!(found.len(), 1, "one axis");
    serde_json::from_str(&found[0]).expect("JSON")
}

/// A line with its time in seconds and its value.
type Line = (f64, f64, f64);

/// The lines that a series names as its source, read without the code of the report.
fn lines(series: &Value, run: &Value, timeline: &[Value], observations: &[Value]) -> Vec<Line> {
    let src = series["src"].as_str().expect("a source");
    let subject = series["subject"].as_u64().map(|index| run["subjects"][index as usize]["name"].clone());
    let (stream, path) = src.split_once('#').expect("a stream and a field");
    match stream {
        "timeline" => {
            let of = |line: &Value| {
                let own = &run["runs"][line["run"].as_u64()? as usize];
                if subject.as_ref().is_some_and(|name| own["workload"]["subject"] != *name) {
                    return None;
                }
                let first_s = own["start_s"].as_f64()? - own["warmup_ns"].as_f64()? / 1e9;
                let from_s = first_s + line["start_ns"].as_f64()? / 1e9;
                let length_s = line["duration_ns"].as_f64()? / 1e9;
                let value = line.pointer(path)?.as_f64()?;
                let value = if path == "/counts/committed" { value / length_s } else { value };
                Some((from_s, from_s + length_s, value))
            };
            timeline.iter().filter_map(of).collect()
        }
        "observations" => observations.iter().filter_map(|line| observed(line, path)).collect(),
        other => panic!("{other} is not a stream"),
    }
}

fn observed(json: &Value, path: &str) -> Option<Line> {
    let [at_s, over_s] = ["at_s", "over_s"].map(|field| json[field].as_f64().expect("it has a time"));
    let parts: Vec<&str> = path.trim_start_matches('/').splitn(3, '/').collect();
    let (kind, field) = (parts[0], *parts.last().expect("a field"));
    let (kind, machine) = kind.split_once('@').map_or((kind, None), |(kind, machine)| (kind, Some(machine)));
    if ["host", "devices"].contains(&kind) && json["machine"].as_str() != machine {
        return None;
    }
    let value = match (json["of"].as_str()? == kind, kind) {
        (true, "host") => field.split('+').map(|field| json["all"][field].as_f64()).sum::<Option<f64>>()?,
        (true, "devices") => {
            let devices = json["devices"].as_array()?;
            devices.iter().find(|device| device["device"] == parts[1])?[field].as_f64()?
        }
        (true, "waits") => {
            let seen: Vec<_> =
                json["seen"].as_array()?.iter().filter(|one| one["backend"] == "client backend").collect();
            let count = |of: &dyn Fn(&Value) -> bool| -> f64 {
                seen.iter().filter(|one| of(one)).filter_map(|one| one["count"].as_f64()).sum()
            };
            let all = count(&|_| true);
            (all > 0.0).then(|| count(&|one| one["event"] == field) / all)?
        }
        (true, "counters") => json["views"][parts[1]][field].as_f64().unwrap_or(0.0) / over_s,
        _ => return None,
    };
    Some((at_s - over_s, at_s, value))
}

fn in_unit(value: f64, unit: &Value) -> f64 {
    match unit.as_str().expect("a unit") {
        "per-second" => value,
        "us" => value / 1e3,
        "percent" => value * 100.0,
        "KiB-per-second" => value / 1024.0,
        other => panic!("{other} is not a unit"),
    }
}

/// Differences between a column of a series and what its lines give for each point.
fn differences(axis: &Value, run: &Value, timeline: &[Value], observations: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    for series in axis["series"].as_array().expect("series") {
        let src = series["src"].as_str().expect("a source");
        if src == "observations#/waits" || src.ends_with("/all") {
            continue; // sums of others
        }
        let lines = lines(series, run, timeline, observations);
        let mut shown = 0;
        for (index, (from_s, to_s)) in points(axis, series).into_iter().enumerate() {
            let within = |line: &&Line| line.0 > from_s - 0.02 && line.1 < to_s + 0.02;
            let own: Vec<&Line> = lines.iter().filter(within).collect();
            shown += own.len();
            let least = own.iter().map(|line| line.2).reduce(f64::min);
            let most = own.iter().map(|line| line.2).reduce(f64::max);
            let mean = least.map(|_| {
                let covered: f64 = own.iter().map(|line| line.1 - line.0).sum();
                own.iter().map(|line| line.2 * (line.1 - line.0)).sum::<f64>() / covered
            });
            let shown = if src.contains("/latency/") { most } else { mean };
            let mut columns = vec![("v", shown)];
            if series.get("least").is_some() && own.len() > 1 {
                columns.extend([("least", least), ("most", most)]);
            }
            for (column, want) in columns {
                let (got, want) =
                    (series[column][index].as_f64(), want.map(|want| in_unit(want, &series["unit"])));
                let same = match (got, want) {
                    (Some(got), Some(want)) => (got - want).abs() <= want.abs() * 6e-4,
                    (got, want) => got == want,
                };
                if !same {
                    found.push(format!("{src} at {from_s}: {column} is {got:?} instead of {want:?}"));
                }
            }
        }
        if shown != lines.len() {
            found.push(format!("{src}: {shown} of {} lines are shown", lines.len()));
        }
    }
    found
}

/// Begin and end of each point of a series.
fn points(axis: &Value, series: &Value) -> Vec<(f64, f64)> {
    let track = series["track"].as_u64().expect("a track") as usize;
    let steps: Vec<i64> =
        axis["tracks"][track].as_array().expect("steps").iter().filter_map(Value::as_i64).collect();
    let mut now = 0;
    let mut at = |step: i64| {
        now += step;
        now as f64 / 100.0
    };
    steps.chunks(2).map(|step| (at(step[0]), at(step[1]))).collect()
}

fn run_of(fixture: &Fixture) -> Value {
    serde_json::to_value(&fixture.record).expect("plain data")
}

fn timeline_of(fixture: &Fixture) -> Vec<Value> {
    fixture.timeline().iter().map(|line| serde_json::to_value(line).expect("plain data")).collect()
}

fn as_lines(all: &[Observed]) -> Vec<Value> {
    all.iter().map(|line| serde_json::to_value(line).expect("plain data")).collect()
}

fn sources(axis: &Value) -> Vec<&str> {
    axis["series"].as_array().expect("series").iter().filter_map(|series| series["src"].as_str()).collect()
}

#[test]
fn every_point_is_that_of_its_lines() {
    let fixtures = [fixtures::complete(), fixtures::several(), fixtures::faster(), fixtures::long(600, 1)];
    for fixture in fixtures {
        let observations: Vec<Observed> = fixtures::over_time(600).collect();
        let axis = axis(&page_with(&fixture, observations.iter().cloned()));
        assert_eq!(
            differences(&axis, &run_of(&fixture), &timeline_of(&fixture), &as_lines(&observations)),
            Vec::<String>::new()
        );
        for src in [
            "timeline#/counts/committed",
            "timeline#/latency/p99_ns",
            "observations#/host/all/irq+softirq",
            "observations#/devices/vda/written_bytes_per_s",
            "observations#/devices/vda/utilisation",
            "observations#/waits/IO:WALSync",
            "observations#/waits",
            "observations#/counters/pg_stat_wal/wal_bytes",
            "observations#/counters/pg_stat_checkpointer/buffers_written",
        ] {
            assert!(sources(&axis).contains(&src), "{src} is missing: {:?}", sources(&axis));
        }
    }
}

/// What `pgdyno observe` saw on another machine is not mixed with what was seen here.
#[test]
fn machines_of_servers_have_lanes_of_their_own() {
    let elsewhere = |line: Observed| {
        let of_machine = matches!(line.what, What::Host(_) | What::Devices { .. });
        of_machine.then(|| Observed { at_s: line.at_s + 0.25, machine: Some("db<1>".to_owned()), ..line })
    };
    let own = fixtures::over_time(300).map(|mut line| {
        if let What::Host(host) = &mut line.what {
            host.all.user /= 3.0;
        }
        line
    });
    let mut both: Vec<Observed> = own.chain(fixtures::over_time(300).filter_map(elsewhere)).collect();
    both.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    let fixture = fixtures::complete();
    let axis = axis(&page_with(&fixture, both.iter().cloned()));
    let found = differences(&axis, &run_of(&fixture), &timeline_of(&fixture), &as_lines(&both));
    assert_eq!(found, Vec::<String>::new());
    for src in [
        "observations#/host/all/user",
        "observations#/host@db<1>/all/user",
        "observations#/devices/vda/utilisation",
        "observations#/devices@db<1>/vda/utilisation",
    ] {
        assert!(sources(&axis).contains(&src), "{src} is missing: {:?}", sources(&axis));
    }
}

/// The test above must see a number that is altered anywhere.
#[test]
fn an_altered_point_is_seen() {
    let fixture = fixtures::complete();
    let observations: Vec<Observed> = fixtures::over_time(300).collect();
    let axis = axis(&page_with(&fixture, observations.iter().cloned()));
    let (run, timeline) = (run_of(&fixture), timeline_of(&fixture));
    let observations = as_lines(&observations);
    let count = axis["series"].as_array().expect("series").len();
    for number in (0..count).filter(|number| axis["series"][number]["src"] != "observations#/waits") {
        let mut altered = axis.clone();
        let values = altered["series"][number]["v"].as_array_mut().expect("values");
        let value = values.iter_mut().find(|value| value.as_f64().is_some_and(|v| v > 0.0));
        let Some(value) = value else { continue };
        *value = Value::from(value.as_f64().expect("it is a number") * 1.01);
        altered["series"] = Value::from(vec![altered["series"][number].take()]);
        let found = differences(&altered, &run, &timeline, &observations);
        assert!(!found.is_empty(), "{} was altered, and nobody saw it", axis["series"][number]["src"]);
    }
    let mut fewer = observations.clone();
    fewer.retain(|line| line["at_s"] != 77.0);
    assert!(!differences(&axis, &run, &timeline, &fewer).is_empty());
}

#[test]
fn waits_are_the_whole_of_the_samples() {
    let axis = axis(&page_with(&fixtures::long(300, 1), fixtures::over_time(300)));
    let series = axis["series"].as_array().expect("series");
    let waits: Vec<_> = series
        .iter()
        .filter(|series| series["src"].as_str().is_some_and(|src| src.starts_with("observations#/waits")))
        .collect();
    assert_eq!(waits.len(), 8, "running, five events, the others, client");
    for at in 0..waits[0]["v"].as_array().expect("values").len() {
        let sum: f64 = waits.iter().filter_map(|series| series["v"][at].as_f64()).sum();
        assert!((sum - 100.0).abs() < 0.2, "{sum} % at {at}");
    }
}

/// An hour and a day of all observers: all lines of the hour, and of the day points with their extremes.
#[test]
fn pages_of_long_runs_are_bounded() {
    for (seconds, each_s) in [(3_600, 1), (86_400, 32)] {
        let fixture = fixtures::long(seconds, each_s);
        let page = page_with(&fixture, fixtures::over_time(seconds));
        println!("{seconds} s: {} bytes", page.len());
        assert!(page.len() < MOST_BYTES, "{seconds} s: {} bytes", page.len());
        let axis = axis(&page);
        for series in axis["series"].as_array().expect("series") {
            let count = series["v"].as_array().expect("values").len();
            assert!(count <= MOST_POINTS, "{}: {count} points", series["src"]);
            let is_of_seconds = !series["src"].as_str().is_some_and(|src| src.starts_with("timeline"));
            assert!(count >= if seconds == 3_600 && is_of_seconds { 3_500 } else { 1_000 }, "{count} points");
            let is_sum = series["src"] == "observations#/waits";
            assert_eq!(
                series.get("most").is_some(),
                seconds > 3_600 && is_of_seconds && !is_sum,
                "{}",
                series["src"]
            );
        }
        assert!(axis["marks"].as_array().expect("marks").len() < 2_000);
    }
}

/// What is drawn of a day is what its lines say.
#[test]
fn merged_points_keep_extremes() {
    let fixture = fixtures::long(10_000, 4);
    let observations: Vec<_> =
        fixtures::over_time(10_000).filter(|line| line.at_s.rem_euclid(7.0) != 3.0).collect();
    let axis = axis(&page_with(&fixture, observations.iter().cloned()));
    let mut of_host = axis.clone();
    let series = of_host["series"].as_array_mut().expect("series");
    series.retain(|series| {
        series["src"] == "observations#/host/all/user" || series["src"] == "observations#/waits/IO:WALSync"
    });
    assert_eq!(series.len(), 2);
    let found = differences(&of_host, &run_of(&fixture), &timeline_of(&fixture), &as_lines(&observations));
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn events_have_marks_with_labels() {
    let mut fixture = fixtures::complete();
    fixture.record.runs[0].steady = SteadyVerdict::NotSteady { cut_s: 3.0, change: Some(-0.234) };
    let page = page_with(&fixture, fixtures::over_time(600));
    let axis = axis(&page);
    let marks: Vec<(&str, &str)> = axis["marks"]
        .as_array()
        .expect("marks")
        .iter()
        .map(|mark| (mark[2].as_str().expect("a kind"), mark[3].as_str().expect("a label")))
        .collect();
    for (kind, label) in [
        ("stages", "load, "),
        ("runs", "warm-up of select-only/1, block 1"),
        ("runs", "select-only/1, block 1"),
        ("not steady", "select-only/1, block 1: the first 3 s differ from the rest by -23.4 %"),
        ("checkpoints", "checkpoint (time): 12,345 buffers, 1 min 09 s writing, 700 ms syncing"),
        ("autovacuum", "automatic vacuum of bench.public.pgbench_tellers"),
        ("not observed", "waits: no answer"),
    ] {
        assert!(
            marks.iter().any(|mark| mark.0 == kind && mark.1.starts_with(label)),
            "{kind} {label}: {marks:?}"
        );
        let selector = format!("svg[aria-label^='Events: {kind}'] title");
        let titles = select(&Html::parse_document(&page), &selector);
        assert!(titles.iter().any(|title| title.contains(label)), "{kind}: {titles:?}");
    }
}

/// Every subject has values of its own, and a page without observations has those of the timeline.
#[test]
fn subjects_are_apart() {
    let fixture = fixtures::several();
    let page = page_with(&fixture, []);
    let axis = axis(&page);
    let series = axis["series"].as_array().expect("series");
    let of_tps = series.iter().filter(|series| series["src"] == "timeline#/counts/committed");
    let subjects: Vec<_> = of_tps.map(|series| series["subject"].as_u64()).collect();
    assert_eq!(subjects, (0..fixture.record.subjects.len() as u64).map(Some).collect::<Vec<_>>());
    let options = select(&Html::parse_document(&page), ".lanes option");
    assert_eq!(options.len(), fixture.record.subjects.len() + 1);
    assert!(
        series.iter().all(|series| series["src"].as_str().is_some_and(|src| src.starts_with("timeline")))
    );
}

#[test]
fn a_run_without_lines_has_no_axis() {
    let page = page_with(&fixtures::zero_cells(), []);
    assert!(select(&Html::parse_document(&page), "script.axis").is_empty());
}
