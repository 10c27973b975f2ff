//! The highest rate that keeps the limit, estimated from all probes of a search.

use super::{Probe, Verdict};
use crate::statistics::normal;

/// Steps of the rate and of its scatter, over which the probability is added up.
const RATES: u32 = 400;
const SCATTERS: u32 = 40;
/// The scatter of a probe, as a share of the rate, that is considered, from a quiet machine to a hopeless one.
const SMALLEST_SCATTER: f64 = 0.003;
const LARGEST_SCATTER: f64 = 0.3;
/// The probability that a verdict says nothing about the rate, such as that of a probe in which the machine stopped.
const LAPSE: f64 = 0.01;
/// Share of a probe's variance that does not shrink with its length: the speed of server and machine at that time.
const LASTING: f64 = 0.5;

/// The highest rate that keeps the limit, with its 95 % interval, in transactions per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateInterval {
    /// Lower end.
    pub low: f64,
    /// The rate that is as likely too low as too high.
    pub middle: f64,
    /// Upper end.
    pub high: f64,
}

/// Estimates the rate from the decided probes; `None` unless one of them kept the limit and one broke it. Lengths are
/// multiples of that of a usual probe.
///
/// A probit: a probe at a rate r keeps the limit with the probability Φ(ln(R/r)/s), where R is the highest rate that
/// keeps it and s the scatter of a probe. Both are unknown; all values of s, evenly spread over its logarithm, are
/// averaged by how well they explain the probes (Gelman et al., "Bayesian Data Analysis", 3rd edition 2013, section
/// 3.7, has such a bioassay). Simulated, an M/M/1 queue whose speed changes from probe to probe by 0, 2 or 5 %: the
/// interval has the true rate in it 100, 99 and 93 times of 100.
pub fn interval(probes: &[Probe], length: impl Fn(&Probe) -> f64) -> Option<RateInterval> {
    let decided = probes.iter().filter_map(|probe| match probe.verdict {
        Verdict::Kept => Some((probe, true)),
        Verdict::Broken(_) => Some((probe, false)),
        Verdict::Undecided => None,
    });
    let seen: Vec<Seen> = decided
        .map(|(probe, kept)| Seen { ln_rate: probe.plan.rate_per_s.ln(), kept, length: length(probe) })
        .collect();
    if seen.iter().all(|one| one.kept) || !seen.iter().any(|one| one.kept) {
        return None;
    }
    let ends = |pick: fn(f64, f64) -> f64, from| seen.iter().map(|one| one.ln_rate).fold(from, pick);
    let (low, high) = (ends(f64::min, f64::INFINITY) - 0.5, ends(f64::max, f64::NEG_INFINITY) + 0.5);
    let at = |step: f64| low + (high - low) * step / f64::from(RATES);
    let weights: Vec<f64> = (0..RATES).map(|step| probability(&seen, at(f64::from(step) + 0.5))).collect();
    let whole: f64 = weights.iter().sum();
    let quantile = |share: f64| {
        let mut sum = 0.0;
        let below = weights.iter().take_while(|weight| {
            sum += **weight;
            sum < share * whole
        });
        at(below.count() as f64 + 0.5).exp()
    };
    Some(RateInterval { low: quantile(0.025), middle: quantile(0.5), high: quantile(0.975) })
}

/// A decided probe.
struct Seen {
    ln_rate: f64,
    kept: bool,
    length: f64,
}

/// How probable the verdicts are if this is the logarithm of the highest rate, up to a factor.
fn probability(seen: &[Seen], ln_highest: f64) -> f64 {
    let ratio = LARGEST_SCATTER / SMALLEST_SCATTER;
    let scatter = |step: u32| SMALLEST_SCATTER * ratio.powf(f64::from(step) / f64::from(SCATTERS - 1));
    let of_scatter = |scatter: f64| {
        let of_probe = |one: &Seen| {
            let own = scatter * (LASTING + (1.0 - LASTING) / one.length).sqrt();
            let kept = normal((ln_highest - one.ln_rate) / own);
            LAPSE / 2.0 + (1.0 - LAPSE) * if one.kept { kept } else { 1.0 - kept }
        };
        seen.iter().map(of_probe).product::<f64>()
    };
    (0..SCATTERS).map(|step| of_scatter(scatter(step))).sum()
}

