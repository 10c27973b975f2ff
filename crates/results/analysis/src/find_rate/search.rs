//! Chooses the rate of the next probe, and gives the result of the search.

use super::Verdict;

/// Factor between rates while all probes kept the limit.
const GROWTH: f64 = 1.5;
/// Factor between rates while no probe kept the limit.
const SHRINKAGE: f64 = 0.25;
/// The search ends when the lowest broken rate is within 5 % of the highest kept rate.
const RESOLUTION: f64 = 1.05;
/// Most probes of a search.
pub const MOST_PROBES: usize = 40;
/// Longer probes at each end of a confirmed bracket, beyond the one that confirmed it: a single one may be luck.
const REPEATS: u32 = 2;
/// Undecided probes at one rate, each twice as long as the one before, after which the search ends.
const MOST_UNDECIDED: u32 = 3;

/// The rates between which the search begins, in transactions per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// The first rate.
    pub start: f64,
    /// The lowest rate for which a probe can give a verdict.
    pub lowest: f64,
}

/// The next probe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Rate in transactions per second.
    pub rate_per_s: f64,
    /// Whether this is a longer probe that confirms an end of the bracket.
    pub confirming: bool,
    /// Undecided probes at this rate just before; each doubles the duration.
    pub undecided: u32,
}

/// A completed probe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    /// The planned probe.
    pub plan: Plan,
    /// The verdict.
    pub verdict: Verdict,
}

/// Result of the search. Rates are in transactions per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Answer {
    /// Each rate was confirmed by a longer probe, and probed twice more; they are within 5 % of each other.
    Found {
        /// The highest rate that kept the limit.
        kept: f64,
        /// The lowest rate that broke the limit.
        broken: f64,
    },
    /// No probed rate kept the limit.
    NoneKept {
        /// The lowest probed rate; a lower one cannot be judged in reasonable time.
        lowest: f64,
    },
    /// The limit on probes was reached without an answer.
    GaveUp {
        /// The highest rate that kept the limit, unconfirmed.
        kept: Option<f64>,
        /// The lowest rate that broke the limit.
        broken: Option<f64>,
    },
    /// Probes at this rate were undecided.
    Undecided {
        /// The undecided rate.
        rate: f64,
    },
}

/// An end of the bracket.
#[derive(Debug, Clone, Copy, PartialEq)]
struct End {
    rate: f64,
    confirmed: bool,
}

/// The search: call [`Search::next`], run the probe, and pass its verdict to [`Search::take`].
#[derive(Debug, Clone)]
pub struct Search {
    bounds: Bounds,
    kept: Option<End>,
    broken: Option<End>,
    /// Whether the bracket is narrow enough; further probes are longer, with steps of the resolution.
    confirming: bool,
    undecided: u32,
    /// Longer probes of the confirmed ends so far.
    repeats: u32,
    probes: Vec<Probe>,
}

