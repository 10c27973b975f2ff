//! What a run records beyond counts and histograms: several scripts, commands, single attempts.

use pgdyno_core::{measure::Ending, random::Random};

use crate::{Begin, LoadStep, Messages, Mix, Population};

/// What a run records in addition to the counting equation and its histograms; by default nothing.
#[derive(Debug, Clone, Default)]
pub struct Bookkeeping {
    /// Weights of the scripts, by which every attempt's script is drawn.
    pub mix: Mix,
    /// Number of commands over all scripts, numbered one script after the other:
    /// [`Probe::command`](crate::Probe::command) takes numbers below this.
    pub commands: usize,
    /// Latency limit in nanoseconds; attempts that take longer count as late.
    pub late_ns: Option<u64>,
    /// Logging of single attempts; `None` logs none.
    pub log: Option<LogSettings>,
    /// Steps of the measured interval, each with a load of its own in place of
    /// [`Settings::rate_per_s`](crate::Settings::rate_per_s). All are rates or all are client counts, and their
    /// lengths add up to the interval. The warm-up has the load of the first step. Empty means one load throughout.
    pub steps: Vec<LoadStep>,
    /// Whether each client ends after a number of attempts: the schedule then has no end of its own, and what falls due
    /// after the last client has ended is not counted.
    pub by_number: bool,
    /// Whether each script of `mix` gets counts and a histogram of its own.
    pub by_script: bool,
    /// Users with think times, instead of a rate: clients then only execute the users' attempts.
    pub users: Option<Population>,
    /// Whether to keep no latency histograms except those of steps and statements, which saves a quarter of a MiB per
    /// worker when the tallies are enough.
    pub tallies_only: bool,
    /// Whether the drain is cut into intervals like the measured interval, instead of being one interval.
    pub drain_in_intervals: bool,
    /// Whether the run ends with the first client that is lost.
    pub end_with_first_lost: bool,
    /// Whether the clients come back with their connections after the run ([`run_returning`](crate::run_returning)).
    pub returns_clients: bool,
    /// When the schedule begins.
    pub begin: Begin,
    /// Destination of the targets' messages.
    pub messages: Messages,
}

/// Sampling of single attempts for the log.
#[derive(Debug, Clone)]
pub struct LogSettings {
    /// Share of the attempts to log, in (0, 1], drawn at random; 1 logs all.
    pub share: f64,
    /// Random stream of every worker, for the sampling.
    pub streams: Vec<Random>,
}

/// Log entry of one attempt that has an [`Ending`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRecord {
    /// Number of the client, from 0.
    pub client: u32,
    /// Number of the script, from 0.
    pub script: u32,
    /// Number of attempts of this client that have ended so far, including this one.
    pub number: u64,
    /// End of the attempt, in nanoseconds of the engine's clock.
    pub end_ns: u64,
    /// Latency in microseconds; 0 if the attempt did not commit.
    pub latency_us: u64,
    /// Lag in microseconds; 0 in a closed loop and if the attempt did not commit.
    pub lag_us: u64,
    /// Number of retries: tries beyond the first.
    pub retries: u32,
    /// How the attempt ended.
    pub ending: Ending,
}
