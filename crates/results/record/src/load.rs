//! The load of tables in `run.json`.

use pgdyno_core::observe::Digest;
use pgdyno_rows::load::{AccountsState, KeyLimit, LoadPlan, LoadRequest, Set, Way};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::VerificationRecord;

/// Rows, bytes and durations of a load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadRecord {
    /// Rows in all tables; of a load that did not complete, those that were sent.
    pub rows: u64,
    /// Rows that the tables kept when the load ended early: a resumed load adds the others. Absent if it completed, was
    /// killed, or lost its server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_rows: Option<u64>,
    /// Rows per second while rows were written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_per_s: Option<f64>,
    /// Bytes sent in COPY data.
    pub copy_bytes: u64,
    /// Bytes of COPY data per second; absent if none was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_bytes_per_s: Option<u64>,
    /// Seconds for creating the tables and writing the rows.
    pub copy_s: f64,
    /// Seconds for VACUUM and ANALYZE.
    pub vacuum_s: f64,
    /// Seconds for primary and foreign keys.
    pub index_s: f64,
    /// The stages in execution order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<LoadStageRecord>,
    /// Parallel workers that built a primary key of accounts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_workers: Option<KeyWorkersRecord>,
    /// Size of tables and indexes after the load in bytes.
    pub size_bytes: u64,
    /// `text` or `binary`; `none` if the server generated the rows.
    pub copy_format: String,
    /// Whether rows were loaded with COPY FREEZE.
    pub freeze: bool,
    /// How the tables were read into shared buffers after the load; absent if they do not fit, and for `scaleup` if the
    /// server has no `pg_prewarm`.
    pub prewarm: Option<PrewarmRecord>,
    /// The requested kind of load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terms: Option<LoadTerms>,
    /// The resulting state of `pgbench_accounts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accounts: Option<AccountsState>,
    /// Duration of the whole load in seconds, without its comparison; absent for loads within a benchmark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<f64>,
    /// Tasks done by this process; others may have shared the load, or begun it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<u64>,
    /// What was written over time, in at most some hundred intervals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub progress: Vec<LoadProgressRecord>,
    /// The comparison of all rows after the load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<VerificationRecord>,
    /// Why the rows were not compared by this process, if they were not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unverified: Option<String>,
}

/// An interval of a load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadProgressRecord {
    /// Begin in seconds since that of the load.
    pub start_s: f64,
    /// End in seconds since the begin of the load.
    pub end_s: f64,
    /// Rows sent by this process in the interval. A chunk counts when the server has received all of it.
    pub rows: u64,
    /// Rows per second.
    pub rows_per_s: f64,
    /// Bytes of WAL that the server wrote in the interval, for any session; absent if it does not report them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wal_bytes: Option<u64>,
}

impl LoadRecord {
    /// Adds another set of tables, loaded after this one: amounts and times are sums.
    #[must_use]
    pub fn with_set(self, other: &Self) -> Self {
        let copy_s = self.copy_s + other.copy_s;
        let (rows, copy_bytes) = (self.rows + other.rows, self.copy_bytes + other.copy_bytes);
        let mut stages = self.stages;
        for (one, more) in stages.iter_mut().zip(&other.stages) {
            one.duration_s += more.duration_s;
            let sum = |one: Option<u64>, more: Option<u64>| Some(one? + more?);
            one.wal_bytes = sum(one.wal_bytes, more.wal_bytes);
            one.temp_bytes = sum(one.temp_bytes, more.temp_bytes);
            one.rows_per_s = one.rows_per_s.map(|_| rows as f64 / one.duration_s);
            for (phase, more) in one.phases.iter_mut().zip(&more.phases) {
                phase.duration_s += more.duration_s;
            }
        }
        let prewarm = self.prewarm.zip(other.prewarm.as_ref());
        Self {
            rows,
            rows_per_s: self.rows_per_s.map(|_| rows as f64 / copy_s),
            copy_bytes,
            copy_bytes_per_s: self.copy_bytes_per_s.map(|_| (copy_bytes as f64 / copy_s) as u64),
            copy_s,
            vacuum_s: self.vacuum_s + other.vacuum_s,
            index_s: self.index_s + other.index_s,
            stages,
            size_bytes: self.size_bytes + other.size_bytes,
            prewarm: prewarm
                .map(|(one, more)| PrewarmRecord { duration_s: one.duration_s + more.duration_s, ..one }),
            ..self
        }
    }

    /// The method of loading rows, as shown in a comparison.
    pub fn words(&self) -> String {
        let frozen = if self.freeze { ", frozen" } else { "" };
        match self.terms.as_ref().and_then(|terms| terms.options.method) {
            Some(Way::Server) => "INSERT by the server".to_owned(),
            Some(Way::Chunks) => format!("COPY {} in chunks", self.copy_format),
            Some(Way::Stream) | None => format!("COPY {}{frozen}", self.copy_format),
        }
    }
}

