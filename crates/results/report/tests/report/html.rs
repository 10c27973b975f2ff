//! Compares every number of the HTML report with `run.json`, and checks that a page is self-contained.

use std::sync::Arc;

use pgdyno_core::observe::{Observed, What};
use pgdyno_document::{figure::Format, flame::Flame, html};
use pgdyno_report::{Details, OverTime, report};
use scraper::{ElementRef, Html, Selector};
use serde_json::Value;
use testkit::fixtures::{self, Fixture};

mod axis;

const FORMATS: [Format; 31] = [
    Format::Text,
    Format::PercentUpTo100,
    Format::BytesEachSecond,
    Format::Count,
    Format::Length,
    Format::Rate,
    Format::RateWithin,
    Format::Number,
    Format::Latency,
    Format::Milliseconds,
    Format::Nanoseconds,
    Format::Seconds,
    Format::Percent,
    Format::PercentOf,
    Format::PartOf,
    Format::Part,
    Format::MedianSeconds,
    Format::LeastSeconds,
    Format::MostSeconds,
    Format::Change,
    Format::Size,
    Format::Factor,
    Format::Points,
    Format::Minutes,
    Format::Bytes,
    Format::Instant,
    Format::Clock,
    Format::Identifier,
    Format::Word,
    Format::Confidence,
    Format::Raw,
];

fn variants() -> [(&'static str, Fixture); 15] {
    [
        ("complete", fixtures::complete()),
        ("thorough", fixtures::thorough()),
        ("tpcc", fixtures::tpcc()),
        ("tpcc-sets", fixtures::tpcc_sets()),
        ("partial", fixtures::partial()),
        ("failed", fixtures::failed()),
        ("zero-cells", fixtures::zero_cells()),
        ("absent-values", fixtures::absent_values()),
        ("ab-faster", fixtures::faster()),
        ("ab-cannot-tell", fixtures::cannot_tell()),
        ("ab-commands", fixtures::commands()),
        ("subjects", fixtures::several()),
        ("pgbench", fixtures::pgbench()),
        ("operations", fixtures::operations()),
        ("profiled", fixtures::profiled()),
    ]
}

/// Prefix of pointers into the output of `pgdyno why --json`.
const WHY: &str = "why#";

fn page(fixture: &Fixture) -> String {
    page_with(fixture, fixture.observations.iter().cloned())
}

/// The page of a run with these observations.
fn page_with(fixture: &Fixture, observations: impl IntoIterator<Item = Observed>) -> String {
    let mut over_time = OverTime::new(&fixture.record);
    observations.into_iter().for_each(|line| over_time.add(&line));
    html(&report(
        None,
        &fixture.record,
        &fixture.timeline(),
        Details { over_time: Some(&over_time), flames: &flames(fixture), ..Details::default() },
    ))
}

/// The flame graph of the first profile.
fn flames(fixture: &Fixture) -> Vec<Arc<Flame>> {
    let all = fixture.record.profiles.len();
    fixture.record.profiles.iter().take(1).map(|_| Arc::new(Flame::parse(0, fixtures::STACKS, all))).collect()
}

#[test]
fn a_flame_graph_has_every_frame_with_its_share() {
    let page = Html::parse_document(&page(&fixtures::profiled()));
    let titles: Vec<String> =
        select(&page, "svg.flame title").iter().map(|title| title.text().collect()).collect();
    assert_eq!(titles.len(), 21, "{titles:?}");
    assert!(titles.contains(&"PostgresMain: 92.5 %, 740 samples".to_owned()), "{titles:?}");
    assert_eq!(select(&page, "svg.flame .fk").len(), 2);
    let widths: f64 = select(&page, "svg.flame rect[y=\"105\"]")
        .iter()
        .filter_map(|rect| rect.attr("width")?.parse::<f64>().ok())
        .sum();
    assert!((widths - 1_020.0).abs() < 0.1, "roles fill the width: {widths}");
}

fn select<'a>(page: &'a Html, selector: &str) -> Vec<ElementRef<'a>> {
    page.select(&Selector::parse(selector).expect("a selector")).collect()
}

/// Differences between a page and its run. `run` is the content of `run.json`.
fn differences(page: &str, run: &Value, timeline: &[Value]) -> Vec<String> {
    let page = Html::parse_document(page);
    let mut found: Vec<_> =
        select(&page, "[data-src]").iter().filter_map(|element| figure_differs(*element, run)).collect();
    for script in select(&page, "script.stops") {
        let chart: Value = serde_json::from_str(&script.text().collect::<String>()).expect("JSON");
        let values = chart["stops"].as_array().expect("stops").iter().flat_map(|stop| stop["p"].as_array());
        found.extend(values.flatten().filter_map(|value| stop_differs(value, run, timeline)));
    }
    found.extend(page.root_element().descendants().filter_map(|node| {
        let text = node.value().as_text()?;
        let parent = ElementRef::wrap(node.parent()?)?;
        // Names of percentiles are words.
        let text = ["p50", "p95", "p99"].iter().fold(text.to_string(), |text, name| text.replace(name, ""));
        (text.contains(|c: char| c.is_ascii_digit()) && !is_accounted_for(parent))
            .then(|| format!("`{}` comes from nowhere", text.trim()))
    }));
    found
}

