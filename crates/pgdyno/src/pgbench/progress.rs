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

    /// Takes an interval, and prints the line that ends with it. What is left at the end of a run has none, as with
    /// pgbench; the last interval of a step has one, however short.
    pub fn hear(&mut self, interval: &MergedInterval) {
        if self.options.progress_s <= 0 || interval.phase != Phase::Measured {
            return;
        }
        self.tally.merge(&interval.tally);
        self.length_ns += interval.duration_ns;
        let due_ns = self.options.progress_s as u64 * 1_000_000_000;
        if self.length_ns >= due_ns || self.options.extras.steps.is_some() {
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
