//! The request of a measuring command.

use std::path::PathBuf;

use pgdyno_analysis::compare::{Asked, ComparedRate, Look};
use pgdyno_plan::{HostPlan, Plan, Work, WorkloadFiles, advice::bench::Level};
use pgdyno_provision::Request;
use pgdyno_record::{RunRecord, SubjectRecord};
use pgdyno_rows::load::LoadRequest;
use pgdyno_script::{Builtin, Protocol};
use pgdyno_wire::ConnectOptions;
use regex_lite::Regex;

/// pgbench's result line, in all versions. Of two such lines the last one excludes connection time.
pub const PGBENCH_RESULT: &str = r"(?m)^tps = ([0-9.eE+-]+)";

/// The request of a measuring command.
#[derive(Debug)]
pub struct Job {
    /// The plan.
    pub plan: Plan,
    /// Files of the plan: one workload for each of the plan's.
    pub workload_files: WorkloadFiles,
    /// Whether scripts may run programs on this machine.
    pub trust: bool,
    /// How thorough the run is.
    pub level: Level,
    /// The servers.
    pub servers: Vec<Wanted>,
    /// The subjects; at least one.
    pub subjects: Vec<SubjectJob>,
    /// The question that the runs answer.
    pub question: Question,
    /// The exact command line, without secrets.
    pub command: String,
    /// Whether the command line names the seed.
    pub seed_given: bool,
    /// Whether own servers are kept with their data after the run.
    pub keep: bool,
    /// Whether the host may be changed for the runs.
    pub allow_host_changes: bool,
}

/// A subject.
#[derive(Debug, Clone)]
pub struct SubjectJob {
    /// Unique name.
    pub name: String,
    /// What was requested for it, without secrets; empty if the whole command says it.
    pub said: String,
    /// Requested differences from the first subject.
    pub asked: Asked,
    /// Index of its server in the job's list; `None` for a command that brings its own, and for storage.
    pub server: Option<usize>,
    /// What the subject runs.
    pub work: SubjectWork,
    /// How the tables on its server are loaded, if not as the plan says.
    pub load: Option<LoadRequest>,
    /// Its client count, if not the plan's.
    pub clients: Option<u32>,
    /// How its clients connect to an existing server, if not as those of other subjects do.
    pub drive: Option<ConnectOptions>,
    /// What of the host is changed for its runs.
    pub host: HostPlan,
}

/// The work of a subject.
#[derive(Debug, Clone)]
pub enum SubjectWork {
    /// The plan's workloads.
    Plan,
    /// A script with its protocol, run by pgdyno.
    Script {
        /// The script.
        work: Box<Work>,
        /// How statements are sent.
        protocol: Protocol,
    },
    /// A command that measures and prints a rate.
    Command(Measured),
    /// The tables of the plan, loaded again in every run.
    Load,
    /// The storage below a directory, without a server.
    Storage(StorageWork),
}

/// What is measured of the storage below a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageWork {
    /// The directory.
    pub dir: PathBuf,
    /// What is compared.
    pub operation: StorageOperation,
}

/// An operation on storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageOperation {
    /// A write of 8 KiB with `fdatasync`.
    Sync,
    /// A random read of 8 KiB, past the page cache.
    Read,
}

/// An external command that measures.
#[derive(Debug, Clone)]
pub struct Measured {
    /// The command line for the shell, with placeholders such as `{seconds}`, `{clients}` and `{jobs}`.
    pub text: String,
    /// Finds the result: the first group is the rate, the last match counts.
    pub result: Regex,
}

/// The question that the runs answer.
#[derive(Debug)]
pub enum Question {
    /// The result of each level, and of every subject compared with the first.
    Levels,
    /// Whether the second subject, B, is faster than the first, A.
    Comparison(Compare),
}

/// Terms of a comparison of A and B.
#[derive(Debug)]
pub struct Compare {
    /// The looks.
    pub looks: Vec<Look>,
    /// The rate that is compared.
    pub by: ComparedRate,
    /// Whether blocks disturbed by other load count.
    pub keep_disturbed: bool,
    /// Whether runs are slots: one after the other over connections that stay open, with no work between them.
    pub slots: bool,
    /// Whether a slower B makes the command fail.
    pub fail_if_slower: bool,
}

/// A server of a job.
#[derive(Debug)]
pub enum Wanted {
    /// An existing server.
    External(Box<External>),
    /// A server that pgdyno starts for this run.
    Own(Box<Request>),
}

/// Connections to an existing server.
#[derive(Debug)]
pub struct External {
    /// How the driver's clients connect.
    pub drive: ConnectOptions,
    /// How all other sessions connect, if not in that way.
    pub admin: Option<ConnectOptions>,
}

/// Name of the only subject.
pub const ONLY: &str = "server";

impl Job {
    /// The connections to all existing servers.
    pub fn connections(&self) -> Vec<ConnectOptions> {
        let external = self.servers.iter().filter_map(|server| match server {
            Wanted::External(external) => Some(external),
            Wanted::Own(_) => None,
        });
        let of_servers =
            external.flat_map(|server| [Some(server.drive.clone()), server.admin.clone()]).flatten();
        of_servers.chain(self.subjects.iter().filter_map(|subject| subject.drive.clone())).collect()
    }

    /// The terms of the comparison, if the job is one.
    pub fn comparison(&self) -> Option<&Compare> {
        match &self.question {
            Question::Comparison(compare) => Some(compare),
            Question::Levels => None,
        }
    }

    /// Whether runs are slots of a comparison.
    pub fn has_slots(&self) -> bool {
        self.comparison().is_some_and(|compare| compare.slots)
    }