fn figure_differs(element: ElementRef<'_>, run: &Value) -> Option<String> {
    let (src, raw) = (element.attr("data-src")?, element.attr("data-value").unwrap_or_default());
    let shown: String = element.text().collect();
    // What the slowest transactions waited for is not in the record.
    let pointer = src.replace(WHY, "/why");
    let Some(value) = run.pointer(&pointer) else { return Some(format!("{src} is not in run.json")) };
    let name = element.attr("data-format").unwrap_or_default();
    let Some(format) = FORMATS.into_iter().find(|format| format.name() == name) else {
        return Some(format!("{src} has the unknown format `{name}`"));
    };
    let of = element.attr("data-of").and_then(|of| run.pointer(of)).and_then(Value::as_f64);
    let want = format.write(value, of);
    let same_raw = match value {
        Value::Array(list) => raw == list.len().to_string(),
        Value::String(text) => raw == text,
        other => serde_json::from_str::<Value>(raw).is_ok_and(|raw| raw == *other),
    };
    (!same_raw || shown != want).then(|| format!("{src}: `{shown}` ({raw}) instead of `{want}` ({value})"))
}

fn stop_differs(value: &Value, run: &Value, timeline: &[Value]) -> Option<String> {
    let src = value["src"].as_str().expect("a pointer");
    let want = match src.strip_prefix("timeline#/") {
        None => run.pointer(src),
        Some(rest) => rest.split_once('/').and_then(|(line, field)| {
            timeline.get(line.parse::<usize>().ok()?)?.pointer(&format!("/{field}"))
        }),
    };
    (want != Some(&value["v"])).then(|| format!("{src}: {} instead of {want:?}", value["v"]))
}

/// Whether an element belongs to a figure, to fixed text of pgdyno or to an axis, or is not shown.
fn is_accounted_for(element: ElementRef<'_>) -> bool {
    let own = |element: ElementRef<'_>| {
        element.attr("data-src").is_some()
            || element.attr("data-fixed").is_some()
            || matches!(element.value().name(), "svg" | "script" | "style" | "title")
            || element.value().classes().any(|class| class == "axes")
    };
    own(element) || element.ancestors().filter_map(ElementRef::wrap).any(own)
}

fn as_file(fixture: &Fixture) -> (Value, Vec<Value>) {
    let text = serde_json::to_string(&fixture.record).expect("plain data");
    let lines =
        fixture.timeline().iter().map(|line| serde_json::to_value(line).expect("plain data")).collect();
    (serde_json::from_str(&text).expect("JSON"), lines)
}

#[test]
fn every_number_is_that_of_the_run() {
    for (name, fixture) in variants() {
        let (run, timeline) = as_file(&fixture);
        let page = page(&fixture);
        assert_eq!(differences(&page, &run, &timeline), Vec::<String>::new(), "{name}");
        let figures = select(&Html::parse_document(&page), "[data-src]").len();
        assert!(figures > 40, "{name}: only {figures} figures");
    }
}

#[test]
fn every_number_of_the_slowest_transactions_is_that_of_why() {
    for fixture in [fixtures::complete(), fixtures::several()] {
        let (mut run, timeline) = as_file(&fixture);
        let tails = fixtures::tails(&fixture.record);
        let page = html(&report(
            None,
            &fixture.record,
            &fixture.timeline(),
            Details { tails: Some(&tails), ..Details::default() },
        ));
        run["why"] = serde_json::to_value(&tails).expect("plain data");
        assert_eq!(differences(&page, &run, &timeline), Vec::<String>::new());
        assert!(page.matches("data-src=\"why#/tails/").count() > 40, "they are there");
        run["why"]["tails"][0]["causes"][0]["share"] = Value::from(0.5);
        assert!(!differences(&page, &run, &timeline).is_empty());
    }
}

