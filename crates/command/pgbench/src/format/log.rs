//! Lines of the transaction log, single or aggregated (`doLog`).

use std::fmt::Write;

use pgdyno_core::measure::{Ended, Ending, Failure, Tally};
use pgdyno_engine::LogRecord;

/// Options that determine the columns of a log.
#[derive(Debug, Clone, Copy, Default)]
pub struct Columns {
    /// Whether there is a rate: then the lag is a column.
    pub throttled: bool,
    /// Whether there is a latency limit: then skipped transactions are counted.
    pub limited: bool,
    /// Whether transactions may be retried.
    pub retrying: bool,
    /// Whether kinds of failures are distinguished.
    pub failures_detailed: bool,
    /// Whether clients continue after other errors.
    pub continue_on_error: bool,
}

impl Columns {
    /// Appends the line of one transaction that ended at `epoch_us` microseconds since 1970.
    pub fn line(self, out: &mut String, record: &LogRecord, epoch_us: u64) {
        let LogRecord { client, number, script, .. } = record;
        let (s, us) = (epoch_us / 1_000_000, epoch_us % 1_000_000);
        let written = match record.ending {
            Ending::Committed => write!(out, "{client} {number} {} {script} {s} {us}", record.latency_us),
            ending => write!(out, "{client} {number} {} {script} {s} {us}", self.word(ending)),
        };
        written.expect("a text takes all");
        if self.throttled {
            write!(out, " {}", record.lag_us).expect("a text takes all");
        }
        if self.retrying {
            write!(out, " {}", record.retries).expect("a text takes all");
        }
        out.push('\n');
    }

    fn word(self, ending: Ending) -> &'static str {
        match ending {
            Ending::Skipped => "skipped",
            Ending::Failed(Failure::Serialization) if self.failures_detailed => "serialization",
            Ending::Failed(Failure::Deadlock) if self.failures_detailed => "deadlock",
            Ending::Failed(Failure::Other) if self.failures_detailed => "other",
            Ending::Failed(_) | Ending::Committed => "failed",
        }
    }

    /// Appends the line of an interval that began `start_s` seconds after 1970. Columns that do not apply are 0.
    fn aggregate(self, out: &mut String, start_s: u64, tally: &Tally) {
        let only = |applies: bool, value: u64| if applies { value } else { 0 };
        let (latency, lag) = (&tally.latency, &tally.lag);
        write!(
            out,
            "{start_s} {} {:.0} {:.0} {:.0} {:.0} {:.0} {:.0} {:.0} {:.0} {} {} {} {} {}",
            tally.committed,
            latency.sum,
            latency.sum_of_squares,
            latency.min,
            latency.max,
            lag.sum,
            lag.sum_of_squares,
            lag.min,
            lag.max,
            only(self.limited, tally.skipped),
            only(self.retrying, tally.retried),
            only(self.retrying, tally.retries),
            only(self.failures_detailed, tally.serialization),
            only(self.failures_detailed, tally.deadlock),
        )
        .expect("a text takes all");
        if self.continue_on_error {
            write!(out, " {}", only(self.failures_detailed, tally.other)).expect("a text takes all");
        }
        out.push('\n');
    }
}

/// Aggregates the transactions of one thread into intervals.
#[derive(Debug, Clone)]
pub struct Aggregator {
    columns: Columns,
    interval_s: u64,
    /// Start of the current interval, in seconds since 1970.
    start_s: u64,
    tally: Tally,
}

impl Aggregator {
    /// Intervals of this length; the first begins with the whole second of `epoch_us`.
    pub fn new(columns: Columns, interval_s: u64, epoch_us: u64) -> Self {
        Self { columns, interval_s, start_s: epoch_us / 1_000_000, tally: Tally::default() }
    }

