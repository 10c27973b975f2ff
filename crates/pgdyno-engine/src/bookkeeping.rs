//! What is kept of a run beyond counts and histograms: several scripts, commands, single attempts.

use pgdyno_core::{measure::Ending, random::Random};

use crate::{LoadStep, Messages, Mix, Population};

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
