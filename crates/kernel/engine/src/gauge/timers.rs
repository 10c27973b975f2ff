//! Lateness of timers.

use pgdyno_core::{facts::TimerLag, measure::Outcome, stop::Stop};

use super::settings;
use crate::{Client, EngineError, Event, Probe, SocketDriver, Step, Target, run};

/// Length of a wait in nanoseconds: short, so that many fit into a second, and long enough for a thread to be put to
/// sleep.
const WAIT_NS: u64 = 100_000;

/// Target that waits and records how late it was woken.
#[derive(Debug, Clone, Copy, Default)]
struct Sleeper {
    until_ns: u64,
}

impl Target for Sleeper {
    fn step(&mut self, event: Event<'_>, now_ns: u64, probe: &mut Probe) -> Step {
        if matches!(event, Event::Begin) {
            self.until_ns = now_ns + WAIT_NS;
        } else if now_ns >= self.until_ns {
            probe.statement(0, now_ns - self.until_ns);
            return Step::Done(Outcome::Committed);
        }
        Step::WaitUntil(self.until_ns)
    }

    fn outgoing(&self) -> &[u8] {
        &[]
    }

    fn abandon(&mut self) -> Outcome {
        Outcome::TimedOut
    }
}

/// Measures how late the waits of a single client end with this driver.
///
/// # Errors
/// [`EngineError`] if the run fails.
pub fn timer_lag(driver: SocketDriver, duration_ns: u64, stop: &Stop) -> Result<TimerLag, EngineError> {
    let workers = vec![vec![Client { target: Sleeper::default(), io: None }]];
    let report = run(driver, workers, &settings(duration_ns, 1), stop, |_| (), |_| ())?;
    let lag = &report.statements[0];
    Ok(TimerLag {
        waiting: driver.name().to_owned(),
        wait_ns: WAIT_NS,
        waits: lag.count(),
        p50_ns: lag.quantile_ns(0.5),
        p99_ns: lag.quantile_ns(0.99),
        max_ns: lag.as_histogram().max(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_counted_and_end_late_but_not_early() {
        for driver in SocketDriver::usable() {
            let lag = timer_lag(driver, 300_000_000, &Stop::default()).expect("it runs");
            assert_eq!((lag.waiting.as_str(), lag.wait_ns), (driver.name(), WAIT_NS));
            // 300 ms hold at most 3,000 waits of 100 µs, plus those that the drain ends.
            assert!((1..=3_001).contains(&lag.waits), "{lag:?}");
            assert!(lag.p50_ns.is_none_or(|p50_ns| p50_ns <= lag.max_ns), "{lag:?}");
            assert_eq!(lag.p50_ns.is_some(), lag.waits >= 200, "{lag:?}");
        }
    }

    #[test]
    fn an_instant_that_has_not_come_is_waited_for_again() {
        let (mut sleeper, mut probe) = (Sleeper::default(), Probe::new(1));
        assert_eq!(sleeper.step(Event::Begin, 1_000, &mut probe), Step::WaitUntil(101_000));
        assert_eq!(sleeper.step(Event::Woken, 100_999, &mut probe), Step::WaitUntil(101_000));
        assert_eq!(sleeper.step(Event::Woken, 101_000, &mut probe), Step::Done(Outcome::Committed));
    }
}
