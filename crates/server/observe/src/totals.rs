//! What a server did since it is watched. The difference between two times is a digest.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use pgdyno_core::observe::{CounterSample, LogEvent, ServerDigest};

use crate::server_log::ServerLog;

/// Version from which on servers count WAL.
const WAL_SINCE: u32 = 140_000;
/// Most checkpoints of which the times are kept: those of eight hours, if one comes every 30 s.
const MOST_TIMES: usize = 1_000;

/// Sums of counters of a server.
#[derive(Debug)]
pub(crate) struct Counted {
    version_num: u32,
    sums: Mutex<Counts>,
}

/// Sums of counters until some time; `None` before the first reading.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Counts(Option<[Summed; 2]>);

/// The sum of a counter, as long as its view is not reset.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Summed {
    bytes: f64,
    /// Whether the server has it.
    is_there: bool,
    resets: u64,
}

impl Counted {
    /// Those of a server of this version, before the first reading.
    pub(crate) fn new(version_num: u32) -> Self {
        Self { version_num, sums: Mutex::default() }
    }

    /// Adds what changed since the last reading; nothing is known to have changed with the first one.
    pub(crate) fn add(&self, changed: Option<&CounterSample>) {
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        let [temp, wal] = sums.0.get_or_insert_default();
        // What did not change is absent from samples, as is what a server lacks.
        (temp.is_there, wal.is_there) = (true, self.version_num >= WAL_SINCE);
        if let Some(sample) = changed {
            temp.add(sample, "pg_stat_database", |column| column.ends_with(" temp_bytes"));
            wal.add(sample, "pg_stat_wal", |column| column == "wal_bytes");
        }
    }

    /// The sums until now.
    pub(crate) fn now(&self) -> Counts {
        *self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    pub(crate) fn since(&self, earlier: &Self) -> ServerDigest {
        let Some(([temp, wal], [old_temp, old_wal])) = self.0.zip(earlier.0) else {
            return ServerDigest::default();
        };
        let (temp_bytes, wal_bytes) = (temp.since(&old_temp), wal.since(&old_wal));
        ServerDigest { temp_bytes, wal_bytes, ..ServerDigest::default() }
    }
}

impl Summed {
    fn add(&mut self, sample: &CounterSample, view: &str, is: impl Fn(&str) -> bool) {
        self.resets += u64::from(sample.reset.iter().any(|one| one == view));
        for (_, change) in sample.views.get(view).into_iter().flatten().filter(|(column, _)| is(column)) {
            self.bytes += change;
        }
    }

    fn since(&self, earlier: &Self) -> Option<u64> {
        let is_known = self.is_there && self.resets == earlier.resets;
        is_known.then(|| (self.bytes - earlier.bytes).round() as u64)
    }
}

/// Sums over the log until some time, in seconds since the start of the run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Logged {
    at_s: f64,
    checkpoints: u64,
    checkpoint_s: f64,
    /// Beginning and end of the last ones.
    times: VecDeque<(f64, f64)>,
    /// When the running checkpoint began.
    began_s: Option<f64>,
    autovacuums: u64,
    lock_waits: u64,
}

impl Logged {
    /// Adds an event of this time.
    pub(crate) fn add(&mut self, at_s: f64, event: &LogEvent) {
        match event {
            LogEvent::CheckpointBegan { .. } => self.began_s = Some(at_s),
            LogEvent::CheckpointEnded { total_s, .. } => {
                let began_s = self.began_s.take().unwrap_or(at_s - total_s);
                self.checkpoints += 1;
                self.checkpoint_s += (at_s - began_s).max(0.0);
                self.add_time(began_s, at_s);
            }
            // With the server its checkpoint ends.
            LogEvent::Ready => *self = Self { began_s: None, ..self.until(at_s) },
            LogEvent::AutoVacuum { .. } | LogEvent::AutoAnalyze { .. } => self.autovacuums += 1,
            LogEvent::LockWait { acquired, .. } => self.lock_waits += u64::from(!acquired),
            _ => {}
        }
    }

    /// The sums until now, a running checkpoint included.
    pub(crate) fn until(&self, at_s: f64) -> Self {
        let running_s = self.began_s.map_or(0.0, |began_s| (at_s - began_s).max(0.0));
        let mut sums = Self { at_s, checkpoint_s: self.checkpoint_s + running_s, ..self.clone() };
        self.began_s.into_iter().for_each(|began_s| sums.add_time(began_s, at_s));
        sums
    }

    fn add_time(&mut self, from_s: f64, to_s: f64) {
        self.times.push_back((from_s, to_s));
        if self.times.len() > MOST_TIMES {
            self.times.pop_front();
        }
    }

    /// The times within a span that begins then, in seconds since its begin; none if there may have been earlier ones.
    fn times_since(&self, begin_s: f64) -> Vec<(f64, f64)> {
        if self.times.len() == MOST_TIMES && self.times[0].1 > begin_s {
            return Vec::new();
        }
        let within = self.times.iter().filter(|(_, to_s)| *to_s > begin_s);
        within.map(|(from_s, to_s)| ((from_s - begin_s).max(0.0), to_s - begin_s)).collect()
    }

