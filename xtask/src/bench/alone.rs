//! Programs that are measured alone, against a figure that is fixed.

use pgdyno_analysis::compare::bar::{Bar, Ratio};

use super::Tally;
use crate::Failure;

/// A quantity measured alone.
pub struct Alone {
    /// Name of what is measured.
    pub what: &'static str,
    /// Name of the judged ratio.
    pub label: &'static str,
    /// Divides every reading before it is judged.
    pub unit: f64,
    /// The bar of what is left.
    pub bar: Bar,
    /// Prints a reading.
    pub words: fn(f64) -> String,
}

impl Alone {
    /// Takes a reading in each of `runs` runs, at least three, prints their range and judges their mean.
    ///
    /// # Errors
    /// The first problem.
    pub fn run(
        &self,
        runs: u32,
        reading: impl FnMut(u32) -> Result<f64, Failure>,
        tally: &mut Tally,
    ) -> Result<(), Failure> {
        let readings = (0..runs).map(reading).collect::<Result<Vec<_>, _>>()?;
        let (least, most) =
            readings.iter().fold((f64::MAX, 0_f64), |(a, b), &reading| (a.min(reading), b.max(reading)));
        println!("\n{}, {runs} runs: {} to {}", self.what, (self.words)(least), (self.words)(most));
        let ratio = Ratio::from_pairs(readings.into_iter().map(|reading| (reading, self.unit)))?;
        tally.judge(self.label, &ratio, Some(self.bar));
        Ok(())
    }
}

/// Parses a number of runs: none, or enough for a confidence interval. Checked at the start, not after an hour of
/// measuring.
pub fn none_or_enough(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(1 | 2) => Err("a confidence interval needs three runs".into()),
        parsed => parsed.map_err(|error| error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_runs_for_an_interval_are_refused() {
        assert_eq!((none_or_enough("0"), none_or_enough("3")), (Ok(0), Ok(3)));
        assert!(["1", "2", "-1", "x"].iter().all(|text| none_or_enough(text).is_err()));
    }

    #[test]
    fn readings_are_judged_by_their_ratio_to_the_unit() {
        let words = |reading: f64| reading.to_string();
        let alone = Alone { what: "x", label: "x over 5", unit: 5.0, bar: Bar::AtLeast(1.0), words };
        let mut tally = Tally::default();
        alone.run(3, |run| Ok(6.0 + f64::from(run) / 10.0), &mut tally).expect("three readings");
        alone.run(3, |_| Ok(4.0), &mut tally).expect("three readings");
        assert_eq!((tally.met, tally.missed, tally.undecided), (1, 1, 0));
    }
}
