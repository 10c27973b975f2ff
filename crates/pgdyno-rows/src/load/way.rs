//! Ways of getting rows into a table, and what each takes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Set;

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// One COPY for each table, or for each partition by range: rows are frozen as they are written, and a task that
    /// breaks off begins anew.
    Stream,
    /// COPY in chunks, by several streams into one table; VACUUM freezes the rows afterwards.
    Chunks,
    /// INSERT of rows that the server makes itself, in the same parts; VACUUM freezes them afterwards.
    Server,
}

impl Way {
    /// All, as users name them.
    pub const ALL: [Self; 3] = [Self::Stream, Self::Chunks, Self::Server];

    /// What a user calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Chunks => "chunks",
            Self::Server => "server",
        }
    }
}

/// Rows of accounts that one COPY writes in a second, on a machine of these years.
const COPY_ROWS_PER_S: f64 = 1e6;
/// What every further stream into the same table adds to the first: streams share processors with WAL and the kernel,
/// and one at a time extends the table.
const FURTHER_STREAM: f64 = 0.6;
/// Streams beyond which more add nothing.
const MOST_STREAMS: u64 = 8;
/// Rows a second that VACUUM freezes, which is one process: it reads, changes, logs and writes every page.
const VACUUM_ROWS_PER_S: f64 = 2.5e6;
/// What a row of TPC-C's takes beside one of accounts: it is wider, and most of its columns are parsed.
const TPCC_ROW: f64 = 2.0;
/// Of what they take, the longest of its tables is a third.
const TPCC_TABLES: f64 = 3.0;
/// A stream that takes longer would lose too much to a kill.
const LONGEST_STREAM_S: f64 = 300.0;

/// Seconds that a plain table takes until all its rows are frozen, on a machine of these years: the ratio of ways is
/// what counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// In one stream.
    pub stream_s: f64,
    /// In chunks.
    pub chunks_s: f64,
}

impl Cost {
    /// Of so many rows of one table by so many streams.
    pub fn of(rows: u64, streams: u64) -> Self {
        Self::side_by_side(rows as f64, 1.0, streams)
    }

    /// Of so many rows of all tables of a set.
    pub fn of_set(set: Set, rows: u64, streams: u64) -> Self {
        match set {
            Set::Tpcb | Set::Scaleup => Self::of(rows, streams),
            Set::Tpcc => Self::side_by_side(rows as f64 * TPCC_ROW, TPCC_TABLES, streams),
        }
    }

    /// Of tables that can be filled side by side, of which so many would be equally long.
    fn side_by_side(rows: f64, tables: f64, streams: u64) -> Self {
        let speedup = 1.0 + FURTHER_STREAM * (streams.clamp(1, MOST_STREAMS) - 1) as f64;
        let (copy_s, vacuum_s) = (rows / COPY_ROWS_PER_S, rows / VACUUM_ROWS_PER_S);
        let chunks_s = copy_s / speedup + vacuum_s / speedup.min(tables);
        Self { stream_s: copy_s / speedup.min(tables), chunks_s }
    }

    /// The way that takes less, where its tasks are not too long to lose one.
    pub fn way(&self) -> Way {
        let stream = self.stream_s <= self.chunks_s && self.stream_s <= LONGEST_STREAM_S;
        if stream { Way::Stream } else { Way::Chunks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_side_by_side_need_fewer_chunks() {
        let way = |rows, streams| Cost::of_set(Set::Tpcc, rows, streams).way();
        let ten_warehouses = 4_990_410;
        assert_eq!(
            [1, 2, 4, 64].map(|streams| way(ten_warehouses, streams)),
            [Way::Stream, Way::Stream, Way::Stream, Way::Chunks]
        );
        assert_eq!(way(1_000 * ten_warehouses, 4), Way::Chunks, "hours of one stream are not put at risk");
    }

    #[test]
    fn few_streams_write_once_and_many_write_twice() {
        let way = |rows, streams| Cost::of(rows, streams).way();
        let scale_100 = 10_000_000;
        assert_eq!(
            [1, 2, 4, 64].map(|streams| way(scale_100, streams)),
            [Way::Stream, Way::Stream, Way::Chunks, Way::Chunks]
        );
        assert_eq!(way(1_000 * scale_100, 1), Way::Chunks, "hours of one stream are not put at risk");
    }
}
