//! Charts under each other with one time axis. Their drawings are stretched to the width of the page, so that the
//! script zooms by changing what they show, and text is next to them. Without the script the whole run is shown.

use std::{fmt::Write, ops::Range, sync::Arc};

use maud::{Markup, PreEscaped, html};
use pgdyno_core::units;
use serde_json::{Value, json};

use crate::{
    lanes::{Lane, Lanes, MarkRow, Series},
    marks::Mark,
};

/// Colours that the style sheet has for lanes; further series begin again.
const COLOURS: usize = 8;
/// Size of a drawing in its own units, which say nothing about pixels.
const WIDTH: f64 = 40_000.0;
const HEIGHT: f64 = 1_000.0;

pub(super) fn lanes(lanes: &Lanes) -> Markup {
    // `</script>` within the data would end it.
    let data = data(lanes).to_string().replace('<', "\\u003c");
    html! {
        p data-fixed {
            "Everything that was measured and observed, under each other by one clock: seconds since the start of the \
             run. Means and peaks of cells and stages are in the tables of "
            a href="#observed" { "Host, devices, processes" } "."
        }
        div.lanes #over-time role="group" tabindex="0" aria-label="Charts over time with one axis"
            aria-describedby="over-time-keys" {
            div.tools hidden {
                @if !lanes.subjects.is_empty() { (selector(&lanes.subjects)) }
                button type="button" data-do="in" aria-label="Zoom in" { "+" }
                button type="button" data-do="out" aria-label="Zoom out" { "−" }
                button type="button" data-do="reset" { "Whole run" }
                span #over-time-keys {
                    "Drag to zoom, double-click or Esc for the whole run. Keys: ← → move the cursor, with Shift they \
                     select, Enter zooms to the selection, + and − zoom, n and p go to the next and previous event."
                }
            }
            output aria-live="polite" {}
            div.stage {
                @for row in &lanes.rows { (mark_row(row, lanes.length_s)) }
                @for (index, lane) in lanes.lanes.iter().enumerate() { (one(lanes, index, lane)) }
                div.ticks.axes {
                    @for (at, label) in &lanes.x.ticks {
                        span style={ "left:" (percent(lanes.x.share(*at))) } { (label) }
                    }
                }
                div.over hidden { div.selected hidden {} div.cursor hidden {} }
            }
            @if let Some(merged_s) = lanes.merged_s {
                p.axes {
                    "The run is too long for a point per line: a point is up to " (units::duration(merged_s))
                    ". Its mean is drawn (of latencies the largest), with the least and the largest line around it."
                }
            }
            script.axis type="application/json" { (PreEscaped(data)) }
        }
    }
}

fn selector(subjects: &[String]) -> Markup {
    html! {
        label data-fixed {
            "Show "
            select {
                option value="" { "all" }
                @for (index, name) in subjects.iter().enumerate() {
                    option value=(index) { (units::printable(name)) }
                }
            }
        }
    }
}

fn mark_row(row: &MarkRow, length_s: f64) -> Markup {
    html! {
        div.lane.events {
            div.name { (row.name) }
            svg viewBox=(view_box()) preserveAspectRatio="none" role="img"
                aria-label={ "Events: " (row.name) ", " (row.marks.len()) } {
                @for mark in &row.marks { (drawn(mark, length_s)) }
            }
        }
    }
}

fn view_box() -> String {
    format!("0 0 {WIDTH} {HEIGHT}")
}

/// A mark: wide enough to be seen because its border does not shrink.
fn drawn(mark: &Mark, length_s: f64) -> Markup {
    let (from, to) = (across(mark.from_s, length_s), across(mark.to_s, length_s));
    html! {
        rect class={ "c" (mark.colour % COLOURS) } x=(from) width=(to - from) y="150" height="700" {
            title { (said(mark)) }
        }
    }
}

/// When and what.
fn said(mark: &Mark) -> String {
    let instant = |s: f64| units::significant(s);
    match mark.to_s - mark.from_s {
        0.0 => format!("{} s: {}", instant(mark.from_s), mark.words()),
        _ => format!("{} to {} s: {}", instant(mark.from_s), instant(mark.to_s), mark.words()),
    }
}

