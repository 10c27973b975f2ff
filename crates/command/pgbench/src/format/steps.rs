//! The table of steps below the summary (`--steps`).

use std::fmt::Write;

use pgdyno_core::measure::{Counts, Latency};
use pgdyno_engine::{Load, StepReport};

const NS_PER_S: f64 = 1e9;

/// The table; empty if there are no steps. Steps that a run did not reach have no line.
pub fn table(steps: &[StepReport]) -> String {
    let Some(first) = steps.first() else { return String::new() };
    let (kind, population) = match first.load {
        Load::Rate(_) => ("rate/s", "fell due"),
        Load::Clients(_) => ("clients", "began"),
    };
    let mut out = format!(
        "steps: latency and misses are of the transactions that {population} in the step, whenever they ended\n\
         step  from s    to s  {kind:>8}       tps   p50 ms   p95 ms   p99 ms   max ms   failed  skipped  unbegun\n"
    );
    for (index, step) in steps.iter().enumerate().filter(|(_, step)| step.duration_ns > 0) {
        let _ = writeln!(out, "{:>4}  {}", index + 1, line(step)); // a string takes everything
    }
    out
}

fn line(step: &StepReport) -> String {
    let (from_s, length_s) = (step.start_ns as f64 / NS_PER_S, step.duration_ns as f64 / NS_PER_S);
    let load = match step.load {
        Load::Rate(rate_per_s) => rate(rate_per_s),
        Load::Clients(clients) => clients.to_string(),
    };
    let tps = step.counts.committed as f64 / length_s;
    let percentiles = [0.5, 0.95, 0.99].map(|quantile| ms(step.latency.quantile_ns(quantile)));
    let [p50, p95, p99] = percentiles;
    let max = ms(max_ns(&step.latency));
    let Counts { skipped, never_started, .. } = step.due;
    let failed = step.due.failed + step.due.timed_out + step.due.in_doubt;
    format!(
        "{from_s:>6.0}  {:>6.0}  {load:>8}  {tps:>8.1}  {p50:>7}  {p95:>7}  {p99:>7}  {max:>7}  {failed:>7}  \
         {skipped:>7}  {never_started:>7}",
        from_s + length_s,
    )
}

fn max_ns(latency: &Latency) -> Option<u64> {
    latency.summary().map(|summary| summary.max_ns)
}

/// A rate without superfluous digits.
pub fn rate(rate_per_s: f64) -> String {
    if rate_per_s >= 100.0 {
        format!("{rate_per_s:.0}")
    } else {
        format!("{}", (rate_per_s * 1e3).round() / 1e3)
    }
}

/// Nanoseconds as milliseconds, with at least three significant digits.
pub fn ms(ns: Option<u64>) -> String {
    let Some(ms) = ns.map(|ns| ns as f64 / 1e6) else { return "-".to_owned() };
    if ms < 10.0 {
        format!("{ms:.3}")
    } else if ms < 1_000.0 {
        format!("{ms:.1}")
    } else {
        format!("{ms:.0}")
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::measure::Precision;

    use super::*;

    fn step(load: Load, start_s: u64, duration_s: u64) -> StepReport {
        let mut latency = Latency::new(Precision::Interval);
        (1..=3_000).for_each(|i| latency.record(i * 10_000));
        let counts =
            Counts { scheduled: 3_010, committed: 2_900, in_flight_at_end: 110, ..Counts::default() };
        let due = Counts {
            scheduled: 3_010,
            committed: 3_000,
            failed: 1,
            in_doubt: 1,
            skipped: 5,
            never_started: 3,
            ..Counts::default()
        };
        let (start_ns, duration_ns) = (start_s * 1_000_000_000, duration_s * 1_000_000_000);
        StepReport { load, start_ns, duration_ns, counts, due, latency }
    }

    #[test]
    fn every_step_has_a_line_and_unknown_percentiles_a_dash() {
        let steps =
            [step(Load::Rate(1_000.0), 0, 30), step(Load::Rate(2.5), 30, 60), step(Load::Rate(1.0), 90, 0)];
        let head = "step  from s    to s    rate/s       tps   p50 ms   p95 ms   p99 ms   max ms   failed  \
                    skipped  unbegun";
        let ends = "15.0     28.6        -     30.0        2        5        3";
        let lines = [
            "steps: latency and misses are of the transactions that fell due in the step, whenever they ended",
            head,
            &format!("   1       0      30      1000      96.7     {ends}"),
            &format!("   2      30      90       2.5      48.3     {ends}\n"),
        ];
        let lines = lines.join("\n");
        assert_eq!(table(&steps), lines);
        assert!(table(&[step(Load::Clients(8), 0, 30)]).contains("that began in the step"));
        assert_eq!(table(&[]), "");
    }

    #[test]
    fn milliseconds_have_significant_digits() {
        let ns = [Some(250_000), Some(12_345_678), Some(1_234_567_890), None];
        assert_eq!(ns.map(ms), ["0.250", "12.3", "1235", "-"]);
        assert_eq!([0.5, 12.25, 4_570.0].map(rate), ["0.5", "12.25", "4570"]);
    }
}
