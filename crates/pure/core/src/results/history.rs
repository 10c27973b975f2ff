//! The recorded runs of one plan on one machine over time, or over builds of the server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The recorded runs of one plan on one machine, as `pgdyno history --format json` prints them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct History {
    /// Name of the plan.
    pub plan: String,
    /// The machine: CPU model, number of CPUs, memory.
    pub machine: String,
    /// The server's build, if all sessions have the same.
    pub build: Option<String>,
    /// The axis.
    pub by: HistoryAxis,
    /// The sessions in order of their begin.
    pub sessions: Vec<Session>,
    /// The scripts, each over all sessions.
    pub scripts: Vec<ScriptHistory>,
    /// Differences between builds, each compared with the one before; empty over time.
    pub builds: Vec<BuildDifference>,
    /// Runs that are not compared, with the reason.
    pub left_out: Vec<LeftOut>,
}

/// The axis of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HistoryAxis {
    /// Time; the server's build is the same in all sessions.
    Time,
    /// Builds of the server, in the order of their first session.
    Build,
}

/// A session: runs less than 20 minutes apart, which share the state of the machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// Number of the session, from 1.
    pub number: u32,
    /// Begin of its first run, RFC 3339 in UTC.
    pub began_at: String,
    /// Names of its run directories.
    pub runs: Vec<String>,
    /// Build of the server.
    pub build: String,
    /// What differs from the session before, besides the results: each as `what: before → now`.
    pub changed: Vec<String>,
}

/// A script over all sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScriptHistory {
    /// Name of the script, with its protocol if that is not `prepared`.
    pub script: String,
    /// Its cells.
    pub cells: Vec<CellHistory>,
    /// TPS of each session over the mean of all, as a share: the mean over the cells that all sessions have. In the
    /// order of the sessions.
    pub over_mean: Vec<f64>,
    /// Change points, ascending.
    pub changes: Vec<ChangePoint>,
}

/// A cell over all sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellHistory {
    /// Client count.
    pub clients: u32,
    /// Requested rate per second; absent for a closed loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// TPS of each session, in their order.
    pub tps: Vec<f64>,
    /// Mean TPS since the last change point.
    pub mean_tps: f64,
    /// Standard deviation of ln(TPS) between the sessions since the last change point, moderated over the cells of the
    /// script; absent with fewer than three sessions.
    pub between_sessions: Option<f64>,
    /// Half-width of the 95 % interval for the result of another session, in the unit of TPS.
    pub another_session: Option<f64>,
}

/// A session from which on the results are others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangePoint {
    /// Number of the first session after it.
    pub session: u32,
    /// Begin of that session, RFC 3339 in UTC.
    pub at: String,
    /// Change of TPS, as a share: the sessions up to the next change point over those since the last.
    pub effect: f64,
    /// Lower end of its 95 % confidence interval (Student's t over sessions).
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Share of series without a change in which some session looks like a change at least as clear.
    pub p: f64,
    /// What else changed in that session.
    pub changed: Vec<String>,
}

/// Two builds that follow each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BuildDifference {
    /// Name of the script.
    pub script: String,
    /// The earlier build.
    pub from: String,
    /// The later build.
    pub to: String,
    /// Number of sessions of the earlier build.
    pub from_sessions: u32,
    /// Number of sessions of the later build.
    pub to_sessions: u32,
    /// Change of TPS as a share.
    pub effect: f64,
    /// Lower end of its 95 % confidence interval; absent with fewer than two sessions of each.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Whether it is significant at 5 % among all differences between builds (Holm).
    pub significant: bool,
}

/// A run that is not compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Name of the run directory.
    pub run: String,
    /// The reason.
    pub why: String,
}
