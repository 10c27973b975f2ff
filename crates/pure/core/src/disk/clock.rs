//! The cost of a timer call.
//!
//! The method and the thresholds are those of PostgreSQL's `pg_test_timing`, with differences in nanoseconds as in its
//! version 19.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Differences below this are counted one by one, in nanoseconds; longer ones by powers of two.
pub const EXACT_BELOW_NS: u64 = 1024;
/// Most that a good clock takes for a timer call in nanoseconds, by the manual of `pg_test_timing`.
pub const GOOD_NS: f64 = 100.0;
/// Least share of differences below 1 µs of a good clock, by the manual of `pg_test_timing`.
pub const GOOD_SHARE_BELOW_1US: f64 = 0.9;
/// Steps from here on, in nanoseconds, are too coarse to time a row of a query plan: 1 µs.
const COARSE_NS: u64 = 1_000;

/// Who answers a timer call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnsweredIn {
    /// The vDSO, without a switch to the kernel.
    UserSpace,
    /// The kernel, by a system call.
    Kernel,
}

impl AnsweredIn {
    /// Name for users.
    pub fn name(self) -> &'static str {
        match self {
            Self::UserSpace => "user space (vDSO)",
            Self::Kernel => "the kernel (system call)",
        }
    }

    /// Decides by the CPU time of the thread that called the timer, in ticks of 10 ms: a vDSO leaves next to none to
    /// the kernel, a system call more than a third. `None` with fewer than 20 ticks, or if the shares do not show it.
    pub fn by_cpu_time(user_ticks: u64, kernel_ticks: u64) -> Option<Self> {
        let ticks = user_ticks + kernel_ticks;
        let kernel_share = kernel_ticks as f64 / ticks.max(1) as f64;
        match ticks {
            20.. if kernel_share <= 0.10 => Some(Self::UserSpace),
            20.. if kernel_share >= 0.25 => Some(Self::Kernel),
            _ => None,
        }
    }
}

/// Judgement of a clock, by the thresholds of the manual of `pg_test_timing`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClockVerdict {
    /// Below 100 ns a call, more than 90 % of the differences below 1 µs, and never backwards.
    Good,
    /// 100 ns a call or more, or too many differences of 1 µs or more.
    Slow,
    /// Steps of 1 µs or more: short times are 0 or one step.
    Coarse,
    /// The clock went backwards, so that no duration can be trusted.
    Backwards,
}

/// Differences between successive readings, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockBucket {
    /// Shortest difference that is counted here, in nanoseconds.
    pub from_ns: u64,
    /// Longest difference that is counted here, in nanoseconds; equal to `from_ns` below 1024 ns.
    pub to_ns: u64,
    /// Their number.
    pub count: u64,
}

/// What timer calls cost on a machine. Source: `clock_gettime(CLOCK_MONOTONIC)`, the clock of PostgreSQL's `instr_time`
/// on Linux, called in a loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockReport {
    /// Duration of the loop in nanoseconds.
    pub duration_ns: u64,
    /// Timer calls in the loop, at least 1.
    pub calls: u64,
    /// `duration_ns` per call: a call and the counting of its difference. `pg_test_timing` calls it "per loop time
    /// including overhead".
    pub per_loop_ns: f64,
    /// Mean time of a call without any counting, in nanoseconds: the median of batches of 1000 calls.
    pub per_call_ns: f64,
    /// Differences between successive readings, in rising order, without empty ones; steps back are not in it.
    pub histogram: Vec<ClockBucket>,
    /// Share of differences below 1 µs, from 0 to 1.
    pub below_1us_share: f64,
    /// Longest difference in nanoseconds: mostly an interrupt, or another process on the CPU.
    pub max_ns: u64,
    /// Shortest difference above 0 in nanoseconds, the observed resolution; absent if the clock did not advance.
    pub resolution_ns: Option<u64>,
    /// Readings before the one that preceded them.
    pub backwards: u64,
    /// Longest step back in nanoseconds; absent without one.
    pub max_backwards_ns: Option<u64>,
    /// Present clock source of the kernel, such as `tsc`; absent if it is not published.
    pub source: Option<String>,
    /// Clock sources that the kernel could use; empty if they are not published.
    pub available: Vec<String>,
    /// Who answers a call; absent if the CPU time of the loop does not show it.
    pub answered_in: Option<AnsweredIn>,
}

impl ClockReport {
    /// Judges the clock by its worst fault.
    pub fn verdict(&self) -> ClockVerdict {
        let quick = self.per_loop_ns < GOOD_NS && self.below_1us_share > GOOD_SHARE_BELOW_1US;
        match self.resolution_ns {
            _ if self.backwards > 0 => ClockVerdict::Backwards,
            Some(..COARSE_NS) if quick => ClockVerdict::Good,
            Some(..COARSE_NS) => ClockVerdict::Slow,
            _ => ClockVerdict::Coarse,
        }
    }

    /// A clock source that is available and cheaper than the present one: `tsc` on x86, `arch_sys_counter` on ARM.
    /// Others are read by a system call (`hpet`, `acpi_pm`), or in user space with more work (`kvm-clock`).
    pub fn better_source(&self) -> Option<&str> {
        let present = self.source.as_deref()?;
        let quick = ["tsc", "arch_sys_counter"];
        let other = self.available.iter().map(String::as_str).find(|source| quick.contains(source))?;
        (!quick.contains(&present)).then_some(other)
    }