impl Search {
    /// A new search.
    pub fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            kept: None,
            broken: None,
            confirming: false,
            undecided: 0,
            repeats: 0,
            probes: Vec::new(),
        }
    }

    /// The completed probes.
    pub fn probes(&self) -> &[Probe] {
        &self.probes
    }

    /// The next probe.
    ///
    /// # Errors
    /// The search has ended: its result.
    pub fn next(&self) -> Result<Plan, Answer> {
        if let (1.., Some(last)) = (self.undecided, self.probes.last()) {
            let rate = last.plan.rate_per_s;
            let again = Plan { undecided: self.undecided, ..last.plan };
            return if self.undecided < MOST_UNDECIDED { Ok(again) } else { Err(Answer::Undecided { rate }) };
        }
        let at_limit = self.probes.len() >= MOST_PROBES;
        if let Some((kept, broken)) = self.confirmed_ends() {
            if at_limit || self.repeats >= 2 * REPEATS {
                return Err(Answer::Found { kept, broken });
            }
            let rate_per_s = if self.repeats.is_multiple_of(2) { kept } else { broken };
            return Ok(Plan { rate_per_s, confirming: true, undecided: 0 });
        }
        if at_limit {
            return Err(self.gave_up());
        }
        let rate = if self.confirming { self.next_end()? } else { self.next_within()? };
        let rate_per_s = rounded(rate).max(self.bounds.lowest);
        Ok(Plan { rate_per_s, confirming: self.confirming, undecided: 0 })
    }

    /// The result of a search that ends without confirmation.
    pub fn gave_up(&self) -> Answer {
        let rate = |end: Option<End>| end.map(|end| end.rate);
        Answer::GaveUp { kept: rate(self.kept), broken: rate(self.broken) }
    }

    /// The two ends, if both were confirmed.
    fn confirmed_ends(&self) -> Option<(f64, f64)> {
        let rate = |end: Option<End>| end.filter(|end| end.confirmed).map(|end| end.rate);
        rate(self.kept).zip(rate(self.broken))
    }

    /// Extends the bracket until it has two ends, then halves it on a logarithmic scale.
    fn next_within(&self) -> Result<f64, Answer> {
        match (self.kept, self.broken) {
            (None, None) => Ok(self.bounds.start),
            (Some(kept), None) => Ok(kept.rate * GROWTH),
            (Some(kept), Some(broken)) => Ok((kept.rate * broken.rate).sqrt()),
            (None, Some(broken)) => self.below(broken.rate, SHRINKAGE),
        }
    }

    /// Confirms the ends of the bracket, the kept one first; if an end is not confirmed, steps away from it.
    fn next_end(&self) -> Result<f64, Answer> {
        match (self.kept, self.broken) {
            (Some(kept), _) if !kept.confirmed => Ok(kept.rate),
            (_, Some(broken)) if !broken.confirmed => Ok(broken.rate),
            (Some(kept), _) => Ok(kept.rate * RESOLUTION),
            (None, broken) => self.below(broken.map_or(self.bounds.start, |end| end.rate), 1.0 / RESOLUTION),
        }
    }

    fn below(&self, rate: f64, factor: f64) -> Result<f64, Answer> {
        if rate <= self.bounds.lowest {
            return Err(Answer::NoneKept { lowest: rate });
        }
        Ok(rate * factor)
    }

    /// Takes the verdict on the probe.
    pub fn take(&mut self, plan: Plan, verdict: Verdict) {
        self.probes.push(Probe { plan, verdict });
        if self.confirmed_ends().is_some() {
            // Whatever it says, the interval takes it into account.
            self.repeats += 1;
            return;
        }
        let end = End { rate: plan.rate_per_s, confirmed: plan.confirming };
        self.undecided = if verdict == Verdict::Undecided { self.undecided + 1 } else { 0 };
        match verdict {
            Verdict::Undecided => {}
            Verdict::Kept => {
                self.kept = Some(end);
                self.broken = self.broken.filter(|broken| broken.rate > end.rate);
            }
            Verdict::Broken(_) => {
                self.broken = Some(end);
                self.kept = self.kept.filter(|kept| kept.rate < end.rate);
            }
        }
        if let (Some(kept), Some(broken)) = (self.kept, self.broken) {
            // Rates have three digits, so a ratio of 1.05 can come out a little higher.
            self.confirming |= broken.rate / kept.rate <= RESOLUTION + 0.01;
        }
    }
}

