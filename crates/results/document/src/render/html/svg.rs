//! A chart as SVG. Colours are classes, which the style sheet of the page gives a light and a dark form.

use maud::{Markup, html};

use crate::chart::{COLOURS, Chart, Mark, Point, Rule, Sign};

/// Margins for axes and their labels in pixels.
const TOP: f64 = 18.0;
const RIGHT: f64 = 14.0;
const BOTTOM: f64 = 30.0;
const LEFT: f64 = 58.0;
/// Half of the cap of an interval.
const CAP: f64 = 3.5;

/// A drawn chart.
pub(super) struct Drawing<P: Fn(Point) -> Point> {
    /// The SVG element.
    pub picture: Markup,
    /// The pixel of a point in the units of the axes.
    pub place: P,
}

/// Draws a chart.
pub(super) fn draw(chart: &Chart) -> Drawing<impl Fn(Point) -> Point + '_> {
    let (width, height) = (if chart.wide { 1_020.0 } else { 500.0 }, f64::from(chart.height));
    let place = move |(x, y): Point| {
        let across = LEFT + chart.x.share(x) * (width - LEFT - RIGHT);
        let down = TOP + (1.0 - chart.y.share(y)) * (height - TOP - BOTTOM);
        (round(across), round(down))
    };
    let (low, high) = (place((chart.x.min, chart.y.min)), place((chart.x.max, chart.y.max)));
    let picture = html! {
        svg role="img" aria-label={ (chart.label) ": " (chart.title) } viewBox={ "0 0 " (width) " " (height) } {
            @for mark in chart.marks.iter().filter(|mark| is_below(mark)) { (drawn(mark, &place)) }
            @for (value, label) in &chart.y.ticks {
                @let y = place((chart.x.min, *value)).1;
                line.grid x1=(low.0) x2=(high.0) y1=(y) y2=(y) {}
                text.left x=(round(low.0 - 8.0)) y=(round(y + 4.0)) { (label) }
            }
            line.axis x1=(low.0) x2=(high.0) y1=(low.1) y2=(low.1) {}
            line.axis x1=(low.0) x2=(low.0) y1=(low.1) y2=(high.1) {}
            @for (value, label) in &chart.x.ticks {
                @let x = place((*value, chart.y.min)).0;
                line.axis x1=(x) x2=(x) y1=(low.1) y2=(round(low.1 + 5.0)) {}
                text.below x=(x) y=(round(low.1 + 19.0)) { (label) }
            }
            @for mark in chart.marks.iter().filter(|mark| !is_below(mark)) { (drawn(mark, &place)) }
        }
    };
    Drawing { picture, place }
}

/// Rounds a pixel to a tenth.
fn round(pixel: f64) -> f64 {
    (pixel * 10.0).round() / 10.0
}

/// Whether a mark lies under the grid.
fn is_below(mark: &Mark) -> bool {
    matches!(mark, Mark::Band(..))
}

fn drawn(mark: &Mark, place: &impl Fn(Point) -> Point) -> Markup {
    match mark {
        Mark::Line(series, points) => {
            let points: Vec<_> =
                points.iter().map(|point| place(*point)).map(|(x, y)| format!("{x},{y}")).collect();
            html! { polyline class={ "line c" (series % COLOURS) } points=(points.join(" ")) {} }
        }
        Mark::Sign(series, sign, point) => {
            html! { g class={ "c" (series % COLOURS) } { (signed(*sign, place(*point))) } }
        }
        Mark::Interval(series, x, low, high) => {
            let ((x, bottom), (_, top)) = (place((*x, *low)), place((*x, *high)));
            let (left, right) = (round(x - CAP), round(x + CAP));
            let path = format!("M{x} {bottom}V{top}M{left} {bottom}H{right}M{left} {top}H{right}");
            html! { path class={ "line c" (series % COLOURS) } d=(path) {} }
        }
        Mark::Band(from, to) => {
            let ((x1, y1), (x2, y2)) = (place(*from), place(*to));
            let (x, y) = (x1.min(x2), y1.min(y2));
            html! { rect.band x=(x) y=(y) width=(round((x2 - x1).abs())) height=(round((y2 - y1).abs())) {} }
        }
        Mark::Rule(rule, from, to) => {
            let ((x1, y1), (x2, y2)) = (place(*from), place(*to));
            let class = match rule {
                Rule::Axis => "axis".to_owned(),
                Rule::Limit => "limit".to_owned(),
                Rule::Middle(series) => format!("middle c{}", series % COLOURS),
            };
            html! { line class=(class) x1=(x1) x2=(x2) y1=(y1) y2=(y2) {} }
        }
        Mark::Note(at, text) => {
            let (x, y) = place(*at);
            html! { text x=(round(x + 2.0)) y=(round(y - 5.0)) { (text) } }
        }
    }
}

fn signed(sign: Sign, (x, y): Point) -> Markup {
    let polygon = |corners: &[Point]| {
        let points: Vec<_> =
            corners.iter().map(|(dx, dy)| format!("{},{}", round(x + dx), round(y + dy))).collect();
        html! { polygon points=(points.join(" ")) {} }
    };
    match sign {
        Sign::Dot => html! { circle cx=(x) cy=(y) r="1.8" {} },
        Sign::Disc => html! { circle cx=(x) cy=(y) r="3.5" {} },
        Sign::Ring => html! { circle.ring cx=(x) cy=(y) r="4" {} },
        Sign::Square => polygon(&[(-4.0, -4.0), (4.0, -4.0), (4.0, 4.0), (-4.0, 4.0)]),
        Sign::Up => polygon(&[(0.0, -4.0), (4.0, 4.0), (-4.0, 4.0)]),
        Sign::Down => polygon(&[(0.0, 4.0), (4.0, -4.0), (-4.0, -4.0)]),
        Sign::Diamond => polygon(&[(0.0, -5.0), (5.0, 0.0), (0.0, 5.0), (-5.0, 0.0)]),
    }
}
