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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn the_parts_add_up_to_the_whole() {
        let mut record = fixtures::complete().record;
        record.runs.truncate(2);
        for run in &mut record.runs {
            (run.warmup_ns, run.duration_ns) = (1_000_000_000, 4_000_000_000);
            run.start_s = 8.0;
            (run.reset_s, run.checkpoint_s, run.connect_ns) = (Some(0.5), Some(0.25), 250_000_000);
        }
        let stage = |name: &str, start_s, duration_s| StageRecord { name: name.into(), start_s, duration_s };
        record.stages = vec![
            stage("server", 0.5, 2.0),
            stage("load", 2.5, 3.0),
            stage("setup", 5.5, 1.0),
            stage("measure", 6.5, 12.5),
            stage("check", 19.0, 1.5),
        ];
        let time = TimeRecord::of(&record.stages, &record.runs, &[]).expect("there are runs");
        let expected = TimeRecord {
            whole_s: 20.0,
            server_s: 2.0,
            load_s: 4.0,
            reset_s: 1.0,
            warmup_s: 2.0,
            measured_s: 8.0,
            checkpoint_s: 0.5,
            connect_s: 0.5,
            rest_s: 2.0,
            overhead_s: 2.5,
        };
        assert_eq!(time, expected);
        let again = ResumedRecord {
            at: "2026-11-20T11:00:00Z".into(),
            at_s: 120.5,
            ended_by: None,
            first_run: 2,
            dropped_runs: 0,
        };
        record.stages.push(stage("server", 120.5, 1.0));
        let resumed = TimeRecord::of(&record.stages, &record.runs, &[again]).expect("there are runs");
        assert_eq!(resumed.whole_s, 21.0, "the hundred seconds between are nobody's");
        record.runs.clear();
        assert_eq!(TimeRecord::of(&record.stages, &record.runs, &[]), None);
    }
}
