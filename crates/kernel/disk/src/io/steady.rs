//! Was the rate steady? A pure function of the rates of rounds.

use pgdyno_core::disk::io::SteadyState;

/// Rounds that are looked at together, and the limits of their rates (SNIA, Solid State Storage Performance Test
/// Specification, "Steady State": five rounds, range 20 %, slope 10 % of the mean).
pub const ROUNDS: usize = 5;
/// Largest less smallest rate, over the mean.
pub const MAX_RANGE: f64 = 0.20;
/// Change of the fitted line from the first to the last round, over the mean.
pub const MAX_SLOPE: f64 = 0.10;

/// Rounds into which a run is divided, as far as it has so many seconds.
const ROUNDS_OF_A_RUN: usize = 12;

/// Joins the rates of seconds to those of rounds: about twelve, each of a whole number of seconds; seconds left over at
/// the start are dropped, since rates settle there. Returns the rates, the seconds of a round, and those dropped.
pub fn rounds(per_second: &[f64]) -> (Vec<f64>, usize, usize) {
    let round_s = (per_second.len() / ROUNDS_OF_A_RUN).max(1);
    let dropped = per_second.len() % round_s;
    let mean = |round: &[f64]| round.iter().sum::<f64>() / round.len() as f64;
    (per_second[dropped..].chunks(round_s).map(mean).collect(), round_s, dropped)
}

/// Judges the rates of the seconds of a run.
pub fn judge(per_second: &[f64]) -> SteadyState {
    let (rates, round_s, dropped) = rounds(per_second);
    let Some((range, slope)) = rates.last_chunk::<ROUNDS>().map(excursions) else {
        return SteadyState::TooShort;
    };
    let keeps =
        |window: &[f64]| window.try_into().is_ok_and(|window: &[f64; ROUNDS]| is_steady(excursions(window)));
    let steady = rates.windows(ROUNDS).rev().take_while(|window| keeps(window)).count();
    if steady == 0 {
        return SteadyState::NotSteady { range, slope };
    }
    let first = rates.len() - (ROUNDS - 1) - steady;
    SteadyState::Steady { from_s: (dropped + first * round_s) as f64 }
}

fn is_steady((range, slope): (f64, f64)) -> bool {
    range <= MAX_RANGE && slope.abs() <= MAX_SLOPE
}

/// Range, and change of the fitted line from the first to the last round, over the mean. Without a mean nothing is
/// steady.
fn excursions(rates: &[f64; ROUNDS]) -> (f64, f64) {
    let mean = rates.iter().sum::<f64>() / ROUNDS as f64;
    if mean <= 0.0 {
        return (f64::MAX, f64::MAX);
    }
    let (min, max) = rates.iter().fold((f64::MAX, f64::MIN), |(min, max), &r| (min.min(r), max.max(r)));
    let middle = (ROUNDS - 1) as f64 / 2.0;
    let (mut with, mut of) = (0.0, 0.0);
    for (x, rate) in rates.iter().enumerate() {
        let x = x as f64 - middle;
        with += x * (rate - mean);
        of += x * x;
    }
    ((max - min) / mean, with / of * (ROUNDS - 1) as f64 / mean)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_constant_rate_is_steady_from_the_start() {
        assert_eq!(judge(&[100.0; 5]), SteadyState::Steady { from_s: 0.0 });
        assert_eq!(judge(&[100.0; 63]), SteadyState::Steady { from_s: 3.0 });
        assert_eq!(judge(&[100.0; 4]), SteadyState::TooShort);
        assert_eq!(judge(&[]), SteadyState::TooShort);
    }

    /// A fresh SSD: fast for four seconds, then at its rate.
    #[test]
    fn a_fall_is_cut_off() {
        let rates = [300.0, 280.0, 200.0, 150.0, 100.0, 101.0, 99.0, 100.0, 100.0, 101.0, 100.0];
        assert_eq!(judge(&rates), SteadyState::Steady { from_s: 4.0 });
    }

    #[test]
    fn a_rate_that_falls_until_the_end_is_not_steady() {
        let falling: Vec<f64> = (0..11).map(|s| 100.0 - 5.0 * f64::from(s)).collect();
        let SteadyState::NotSteady { range, slope } = judge(&falling) else { panic!("it falls") };
        // The last five are 70, 65, 60, 55, 50.
        assert!((range - 20.0 / 60.0).abs() < 1e-9 && (slope + 20.0 / 60.0).abs() < 1e-9, "{range} {slope}");
    }

    /// Range within 20 %, slope beyond 10 %; and the other way round.
    #[test]
    fn both_limits_count() {
        let trend = [93.0, 96.5, 100.0, 103.5, 107.0];
        assert!(
            matches!(judge(&trend), SteadyState::NotSteady { range, slope } if range < 0.2 && slope > 0.1)
        );
        let spike = [100.0, 100.0, 130.0, 100.0, 100.0];
        assert!(
            matches!(judge(&spike), SteadyState::NotSteady { range, slope } if range > 0.2 && slope == 0.0)
        );
    }

    #[test]
    fn a_storage_that_does_nothing_is_not_steady() {
        assert!(matches!(judge(&[0.0; 20]), SteadyState::NotSteady { .. }));
    }

    #[test]
    fn rounds_are_of_whole_seconds_and_lose_the_first_ones() {
        let seconds: Vec<f64> = (0..26).map(f64::from).collect();
        let (rates, round_s, dropped) = rounds(&seconds);
        assert_eq!((rates.len(), round_s, dropped, rates[0], rates[12]), (13, 2, 0, 0.5, 24.5));
        assert_eq!(rounds(&[1.0; 37]), (vec![1.0; 12], 3, 1));
    }

    proptest! {
        /// Judging does not depend on the unit of the rate.
        #[test]
        fn the_unit_does_not_matter(rates in prop::collection::vec(50.0..150.0_f64, 0..40), exponent in -10..10) {
            let scaled: Vec<f64> = rates.iter().map(|rate| rate * 2.0_f64.powi(exponent)).collect();
            prop_assert_eq!(judge(&rates), judge(&scaled));
        }
    }
}
