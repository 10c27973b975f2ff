//! What all charts share: the drawing area, ticks, and the finished picture.

use std::{fmt::Display, ops::Range};

use plotters::{
    chart::ChartContext,
    coord::{
        Shift,
        cartesian::Cartesian2d,
        ranged1d::{DefaultFormatting, KeyPointHint, Ranged},
    },
    prelude::*,
    style::ShapeStyle,
};

use super::{AXIS, GRID, SCALE, TEXT};

/// A problem of the drawing library as text; writing to memory has none in practice.
pub(crate) type Drawn<T> = Result<T, String>;

pub(crate) fn failed(error: impl Display) -> String {
    error.to_string()
}

/// Draws a picture of `width` × `height` pixels as SVG that fits the width of the page.
pub(crate) fn picture(
    width: i32,
    height: i32,
    label: &str,
    draw: impl FnOnce(&DrawingArea<SVGBackend<'_>, Shift>) -> Drawn<()>,
) -> Drawn<String> {
    let mut svg = String::new();
    let size = ((width * SCALE) as u32, (height * SCALE) as u32);
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        draw(&area)?;
        area.present().map_err(failed)?;
    }
    let fixed = format!("<svg width=\"{}\" height=\"{}\" ", size.0, size.1);
    let label = label.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    let fluid = format!("<svg role=\"img\" aria-label=\"{label}\" ");
    // The name space is an address that nothing is fetched from; HTML does not need it.
    Ok(svg.replacen(&fixed, &fluid, 1).replacen(" xmlns=\"http://www.w3.org/2000/svg\"", "", 1))
}

/// An axis with ticks of its own.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    min: f64,
    max: f64,
    log: bool,
    ticks: Vec<f64>,
}

impl Axis {
    pub(crate) fn linear(min: f64, max: f64, ticks: Vec<f64>) -> Self {
        Self { min, max, log: false, ticks }
    }

    /// A logarithmic axis; `min` must be above 0.
    pub(crate) fn log(min: f64, max: f64) -> Self {
        Self { min, max, log: true, ticks: log_ticks(min, max) }
    }

    /// Where a value lies: 0 at the beginning of the axis, 1 at its end.
    fn share(&self, value: f64) -> f64 {
        let scaled = |v: f64| if self.log { v.max(f64::MIN_POSITIVE).ln() } else { v };
        let length = scaled(self.max) - scaled(self.min);
        if length > 0.0 { (scaled(value) - scaled(self.min)) / length } else { 0.5 }
    }
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        limit.0 + (self.share(*value) * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.min..self.max
    }
}

pub(crate) type Plot<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;

/// A plot with room for its axes.
pub(crate) fn plot<'a, 'b>(
    area: &'a DrawingArea<SVGBackend<'b>, Shift>,
    x: Axis,
    y: Axis,
) -> Drawn<Plot<'a, 'b>> {
    ChartBuilder::on(area)
        .margin_top(18 * SCALE)
        .margin_right(14 * SCALE)
        .x_label_area_size(30 * SCALE)
        .y_label_area_size(58 * SCALE)
        .build_cartesian_2d(x, y)
        .map_err(failed)
}

/// Draws grid, axes and ticks.
pub(crate) fn mesh(
    plot: &mut Plot<'_, '_>,
    x_label: &dyn Fn(&f64) -> String,
    y_label: &dyn Fn(&f64) -> String,
) -> Drawn<()> {
    plot.configure_mesh()
        .disable_x_mesh()
        .bold_line_style(line(&GRID, 1))
        .light_line_style(TRANSPARENT)
        .axis_style(line(&AXIS, 1))
        // Long enough that a point on the axis does not touch the label below it.
        .set_tick_mark_size(LabelAreaPosition::Bottom, 7 * SCALE)
        .label_style(text_style(11))
        .x_label_formatter(x_label)
        .y_label_formatter(y_label)
        .draw()
        .map_err(failed)
}

/// A line of `width` pixels as shown.
pub(crate) fn line(colour: &RGBColor, width: u32) -> ShapeStyle {
    colour.stroke_width(width * SCALE as u32)
}

pub(crate) fn text_style(size: i32) -> TextStyle<'static> {
    // The library divides by 1.24 on its way to SVG.
    ("sans-serif", f64::from(size * SCALE) * 1.24).into_font().color(&TEXT)
}

/// At most about `count` round numbers from 0 up to `max`.
pub(crate) fn ticks(max: f64, count: usize) -> Vec<f64> {
    let raw = max / count as f64;
    let magnitude = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|m| m * magnitude).into_iter().find(|step| *step >= raw);
    let step = step.unwrap_or(magnitude * 10.0);
    (0..).map(|i| f64::from(i) * step).take_while(|tick| *tick <= max * 1.000_001).collect()
}

/// 1, 2, 5 and their multiples by ten within a range, fewer where it spans many decades.
pub(crate) fn log_ticks(min: f64, max: f64) -> Vec<f64> {
    let decades = (max / min).log10();
    let steps: &[f64] = if decades > 4.0 {
        &[1.0]
    } else if decades > 2.0 {
        &[1.0, 3.0]
    } else {
        &[1.0, 2.0, 5.0]
    };
    let first = min.log10().floor() as i32;
    let last = max.log10().ceil() as i32;
    let all = (first..=last).flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
    all.filter(|tick| (min * 0.999..=max * 1.001).contains(tick)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(9_840.0, 5), [0.0, 2_000.0, 4_000.0, 6_000.0, 8_000.0]);
        assert_eq!(ticks(1.0, 5).len(), 6);
        assert_eq!(log_ticks(90_000.0, 1_100_000.0), [100_000.0, 200_000.0, 500_000.0, 1_000_000.0]);
    }
}