fn one(lanes: &Lanes, index: usize, lane: &Lane) -> Markup {
    html! {
        div.lane data-fixed {
            div.head {
                strong { (lane.title) }
                @for (key, (colour, name)) in lane.legend.iter().enumerate() {
                    span.entry data-lane=(index) data-key=(key) {
                        i class={ "c" (colour % COLOURS) } {} (units::printable(name)) b {}
                    }
                }
                span.note { (lane.note) }
            }
            div.scale {
                @for (at, label) in &lane.y.ticks { span style={ "bottom:" (percent(lane.y.share(*at))) } { (label) } }
            }
            svg viewBox=(view_box()) preserveAspectRatio="none" role="img" aria-label=(summary(lane)) {
                @for (from_s, to_s) in &lanes.shaded {
                    @let (from, to) = (across(*from_s, lanes.length_s), across(*to_s, lanes.length_s));
                    rect.shade x=(from) width=(to - from) y="0" height=(HEIGHT) {}
                }
                path.grid d=(grid(lane)) {}
                @for series in lane.series.iter().filter(|series| !series.stacked) {
                    @if let Some(path) = extremes(lanes, lane, series) { (drawing("extremes", lane, series, &path)) }
                }
                @for (series, path) in stacks(lanes, lane) { (drawing("area", lane, series, &path)) }
                @for series in lane.series.iter().filter(|series| !series.stacked) {
                    (drawing("line", lane, series, &line(lanes, lane, series)))
                }
            }
        }
    }
}

fn drawing(class: &str, lane: &Lane, series: &Series, path: &str) -> Markup {
    let colour = lane.legend.get(series.key).map_or(0, |(colour, _)| colour % COLOURS);
    html! { path class={ (class) " c" (colour) } data-subject=[series.subject] d=(path) {} }
}

/// What a screen reader says of a chart: least and largest value of each series.
fn summary(lane: &Lane) -> String {
    let of = |(key, (_, name)): (usize, &(usize, String))| {
        let all = lane.series.iter().filter(|series| series.key == key);
        let values: Vec<_> = all.flat_map(|series| series.values.iter().flatten()).collect();
        let range = |value: &crate::lanes::Value| value.range.unwrap_or((value.shown, value.shown));
        let least = values.iter().map(|value| range(value).0).reduce(f64::min)?;
        let most = values.iter().map(|value| range(value).1).reduce(f64::max)?;
        Some(format!("{name} {} to {}", lane.unit.words(least), lane.unit.words(most)))
    };
    let all: Vec<_> = lane.legend.iter().enumerate().filter_map(of).collect();
    format!("{}: {}", lane.title, all.join(", "))
}

fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

fn across(at_s: f64, length_s: f64) -> i64 {
    (at_s / length_s * WIDTH).round() as i64
}

fn down(lane: &Lane, value: f64) -> i64 {
    ((1.0 - lane.y.share(value).clamp(0.0, 1.0)) * HEIGHT).round() as i64
}

fn grid(lane: &Lane) -> String {
    let line = |(at, _): &(f64, String)| format!("M0 {}H{WIDTH}", down(lane, *at));
    lane.y.ticks.iter().map(line).collect()
}

/// A path as its first point and steps, which is shorter than all points.
#[derive(Default)]
struct Path {
    text: String,
    at: (i64, i64),
}

impl Path {
    fn begin(&mut self, to: (i64, i64)) {
        let _ = write!(self.text, "M{} {}l", to.0, to.1); // a String takes everything
        self.at = to;
    }

    fn go(&mut self, to: (i64, i64)) {
        let (dx, dy) = (to.0 - self.at.0, to.1 - self.at.1);
        let space = if self.text.ends_with('l') || dx < 0 { "" } else { " " };
        let between = if dy < 0 { "" } else { " " };
        let _ = write!(self.text, "{space}{dx}{between}{dy}");
        self.at = to;
    }
}

/// The places of a stretch: its begin, the middles of its points, its end.
fn places(lanes: &Lanes, series: &Series, stretch: &Range<usize>) -> Vec<(i64, usize)> {
    let x = |at_s: f64| across(at_s, lanes.length_s);
    let times = &series.times[stretch.clone()];
    let middles = times.iter().enumerate();
    let middles = middles.map(|(at, (from_s, to_s))| (x(f64::midpoint(*from_s, *to_s)), stretch.start + at));
    let first = (x(times[0].0), stretch.start);
    let last = (x(times[times.len() - 1].1), stretch.end - 1);
    [first].into_iter().chain(middles).chain([last]).collect()
}

