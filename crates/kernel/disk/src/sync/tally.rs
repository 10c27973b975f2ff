//! What all blocks of a test add up to.

use std::{io, time::Duration};

use pgdyno_core::{
    disk::sync::{SyncAction, SyncTest, SyncTiming},
    measure::{Latency, Precision},
};

use super::{
    actions::Case,
    bench::{Bench, Ran},
    timing::Timed,
};

/// A test, as far as it was executed.
pub(super) struct Tally {
    case: Case,
    direct: Option<bool>,
    unavailable: Option<String>,
    operations: u64,
    latency: Latency,
    took: Duration,
    block_rates_per_s: Vec<f64>,
}

impl Tally {
    pub(super) fn new(case: Case) -> Self {
        Self {
            case,
            direct: None,
            unavailable: None,
            operations: 0,
            latency: Latency::lazy(Precision::Run),
            took: Duration::ZERO,
            block_rates_per_s: Vec::new(),
        }
    }

    pub(super) fn action(&self) -> SyncAction {
        self.case.action
    }

    /// Executes the test once.
    pub(super) fn run(&self, bench: &Bench<'_>) -> io::Result<Ran> {
        self.case.run(bench)
    }

    /// Adds a block. The rate of one that was cut short is no observation.
    pub(super) fn add(&mut self, ran: &Ran, complete: bool) {
        match ran {
            Ran::Unavailable(why) => self.unavailable = Some(why.clone()),
            Ran::Timed { timed, direct } => {
                self.direct = *direct;
                self.operations += timed.operations;
                self.latency.add(&timed.latency);
                self.took += timed.took;
                self.block_rates_per_s.extend(rate_per_s(timed).filter(|_| complete));
            }
        }
    }

    /// The test; `None` if nothing was executed.
    pub(super) fn finish(self) -> Option<SyncTest> {
        let Self { case, direct, unavailable, operations, latency, took, block_rates_per_s } = self;
        let timing = latency.summary().filter(|_| !took.is_zero()).map(|summary| SyncTiming {
            operations,
            duration_ns: took.as_nanos() as u64,
            rate_per_s: operations as f64 / took.as_secs_f64(),
            written_bytes: operations * u64::from(case.writes) * case.write_bytes,
            p90_ns: latency.quantile_ns(0.9),
            distribution: latency.distribution(),
            latency: summary,
            block_rates_per_s,
        });
        (timing.is_some() || unavailable.is_some()).then_some(SyncTest {
            action: case.action,
            write_bytes: case.write_bytes,
            direct,
            timing,
            unavailable,
        })
    }
}

fn rate_per_s(timed: &Timed) -> Option<f64> {
    let rate = timed.operations as f64 / timed.took.as_secs_f64();
    (rate.is_finite() && rate > 0.0).then_some(rate)
}

#[cfg(test)]
mod tests {
    use pgdyno_core::disk::sync::SyncMethod;

    use super::*;

    fn timed(latencies_ns: &[u64]) -> Ran {
        let mut latency = Latency::new(Precision::Run);
        latencies_ns.iter().for_each(|ns| latency.record(*ns));
        let took = Duration::from_nanos(latencies_ns.iter().sum());
        Ran::Timed {
            timed: Timed { operations: latency.count(), latency, took, error: None },
            direct: Some(true),
        }
    }

    fn tally() -> Tally {
        let action = SyncAction::Method { method: SyncMethod::OpenDatasync, writes: 2 };
        Tally::new(Case { action, write_bytes: 8_192, writes: 2 })
    }

    #[test]
    fn blocks_add_up_and_a_part_of_one_is_no_rate() {
        let mut tally = tally();
        tally.add(&timed(&[1_000_000, 3_000_000]), true);
        tally.add(&timed(&[4_000_000]), false);
        let test = tally.finish().expect("it was executed");
        let timing = test.timing.expect("there are operations");
        assert_eq!((timing.operations, timing.written_bytes, timing.duration_ns), (3, 6 * 8_192, 8_000_000));
        assert_eq!((timing.rate_per_s, timing.block_rates_per_s), (375.0, vec![500.0]));
        assert_eq!((test.direct, timing.p90_ns), (Some(true), None));
    }

    #[test]
    fn what_was_not_executed_is_not_in_the_result() {
        assert_eq!(tally().finish(), None);
        let mut refused = tally();
        refused.add(&Ran::Unavailable("no such call".to_owned()), true);
        let test = refused.finish().expect("it is listed");
        assert_eq!((test.timing, test.unavailable.as_deref()), (None, Some("no such call")));
    }
}