    /// Adds a transaction, after the lines of the intervals that ended before it.
    pub fn add(&mut self, out: &mut String, record: &LogRecord, epoch_us: u64) {
        self.until(out, epoch_us);
        self.tally.record(Ended {
            ending: record.ending,
            tries: record.retries + 1,
            latency_us: record.latency_us,
            lag_us: self.columns.throttled.then_some(record.lag_us),
            late: false,
            rows: 0,
        });
    }

    /// Appends the lines of all intervals that end by `epoch_us`, including empty ones.
    pub fn until(&mut self, out: &mut String, epoch_us: u64) {
        while (self.start_s + self.interval_s) * 1_000_000 <= epoch_us {
            self.columns.aggregate(out, self.start_s, &self.tally);
            self.tally = Tally::default();
            self.start_s += self.interval_s;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: LogRecord = LogRecord {
        client: 3,
        script: 1,
        number: 42,
        end_ns: 0,
        latency_us: 1234,
        lag_us: 7,
        retries: 2,
        ending: Ending::Committed,
    };
    const AT_US: u64 = 1_700_000_000_000_345;

    fn line(columns: Columns, ending: Ending) -> String {
        let mut out = String::new();
        columns.line(&mut out, &LogRecord { ending, ..RECORD }, AT_US);
        out
    }

    #[test]
    fn lines_of_transactions_are_pgbenchs() {
        let plain = Columns::default();
        assert_eq!(line(plain, Ending::Committed), "3 42 1234 1 1700000000 345\n");
        assert_eq!(line(plain, Ending::Failed(Failure::Deadlock)), "3 42 failed 1 1700000000 345\n");
        let full = Columns { throttled: true, retrying: true, failures_detailed: true, ..plain };
        assert_eq!(line(full, Ending::Committed), "3 42 1234 1 1700000000 345 7 2\n");
        for (ending, word) in [
            (Ending::Skipped, "skipped"),
            (Ending::Failed(Failure::Serialization), "serialization"),
            (Ending::Failed(Failure::Deadlock), "deadlock"),
            (Ending::Failed(Failure::Other), "other"),
        ] {
            assert_eq!(line(full, ending), format!("3 42 {word} 1 1700000000 345 7 2\n"));
        }
    }

    /// Figures by hand: two transactions in the first interval, an empty one, one in the third that is not over.
    #[test]
    fn aggregated_lines_are_pgbenchs() {
        let full = Columns {
            throttled: true,
            limited: true,
            retrying: true,
            failures_detailed: true,
            continue_on_error: false,
        };
        let mut out = String::new();
        let mut aggregator = Aggregator::new(full, 2, 1_700_000_000_900_000);
        let mut add = |ending, latency_us, at_us| {
            let record = LogRecord { ending, latency_us, lag_us: 10, retries: 1, ..RECORD };
            aggregator.add(&mut out, &record, at_us);
        };
        add(Ending::Committed, 100, 1_700_000_000_950_000);
        add(Ending::Committed, 300, 1_700_000_001_999_999);
        add(Ending::Skipped, 0, 1_700_000_001_999_999);
        add(Ending::Failed(Failure::Serialization), 0, 1_700_000_001_999_999);
        add(Ending::Committed, 50, 1_700_000_004_000_000);
        assert_eq!(
            out,
            "1700000000 2 400 100000 100 300 20 200 10 10 1 3 3 1 0\n\
             1700000002 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
        );
        aggregator.until(&mut out, 1_700_000_006_000_000);
        assert!(out.ends_with("1700000004 1 50 2500 50 50 10 100 10 10 0 1 1 0 0\n"), "{out}");
    }

    #[test]
    fn columns_that_do_not_apply_are_0() {
        let mut out = String::new();
        let mut aggregator = Aggregator::new(Columns::default(), 1, 0);
        aggregator.add(&mut out, &LogRecord { ending: Ending::Skipped, ..RECORD }, 0);
        aggregator.add(&mut out, &RECORD, 0);
        aggregator.until(&mut out, 1_000_000);
        assert_eq!(out, "0 1 1234 1522756 1234 1234 0 0 0 0 0 0 0 0 0\n");
    }
}
