//! Progress lines during the run (`-P`).

use pgdyno_core::measure::Tally;
use pgdyno_engine::{Clock, MergedInterval, Phase};

use super::{
    format::progress::{At, Progress},
    logfile::Epoch,
    options::Options,
    say::Say,
};

/// Adds up intervals until a line is due. Intervals of a recorded run are one second long, whatever `-P` says.
pub struct ProgressReporter<'a> {
    say: &'a Say,
    options: &'a Options,
    epoch: Epoch,
    tally: Tally,
    length_ns: u64,
}

impl<'a> ProgressReporter<'a> {
    pub fn new(say: &'a Say, options: &'a Options, epoch: Epoch) -> Self {
        Self { say, options, epoch, tally: Tally::default(), length_ns: 0 }
    }

    /// Adds an interval, and prints the line that ends with it; also after the duration, while transactions are still
    /// in flight. As in pgbench, the rest at the end of a run has no line; the last interval of a step always has one.
    pub fn interval(&mut self, interval: &MergedInterval) {
        if self.options.progress_s <= 0 || interval.phase == Phase::WarmUp {
            return;
        }
        self.tally.merge(&interval.tally);
        self.length_ns += interval.duration_ns;
        let due_ns = self.options.progress_s as u64 * 1_000_000_000;
        let of_step = interval.phase == Phase::Measured && self.options.extras.steps.is_some();
        if self.length_ns >= due_ns || of_step {
            self.print(interval.start_ns + interval.duration_ns - self.options.extras.warmup_ns);
            self.tally = Tally::default();
            self.length_ns = 0;
        }
    }

    fn print(&self, end_ns: u64) {
        let options = self.options;
        let at = if options.progress_timestamp {
            At::Epoch(self.epoch.us(Clock::now_ns()) as f64 / 1e6)
        } else {
            At::Run(end_ns as f64 / 1e9)
        };
        let line = Progress {
            at,
            length_ns: self.length_ns,
            tally: &self.tally,
            throttled: options.rate_per_s.is_some(),
            limited: options.latency_limit_us > 0,
            retrying: options.max_tries != 1,
        };
        self.say.raw(line.line());
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::measure::{Counts, Latency, Precision, Slowest};

    use super::{super::say::tests::capturing, *};

    const S: u64 = 1_000_000_000;

    /// As in pgbench: lines continue while transactions do, also after `-T`, and the rest at the end has none.
    #[test]
    fn lines_continue_until_the_last_transaction_ends() {
        let (say, output) = capturing();
        let options = Options { progress_s: 2, time_s: 5, ..Options::new(1) };
        let mut reporter = ProgressReporter::new(&say, &options, Epoch::now());
        let interval = |phase, start_ns, duration_ns| MergedInterval {
            phase,
            start_ns,
            clock_ns: start_ns,
            duration_ns,
            counts: Counts::default(),
            latency: Latency::lazy(Precision::Interval),
            slowest: Slowest::default(),
            tally: Tally { committed: 4, ..Tally::default() },
            cpu_ns: 0,
            waited_ns: None,
        };
        for (phase, start_s, duration_ns) in [
            (Phase::Measured, 0, 2 * S),
            (Phase::Measured, 2, 2 * S),
            (Phase::Measured, 4, S),
            (Phase::Drain, 5, S),
            (Phase::Drain, 6, 2 * S),
            (Phase::Drain, 8, S / 2),
        ] {
            reporter.interval(&interval(phase, start_s * S, duration_ns));
        }
        let output = output.lock().expect("nobody panics").clone();
        let lines: Vec<_> =
            output.lines().map(|line| line.split(" tps").next().unwrap_or_default()).collect();
        let expected = ["2.0 s, 2.0", "4.0 s, 2.0", "6.0 s, 4.0", "8.0 s, 2.0"];
        assert_eq!(lines, expected.map(|line| format!("progress: {line}")));
    }
}
