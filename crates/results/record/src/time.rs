//! Durations of the stages and parts of a run.

use pgdyno_core::{measure::CellRun, observe::Digest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ResumedRecord, StartRecord};

/// A stage of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageRecord {
    /// Name of the stage, for example `load`.
    pub name: String,
    /// Start in seconds since the start of the run.
    pub start_s: f64,
    /// Duration in seconds.
    pub duration_s: f64,
    /// What observers saw meanwhile; absent if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed: Option<Box<Digest>>,
}

/// Breakdown of the elapsed time in seconds. The parts add up to `whole_s`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeRecord {
    /// From the start of the first stage to the end of the last, without the gaps before resumptions.
    pub whole_s: f64,
    /// Creating and starting own servers, or connecting to existing ones.
    pub server_s: f64,
    /// Loading, setup and replication of tables, and quiescing the servers afterwards.
    pub load_s: f64,
    /// Operations on the tables before and after the runs, as stages of the plan.
    pub operations_s: f64,
    /// Restarts of the servers between runs, and their practice runs.
    pub starts_s: f64,
    /// Restoring and inspecting the data before runs.
    pub reset_s: f64,
    /// Warm-ups.
    pub warmup_s: f64,
    /// Measured intervals.
    pub measured_s: f64,
    /// CHECKPOINTs before and after runs, which give all runs the same initial state.
    pub checkpoint_s: f64,
    /// Connecting the clients before runs.
    pub connect_s: f64,
    /// The rest: drains, storage check, check of the data, clean-up, writing the record.
    pub rest_s: f64,
    /// `connect_s` and `rest_s`: the overhead of pgdyno's method.
    pub overhead_s: f64,
}

/// Stages that count as load.
const LOADING: [&str; 4] = ["load", "setup", "replication", "quiesce"];

/// Stages that are operations.
const OPERATIONS: [&str; 8] = [
    "verify",
    "prewarm",
    "probe ddl",
    "probe count",
    "probe first-touch",
    "probe partitions",
    "probe depth",
    "probe sizes",
];

impl TimeRecord {
    /// Computes the breakdown; `None` before the first run.
    pub fn from_stages(
        all: &[StageRecord],
        cell_runs: &[CellRun],
        starts: &[StartRecord],
        resumed: &[ResumedRecord],
    ) -> Option<Self> {
        let begin_s = all.iter().map(|stage| stage.start_s).reduce(f64::min)?;
        let end_s = all.iter().map(|stage| stage.start_s + stage.duration_s).reduce(f64::max)?;
        if cell_runs.is_empty() {
            return None;
        }
        let stages = |names: &[&str]| -> f64 {
            let own = all.iter().filter(|stage| names.contains(&stage.name.as_str()));
            own.map(|stage| stage.duration_s).sum()
        };
        let runs = |seconds: fn(&CellRun) -> f64| -> f64 { cell_runs.iter().map(seconds).sum() };
        let parts = Self {
            whole_s: end_s - begin_s - idle_s(all, cell_runs, resumed),
            server_s: stages(&["server"]),
            load_s: stages(&LOADING),
            operations_s: stages(&OPERATIONS),
            starts_s: starts.iter().map(|start| start.duration_s).sum(),
            reset_s: runs(|run| run.reset_s.unwrap_or(0.0)),
            warmup_s: runs(|run| run.warmup_ns as f64 / 1e9),
            measured_s: runs(|run| run.duration_ns as f64 / 1e9),
            checkpoint_s: runs(|run| run.checkpoint_s.unwrap_or(0.0)),
            connect_s: runs(|run| run.connect_ns as f64 / 1e9),
            ..Self::default()
        };
        let Self {
            whole_s,
            server_s,
            load_s,
            operations_s,
            starts_s,
            reset_s,
            warmup_s,
            measured_s,
            checkpoint_s,
            connect_s,
            ..
        } = parts;
        let named_s =
            server_s + load_s + operations_s + starts_s + reset_s + warmup_s + measured_s + checkpoint_s;
        let overhead_s = (whole_s - named_s).max(0.0);
        Some(Self { rest_s: (overhead_s - connect_s).max(0.0), overhead_s, ..parts })
    }
}

/// Seconds of the gaps before resumptions.
fn idle_s(all: &[StageRecord], cell_runs: &[CellRun], resumed: &[ResumedRecord]) -> f64 {
    let ends = || {
        let of_stages = all.iter().map(|stage| (stage.start_s, stage.start_s + stage.duration_s));
        of_stages.chain(cell_runs.iter().map(|run| (run.start_s, run.start_s + run.duration_ns as f64 / 1e9)))
    };
    let idle = |again: &ResumedRecord| {
        let last = ends().filter(|(start_s, _)| *start_s < again.at_s).map(|(_, end_s)| end_s);
        last.reduce(f64::max).map_or(0.0, |last_s| (again.at_s - last_s).max(0.0))
    };
    resumed.iter().map(idle).sum()
}
