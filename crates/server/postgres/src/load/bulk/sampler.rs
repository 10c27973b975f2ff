//! Samples what a load writes over time.

use std::time::{Duration, Instant};

use pgdyno_wire::Session;

use super::LoadSample;
use crate::observe::wal_written;

/// Time between two samples.
const INTERVAL: Duration = Duration::from_secs(1);

/// Samples of a load, each from the end of the one before.
pub struct RateSampler {
    start: Instant,
    last: Instant,
    rows: u64,
    wal_bytes: Option<u64>,
}

impl RateSampler {
    /// A sampler of a load that begins now.
    pub fn new(session: &mut Session) -> Self {
        let now = Instant::now();
        Self { start: now, last: now, rows: 0, wal_bytes: wal_written(session) }
    }

    /// The sample that is due, if one is.
    pub fn tend(&mut self, session: &mut Session, rows: u64) -> Option<LoadSample> {
        (self.last.elapsed() >= INTERVAL).then(|| self.sample(session, rows))
    }

    /// The sample from the last one to now; `rows` were sent in all.
    pub fn sample(&mut self, session: &mut Session, rows: u64) -> LoadSample {
        let (now, wal_bytes) = (Instant::now(), wal_written(session));
        let sample = LoadSample {
            start_s: self.last.duration_since(self.start).as_secs_f64(),
            end_s: now.duration_since(self.start).as_secs_f64(),
            rows: rows - self.rows,
            wal_bytes: wal_bytes.zip(self.wal_bytes).map(|(end, begin)| end.saturating_sub(begin)),
        };
        (self.last, self.rows, self.wal_bytes) = (now, rows, wal_bytes);
        sample
    }
}
