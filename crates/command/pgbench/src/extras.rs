//! The options that pgbench lacks.

use std::path::PathBuf;

use pgdyno_analysis::find_rate::Limit;
use pgdyno_core::{observe::ObserveLevel, profile::Profiling};

use super::{
    flags::Opt,
    numbers::{option_int, span},
    say::{ExitResult, Say},
    steps::Steps,
};

/// Options that pgbench lacks. None of them changes pgbench's own output.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extras {
    /// Percentiles of latency to print below the summary, each between 0 and 100.
    pub percentiles: Vec<f64>,
    /// File for the results as JSON.
    pub json: Option<PathBuf>,
    /// File for the latencies as an interval log of HdrHistogram.
    pub hdr: Option<PathBuf>,
    /// Length of the warm-up in nanoseconds.
    pub warmup_ns: u64,
    /// Think time: pause of a client between two transactions, in nanoseconds.
    pub think_ns: u64,
    /// Number of transactions after which a client reconnects.
    pub reconnect_after: Option<u64>,
    /// Steps of the load.
    pub steps: Option<Steps>,
    /// Latency limit for which to find the highest rate.
    pub find_rate: Option<Limit>,
    /// Whether scripts may use `\setrandom` of PostgreSQL 9.5 and earlier.
    pub setrandom: bool,
    /// Whether the run is saved as a run directory.
    pub record: bool,
    /// Directory for run directories, if not the default.
    pub runs: Option<PathBuf>,
    /// What is observed during a run that is saved, if not everything.
    pub observe: Option<ObserveLevel>,
    /// How the stacks of the server's processes are profiled during a run that is saved, if they are.
    pub profile: Profiling,
}

impl Extras {
    /// Whether any output needs histograms, which pgbench's own output does not.
    pub fn wants_histograms(&self) -> bool {
        let files = self.json.is_some() || self.hdr.is_some() || self.record;
        files || !self.percentiles.is_empty() || self.steps.is_some() || self.find_rate.is_some()
    }
}

/// Parses an option and its value.
///
/// # Errors
/// The value is invalid; already printed.
pub fn take(extras: &mut Extras, say: &Say, option: Opt, text: &str) -> ExitResult<()> {
    match option {
        Opt::Percentiles => extras.percentiles = percentiles(say, text)?,
        Opt::Json => extras.json = Some(PathBuf::from(text)),
        Opt::Hdr => extras.hdr = Some(PathBuf::from(text)),
        Opt::Warmup => extras.warmup_ns = span(say, text, "--warmup")?.as_nanos(),
        Opt::ThinkTime => extras.think_ns = span(say, text, "--think-time")?.as_nanos(),
        Opt::Steps => extras.steps = Some(Steps::read(say, text)?),
        Opt::FindRate => extras.find_rate = Some(limit(say, text)?),
        Opt::Setrandom => extras.setrandom = true,
        Opt::Record => extras.record = true,
        Opt::Observe => extras.observe = Some(level(say, text)?),
        Opt::Profile => extras.profile = profiling(say, text)?,
        Opt::Runs => extras.runs = Some(PathBuf::from(text)),
        _ => extras.reconnect_after = Some(option_int(say, text, "--reconnect", 1..=i32::MAX)? as u64),
    }
    Ok(())
}

fn limit(say: &Say, text: &str) -> ExitResult<Limit> {
    text.parse().or_else(|error| say.fatal(format!("invalid value for option --find-rate: {error}")))
}

fn level(say: &Say, text: &str) -> ExitResult<ObserveLevel> {
    text.parse().or_else(|error| say.fatal(format!("invalid value for option --observe: {error}")))
}

fn profiling(say: &Say, text: &str) -> ExitResult<Profiling> {
    text.parse().or_else(|error| say.fatal(format!("invalid value for option --profile: {error}")))
}

/// Parses percentiles separated by commas.
fn percentiles(say: &Say, text: &str) -> ExitResult<Vec<f64>> {
    let number = |part: &str| part.trim().parse::<f64>().ok().filter(|p| *p > 0.0 && *p < 100.0);
    let read: Option<Vec<f64>> = text.split(',').map(number).collect();
    match read {
        Some(percentiles) => Ok(percentiles),
        None => say.fatal(format!(
            "invalid percentiles: \"{text}\", expecting numbers between 0 and 100, such as 50,95,99.9"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::say::tests::capturing, *};

    /// Histograms take a quarter of a MiB per thread.
    #[test]
    fn histograms_are_kept_only_if_some_output_needs_them() {
        assert!(!Extras { warmup_ns: 1, think_ns: 1, ..Extras::default() }.wants_histograms());
        for extras in [
            Extras { percentiles: vec![50.0], ..Extras::default() },
            Extras { json: Some(PathBuf::from("x")), ..Extras::default() },
            Extras { hdr: Some(PathBuf::from("x")), ..Extras::default() },
            Extras { record: true, ..Extras::default() },
        ] {
            assert!(extras.wants_histograms(), "{extras:?}");
        }
    }

    #[test]
    fn percentiles_are_between_0_and_100() {
        let (say, _) = capturing();
        assert_eq!(percentiles(&say, "50, 99.9"), Ok(vec![50.0, 99.9]));
        for text in ["", "0", "100", "p99", "50,", "nan"] {
            assert_eq!(percentiles(&say, text), Err(1), "{text}");
        }
    }
}
