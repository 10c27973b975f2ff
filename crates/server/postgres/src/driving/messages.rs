//! Messages between pgdyno and its driver processes, as lines of JSON over pipes.

use std::io::{self, Write};

use pgdyno_core::{
    facts::{CommitSettings, SessionsSeen},
    problem::{Problem, ProblemKind},
    tpcc::Shares,
};
use pgdyno_engine::{MergedInterval, Report};
use pgdyno_plan::TpccWork;
use pgdyno_script::{Protocol, tpcc::TerminalParams};
use pgdyno_wire::Handover;
use serde::{Deserialize, Serialize};

use crate::driving::part::{Share, Terms};

/// A message to a driver process.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// Connect the clients of some sets of tables.
    Connect(Box<Task>),
    /// Get ready to drive them.
    Run(Box<Terms>),
    /// Begin, at an instant of the monotonic clock, which all processes of a machine share.
    Begin {
        /// The instant in nanoseconds.
        at_ns: u64,
    },
    /// End at once.
    Stop {
        /// Why.
        reason: String,
    },
}

/// The sets of tables that a driver process drives.
#[derive(Debug, Serialize, Deserialize)]
pub struct Task {
    /// How TPC-C runs.
    pub work: TpccWork,
    /// How statements are sent.
    pub protocol: Protocol,
    /// Seed of the plan.
    pub seed: u64,
    /// Number of the random streams of the clients.
    pub draws: u32,
    /// The sets.
    pub sets: Vec<SetTask>,
}

/// One set of tables.
#[derive(Debug, Serialize, Deserialize)]
pub struct SetTask {
    /// Its schema or database.
    pub name: String,
    /// How its clients connect.
    pub connection: Handover,
    /// Its clients.
    pub share: Share,
    /// Parameters of its terminals.
    pub terminals: TerminalParams,
}

/// A message from a driver process.
#[derive(Debug, Serialize, Deserialize)]
pub enum DriverEvent {
    /// All clients are connected.
    Connected {
        /// How long it took.
        connect_ns: u64,
    },
    /// One more set is ready to begin.
    Ready,
    /// An interval of a set has ended.
    Interval {
        /// Index of the set in the task.
        set: usize,
        /// Its measurements.
        interval: Box<MergedInterval>,
    },
    /// The run of a set is over.
    Ended {
        /// Index of the set in the task.
        set: usize,
        /// Its results.
        end: Box<SetEnd>,
    },
    /// It cannot continue.
    Failed(Failure),
}

/// Results of a set of tables.
#[derive(Debug, Serialize, Deserialize)]
pub struct SetEnd {
    /// Its measurements.
    pub report: Report,
    /// Counts of inputs.
    pub shares: Shares,
    /// Commit settings of a session at the start.
    pub start: Option<CommitSettings>,
    /// Commit settings at the end, with the number of sessions of each.
    pub end: Vec<(CommitSettings, u64)>,
}

impl SetEnd {
    /// Results of a set, with what its sessions showed.
    pub fn new(report: Report, shares: Shares, seen: SessionsSeen) -> Self {
        Self { report, shares, start: seen.start, end: seen.end.into_iter().collect() }
    }

    /// What its sessions showed.
    pub fn seen(&self) -> SessionsSeen {
        let end = self.end.iter().cloned().collect();
        SessionsSeen { start: self.start.clone(), end, same_sessions: false }
    }
}

/// A problem of a driver process.
#[derive(Debug, Serialize, Deserialize)]
pub struct Failure {
    is_wrong_request: bool,
    what: String,
    detail: Option<String>,
    hint: Option<String>,
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let Problem { kind, what, detail, hint } = problem;
        Self { is_wrong_request: kind == ProblemKind::WrongRequest, what, detail, hint }
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        let Failure { is_wrong_request, what, detail, hint } = failure;
        let kind = if is_wrong_request { ProblemKind::WrongRequest } else { ProblemKind::CouldNotComplete };
        Self { kind, what, detail, hint }
    }
}

/// Sends a message as one line.
///
/// # Errors
/// The other process has ended.
pub fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}