    /// Whether runs load the tables.
    pub fn loads_in_runs(&self) -> bool {
        self.subjects.iter().any(|subject| matches!(subject.work, SubjectWork::Load))
    }

    /// Whether there are several subjects.
    pub fn has_several(&self) -> bool {
        self.subjects.len() > 1
    }

    /// The subjects on a server of the job, with their indexes.
    pub fn subjects_at(&self, server: usize) -> impl Iterator<Item = (usize, &SubjectJob)> {
        self.subjects.iter().enumerate().filter(move |(_, subject)| subject.server == Some(server))
    }

    /// The records of the subjects on a server of the job, with their indexes.
    pub fn records_at<'a>(
        &'a self,
        record: &'a mut RunRecord,
        server: usize,
    ) -> impl Iterator<Item = (usize, &'a mut SubjectRecord)> {
        let all = record.subjects.iter_mut().enumerate().zip(&self.subjects);
        all.filter(move |(_, subject)| subject.server == Some(server)).map(|(record, _)| record)
    }

    /// Whether all subjects are on one server.
    pub fn has_one_server(&self) -> bool {
        let first = self.subjects.first().and_then(|subject| subject.server);
        first.is_some() && self.subjects.iter().all(|subject| subject.server == first)
    }

    /// How the tables of a server are loaded.
    pub fn load_at(&self, server: usize) -> &LoadRequest {
        self.subjects_at(server).find_map(|(_, subject)| subject.load.as_ref()).unwrap_or(&self.plan.load)
    }

    /// How the tables of a server are loaded for a workload of the plan.
    pub fn load_for(&self, server: usize, workload: usize) -> LoadRequest {
        let of_server = self.load_at(server);
        let own = self.plan.workload.get(workload).map(|workload| &workload.load);
        own.map_or_else(|| of_server.clone(), |own| own.over(of_server))
    }

    /// Whether workloads have loads of their own.
    pub fn has_loads_of_workloads(&self) -> bool {
        self.plan.workload.iter().any(|workload| !workload.load.is_default())
    }

    /// How tables are loaded on any server for any workload; without either, how the plan loads tables.
    pub fn all_loads(&self) -> Vec<LoadRequest> {
        let workloads = 0..self.plan.workload.len().max(1);
        let each = |server| workloads.clone().map(move |workload| self.load_for(server, workload));
        (0..self.servers.len().max(1)).flat_map(each).collect()
    }

    /// How the tables of each server are loaded; without servers, how the plan loads tables.
    pub fn loads(&self) -> Vec<&LoadRequest> {
        match self.servers.len() {
            0 => vec![&self.plan.load],
            servers => (0..servers).map(|server| self.load_at(server)).collect(),
        }
    }

    /// Whether all servers are loaded alike.
    pub fn loads_alike(&self) -> bool {
        self.loads().windows(2).all(|two| two[0] == two[1])
    }

    /// Whether all tables of a run are loaded alike: on all servers, for all workloads.
    pub fn loads_all_alike(&self) -> bool {
        self.all_loads().windows(2).all(|two| two[0] == two[1])
    }

    /// Whether subjects have client counts of their own.
    pub fn has_own_clients(&self) -> bool {
        self.subjects.iter().any(|subject| subject.clients.is_some())
    }

    /// Prefixes `words` with the subject of a server, if there are several subjects.
    pub fn of_subject(&self, server: usize, words: &str) -> String {
        let subject = self.subjects_at(server).next().filter(|_| self.has_several());
        subject.map_or_else(|| words.to_owned(), |(_, subject)| format!("{}: {words}", subject.name))
    }

    /// Whether a server runs only known transactions, and some of them write: then its data can be checked.
    pub fn is_known_to_write(&self, server: usize) -> bool {
        let builtins: Option<Vec<Builtin>> =
            self.subjects_at(server).map(|(_, subject)| subject.work.builtin()).collect();
        builtins.is_some_and(|builtins| builtins.into_iter().any(Builtin::writes))
    }

    /// The built-in scripts that pgdyno runs on a server.
    pub fn builtins_at(&self, server: usize) -> Vec<Builtin> {
        let of_plan = || self.plan.workload.iter().filter_map(|workload| workload.as_builtin());
        let of = |subject: &SubjectJob| match &subject.work {
            SubjectWork::Plan => of_plan().collect(),
            SubjectWork::Load | SubjectWork::Storage(_) => Vec::new(),
            other => other.builtin().into_iter().collect::<Vec<_>>(),
        };
        self.subjects_at(server).flat_map(|(_, subject)| of(subject)).collect()
    }
}

impl SubjectJob {
    /// The only subject, on the job's only server.
    pub fn only() -> Self {
        Self {
            name: ONLY.to_owned(),
            said: String::new(),
            asked: Asked::default(),
            server: Some(0),
            work: SubjectWork::Plan,
            load: None,
            clients: None,
            drive: None,
            host: HostPlan::default(),
        }
    }
}

impl SubjectWork {
    /// The script of its own that pgdyno runs for a subject.
    pub fn own(&self) -> Option<&Work> {
        match self {
            Self::Script { work, .. } => Some(work),
            Self::Plan | Self::Command(_) | Self::Load | Self::Storage(_) => None,
        }
    }

    /// The built-in script of a subject with its own script.
    pub fn builtin(&self) -> Option<Builtin> {
        match self {
            Self::Script { work, .. } => work.builtin,
            Self::Plan | Self::Command(_) | Self::Load | Self::Storage(_) => None,
        }
    }
}

impl External {
    /// How all sessions but the driver's clients connect.
    pub fn admin(&self) -> &ConnectOptions {
        self.admin.as_ref().unwrap_or(&self.drive)
    }
}
