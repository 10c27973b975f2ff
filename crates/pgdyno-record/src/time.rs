//! What a run's time went for, stage by stage and over all.

use pgdyno_core::measure::CellRun;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ResumedRecord;

/// One stage of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageRecord {
    /// Name, for example `load`.
    pub name: String,
    /// Start in seconds since the start of the run.
    pub start_s: f64,
    /// Length in seconds.
    pub duration_s: f64,
}

/// What the time went for, in seconds. The parts add up to the whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeRecord {
    /// From the start of the first stage to the end of the last, without the time between an end and a resumption.
    pub whole_s: f64,
    /// Servers being made and started, or reached.
    pub server_s: f64,
    /// Loading, setup and replication, and quiescing the servers afterwards.
    pub load_s: f64,
    /// Data being put back into its first state before runs, and looked at.
    pub reset_s: f64,
    /// Warm-ups.
    pub warmup_s: f64,
    /// Measured intervals.
    pub measured_s: f64,
    /// CHECKPOINTs before and after runs: like resets they give all runs one state to begin from.
    pub checkpoint_s: f64,
    /// Clients connecting before runs.
    #[serde(default)]
    pub connect_s: f64,
    /// All else: drains, the storage check, the check of the data, clean-up, the record.
    pub rest_s: f64,
    /// Connections and all else: what pgdyno's way of measuring takes beside measuring itself.
    pub overhead_s: f64,
}

/// Stages that load.
const LOADING: [&str; 4] = ["load", "setup", "replication", "quiesce"];

impl TimeRecord {
    /// From stages and runs; `None` before the first run.
    pub fn of(all: &[StageRecord], cell_runs: &[CellRun], resumed: &[ResumedRecord]) -> Option<Self> {
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
            reset_s: runs(|run| run.reset_s.unwrap_or(0.0)),
            warmup_s: runs(|run| run.warmup_ns as f64 / 1e9),
            measured_s: runs(|run| run.duration_ns as f64 / 1e9),
            checkpoint_s: runs(|run| run.checkpoint_s.unwrap_or(0.0)),
            connect_s: runs(|run| run.connect_ns as f64 / 1e9),
            ..Self::default()
        };
        let Self {
            whole_s, server_s, load_s, reset_s, warmup_s, measured_s, checkpoint_s, connect_s, ..
        } = parts;
        let named_s = server_s + load_s + reset_s + warmup_s + measured_s + checkpoint_s;
        let overhead_s = (whole_s - named_s).max(0.0);
        Some(Self { rest_s: (overhead_s - connect_s).max(0.0), overhead_s, ..parts })
    }
}

/// Seconds in which nobody worked at the run: before each time that it was resumed.
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
