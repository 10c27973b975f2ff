//! Pairs of figures, judged and kept.

use std::fmt::Write;

use pgdyno_analysis::compare::bar::{Bar, Ratio};

use crate::bench::Tally;

/// What was measured so far.
pub(super) struct Results {
    pub(super) tally: Tally,
    pub(super) csv: String,
}

impl Default for Results {
    fn default() -> Self {
        Self { tally: Tally::default(), csv: "measurement,figure,pair,pgdyno,peer\n".to_owned() }
    }
}

impl Results {
    /// Prints, judges and keeps pairs of a figure. Where a program has none (a percentile of too few samples), the pair
    /// is left out.
    pub(super) fn add(
        &mut self,
        measurement: &str,
        figure: &str,
        pairs: &[(Option<f64>, Option<f64>)],
        bar: Option<Bar>,
    ) {
        let known: Vec<(f64, f64)> = pairs.iter().filter_map(|&(own, other)| Some((own?, other?))).collect();
        for (number, (own, other)) in known.iter().enumerate() {
            let _ = writeln!(self.csv, "\"{measurement}\",{figure},{number},{own},{other}");
        }
        match Ratio::from_pairs(known.iter().copied()) {
            Ok(ratio) => self.tally.judge(&format!("{measurement}: {figure}"), &ratio, bar),
            Err(why) => return println!("    {measurement}: {figure}: no ratio: {why}"),
        }
        let each: Vec<String> = known.iter().map(|(own, other)| format!("{:.2}", own / other)).collect();
        println!(
            "      pgdyno {:.4e}, peer {:.4e}; {}",
            median(&known, |p| p.0),
            median(&known, |p| p.1),
            each.join(" ")
        );
    }
}

fn median(pairs: &[(f64, f64)], of: fn(&(f64, f64)) -> f64) -> f64 {
    let mut values: Vec<f64> = pairs.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_without_a_figure_are_left_out() {
        let mut results = Results::default();
        let some = |own, other| (Some(own), Some(other));
        let pairs = [some(1.0, 2.0), (None, Some(1.0)), some(1.0, 2.0), some(1.0, 2.0)];
        results.add("a, b", "p99", &pairs, Some(Bar::Within(0.05)));
        assert_eq!(results.csv.lines().count(), 4);
        assert!(results.csv.contains("\"a, b\",p99,2,1,2\n"));
        assert!(!results.tally.conclude());
    }
}
