//! Axes with round ticks.

use pgdyno_core::units;
use pgdyno_document::chart::Axis;

/// A linear axis with labelled ticks.
pub fn linear(min: f64, max: f64, ticks: Vec<f64>, label: impl Fn(f64) -> String) -> Axis {
    Axis { min, max, log: false, ticks: ticks.into_iter().map(|tick| (tick, label(tick))).collect() }
}

/// A logarithmic axis of latencies in nanoseconds; `min` must be above 0.
pub fn latencies(min: f64, max: f64) -> Axis {
    let ticks = log_ticks(min, max).into_iter().map(|tick| (tick, short_latency(tick))).collect();
    Axis { min, max, log: true, ticks }
}

/// An axis of seconds from 0.
pub fn seconds(end: f64) -> Axis {
    linear(0.0, end, ticks(end, 10), |s| format!("{s:.0} s"))
}

/// A rate on an axis.
pub fn short_rate(rate: f64) -> String {
    units::rate(rate).replace("0.000", "0")
}

/// A latency on an axis: `0`, `2 ms`, `500 µs`.
pub fn short_latency(ns: f64) -> String {
    if ns == 0.0 {
        return "0".into();
    }
    let text = units::latency(ns);
    let Some((number, unit)) = text.split_once(' ') else { return text };
    let number =
        if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    format!("{number} {unit}")
}

/// At most about `count` round numbers from 0 up to `max`.
pub fn ticks(max: f64, count: usize) -> Vec<f64> {
    let raw = max / count as f64;
    let magnitude = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|m| m * magnitude).into_iter().find(|step| *step >= raw);
    let step = step.unwrap_or(magnitude * 10.0);
    (0..).map(|i| f64::from(i) * step).take_while(|tick| *tick <= max * 1.000_001).collect()
}

/// 1, 2, 5 and their multiples by ten within a range, fewer if it spans many decades.
fn log_ticks(min: f64, max: f64) -> Vec<f64> {
    let decades = (max / min).log10();
    let steps: &[f64] = match () {
        () if decades > 4.0 => &[1.0],
        () if decades > 2.0 => &[1.0, 3.0],
        () => &[1.0, 2.0, 5.0],
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