fn line(lanes: &Lanes, lane: &Lane, series: &Series) -> String {
    let mut path = Path::default();
    for stretch in series.stretches() {
        let y = |at: usize| series.values[at].map_or(0, |value| down(lane, value.shown));
        for (index, (x, at)) in places(lanes, series, &stretch).into_iter().enumerate() {
            if index == 0 { path.begin((x, y(at))) } else { path.go((x, y(at))) }
        }
    }
    path.text
}

/// An area between two lines over a stretch.
fn area(
    path: &mut Path,
    places: &[(i64, usize)],
    upper: impl Fn(usize) -> i64,
    lower: impl Fn(usize) -> i64,
) {
    for (index, (x, at)) in places.iter().enumerate() {
        if index == 0 { path.begin((*x, upper(*at))) } else { path.go((*x, upper(*at))) }
    }
    places.iter().rev().for_each(|(x, at)| path.go((*x, lower(*at))));
    path.text.push('z');
}

/// Least and largest lines of merged points; `None` if there are none.
fn extremes(lanes: &Lanes, lane: &Lane, series: &Series) -> Option<String> {
    series.values.iter().flatten().any(|value| value.range.is_some()).then(|| {
        let mut path = Path::default();
        let range =
            |at: usize| series.values[at].map_or((0.0, 0.0), |of| of.range.unwrap_or((of.shown, of.shown)));
        for stretch in series.stretches() {
            let places = places(lanes, series, &stretch);
            area(&mut path, &places, |at| down(lane, range(at).1), |at| down(lane, range(at).0));
        }
        path.text
    })
}

/// The stacked series with their areas. Those of one stream and subject lie on top of each other.
fn stacks<'a>(lanes: &Lanes, lane: &'a Lane) -> Vec<(&'a Series, String)> {
    let mut drawn = Vec::new();
    let mut below: Vec<f64> = Vec::new();
    let mut of: Option<&Arc<Vec<(f64, f64)>>> = None;
    for series in lane.series.iter().filter(|series| series.stacked) {
        if !of.is_some_and(|times| Arc::ptr_eq(times, &series.times)) {
            below = vec![0.0; series.values.len()];
            of = Some(&series.times);
        }
        let own = |at: usize| series.values[at].map_or(0.0, |value| value.shown);
        let mut path = Path::default();
        for stretch in series.stretches() {
            let places = places(lanes, series, &stretch);
            area(&mut path, &places, |at| down(lane, below[at] + own(at)), |at| down(lane, below[at]));
        }
        below.iter_mut().enumerate().for_each(|(at, sum)| *sum += own(at));
        drawn.push((series, path.text));
    }
    drawn
}

/// What the script reads. Times are in hundredths of a second, as the gap before a point and its length.
fn data(lanes: &Lanes) -> Value {
    let mut tracks: Vec<&Arc<Vec<(f64, f64)>>> = Vec::new();
    let mut all = Vec::new();
    for (index, lane) in lanes.lanes.iter().enumerate() {
        for series in &lane.series {
            let known = tracks.iter().position(|times| Arc::ptr_eq(times, &series.times));
            let track = known.unwrap_or_else(|| {
                tracks.push(&series.times);
                tracks.len() - 1
            });
            all.push(of_series(index, lane, series, track));
        }
    }
    let tracks: Vec<_> = tracks.into_iter().map(|times| steps(times)).collect();
    let marks: Vec<_> =
        lanes.rows.iter().flat_map(|row| row.marks.iter().map(|mark| (row.name, mark))).collect();
    let mark = |(kind, mark): (&'static str, &Mark)| {
        json!([hundredths(mark.from_s), hundredths(mark.to_s), kind, mark.words()])
    };
    json!({
        "length": lanes.length_s,
        "tracks": tracks,
        "series": all,
        "marks": marks.into_iter().map(mark).collect::<Vec<_>>(),
    })
}

fn hundredths(s: f64) -> i64 {
    (s * 100.0).round() as i64
}

fn steps(times: &[(f64, f64)]) -> Vec<i64> {
    let mut before = 0;
    let mut steps = Vec::with_capacity(times.len() * 2);
    for (from_s, to_s) in times {
        let (from, to) = (hundredths(*from_s), hundredths(*to_s));
        steps.extend([from - before, to - from]);
        before = to;
    }
    steps
}

