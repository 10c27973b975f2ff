//! Log of single attempts, handed from the worker to the collecting thread.

use pgdyno_core::random::Random;

use crate::{
    LogRecord, LogSettings,
    chooser::stream,
    worker_channel::{WorkerChannel, WorkerMessage},
};

/// Attempts handed over in one buffer.
const RECORDS: usize = 2048;
/// Most buffers of one worker: about 6 MiB. When all are full, the loop waits for the writer, as pgbench's loop waits
/// for its log file.
const BUFFERS: usize = 64;

/// Buffer of attempts not handed over yet. Buffers come back emptied, so that the loop allocates none once all exist.
#[derive(Debug)]
pub(crate) struct LogBuffer {
    records: Vec<LogRecord>,
    made: usize,
    /// Sampling share and random stream; `None` logs every attempt.
    chance: Option<(f64, Random)>,
}

impl LogBuffer {
    pub(crate) fn new(settings: &LogSettings, worker: usize) -> Self {
        let chance = (settings.share < 1.0).then(|| (settings.share, stream(&settings.streams, worker)));
        Self { records: Vec::with_capacity(RECORDS), made: 1, chance }
    }

    #[inline]
    pub(crate) fn add(&mut self, record: LogRecord, channel: &WorkerChannel) {
        if let Some((share, random)) = &mut self.chance {
            // The 53 high bits make a number in [0, 1).
            if (random.next_bits() >> 11) as f64 / (1_u64 << 53) as f64 >= *share {
                return;
            }
        }
        self.records.push(record);
        if self.records.len() == RECORDS {
            self.hand_over(channel);
        }
    }

    /// Hands over the buffered attempts.
    pub(crate) fn hand_over(&mut self, channel: &WorkerChannel) {
        if self.records.is_empty() {
            return;
        }
        let full = std::mem::take(&mut self.records);
        // The receiver is gone only if the run was given up; nobody needs the attempts then.
        let _ = channel.to.send((channel.worker, WorkerMessage::Log(full)));
        self.records = self.empty(channel);
    }

    fn empty(&mut self, channel: &WorkerChannel) -> Vec<LogRecord> {
        if let Ok(spare) = channel.spare_logs.try_recv() {
            return spare;
        }
        if self.made >= BUFFERS
            && let Ok(spare) = channel.spare_logs.recv()
        {
            return spare;
        }
        self.made += 1;
        Vec::with_capacity(RECORDS)
    }
}
