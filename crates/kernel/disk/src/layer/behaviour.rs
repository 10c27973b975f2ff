//! What happens to operations on their way through the layer.

use std::time::Duration;

use pgdyno_core::{problem::Problem, random::Random};

/// Longest delay of an operation.
const MAX_DELAY: Duration = Duration::from_secs(60);
/// Largest factor of [`Delay::Times`].
const MAX_FACTOR: f64 = 10_000.0;
/// How far the shares of a distribution may be from 1 in total.
const SHARE_TOLERANCE: f64 = 1e-6;

/// What happens to operations on their way through the layer; by default nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Behaviour {
    /// Reads that reach the layer.
    pub reads: Injection,
    /// Writes that reach the layer. One with `O_DSYNC` and `O_DIRECT` is a sync as well, once it is written.
    pub writes: Injection,
    /// `fsync`, `fdatasync`, syncs of directories, and the syncs implied by `O_DSYNC` and `O_SYNC`.
    pub syncs: Injection,
    /// Acknowledges syncs at once and does not pass them on.
    pub drops_syncs: bool,
    /// Seed of the random numbers of [`Delay::Drawn`].
    pub seed: u64,
}

/// What happens to operations of one kind.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Injection {
    /// How much later they are answered.
    pub delay: Delay,
    /// After this many operations all further ones fail with `EIO` and are not passed on; never, if absent.
    pub fails_after: Option<u64>,
}

/// How much later an operation is answered than it completed.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Delay {
    /// At once.
    #[default]
    None,
    /// By this time, up to 60 s.
    Fixed(Duration),
    /// So that it takes this many times as long as the operation itself, from 1 to 10,000.
    Times(f64),
    /// By a time drawn for each operation.
    Drawn(Vec<Share>),
}

/// A delay and how often it is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Share of the operations, above 0; the shares of a distribution add up to 1.
    pub share: f64,
    /// Their delay, up to 60 s.
    pub delay: Duration,
}

impl Behaviour {
    /// Checks all ranges.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        for (kind, injection) in [("reads", &self.reads), ("writes", &self.writes), ("syncs", &self.syncs)] {
            injection.delay.fault().map_or(Ok(()), |fault| {
                Err(Problem::wrong_request(format!("could not delay {kind}: {fault}")))
            })?;
        }
        Ok(())
    }
}

impl Delay {
    fn fault(&self) -> Option<String> {
        let too_long = |delay: &Duration| *delay > MAX_DELAY;
        match self {
            Self::None => None,
            Self::Fixed(delay) => too_long(delay).then(|| "a delay must not exceed 60 s".into()),
            Self::Times(factor) => {
                let valid = (1.0..=MAX_FACTOR).contains(factor);
                (!valid).then(|| format!("a factor must be from 1 to {MAX_FACTOR}, not {factor}"))
            }
            Self::Drawn(shares) => {
                let total: f64 = shares.iter().map(|share| share.share).sum();
                let positive = shares.iter().all(|share| share.share > 0.0);
                if shares.iter().any(|share| too_long(&share.delay)) {
                    return Some("a delay must not exceed 60 s".into());
                }
                let valid = positive && (total - 1.0).abs() <= SHARE_TOLERANCE;
                (!valid).then(|| format!("shares must be above 0 and add up to 1, not {total}"))
            }
        }
    }

    /// The delay of an operation that took `own` itself.
    pub(crate) fn of(&self, own: Duration, random: &mut Random) -> Duration {
        match self {
            Self::None => Duration::ZERO,
            Self::Fixed(delay) => *delay,
            Self::Times(factor) => own.mul_f64(factor - 1.0).min(MAX_DELAY),
            Self::Drawn(shares) => drawn(shares, random),
        }
    }
}

/// The delay in whose share a uniform random number falls.
fn drawn(shares: &[Share], random: &mut Random) -> Duration {
    // 53 bits, as many as a double has.
    let mut left = (random.next_bits() >> 11) as f64 / (1_u64 << 53) as f64;
    for share in shares {
        if left < share.share {
            return share.delay;
        }
        left -= share.share;
    }
    // Shares add up to 1 only nearly.
    shares.last().map_or(Duration::ZERO, |share| share.delay)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn shares(parts: &[(f64, u32)]) -> Delay {
        Delay::Drawn(parts.iter().map(|(share, ms)| Share { share: *share, delay: MS * *ms }).collect())
    }

    #[test]
    fn delays_follow_from_the_operations_own_time() {
        let random = &mut Random::seeded(1);
        assert_eq!(Delay::None.of(MS, random), Duration::ZERO);
        assert_eq!(Delay::Fixed(3 * MS).of(MS, random), 3 * MS);
        assert_eq!(Delay::Times(4.0).of(2 * MS, random), 6 * MS);
        assert_eq!(Delay::Times(1.0).of(2 * MS, random), Duration::ZERO);
        assert_eq!(Delay::Times(10_000.0).of(100 * MS, random), MAX_DELAY);
    }

    /// 100,000 draws: the standard deviation of a share of 5 % is 0.07 %, so 0.4 % are more than five of them.
    #[test]
    fn delays_are_drawn_by_their_shares() {
        let (delay, random) = (shares(&[(0.80, 1), (0.15, 5), (0.05, 10)]), &mut Random::seeded(7));
        let draws: Vec<_> = (0..100_000).map(|_| delay.of(Duration::ZERO, random)).collect();
        for (ms, share) in [(1, 0.80), (5, 0.15), (10, 0.05)] {
            let seen = draws.iter().filter(|drawn| **drawn == MS * ms).count() as f64 / 1e5;
            assert!((seen - share).abs() < 0.007, "{seen} of {share}");
        }
    }

    #[test]
    fn what_is_out_of_range_is_refused_by_its_kind() {
        let check = |delay: Delay| {
            let writes = Injection { delay, fails_after: None };
            Behaviour { writes, ..Behaviour::default() }.check().map_err(|problem| problem.what)
        };
        for delay in [
            Delay::Fixed(61_000 * MS),
            Delay::Times(0.5),
            Delay::Times(f64::NAN),
            Delay::Times(10_001.0),
            shares(&[(0.9, 1)]),
            shares(&[(1.5, 1), (-0.5, 2)]),
            shares(&[(1.0, 60_001)]),
            shares(&[]),
        ] {
            assert!(check(delay.clone()).is_err_and(|what| what.contains("writes")), "{delay:?}");
        }
        for delay in
            [Delay::None, Delay::Fixed(60_000 * MS), Delay::Times(1.0), shares(&[(0.95, 1), (0.05, 10)])]
        {
            assert_eq!(check(delay), Ok(()));
        }
    }
}