/// A stage of a load, which comprises all tasks of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadStageRecord {
    /// `rows`, `vacuum`, `analyze`, `primary keys`, `key of the whole` or `foreign keys`.
    pub name: String,
    /// Duration of the stage in seconds.
    pub duration_s: f64,
    /// Bytes of WAL that the server wrote during the stage, for any session; absent if the server does not report them.
    pub wal_bytes: Option<u64>,
    /// Bytes of temporary files that the server wrote for this database during the stage, as far as it reported them in
    /// time; absent if it does not report them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temp_bytes: Option<u64>,
    /// Rows of all tables per second of the stage; absent if other processes took part, or did so before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_per_s: Option<f64>,
    /// Sampled phases, in the order in which they were first seen. Phases shorter than 0.2 s may be missing.
    pub phases: Vec<LoadPhaseRecord>,
    /// What observers saw meanwhile; absent if there were none, and for a benchmark's own load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed: Option<Box<Digest>>,
}

/// A phase of VACUUM or of building keys.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPhaseRecord {
    /// Name of the phase as the server reports it; for keys before PostgreSQL 12, derived from their files.
    pub name: String,
    /// Seconds in this phase, added over all server processes without parallel workers.
    pub duration_s: f64,
    /// Bytes that the processes in this phase fetched from devices, with their parallel workers, as far as samples saw
    /// it; absent if they may not be read, or are on another machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Bytes fetched per second of `duration_s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_bytes_per_s: Option<u64>,
    /// Bytes that these processes caused to be written to devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// Bytes written per second of `duration_s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_bytes_per_s: Option<u64>,
}

/// Parallel workers that built a primary key of accounts: requested, planned and launched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyWorkersRecord {
    /// Requested: `max_parallel_maintenance_workers` of the session; absent if the server has no such setting.
    pub asked: Option<u64>,
    /// Planned by the server, over all keys of accounts; absent before PostgreSQL 11.
    pub planned: Option<RangeRecord>,
    /// Launched, as sampled; absent if no sample saw a key being built, and before PostgreSQL 13.
    pub launched: Option<RangeRecord>,
    /// What allows a key fewer workers than were requested by `--key-workers` or `key_workers`, the lowest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<KeyLimit>,
}

/// Range of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RangeRecord {
    /// Smallest value.
    pub least: u64,
    /// Largest value.
    pub most: u64,
}

/// The requested kind of load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadTerms {
    /// The set of tables: TPC-B's, or `test` and `log` of `data.scaleup`.
    #[serde(default, skip_serializing_if = "is_tpcb")]
    pub set: Set,
    /// Parallel connections of the load.
    pub streams: u64,
    /// The options with their values.
    #[serde(flatten)]
    pub options: LoadRequest,
}

fn is_tpcb(set: &Set) -> bool {
    *set == Set::Tpcb
}

impl LoadTerms {
    /// The terms of a plan that is executed over this number of connections.
    pub fn new(plan: &LoadPlan, streams: u64) -> Self {
        let options = LoadRequest { jobs: None, ..LoadRequest::of(plan, streams) };
        Self { set: plan.set, streams, options }
    }
}

/// Reading the tables into shared buffers after a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PrewarmRecord {
    /// `pg_prewarm` or `scans`.
    pub method: String,
    /// Duration in seconds.
    pub duration_s: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_that_were_loaded_one_after_the_other_are_a_sum() {
        let one = |rows: u64, copy_s: f64| LoadRecord {
            rows,
            rows_per_s: Some(rows as f64 / copy_s),
            copy_bytes: rows * 10,
            copy_bytes_per_s: Some((rows as f64 * 10.0 / copy_s) as u64),
            copy_s,
            size_bytes: rows * 100,
            stages: vec![LoadStageRecord {
                name: "rows".into(),
                duration_s: copy_s,
                wal_bytes: Some(rows),
                temp_bytes: None,
                rows_per_s: Some(rows as f64 / copy_s),
                phases: Vec::new(),
                observed: None,
            }],
            ..LoadRecord::default()
        };
        let both = one(100, 2.0).with_set(&one(300, 2.0));
        assert_eq!((both.rows, both.rows_per_s, both.size_bytes), (400, Some(100.0), 40_000));
        assert_eq!((both.copy_bytes_per_s, both.copy_s), (Some(1_000), 4.0));
        let stage = &both.stages[0];
        assert_eq!((stage.wal_bytes, stage.temp_bytes, stage.rows_per_s), (Some(400), None, Some(100.0)));
    }
}
