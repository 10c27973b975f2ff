//! Progress lines (`printProgressReport`).

use pgdyno_core::measure::Tally;

/// Content of a progress line.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Seconds since the start, or since 1970.
    pub at: At,
    /// Length of the interval in nanoseconds.
    pub length_ns: u64,
    /// Transactions within it.
    pub tally: &'a Tally,
    /// Whether there is a rate.
    pub throttled: bool,
    /// Whether there is a latency limit.
    pub limited: bool,
    /// Whether transactions may be retried.
    pub retrying: bool,
}

/// Time of a progress line.
#[derive(Debug, Clone, Copy)]
pub enum At {
    /// Seconds since the start of the run.
    Run(f64),
    /// Seconds since 1970 (`--progress-timestamp`).
    Epoch(f64),
}

impl Progress<'_> {
    /// The line, with its end.
    pub fn line(&self) -> String {
        let tally = self.tally;
        let at = match self.at {
            At::Run(seconds) => format!("{seconds:.1} s"),
            At::Epoch(seconds) => format!("{seconds:.3} s"),
        };
        let tps = tally.committed as f64 * 1e9 / self.length_ns.max(1) as f64;
        let ms = |us: Option<f64>| us.unwrap_or(0.0) / 1000.0;
        let (mean_ms, stddev_ms) = (ms(tally.latency.mean()), ms(tally.latency.stddev()));
        let failed = tally.failed();
        let mut line = format!(
            "progress: {at}, {tps:.1} tps, lat {mean_ms:.3} ms stddev {stddev_ms:.3}, {failed} failed"
        );
        if self.throttled {
            line.push_str(&format!(", lag {:.3} ms", ms(tally.lag.mean())));
            if self.limited {
                line.push_str(&format!(", {} skipped", tally.skipped));
            }
        }
        if self.retrying {
            line.push_str(&format!(", {} retried, {} retries", tally.retried, tally.retries));
        }
        line.push('\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_pgbenchs() {
        let mut tally = Tally {
            committed: 6173,
            serialization: 2,
            skipped: 3,
            retried: 4,
            retries: 5,
            ..Tally::default()
        };
        [900.0, 1100.0].iter().for_each(|&us| tally.latency.add(us));
        tally.lag.add(250.0);
        let plain = Progress {
            at: At::Run(5.0),
            length_ns: 5_000_000_000,
            tally: &tally,
            throttled: false,
            limited: true,
            retrying: false,
        };
        assert_eq!(plain.line(), "progress: 5.0 s, 1234.6 tps, lat 1.000 ms stddev 0.100, 2 failed\n");
        let full = Progress { at: At::Epoch(1_700_000_000.123_4), throttled: true, retrying: true, ..plain };
        assert_eq!(
            full.line(),
            "progress: 1700000000.123 s, 1234.6 tps, lat 1.000 ms stddev 0.100, 2 failed, lag 0.250 ms, \
             3 skipped, 4 retried, 5 retries\n"
        );
        let nothing = Progress { tally: &Tally::default(), ..plain };
        assert_eq!(nothing.line(), "progress: 5.0 s, 0.0 tps, lat 0.000 ms stddev 0.000, 0 failed\n");
    }
}