/// The test above must detect an altered number anywhere.
#[test]
fn an_altered_number_is_seen() {
    let fixture = fixtures::complete();
    let (run, timeline) = as_file(&fixture);
    let page = page(&fixture);
    let tps = &run["cells"][0]["tps"]["value"].to_string();
    let figure = |field: &str| run["cells"][0]["tps"][field].as_f64().expect("a number");
    let shown = pgdyno_core::units::rate_within(figure("value"), figure("half_width"));
    let alterations = [
        (format!("data-value=\"{tps}\""), "data-value=\"1.0\"".to_owned()),
        (format!(">{shown}<"), ">9,999,999<".to_owned()),
        (format!("\"v\":{tps}"), "\"v\":1.0".to_owned()),
        ("<p class=\"lead\">".to_owned(), "<p class=\"lead\">42 ".to_owned()),
        ("data-src=\"/cells/0/tps/value\"".to_owned(), "data-src=\"/cells/1/tps/value\"".to_owned()),
    ];
    for (from, to) in alterations {
        assert!(page.contains(&from), "{from} is not in the page");
        let altered = page.replacen(&from, &to, 1);
        assert!(!differences(&altered, &run, &timeline).is_empty(), "{from} -> {to} went unseen");
    }
    let mut other = run.clone();
    other["cells"][2]["latency"]["p99_ns"] = Value::from(1);
    assert!(!differences(&page, &other, &timeline).is_empty());
    let mut other = timeline.clone();
    other[5]["counts"]["committed"] = Value::from(1);
    assert!(!differences(&page, &run, &other).is_empty());
}

#[test]
fn the_page_needs_nothing_else() {
    for (name, fixture) in variants() {
        let text = page(&fixture);
        let page = Html::parse_document(&text);
        let loading =
            "link, img, iframe, object, embed, audio, video, source, base, form, [src], [srcset], use, image";
        assert!(select(&page, loading).is_empty(), "{name}");
        let links = select(&page, "[href]");
        assert!(
            links.iter().all(|link| link.attr("href").is_some_and(|href| href.starts_with('#'))),
            "{name}"
        );
        assert!(select(&page, "[onclick], [onload], [onerror]").is_empty(), "{name}");
        for forbidden in ["@import", "url(", "https://", "fetch(", "XMLHttpRequest", "import("] {
            assert!(!text.contains(forbidden), "{name} contains {forbidden}");
        }
        // One address is left: the SVG namespace used by the script. Nothing is fetched from it.
        assert_eq!(
            text.replace("\"http://www.w3.org/2000/svg\"", "").matches("http://").count(),
            0,
            "{name}"
        );
        let policy = select(&page, "meta[http-equiv]")[0].attr("content").expect("a policy").to_owned();
        assert!(policy.starts_with("default-src 'none'"));
        assert_eq!(select(&page, "meta[name=viewport]").len(), 1);
    }
}

#[test]
fn all_doubts_stand_before_the_first_chart() {
    for (name, fixture) in variants() {
        let text = page(&fixture);
        let first_chart = text.find("<figure").unwrap_or(text.len());
        for doubt in &fixture.record.doubts {
            assert!(text.find(doubt.detail.as_str()).is_some_and(|at| at < first_chart), "{name}: {doubt:?}");
            assert!(text.contains(&doubt.advice), "{name}: {doubt:?}");
        }
        assert_eq!(text.contains("STOPPED"), fixture.record.status == pgdyno_record::Status::Stopped);
    }
}

/// Texts of a run are escaped.
#[test]
fn text_of_a_run_cannot_become_markup() {
    let mut fixture = fixtures::complete();
    let evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>";
    fixture.record.command = evil.into();
    fixture.record.plan.description = evil.into();
    fixture.record.doubts[0].detail = evil.into();
    fixture.record.runs.iter_mut().for_each(|run| run.workload.script += evil);
    fixture.record.cells.iter_mut().for_each(|cell| cell.workload.script += evil);
    let mut observations: Vec<Observed> = fixtures::over_time(300).collect();
    for line in &mut observations {
        match &mut line.what {
            What::Devices { devices } => devices[0].device = evil.into(),
            What::Waits(waits) => waits.seen[0].event = evil.into(),
            What::Log(log) => log.message = evil.into(),
            What::Gap { why, .. } => *why = evil.into(),
            _ => {}
        }
    }
    let text = page_with(&fixture, observations);
    let page = Html::parse_document(&text);
    assert!(select(&page, "img").is_empty());
    assert_eq!(select(&page, "script:not([type])").len(), 1);
    let (run, timeline) = as_file(&fixture);
    assert_eq!(differences(&text, &run, &timeline), Vec::<String>::new());
}

#[test]
fn charts_take_any_shape_of_run() {
    let mut one = fixtures::complete();
    one.record.cells.truncate(1);
    one.record.runs.truncate(1);
    let mut long = fixtures::complete();
    let line = long.slices[5].clone();
    long.slices = (0..5_000)
        .map(|second| {
            let mut slice = line.clone();
            slice.interval.start_ns = second * 1_000_000_000;
            slice
        })
        .collect();
    let mut silent = fixtures::complete();
    silent.slices.iter_mut().for_each(|slice| {
        slice.interval.counts = pgdyno_core::measure::Counts::default();
        slice.interval.latency = None;
    });
    for fixture in [one, long, silent] {
        let text = page(&fixture);
        assert!(!text.contains("NaN") && !text.contains("inf,"));
        assert!(text.len() < 2_000_000, "{} bytes", text.len());
    }
}
