//! The slowest attempts of a run, as recorded.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use pgdyno_core::measure::{SLOWEST_OF_RUN, Slow, SlowAttempt, slowest_of};
use pgdyno_engine::{Clock, MergedInterval, Phase};
use pgdyno_record::redact_sql;
use pgdyno_script::{Action, Scripts};

/// Most characters of a statement that are kept with each attempt.
const STATEMENT_CHARS: usize = 120;

/// Adds statement, server process and time of day to attempts.
#[derive(Debug)]
pub struct SlowLog<'a> {
    scripts: &'a Scripts,
    warmup_ns: u64,
    /// Behind a pooler, clients know the pooler's process id, not that of the server.
    pooled: bool,
    /// Offset from the engine's clock to nanoseconds since 1970.
    shift_ns: i128,
    worst: Vec<SlowAttempt>,
}

impl<'a> SlowLog<'a> {
    /// For a run of these scripts that starts now.
    pub fn new(scripts: &'a Scripts, warmup_ns: u64, pooled: bool) -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let shift_ns = wall.as_nanos() as i128 - i128::from(Clock::now_ns());
        Self { scripts, warmup_ns, pooled, shift_ns, worst: Vec::new() }
    }

    /// The slowest attempts of an interval. Those that fell due after the warm-up are kept for [`SlowLog::worst`].
    pub fn of(&mut self, interval: &MergedInterval) -> Vec<SlowAttempt> {
        let first_due_ns = interval.clock_ns.saturating_sub(interval.start_ns);
        let slowest = interval.slowest.sorted();
        let waited_ns = interval.waited_ns;
        let attempts: Vec<_> =
            slowest.iter().map(|slow| self.attempt(slow, first_due_ns, waited_ns)).collect();
        if interval.phase != Phase::WarmUp {
            let due = attempts.iter().filter(|attempt| attempt.scheduled_ns >= self.warmup_ns).cloned();
            let both = std::mem::take(&mut self.worst).into_iter().chain(due);
            self.worst = slowest_of(both, SLOWEST_OF_RUN);
        }
        attempts
    }

    /// The slowest attempts that fell due in the measured interval, as for its percentiles.
    pub fn worst(self) -> Vec<SlowAttempt> {
        self.worst
    }

    fn attempt(&self, slow: &Slow, first_due_ns: u64, driver_waited_ns: Option<u64>) -> SlowAttempt {
        let since = |at_ns: u64| at_ns.saturating_sub(first_due_ns);
        let timed = slow.work.command_ns > 0;
        SlowAttempt {
            ended_at: self.instant(slow.end_ns),
            at_s: (since(slow.end_ns) as f64 - self.warmup_ns as f64) / 1e9,
            scheduled_ns: since(slow.scheduled_ns),
            begin_ns: since(slow.begin_ns),
            end_ns: since(slow.end_ns),
            latency_ns: slow.latency_ns(),
            lag_ns: slow.begin_ns.saturating_sub(slow.scheduled_ns),
            service_ns: slow.end_ns.saturating_sub(slow.begin_ns),
            client: slow.work.client,
            backend_pid: Some(slow.work.backend_pid).filter(|pid| *pid > 0 && !self.pooled),
            script: self.scripts.get(slow.script as usize).name.clone(),
            statement: timed.then(|| self.statement(slow)).flatten(),
            statement_begin_ns: timed.then(|| since(slow.work.command_begin_ns)),
            statement_ns: timed.then_some(slow.work.command_ns),
            driver_waited_ns,
        }
    }

    /// The command that took the longest, on one line.
    fn statement(&self, slow: &Slow) -> Option<String> {
        let command = self.scripts.get(slow.script as usize).commands.get(slow.work.command as usize)?;
        let text = match &command.action {
            Action::Sql(sql) => &sql.label,
            _ => &command.line,
        };
        let cut = text.char_indices().nth(STATEMENT_CHARS).map(|(at, _)| format!("{}…", &text[..at]));
        Some(redact_sql(&cut.unwrap_or_else(|| text.clone())))
    }

    fn instant(&self, at_ns: u64) -> String {
        let instant = Timestamp::from_nanosecond(self.shift_ns + i128::from(at_ns));
        instant.map_or_else(|_| String::new(), |instant| format!("{instant:.6}"))
    }
}
