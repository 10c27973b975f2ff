//! Which `wal_sync_method` to choose.

use pgdyno_core::disk::sync::{ChoiceOutcome, MethodChoice, RateRatio, SyncAction, SyncMethod, SyncTest};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Probability that an interval of the whole family misses its ratio.
const ALPHA: f64 = 0.05;
/// Fewest blocks with an interval.
const FEWEST_BLOCKS: usize = 3;
/// Most blocks that are proposed.
const MOST_BLOCKS: usize = 1_000;

/// Chooses among the methods by their rates in each block with one write per operation: WAL is mostly flushed by one
/// write. The default stays unless another method is faster.
///
/// Intervals are Student's t over the logarithms of the ratios block by block. Each is widened for the number of
/// methods that are compared with the default (Bonferroni), so that all of them hold together with 95 %. A difference
/// within `margin` (0.05 is 5 %) does not matter. `None` without a complete block of the default.
pub fn choose(tests: &[SyncTest], margin: f64) -> Option<MethodChoice> {
    let mut methods = methods(tests);
    let default = methods.iter().find(|one| one.method == SyncMethod::DEFAULT)?.clone();
    methods.sort_by(|a, b| b.mean().total_cmp(&a.mean()));
    let family = methods.len().saturating_sub(1).max(1);
    let margin = (1.0 + margin).ln();
    let over_default: Vec<Differences> = methods
        .iter()
        .filter(|one| one.method != default.method)
        .map(|one| one.over(&default, family))
        .collect();
    let fastest = methods.first()?;
    let second = methods.get(1).map(|second| fastest.over(second, family));
    let deciding = if fastest.method == default.method { second.as_ref() } else { over_default.first() };
    let outcome = outcome(&over_default, deciding, margin);
    let faster = outcome == ChoiceOutcome::Faster;
    let needed = deciding.filter(|_| outcome == ChoiceOutcome::CannotTell);
    Some(MethodChoice {
        outcome,
        method: if faster { fastest.method } else { default.method },
        fastest: fastest.method,
        to_default: over_default.first().filter(|_| fastest.method != default.method).map(Differences::ratio),
        blocks: default.logs.len() as u64,
        blocks_needed: needed.and_then(|differences| differences.blocks_needed(margin)),
        to_second: second.as_ref().map(Differences::ratio),
    })
}

/// `over_default`: of all other methods, by falling rate. `deciding`: of the fastest over the default, or over the
/// second if it is the default.
fn outcome(over_default: &[Differences], deciding: Option<&Differences>, margin: f64) -> ChoiceOutcome {
    let Some(deciding) = deciding else { return ChoiceOutcome::NoDifference };
    let interval = deciding.interval();
    let differs = interval.is_some_and(|(low, high)| low > 0.0 && high > margin);
    let none_better = over_default.iter().all(|one| one.interval().is_some_and(|(_, high)| high <= margin));
    match (differs, none_better) {
        (true, _) => ChoiceOutcome::Faster,
        (false, true) => ChoiceOutcome::NoDifference,
        (false, false) => ChoiceOutcome::CannotTell,
    }
}

/// Logarithms of the rates of a method in each block.
#[derive(Clone)]
struct Rates {
    method: SyncMethod,
    logs: Vec<f64>,
}

/// The methods that have rates, all with the same number of blocks.
fn methods(tests: &[SyncTest]) -> Vec<Rates> {
    let rates = |test: &SyncTest| {
        let SyncAction::Method { method, writes: 1 } = test.action else { return None };
        let logs: Vec<f64> = test.timing.as_ref()?.block_rates_per_s.iter().map(|rate| rate.ln()).collect();
        (!logs.is_empty()).then_some(Rates { method, logs })
    };
    let mut all: Vec<Rates> = tests.iter().filter_map(rates).collect();
    let blocks = all.iter().map(|one| one.logs.len()).min().unwrap_or(0);
    all.iter_mut().for_each(|one| one.logs.truncate(blocks));
    all
}

impl Rates {
    fn mean(&self) -> f64 {
        mean(&self.logs)
    }

    fn over(&self, other: &Self, family: usize) -> Differences {
        let differences = self.logs.iter().zip(&other.logs).map(|(own, other)| own - other).collect();
        Differences { of: other.method, differences, family }
    }
}

/// Differences of logarithms, block by block.
struct Differences {
    of: SyncMethod,
    differences: Vec<f64>,
    family: usize,
}

impl Differences {
    fn stddev(&self) -> f64 {
        let mean = mean(&self.differences);
        let squares: f64 = self.differences.iter().map(|one| (one - mean).powi(2)).sum();
        (squares / (self.differences.len() as f64 - 1.0)).sqrt()
    }