    /// What was logged in between, as far as the log has it.
    pub(crate) fn since(&self, earlier: &Self, log: &ServerLog) -> ServerDigest {
        let over_s = self.at_s - earlier.at_s;
        let has = |setting: &str| log.has(setting);
        ServerDigest {
            checkpoints: has("log_checkpoints").then(|| self.checkpoints - earlier.checkpoints),
            // Of one that began before the log was followed, its begin was not known yet.
            checkpoint_s: has("log_checkpoints")
                .then(|| (self.checkpoint_s - earlier.checkpoint_s).clamp(0.0, over_s.max(0.0))),
            autovacuums: has("log_autovacuum_min_duration").then(|| self.autovacuums - earlier.autovacuums),
            lock_waits: has("log_lock_waits").then(|| self.lock_waits - earlier.lock_waits),
            checkpoint_times: if has("log_checkpoints") {
                self.times_since(earlier.at_s)
            } else {
                Vec::new()
            },
            ..ServerDigest::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn sample(view: &str, column: &str, change: f64) -> CounterSample {
        let columns = BTreeMap::from([(column.to_owned(), change)]);
        CounterSample { views: BTreeMap::from([(view.to_owned(), columns)]), ..CounterSample::default() }
    }

    #[test]
    fn counters_count_from_the_first_reading_to_a_reset() {
        let counted = Counted::new(180_000);
        let before = counted.now();
        counted.add(None);
        assert_eq!(counted.now().since(&before), ServerDigest::default(), "the begin is not known");
        let begin = counted.now();
        counted.add(Some(&sample("pg_stat_wal", "wal_bytes", 8192.0)));
        counted.add(Some(&sample("pg_stat_database", "a b temp_bytes", 100.0)));
        let since = counted.now().since(&begin);
        assert_eq!((since.wal_bytes, since.temp_bytes), (Some(8192), Some(100)));
        let reset = CounterSample { reset: vec!["pg_stat_wal".to_owned()], ..CounterSample::default() };
        counted.add(Some(&reset));
        let since = counted.now().since(&begin);
        assert_eq!((since.wal_bytes, since.temp_bytes), (None, Some(100)));
        let old_server = Counted::new(130_000);
        old_server.add(None);
        let since = old_server.now().since(&old_server.now());
        assert_eq!((since.wal_bytes, since.temp_bytes), (None, Some(0)), "before 14 WAL is not counted");
    }

    fn ended(total_s: f64) -> LogEvent {
        LogEvent::CheckpointEnded { buffers: 1, write_s: total_s, sync_s: 0.0, total_s, longest_sync_s: None }
    }

    #[test]
    fn checkpoints_count_for_the_time_in_which_they_ran() {
        let log = ServerLog::default();
        let mut logged = Logged::default();
        let seconds = |now: &Logged, then: &Logged| now.since(then, &log).checkpoint_s.expect("it is logged");
        let at_5 = logged.until(5.0);
        // It began 8 s before, 3 s before the first mark.
        logged.add(10.0, &ended(8.0));
        let at_12 = logged.until(12.0);
        assert_eq!(at_12.since(&at_5, &log).checkpoint_times, [(0.0, 5.0)], "it began before");
        assert_eq!((seconds(&at_12, &at_5), at_12.since(&at_5, &log).checkpoints), (7.0, Some(1)));
        logged.add(13.0, &LogEvent::CheckpointBegan { reason: "time".to_owned() });
        let at_14 = logged.until(14.0);
        assert_eq!(at_14.since(&at_12, &log).checkpoint_times, [(1.0, 2.0)], "it is running");
        assert_eq!((seconds(&at_14, &at_12), at_14.since(&at_12, &log).checkpoints), (1.0, Some(0)));
        logged.add(16.0, &ended(3.0));
        assert_eq!(seconds(&logged.until(20.0), &at_14), 2.0);
        logged.add(21.0, &LogEvent::CheckpointBegan { reason: "wal".to_owned() });
        logged.add(23.0, &LogEvent::Ready);
        let at_30 = logged.until(30.0);
        assert_eq!(seconds(&at_30, &at_30), 0.0);
        assert_eq!(seconds(&at_30, &at_14), 4.0, "it ended with the server");
        assert_eq!(at_30.since(&at_14, &log).checkpoint_times, [(0.0, 2.0), (7.0, 9.0)]);
    }

    #[test]
    fn what_a_log_does_not_contain_is_not_zero() {
        let silent = ServerLog { silent: vec!["log_checkpoints = off".to_owned()], ..ServerLog::default() };
        let mut logged = Logged::default();
        logged.add(1.0, &LogEvent::LockWait { waited_s: 1.0, acquired: false });
        logged.add(2.0, &LogEvent::LockWait { waited_s: 2.0, acquired: true });
        let since = logged.until(3.0).since(&Logged::default(), &silent);
        assert_eq!((since.checkpoints, since.checkpoint_s, since.lock_waits), (None, None, Some(1)));
        let foreign = ServerLog { is_foreign: true, ..ServerLog::default() };
        assert_eq!(logged.until(3.0).since(&Logged::default(), &foreign), ServerDigest::default());
    }
}