#[cfg(test)]
mod tests {
    use pgdyno_core::random::Random;

    use super::{
        super::{Answer, Bounds, Plan, Search, Why},
        *,
    };
    use crate::steady::tests::Normal;

    fn probe(rate_per_s: f64, kept: bool) -> Probe {
        let plan = Plan { rate_per_s, confirming: false, undecided: 0 };
        Probe { plan, verdict: if kept { Verdict::Kept } else { Verdict::Broken(Why::Latency) } }
    }

    #[test]
    fn contradicting_probes_widen_the_interval() {
        let of = |probes: &[(f64, bool)]| {
            let probes: Vec<_> = probes.iter().map(|(rate, kept)| probe(*rate, *kept)).collect();
            interval(&probes, |_| 1.0).expect("both verdicts")
        };
        let clear =
            of(&[(800.0, true), (1_000.0, true), (1_000.0, true), (1_050.0, false), (1_050.0, false)]);
        assert!((1_000.0..1_050.0).contains(&clear.middle), "{clear:?}");
        assert!(clear.low > 900.0 && clear.high < 1_250.0, "{clear:?}");
        let unclear =
            of(&[(800.0, true), (1_000.0, true), (1_000.0, false), (1_050.0, true), (1_050.0, false)]);
        assert!(unclear.high / unclear.low > clear.high / clear.low, "{unclear:?} {clear:?}");
        assert_eq!(interval(&[probe(800.0, true)], |_| 1.0), None);
    }

    /// Service rate of the queue, and the share of its transactions that may take longer than the limit of 10 ms.
    const SERVICE: f64 = 2_000.0;
    const BEYOND: f64 = 0.01;
    const LIMIT_S: f64 = 0.01;

    /// Whether a probe of an M/M/1 queue keeps the limit, by Lindley's recursion of the time in the system.
    fn keeps(rate: f64, service: f64, seconds: f64, random: &mut Random) -> bool {
        let mut exponential = |rate: f64| {
            let unit = (random.next_bits() >> 11) as f64 / (1_u64 << 53) as f64;
            -(1.0 - unit).ln() / rate
        };
        let (mut in_system, mut over) = (0.0_f64, 0_u64);
        let count = (rate * seconds) as u64;
        for _ in 0..count {
            in_system = (in_system - exponential(rate)).max(0.0) + exponential(service);
            over += u64::from(in_system > LIMIT_S);
        }
        (over as f64) < BEYOND * count as f64
    }

    /// Share of searches whose interval has the true rate in it, if the speed of the queue scatters from probe to
    /// probe.
    fn covered(speed_sd: f64, times: u32) -> f64 {
        let highest = SERVICE + BEYOND.ln() / LIMIT_S;
        let mut normal = Normal::seeded(71);
        let mut random = Random::seeded(72);
        let mut one = || {
            let mut search = Search::new(Bounds { start: 900.0, lowest: 50.0 });
            let answer = loop {
                let plan = match search.next() {
                    Ok(plan) => plan,
                    Err(answer) => break answer,
                };
                let service = SERVICE * (speed_sd * normal.draw()).exp();
                let seconds = if plan.confirming { 30.0 } else { 10.0 };
                let kept = keeps(plan.rate_per_s, service, seconds, &mut random);
                search.take(plan, if kept { Verdict::Kept } else { Verdict::Broken(Why::Latency) });
            };
            let Answer::Found { .. } = answer else { return false };
            let length = |probe: &Probe| if probe.plan.confirming { 3.0 } else { 1.0 };
            let found = interval(search.probes(), length).expect("both verdicts");
            (found.low..=found.high).contains(&highest)
        };
        (0..times).filter(|_| one()).count() as f64 / f64::from(times)
    }

    #[test]
    fn the_interval_has_the_true_rate_in_it() {
        for (speed_sd, least) in [(0.0, 0.95), (0.02, 0.95), (0.05, 0.85)] {
            let found = covered(speed_sd, 100);
            assert!(found >= least, "{found} at {speed_sd}");
        }
    }
}