/// A rate with three significant digits; probes are not more precise.
fn rounded(rate: f64) -> f64 {
    let unit = 10f64.powf(rate.log10().floor() - 2.0);
    (rate / unit).round() * unit
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::Why, *};

    const BROKEN: Verdict = Verdict::Broken(Why::Latency);

    /// Searches a simulated system; returns the result and the probes.
    fn search(bounds: Bounds, mut system: impl FnMut(Plan) -> Verdict) -> (Answer, Vec<Probe>) {
        let mut search = Search::new(bounds);
        loop {
            match search.next() {
                Ok(plan) => search.take(plan, system(plan)),
                Err(answer) => return (answer, search.probes().to_vec()),
            }
            assert!(search.probes().len() <= MOST_PROBES + 3, "it does not end");
        }
    }

    fn keeps(kept: bool) -> Verdict {
        if kept { Verdict::Kept } else { BROKEN }
    }

    /// The highest rate at which an M/M/1 queue keeps a limit: its time in the system is exponential with mean
    /// 1 / (service rate − rate).
    fn highest_of_a_queue(service_per_s: f64, quantile: f64, below_s: f64) -> f64 {
        service_per_s + (1.0 - quantile).ln() / below_s
    }

    /// Deterministic noise between −1 and 1 for a seed.
    fn noise(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }
    }

    fn was(probes: &[Probe], rate: f64, verdict: Verdict) -> bool {
        probes.iter().any(|p| p.plan.confirming && p.plan.rate_per_s == rate && p.verdict == verdict)
    }

    proptest! {
        /// From any first rate the result brackets the true rate within 6 %, with few probes.
        #[test]
        fn a_queue_is_found_out(service in 200.0f64..200_000.0, share in 0.001f64..3.0, below_s in 0.05f64..1.0) {
            let highest = highest_of_a_queue(service, 0.99, below_s);
            let bounds = Bounds { start: service * share, lowest: highest / 200.0 };
            let (answer, probes) = search(bounds, |plan| keeps(plan.rate_per_s <= highest));
            let Answer::Found { kept, broken } = answer else { panic!("{answer:?}") };
            prop_assert!(kept <= highest && highest < broken && broken / kept < 1.06, "{:?} {}", answer, highest);
            prop_assert!(was(&probes, kept, Verdict::Kept) && was(&probes, broken, BROKEN));
            prop_assert!(probes.len() <= 35, "{} probes", probes.len());
        }

        /// With errors up to 15 % for short probes and 4 % for longer ones, the result is off by little more than 4 %.
        #[test]
        fn noise_of_short_probes_does_not_reach_the_answer(highest in 100.0f64..100_000.0, seed: u64) {
            let mut noise = noise(seed);
            let bounds = Bounds { start: highest * 0.6, lowest: highest / 100.0 };
            let (answer, probes) = search(bounds, |plan| {
                let scatter = if plan.confirming { 0.04 } else { 0.15 };
                keeps(plan.rate_per_s <= highest * (1.0 + scatter * noise()))
            });
            let Answer::Found { kept, broken } = answer else { panic!("{answer:?}") };
            prop_assert!(broken / kept < 1.06, "{:?}", answer);
            prop_assert!((0.9..1.05).contains(&(kept / highest)), "{} of {}", kept, highest);
            prop_assert!(was(&probes, kept, Verdict::Kept) && was(&probes, broken, BROKEN));
        }

        /// For any verdicts the search ends, and its result was confirmed.
        #[test]
        fn it_ends_whatever_the_answers(answers in prop::collection::vec(0u8..5, 60)) {
            let mut answers = answers.into_iter();
            let bounds = Bounds { start: 1_000.0, lowest: 10.0 };
            let (answer, probes) = search(bounds, |_| match answers.next() {
                Some(0 | 1) => Verdict::Kept,
                Some(2) => Verdict::Undecided,
                _ => BROKEN,
            });
            prop_assert!(probes.iter().all(|probe| probe.plan.rate_per_s >= bounds.lowest));
            if let Answer::Found { kept, broken } = answer {
                prop_assert!(kept < broken && was(&probes, kept, Verdict::Kept) && was(&probes, broken, BROKEN));
            }
        }
    }

    #[test]
    fn what_never_keeps_the_limit_is_asked_down_to_the_lowest_rate() {
        let (answer, probes) = search(Bounds { start: 1_000.0, lowest: 33.0 }, |_| BROKEN);
        assert_eq!(answer, Answer::NoneKept { lowest: 33.0 });
        let rates: Vec<f64> = probes.iter().map(|probe| probe.plan.rate_per_s).collect();
        assert_eq!(rates, [1_000.0, 250.0, 62.5, 33.0]);
    }

    #[test]
    fn what_always_keeps_it_is_given_up() {
        let (answer, probes) = search(Bounds { start: 1_000.0, lowest: 33.0 }, |_| Verdict::Kept);
        assert!(matches!(answer, Answer::GaveUp { kept: Some(1_000.0..), broken: None }), "{answer:?}");
        assert_eq!(probes.len(), MOST_PROBES);
    }

    #[test]
    fn a_rate_that_does_not_hold_is_stepped_down_from_and_one_that_does_is_stepped_up_from() {
        for (true_rate, expected) in [(850.0, 1.0 / 1.2), (1_190.0, 1.15)] {
            // Short probes all say 1,000.
            let system =
                |plan: Plan| keeps(plan.rate_per_s <= if plan.confirming { true_rate } else { 1_000.0 });
            let (answer, probes) = search(Bounds { start: 500.0, lowest: 10.0 }, system);
            let Answer::Found { kept, broken } = answer else { panic!("{answer:?}") };
            assert!(kept <= true_rate && true_rate < broken, "{answer:?}");
            assert!((kept / 1_000.0 / expected - 1.0).abs() < 0.06, "{answer:?}");
            assert!(was(&probes, kept, Verdict::Kept) && was(&probes, broken, BROKEN));
        }
    }

    #[test]
    fn what_decides_nothing_is_asked_again_for_longer_and_then_given_up() {
        let (answer, probes) = search(Bounds { start: 100.0, lowest: 10.0 }, |_| Verdict::Undecided);
        assert_eq!(answer, Answer::Undecided { rate: 100.0 });
        assert_eq!(probes.iter().map(|probe| probe.plan.undecided).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn rates_have_three_digits() {
        assert_eq!(
            [1234.5, 0.98765, 99.96, 7.0].map(rounded).map(|r| format!("{r:.4}")),
            ["1230.0000", "0.9880", "100.0000", "7.0000"]
        );
    }
}
