//! What is kept of a run beyond counts and histograms: several scripts, commands, single attempts.

use pgdyno_core::{
    measure::Ending,
    script::{Draw, Random},
};

use crate::{LoadStep, Messages, Population};

/// What a run keeps beside the counting equation and its histograms; by default nothing.
#[derive(Debug, Clone, Default)]
pub struct Bookkeeping {
    /// Which script an attempt runs.
    pub mix: Mix,
    /// Commands over all scripts, numbered one script after the other: [`Probe::command`](crate::Probe::command) takes
    /// numbers below this.
    pub commands: usize,
    /// Attempts that take longer than this many nanoseconds are late.
    pub late_ns: Option<u64>,
    /// Whether and how single attempts are handed out.
    pub log: Option<LogSettings>,
    /// Steps of the measured interval, each with a load of its own that holds instead of
    /// [`Settings::rate_per_s`](crate::Settings::rate_per_s). All are rates or all numbers of clients, and together
    /// they are as long as the interval. The warm-up has the load of the first. Empty is one load all through.
    pub steps: Vec<LoadStep>,
    /// Whether clients end by themselves, each after a number of attempts: then the schedule has no end of its own, and
    /// what falls due after the last client has ended is nobody's.
    pub by_number: bool,
    /// Whether attempts of each script of `mix` have counts and a histogram of their own.
    pub by_script: bool,
    /// Users who wait between their attempts, instead of a rate: then clients are what carries their attempts out.
    pub users: Option<Population>,
    /// Whether no latency histograms are kept beside those of steps and statements: what tallies say is enough, and
    /// for every worker there is a quarter of a MiB less.
    pub tallies_only: bool,
    /// Whether the drain is cut into intervals too, as the measured interval is, instead of being one.
    pub drain_in_intervals: bool,
    /// Whether the first client that is lost ends the run.
    pub end_with_first_lost: bool,
    /// Where messages of targets go.
    pub messages: Messages,
}

/// How scripts share the attempts.
#[derive(Debug, Clone, Default)]
pub struct Mix {
    /// Weight of every script; the first where there are none.
    pub weights: Vec<u32>,
    /// What every worker draws its choices from.
    pub streams: Vec<Random>,
}

/// How single attempts are handed out.
#[derive(Debug, Clone)]
pub struct LogSettings {
    /// Share of the attempts that are handed out, by chance; 1 is all.
    pub share: f64,
    /// What every worker draws its chances from.
    pub streams: Vec<Random>,
}

/// One attempt with an [`Ending`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRecord {
    /// Number of the client, from 0.
    pub client: u32,
    /// Number of the script, from 0.
    pub script: u32,
    /// Attempts of this client that ended up to now, with this one.
    pub number: u64,
    /// When it ended, in nanoseconds of the engine's clock.
    pub end_ns: u64,
    /// Latency in microseconds; 0 where it did not commit.
    pub latency_us: u64,
    /// Lag in microseconds; 0 in a closed loop and where it did not commit.
    pub lag_us: u64,
    /// Tries beyond the first.
    pub retries: u32,
    /// How it ended.
    pub ending: Ending,
}

/// The stream of a worker; one of its own where none was given.
pub(crate) fn stream(streams: &[Random], worker: usize) -> Random {
    streams.get(worker).cloned().unwrap_or_else(|| Random::seeded(worker as u64))
}

/// Chooses scripts by their weights: one a worker.
#[derive(Debug)]
pub(crate) struct Chooser {
    weights: Vec<u32>,
    total: i64,
    random: Random,
}

impl Chooser {
    pub(crate) fn new(mix: &Mix, worker: usize) -> Self {
        let random = stream(&mix.streams, worker);
        let total = mix.weights.iter().map(|&weight| i64::from(weight)).sum();
        Self { weights: mix.weights.clone(), total, random }
    }

    /// The next script. One alone costs no random number, as in pgbench.
    #[inline]
    pub(crate) fn choose(&mut self) -> u32 {
        if self.weights.len() < 2 {
            return 0;
        }
        let mut left = self.random.between(0, self.total - 1);
        let chosen = self.weights.iter().position(|&weight| {
            left -= i64::from(weight);
            left < 0
        });
        chosen.unwrap_or(0) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_chosen_by_weight_and_one_of_weight_0_never() {
        let mut chooser = Chooser::new(&Mix { weights: vec![1, 0, 3], streams: vec![Random::seeded(7)] }, 0);
        let mut chosen = [0_u32; 3];
        (0..40_000).for_each(|_| chosen[chooser.choose() as usize] += 1);
        // Four standard deviations of a binomial distribution with n = 40,000 and p = 1/4 are 346.
        assert!(chosen[0].abs_diff(10_000) < 346, "{chosen:?}");
        assert_eq!(chosen[1], 0);
    }

    #[test]
    fn without_weights_there_is_one_script() {
        let mut chooser = Chooser::new(&Mix::default(), 3);
        assert_eq!(chooser.choose(), 0);
    }
}