/// A series: its values in the lane's unit, and extremes of merged points.
fn of_series(index: usize, lane: &Lane, series: &Series, track: usize) -> Value {
    let number = |value: f64| {
        let scaled = lane.unit.scaled(value);
        if scaled.fract() == 0.0 && scaled.abs() < 1e15 { json!(scaled as i64) } else { json!(scaled) }
    };
    let column = |of: &dyn Fn(&crate::lanes::Value) -> Option<f64>| -> Value {
        series.values.iter().map(|value| value.as_ref().and_then(of).map_or(Value::Null, number)).collect()
    };
    let mut data = json!({
        "lane": index,
        "key": series.key,
        "unit": lane.unit.name(),
        "track": track,
        "src": series.src,
        "v": column(&|value| Some(value.shown)),
    });
    if let Some(subject) = series.subject {
        data["subject"] = json!(subject);
    }
    if series.values.iter().flatten().any(|value| value.range.is_some()) {
        data["least"] = column(&|value| value.range.map(|range| range.0));
        data["most"] = column(&|value| value.range.map(|range| range.1));
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        chart::Axis,
        lanes::{Unit, Value},
    };

    /// The points of a path, with what begins and closes a part.
    fn points(path: &str) -> Vec<(i64, i64)> {
        let mut found = Vec::new();
        for part in path.split('M').skip(1) {
            let (begin, steps) = part.trim_end_matches('z').split_once('l').expect("a begin and steps");
            let numbers = |text: &str| -> Vec<i64> {
                let apart = text.replace('-', " -");
                apart.split_whitespace().map(|number| number.parse().expect("a number")).collect()
            };
            let mut at = numbers(begin);
            found.push((at[0], at[1]));
            for step in numbers(steps).chunks(2) {
                (at[0], at[1]) = (at[0] + step[0], at[1] + step[1]);
                found.push((at[0], at[1]));
            }
        }
        found
    }

    fn lanes_of(series: Vec<Series>) -> Lanes {
        let y = Axis { min: 0.0, max: 10.0, log: false, ticks: vec![(0.0, "0".into())] };
        let legend = (0..series.len()).map(|key| (key, "name".to_owned())).collect();
        let lane = Lane { title: "T", note: String::new(), unit: Unit::Rate, y: y.clone(), legend, series };
        let lanes = vec![lane];
        Lanes { length_s: 40.0, x: y, subjects: vec![], rows: vec![], lanes, shaded: vec![], merged_s: None }
    }

    fn series(key: usize, times: &Arc<Vec<(f64, f64)>>, values: &[Option<f64>]) -> Series {
        let value = |shown: &Option<f64>| shown.map(|shown| Value { shown, range: None });
        let values = values.iter().map(value).collect();
        Series { key, subject: None, stacked: true, src: String::new(), times: Arc::clone(times), values }
    }

    #[test]
    fn lines_go_through_the_middles_and_break_at_gaps() {
        let times = Arc::new(vec![(0.0, 2.0), (2.0, 4.0), (4.0, 6.0), (20.0, 22.0)]);
        let lanes = lanes_of(vec![series(0, &times, &[Some(5.0), Some(2.0), None, Some(9.0)])]);
        let path = line(&lanes, &lanes.lanes[0], &lanes.lanes[0].series[0]);
        let want =
            [(0, 500), (1_000, 500), (3_000, 800), (4_000, 800), (20_000, 100), (21_000, 100), (22_000, 100)];
        assert_eq!((points(&path), path.matches('M').count()), (want.to_vec(), 2));
    }

    #[test]
    fn areas_lie_on_those_below() {
        let times = Arc::new(vec![(0.0, 2.0), (2.0, 4.0)]);
        let values = [[Some(5.0), Some(2.0)], [Some(1.0), Some(3.0)]];
        let lanes = lanes_of(values.iter().enumerate().map(|(key, of)| series(key, &times, of)).collect());
        let stacks = stacks(&lanes, &lanes.lanes[0]);
        let [low, high] = [0, 1].map(|at| points(&stacks[at].1));
        assert_eq!(low[..4], [(0, 500), (1_000, 500), (3_000, 800), (4_000, 800)]);
        assert_eq!(low[4..], [(4_000, 1_000), (3_000, 1_000), (1_000, 1_000), (0, 1_000)]);
        assert_eq!(high[..4], [(0, 400), (1_000, 400), (3_000, 500), (4_000, 500)]);
        assert!(high[4..].iter().eq(low[..4].iter().rev()), "{high:?}");
    }

    #[test]
    fn the_data_of_a_page_are_short() {
        assert_eq!(steps(&[(0.5, 1.5), (1.5, 2.504), (9.0, 10.0)]), [50, 100, 0, 100, 650, 100]);
    }
}
