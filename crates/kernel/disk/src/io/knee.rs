//! Where more operations in flight no longer help: a pure function of a curve.

use pgdyno_core::disk::io::{IoOrder, IoPattern, SaturationPoint};

/// Growth of throughput over two doublings below which it does not count.
const LEAST_GROWTH: f64 = 1.05;
/// Largest value of `effective_io_concurrency` (PostgreSQL's documentation, "Resource Consumption").
const MOST_IO_CONCURRENCY: u32 = 1_000;

/// Operations in flight at the knee of a curve whose points double: the first number from which neither of the next two
/// doublings brings 5 % more throughput, while the mean latency grows. `None` if there is none.
pub fn knee(curve: &[SaturationPoint]) -> Option<u32> {
    curve.windows(3).find_map(|points| {
        let [here, next, last] = points else { return None };
        let grows = next.rate_per_s.max(last.rate_per_s) >= here.rate_per_s * LEAST_GROWTH;
        let slower = last.latency_ns_mean > here.latency_ns_mean;
        (!grows && slower).then_some(here.in_flight)
    })
}

/// `effective_io_concurrency` for a knee: how many single blocks a backend prefetches. `None` for anything but random
/// reads, the only ones it affects.
pub fn effective_io_concurrency(pattern: &IoPattern, knee: Option<u32>) -> Option<u32> {
    let random_reads = pattern.order == IoOrder::Random && pattern.read_share >= 1.0;
    knee.filter(|_| random_reads).map(|knee| knee.min(MOST_IO_CONCURRENCY))
}

/// Divides operations in flight among at most so many jobs: as many jobs as possible.
pub(super) fn split(in_flight: u32, most_jobs: u16) -> (u16, u16) {
    let jobs = in_flight.min(u32::from(most_jobs)).max(1);
    let jobs = if in_flight.is_multiple_of(jobs) { jobs } else { jobs.next_power_of_two() / 2 };
    (jobs as u16, (in_flight / jobs) as u16)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::request::tests::sample, *};

    /// The curve of a device that serves `parallel` operations at a time, each in 100 µs (Little's law).
    fn curve(parallel: f64, points: u32) -> Vec<SaturationPoint> {
        let rate = |n: f64| n.min(parallel) * 10_000.0;
        let point = |power: u32| {
            let in_flight = 1 << power;
            let rate_per_s = rate(f64::from(in_flight));
            SaturationPoint {
                in_flight,
                jobs: 1,
                depth: in_flight as u16,
                rate_per_s,
                bytes_per_s: rate_per_s * 8_192.0,
                latency_ns_mean: f64::from(in_flight) / rate_per_s * 1e9,
                latency_ns_p99: None,
            }
        };
        (0..points).map(point).collect()
    }

    #[test]
    fn the_knee_is_what_the_device_serves_at_a_time() {
        for parallel in [1, 2, 8, 64] {
            assert_eq!(knee(&curve(f64::from(parallel), 10)), Some(parallel));
        }
        // Between two powers of two: 32 give a third more than 16 did, 64 no more.
        assert_eq!(knee(&curve(24.0, 10)), Some(32));
    }

    #[test]
    fn a_curve_that_still_grows_has_no_knee() {
        assert_eq!(knee(&curve(1_000.0, 8)), None);
        assert_eq!(knee(&curve(64.0, 8)), None, "one doubling is not enough");
        assert_eq!(knee(&[]), None);
    }

    /// A dip at 4 in flight, after which throughput grows again; and constant throughput at constant latency, which is
    /// impossible with more operations in flight: a cache began to answer.
    #[test]
    fn dips_and_caches_are_no_knees() {
        let mut dipped = curve(16.0, 8);
        dipped[2].rate_per_s = 19_000.0;
        // Latencies that grow a little all the time, as on a real device.
        dipped.iter_mut().for_each(|point| point.latency_ns_mean += f64::from(point.in_flight));
        assert_eq!(knee(&dipped), Some(16));
        let mut cached = curve(1.0, 3);
        cached.iter_mut().for_each(|point| point.latency_ns_mean = 1_000.0);
        assert_eq!(knee(&cached), None);
    }

    #[test]
    fn the_recommendation_is_for_random_reads() {
        let pattern = sample().pattern;
        assert_eq!(effective_io_concurrency(&pattern, Some(64)), Some(64));
        assert_eq!(effective_io_concurrency(&pattern, Some(2_048)), Some(1_000));
        assert_eq!(effective_io_concurrency(&pattern, None), None);
        let mixed = IoPattern { read_share: 0.5, ..pattern.clone() };
        let sequential = IoPattern { order: IoOrder::Sequential, ..pattern };
        assert_eq!([mixed, sequential].map(|p| effective_io_concurrency(&p, Some(8))), [None, None]);
    }

    proptest! {
        #[test]
        fn jobs_times_depth_is_what_is_in_flight(power in 0_u32..10, most in 1_u16..=256) {
            let (jobs, depth) = split(1 << power, most);
            prop_assert_eq!(u32::from(jobs) * u32::from(depth), 1 << power);
            prop_assert!((1..=most).contains(&jobs));
        }
    }
}
