//! What a measuring command wants done.

use pgdyno_plan::{Material, Plan, advice::bench::Level};
use pgdyno_provision::Request;
use pgdyno_wire::ConnectOptions;

use super::{ab::Compare, subjects::Subjects};

/// What a measuring command wants done.
#[derive(Debug)]
pub struct Job {
    /// The experiment.
    pub plan: Plan,
    /// What it brings of its own: one workload for each of the plan's.
    pub material: Material,
    /// Whether its scripts may run programs on this machine.
    pub trust: bool,
    /// Whether to end when it is known and told what would be done.
    pub dry_run: bool,
    /// How much time it may take.
    pub level: Level,
    /// The servers, each there or to be made: one, or in a comparison those of the arms.
    pub servers: Vec<Wanted>,
    /// What is compared, where that is the question.
    pub compare: Option<Compare>,
    /// What is measured side by side, where there are several servers and no comparison of two.
    pub subjects: Option<Subjects>,
    /// The exact command line, without secrets.
    pub command: String,
    /// Whether that line names the seed.
    pub seed_given: bool,
    /// Whether an own server stays, with its data, when the run is over.
    pub keep: bool,
    /// What is printed on stdout at the end, and written elsewhere.
    pub output: Output,
}

/// Which server.
#[derive(Debug)]
pub enum Wanted {
    /// One that is already there.
    External(Box<External>),
    /// One to be made for this run.
    Own(Box<Request>),
}

/// A server that is already there.
#[derive(Debug)]
pub struct External {
    /// How the driver's clients connect.
    pub drive: ConnectOptions,
    /// How everything else does, where that is another way.
    pub admin: Option<ConnectOptions>,
}

impl External {
    /// How everything but the driver's clients connects.
    pub fn admin(&self) -> &ConnectOptions {
        self.admin.as_ref().unwrap_or(&self.drive)
    }
}

/// What becomes of the result.
#[derive(Debug, Default)]
pub struct Output {
    /// Print `run.json` instead of the report.
    pub json: bool,
    /// Write the report to this file too; its ending says in which form.
    pub out: Option<std::path::PathBuf>,
}