    /// Upper bound of the bucket of a quantile between 0 and 1 of the differences, in nanoseconds; absent without any.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        let counted: u64 = self.histogram.iter().map(|bucket| bucket.count).sum();
        let rank = (counted as f64 * quantile).ceil().max(1.0) as u64;
        let mut below = 0;
        let reaches = |bucket: &&ClockBucket| {
            below += bucket.count;
            below >= rank
        };
        self.histogram.iter().find(reaches).map(|bucket| bucket.to_ns)
    }
}

/// CPU time in seconds that `EXPLAIN (ANALYZE, TIMING)` adds by its timer calls to a plan in which each of `nodes`
/// nodes returns `rows` rows.
///
/// Assumes two calls for every row of a node and two for the end of its rows (`InstrStartNode` and `InstrStopNode`
/// around `ExecProcNode`), each node executed once. Nodes that return no single rows (a hash, a bitmap) cost less;
/// loops cost as their rows do. The instrumentation costs some nanoseconds a row on top, which are not included.
pub fn explain_timing_s(per_call_ns: f64, rows: u64, nodes: u32) -> f64 {
    2.0 * per_call_ns * 1e-9 * (rows as f64 + 1.0) * f64::from(nodes)
}

/// Share of an I/O of `io_ns` nanoseconds that `track_io_timing` adds to it, above 0; `None` for an I/O of no duration.
///
/// Assumes two timer calls for each read, write or extension of blocks (`pgstat_prepare_io_time` and
/// `pgstat_count_io_op_time`), whatever its size.
pub fn io_timing_share(per_call_ns: f64, io_ns: f64) -> Option<f64> {
    (io_ns > 0.0).then(|| 2.0 * per_call_ns / io_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> ClockReport {
        let bucket = |from_ns, to_ns, count| ClockBucket { from_ns, to_ns, count };
        ClockReport {
            duration_ns: 2_500,
            calls: 100,
            per_loop_ns: 25.0,
            per_call_ns: 22.0,
            histogram: vec![bucket(20, 20, 90), bucket(30, 30, 9), bucket(4_096, 8_191, 1)],
            below_1us_share: 0.99,
            max_ns: 5_000,
            resolution_ns: Some(20),
            backwards: 0,
            max_backwards_ns: None,
            source: Some("tsc".into()),
            available: vec!["tsc".into(), "hpet".into()],
            answered_in: Some(AnsweredIn::UserSpace),
        }
    }

    #[test]
    fn the_gravest_fault_is_the_verdict() {
        assert_eq!(report().verdict(), ClockVerdict::Good);
        assert_eq!(ClockReport { per_loop_ns: 100.0, ..report() }.verdict(), ClockVerdict::Slow);
        assert_eq!(ClockReport { below_1us_share: 0.9, ..report() }.verdict(), ClockVerdict::Slow);
        let coarse = ClockReport { resolution_ns: Some(1_000), per_loop_ns: 500.0, ..report() };
        assert_eq!(coarse.verdict(), ClockVerdict::Coarse);
        assert_eq!(ClockReport { resolution_ns: None, ..report() }.verdict(), ClockVerdict::Coarse);
        assert_eq!(ClockReport { backwards: 1, ..coarse }.verdict(), ClockVerdict::Backwards);
    }

    #[test]
    fn a_slow_source_is_named_with_the_better_one() {
        assert_eq!(report().better_source(), None);
        let slow = ClockReport { source: Some("hpet".into()), ..report() };
        assert_eq!(slow.better_source(), Some("tsc"));
        assert_eq!(ClockReport { available: vec!["hpet".into()], ..slow }.better_source(), None);
        assert_eq!(ClockReport { source: None, ..report() }.better_source(), None);
    }

    #[test]
    fn quantiles_count_up_the_buckets() {
        let quantiles = [0.0, 0.90, 0.91, 0.99, 1.0].map(|quantile| report().quantile_ns(quantile));
        assert_eq!(quantiles, [Some(20), Some(20), Some(30), Some(30), Some(8_191)]);
        assert_eq!(ClockReport { histogram: Vec::new(), ..report() }.quantile_ns(0.5), None);
    }

    /// By the text: 2 calls, 50 ns, a million rows and their end, 2 nodes; and 100 ns of a read of 2 µs.
    #[test]
    fn what_timing_costs_follows_from_two_calls() {
        assert_eq!(explain_timing_s(50.0, 999_999, 2), 0.2);
        assert_eq!(io_timing_share(50.0, 2_000.0), Some(0.05));
        assert_eq!(io_timing_share(50.0, 0.0), None);
    }

    #[test]
    fn cpu_time_distinguishes_a_system_call_from_the_vdso() {
        assert_eq!(AnsweredIn::by_cpu_time(300, 2), Some(AnsweredIn::UserSpace));
        assert_eq!(AnsweredIn::by_cpu_time(180, 120), Some(AnsweredIn::Kernel));
        assert_eq!(AnsweredIn::by_cpu_time(85, 15), None);
        assert_eq!(AnsweredIn::by_cpu_time(19, 0), None);
    }
}
