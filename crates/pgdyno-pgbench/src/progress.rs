//! Progress lines while the run lasts.

use pgdyno_core::measure::Tally;
use pgdyno_engine::{Clock, MergedInterval, Phase};

use super::{
    format::progress::{At, Progress},
    logfile::Epoch,
    options::Options,
    say::Say,
};

/// Adds up intervals until a line is due (`-P`): those of a recorded run are a second long, whatever is shown.
pub struct Teller<'a> {
    say: &'a Say,
    options: &'a Options,
    epoch: Epoch,
    tally: Tally,
    length_ns: u64,
}

impl<'a> Teller<'a> {
    pub fn new(say: &'a Say, options: &'a Options, epoch: Epoch) -> Self {
        Self { say, options, epoch, tally: Tally::default(), length_ns: 0 }
    }

    /// Takes an interval, and prints the line that ends with it: also after the time is over, while transactions that
    /// began before it go on. What is left at the end of a run has none, as with pgbench; the last interval of a step
    /// has one, however short.
    pub fn hear(&mut self, interval: &MergedInterval) {
        if self.options.progress_s <= 0 || interval.phase == Phase::WarmUp {
            return;
        }
        self.tally.merge(&interval.tally);
        self.length_ns += interval.duration_ns;
        let due_ns = self.options.progress_s as u64 * 1_000_000_000;
        let of_step = interval.phase == Phase::Measured && self.options.extras.steps.is_some();
        if self.length_ns >= due_ns || of_step {
            self.tell(interval.start_ns + interval.duration_ns - self.options.extras.warmup_ns);
            self.tally = Tally::default();
            self.length_ns = 0;
        }
    }

    fn tell(&self, end_ns: u64) {
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

    use super::{super::say::tests::listening, *};

    const S: u64 = 1_000_000_000;

    /// As with pgbench: lines go on while transactions do, also after `-T`, and the rest at the end has none.
    #[test]
    fn lines_go_on_until_the_last_transaction_ends() {
        let (say, heard) = listening();
        let options = Options { progress_s: 2, time_s: 5, ..Options::new(1) };
        let mut teller = Teller::new(&say, &options, Epoch::now());
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
        };
        for (phase, start_s, duration_ns) in [
            (Phase::Measured, 0, 2 * S),
            (Phase::Measured, 2, 2 * S),
            (Phase::Measured, 4, S),
            (Phase::Drain, 5, S),
            (Phase::Drain, 6, 2 * S),
            (Phase::Drain, 8, S / 2),
        ] {
            teller.hear(&interval(phase, start_s * S, duration_ns));
        }
        let heard = heard.lock().expect("nobody panics").clone();
        let told: Vec<_> = heard.lines().map(|line| line.split(" tps").next().unwrap_or_default()).collect();
        let expected = ["2.0 s, 2.0", "4.0 s, 2.0", "6.0 s, 4.0", "8.0 s, 2.0"];
        assert_eq!(told, expected.map(|line| format!("progress: {line}")));
    }
}
