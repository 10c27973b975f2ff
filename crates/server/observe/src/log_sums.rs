//! Sums of a log over several time spans, for events that another program read.

use pgdyno_core::observe::{LogEvent, ServerDigest};

use crate::{server_log::ServerLog, totals::Logged};

/// Sums of a server's log over several times.
#[derive(Debug)]
pub struct LogSums {
    log: ServerLog,
    logged: Logged,
    /// Edges in the order of time, each with the index of its time.
    edges: Vec<(f64, usize)>,
    passed: usize,
    /// The sums at the begin of each time.
    begun: Vec<Option<Logged>>,
    found: Vec<ServerDigest>,
}

impl LogSums {
    /// Of a log with these gaps, over times between two instants in seconds.
    pub fn new(log: ServerLog, times: &[(f64, f64)]) -> Self {
        let each = times.iter().enumerate();
        let mut edges: Vec<_> = each.flat_map(|(index, (from, to))| [(*from, index), (*to, index)]).collect();
        edges.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (begun, found) = (vec![None; times.len()], vec![ServerDigest::default(); times.len()]);
        Self { log, logged: Logged::default(), edges, passed: 0, begun, found }
    }

    /// Adds the next event of the log.
    pub fn add(&mut self, at_s: f64, event: &LogEvent) {
        self.pass(at_s);
        self.logged.add(at_s, event);
    }

    /// The sums of each time.
    pub fn digests(mut self) -> Vec<ServerDigest> {
        self.pass(f64::INFINITY);
        self.found
    }

    /// Passes the edges before an instant.
    fn pass(&mut self, at_s: f64) {
        while let Some((edge_s, index)) =
            self.edges.get(self.passed).copied().filter(|(edge_s, _)| *edge_s <= at_s)
        {
            self.passed += 1;
            let now = self.logged.until(edge_s);
            match &self.begun[index] {
                Some(begun) => self.found[index] = now.since(begun, &self.log),
                None => self.begun[index] = Some(now),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_has_its_own_events() {
        let mut sums = LogSums::new(ServerLog::default(), &[(0.0, 10.0), (4.0, 8.0), (10.0, 20.0)]);
        sums.add(1.0, &LogEvent::LockWait { waited_s: 1.0, acquired: false });
        sums.add(5.0, &LogEvent::CheckpointBegan { reason: "time".to_owned() });
        sums.add(7.0, &LogEvent::LockWait { waited_s: 1.0, acquired: false });
        sums.add(
            12.0,
            &LogEvent::CheckpointEnded {
                buffers: 1,
                write_s: 7.0,
                sync_s: 0.0,
                total_s: 7.0,
                longest_sync_s: None,
            },
        );
        let found = sums.digests();
        let figures: Vec<_> =
            found.iter().map(|of| (of.lock_waits, of.checkpoints, of.checkpoint_s)).collect();
        let want = [(2, 0, 5.0), (1, 0, 3.0), (0, 1, 2.0)];
        assert_eq!(figures, want.map(|(locks, ended, s)| (Some(locks), Some(ended), Some(s))));
    }

    #[test]
    fn what_a_log_does_not_contain_stays_absent() {
        let log = ServerLog::of_another(vec!["log_lock_waits = off".to_owned()], false);
        let found = LogSums::new(log, &[(0.0, 1.0)]).digests();
        assert_eq!((found[0].lock_waits, found[0].checkpoints), (None, Some(0)));
    }
}