    fn half_width(&self, blocks: usize) -> Option<f64> {
        let student = StudentsT::new(0.0, 1.0, blocks.checked_sub(1)? as f64).ok()?;
        let t = student.inverse_cdf(1.0 - ALPHA / 2.0 / self.family as f64);
        Some(t * self.stddev() / (blocks as f64).sqrt())
    }

    fn interval(&self) -> Option<(f64, f64)> {
        let blocks = self.differences.len();
        let half = self.half_width(blocks).filter(|_| blocks >= FEWEST_BLOCKS)?;
        let mean = mean(&self.differences);
        Some((mean - half, mean + half))
    }

    fn ratio(&self) -> RateRatio {
        let interval = self.interval().map(|(low, high)| (low.exp(), high.exp()));
        RateRatio { of: self.of, ratio: mean(&self.differences).exp(), interval }
    }

    /// Blocks until the interval excludes 1, or lies within the margin, whichever is nearer.
    fn blocks_needed(&self, margin: f64) -> Option<u64> {
        let now = self.differences.len();
        let mean = mean(&self.differences).abs();
        let target = mean.max(margin - mean);
        (now >= FEWEST_BLOCKS).then_some(())?;
        let decides = |blocks: &usize| self.half_width(*blocks).is_some_and(|half| half < target);
        (now + 1..=MOST_BLOCKS).find(decides).map(|blocks| blocks as u64)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use pgdyno_core::{
        disk::sync::SyncTiming,
        measure::{Latency, Precision},
    };
    use proptest::prelude::*;

    use super::*;

    fn test(method: SyncMethod, writes: u32, rates_per_s: &[f64]) -> SyncTest {
        let mut latency = Latency::new(Precision::Run);
        latency.record(1_000);
        let timing = SyncTiming {
            operations: 1,
            duration_ns: 1,
            rate_per_s: 1.0,
            written_bytes: 8_192,
            latency: latency.summary().expect("there is one"),
            p90_ns: None,
            distribution: Vec::new(),
            block_rates_per_s: rates_per_s.to_vec(),
        };
        let action = SyncAction::Method { method, writes };
        SyncTest { action, write_bytes: 8_192, direct: None, timing: Some(timing), unavailable: None }
    }

    fn choice(rates: [(SyncMethod, &[f64]); 3]) -> MethodChoice {
        let tests = rates.map(|(method, rates)| test(method, 1, rates));
        choose(&tests, 0.05).expect("the default was measured")
    }

    use SyncMethod::{Fdatasync, Fsync, OpenDatasync};

    #[test]
    fn a_faster_method_is_chosen_with_its_ratios() {
        let choice = choice([
            (OpenDatasync, &[1_300.0, 1_310.0, 1_290.0, 1_305.0]),
            (Fdatasync, &[1_000.0, 1_005.0, 998.0, 1_001.0]),
            (Fsync, &[900.0, 905.0, 890.0, 902.0]),
        ]);
        assert_eq!((choice.outcome, choice.method), (ChoiceOutcome::Faster, OpenDatasync));
        let ratio = choice.to_default.expect("it is not the default");
        assert_eq!(choice.to_second, Some(ratio.clone()));
        let (low, high) = ratio.interval.expect("there are four blocks");
        assert!((1.29..1.31).contains(&ratio.ratio) && low > 1.27 && high < 1.33, "{ratio:?}");
        assert_eq!((choice.blocks, choice.blocks_needed), (4, None));
    }

    /// t of 3 degrees at 1 - 0.05/2/2 is 4.1765 (two methods compared with the default).
    #[test]
    fn the_interval_is_that_of_the_formula() {
        let logs = [0.10_f64, 0.14, 0.12, 0.16];
        let over: Vec<f64> = logs.iter().map(|log| 1_000.0 * log.exp()).collect();
        let choice = choice([(OpenDatasync, &over), (Fdatasync, &[1_000.0; 4]), (Fsync, &[500.0; 4])]);
        let ratio = choice.to_default.expect("it is not the default");
        let half = 4.176_5 * 0.025_819_889 / 2.0;
        let (low, high) = ratio.interval.expect("there are four blocks");
        assert!((low.ln() - (0.13 - half)).abs() < 1e-5 && (high.ln() - (0.13 + half)).abs() < 1e-5);
        assert!((ratio.ratio.ln() - 0.13).abs() < 1e-12);
    }

    #[test]
    fn a_difference_within_the_margin_keeps_the_default() {
        let choice = choice([
            (OpenDatasync, &[1_020.0, 1_022.0, 1_021.0, 1_020.0]),
            (Fdatasync, &[1_000.0, 1_001.0, 999.0, 1_000.0]),
            (Fsync, &[900.0, 901.0, 899.0, 900.0]),
        ]);
        assert_eq!((choice.outcome, choice.method), (ChoiceOutcome::NoDifference, Fdatasync));
        assert_eq!(choice.fastest, OpenDatasync);
    }

    #[test]
    fn the_default_wins_if_it_is_faster_than_all() {
        let choice = choice([
            (OpenDatasync, &[800.0, 803.0, 799.0]),
            (Fdatasync, &[1_000.0, 1_001.0, 999.0]),
            (Fsync, &[500.0, 501.0, 499.0]),
        ]);
        assert_eq!((choice.outcome, choice.method), (ChoiceOutcome::Faster, Fdatasync));
        assert_eq!(choice.to_second.map(|ratio| ratio.of), Some(OpenDatasync));
        assert_eq!(choice.to_default, None);
    }

    #[test]
    fn scatter_and_few_blocks_are_inconclusive() {
        let wild = choice([
            (OpenDatasync, &[1_500.0, 900.0, 1_300.0]),
            (Fdatasync, &[1_000.0, 1_100.0, 990.0]),
            (Fsync, &[900.0, 1_000.0, 800.0]),
        ]);
        assert_eq!((wild.outcome, wild.method), (ChoiceOutcome::CannotTell, Fdatasync));
        assert!(wild.blocks_needed.is_some_and(|blocks| blocks > 3), "{wild:?}");
        let single = choice([(OpenDatasync, &[2_000.0]), (Fdatasync, &[1_000.0]), (Fsync, &[1.0])]);
        assert_eq!((single.outcome, single.blocks_needed), (ChoiceOutcome::CannotTell, None));
        assert_eq!(single.to_default.map(|ratio| (ratio.ratio.round(), ratio.interval)), Some((2.0, None)));
    }

    /// A third method that scatters so that it may be better keeps the question open.
    #[test]
    fn no_difference_is_said_of_all_methods_or_not() {
        let choice = choice([
            (OpenDatasync, &[1_000.0, 1_001.0, 1_000.0, 1_002.0]),
            (Fdatasync, &[1_000.0, 1_000.0, 1_001.0, 1_000.0]),
            (Fsync, &[500.0, 2_000.0, 600.0, 1_500.0]),
        ]);
        assert_eq!(choice.outcome, ChoiceOutcome::CannotTell);
    }

    #[test]
    fn only_single_writes_and_complete_blocks_count() {
        let tests = [
            test(OpenDatasync, 2, &[9_000.0; 4]),
            test(OpenDatasync, 1, &[1_000.0; 3]),
            test(Fdatasync, 1, &[1_000.0; 4]),
        ];
        let choice = choose(&tests, 0.05).expect("the default was measured");
        assert_eq!((choice.blocks, choice.outcome), (3, ChoiceOutcome::NoDifference));
        assert_eq!(choose(&tests[..2], 0.05), None);
        let alone = choose(&tests[2..], 0.05).expect("the default was measured");
        assert_eq!((alone.outcome, alone.to_second), (ChoiceOutcome::NoDifference, None));
    }

    proptest! {
        /// Another unit of the rates, or another order of the tests, changes nothing; nothing is chosen that is
        /// slower.
        #[test]
        fn the_choice_depends_on_ratios_alone(
            rates in prop::collection::vec((500.0..2_000.0, 500.0..2_000.0, 500.0..2_000.0_f64), 1..8),
            factor in 0.01..100.0_f64,
        ) {
            let of = |factor: f64| {
                let rate = |of: fn(&(f64, f64, f64)) -> f64| -> Vec<f64> {
                    rates.iter().map(|rates| of(rates) * factor).collect()
                };
                vec![
                    test(OpenDatasync, 1, &rate(|rates| rates.0)),
                    test(Fdatasync, 1, &rate(|rates| rates.1)),
                    test(Fsync, 1, &rate(|rates| rates.2)),
                ]
            };
            let one = choose(&of(1.0), 0.05).expect("the default was measured");
            let mut turned = of(factor);
            turned.reverse();
            let other = choose(&turned, 0.05).expect("the default was measured");
            prop_assert_eq!((one.outcome, one.method, one.fastest), (other.outcome, other.method, other.fastest));
            prop_assert!(one.to_second.is_some_and(|ratio| ratio.ratio >= 1.0 - 1e-12));
            prop_assert!(one.method == one.fastest || one.method == SyncMethod::DEFAULT);
        }
    }
}
