//! What a measuring command wants done.

use pgdyno_analysis::compare::{Asked, Look};
use pgdyno_plan::{Plan, Work, WorkloadFiles, advice::bench::Level};
use pgdyno_provision::Request;
use pgdyno_script::{Builtin, Protocol};
use pgdyno_wire::ConnectOptions;
use regex_lite::Regex;

/// What pgbench prints, of all versions: of two such lines the last is without the time to connect.
pub const PGBENCH_RESULT: &str = r"(?m)^tps = ([0-9.eE+-]+)";

/// What a measuring command wants done.
#[derive(Debug)]
pub struct Job {
    /// The experiment.
    pub plan: Plan,
    /// What it brings of its own: one workload for each of the plan's.
    pub material: WorkloadFiles,
    /// Whether its scripts may run programs on this machine.
    pub trust: bool,
    /// How much time it may take.
    pub level: Level,
    /// The servers, each there or to be made.
    pub servers: Vec<Wanted>,
    /// What is measured: one, or several beside the first. At least one.
    pub subjects: Vec<SubjectJob>,
    /// What the runs are to answer.
    pub question: Question,
    /// The exact command line, without secrets.
    pub command: String,
    /// Whether that line names the seed.
    pub seed_given: bool,
    /// Whether an own server stays, with its data, when the run is over.
    pub keep: bool,
}

/// One of what is measured.
#[derive(Debug, Clone)]
pub struct SubjectJob {
    /// Its name, which no other has.
    pub name: String,
    /// What was asked for, without secrets; empty where the whole command says it.
    pub said: String,
    /// What of it was asked to differ from the first.
    pub asked: Asked,
    /// Its server's place in the job's list; a command may bring its own.
    pub server: Option<usize>,
    /// What it runs.
    pub work: SubjectWork,
}

/// What a subject runs.
#[derive(Debug, Clone)]
pub enum SubjectWork {
    /// The plan's workloads.
    Plan,
    /// A script that may be its own, driven by pgdyno.
    Script {
        /// The script.
        work: Box<Work>,
        /// How its statements are sent.
        protocol: Protocol,
    },
    /// A command that measures and prints a rate.
    Command(Measured),
}

/// A command and where its result stands.
#[derive(Debug, Clone)]
pub struct Measured {
    /// The command line for a shell, with `{seconds}`, `{clients}` and `{jobs}` in it.
    pub text: String,
    /// Its first group is the rate; the last match counts.
    pub result: Regex,
}

/// What the runs are to answer.
#[derive(Debug)]
pub enum Question {
    /// What each level comes to, and every subject beside the first.
    Levels,
    /// Whether the second subject, B, is faster than the first, A.
    Comparison(Compare),
}

/// How A and B are compared.
#[derive(Debug)]
pub struct Compare {
    /// When the result is looked at.
    pub looks: Vec<Look>,
    /// Blocks of A against A.
    pub aa_blocks: u32,
    /// A difference within ± this share does not matter.
    pub margin: f64,
    /// Whether B being slower is a failure.
    pub fail_if_slower: bool,
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

/// Name of a subject that is the only one.
const ONLY: &str = "server";

impl Job {
    /// How A and B are compared, where that is the question.
    pub fn comparison(&self) -> Option<&Compare> {
        match &self.question {
            Question::Comparison(compare) => Some(compare),
            Question::Levels => None,
        }
    }

    /// Whether there are several subjects.
    pub fn has_several(&self) -> bool {
        self.subjects.len() > 1
    }

    /// The subjects at a server of the job, with their places in the list.
    pub fn subjects_at(&self, server: usize) -> impl Iterator<Item = (usize, &SubjectJob)> {
        self.subjects.iter().enumerate().filter(move |(_, subject)| subject.server == Some(server))
    }

    /// Whether all subjects are at one server.
    pub fn has_one_server(&self) -> bool {
        let first = self.subjects.first().and_then(|subject| subject.server);
        first.is_some() && self.subjects.iter().all(|subject| subject.server == first)
    }

    /// Words about a server, after the name of its subject if there are several.
    pub fn of_subject(&self, server: usize, words: &str) -> String {
        let subject = self.subjects_at(server).next().filter(|_| self.has_several());
        subject.map_or_else(|| words.to_owned(), |(_, subject)| format!("{}: {words}", subject.name))
    }

    /// Whether nothing but transactions that are known runs at a server, and some of them write: then its data can be
    /// checked.
    pub fn is_known_to_write(&self, server: usize) -> bool {
        let builtins: Option<Vec<Builtin>> =
            self.subjects_at(server).map(|(_, subject)| subject.work.builtin()).collect();
        builtins.is_some_and(|builtins| builtins.into_iter().any(Builtin::writes))
    }

    /// The built-in scripts that are to run at a server, as far as pgdyno drives it.
    pub fn builtins_at(&self, server: usize) -> Vec<Builtin> {
        let of_plan = || self.plan.workload.iter().filter_map(|workload| workload.as_builtin());
        let of = |subject: &SubjectJob| match &subject.work {
            SubjectWork::Plan => of_plan().collect(),
            other => other.builtin().into_iter().collect::<Vec<_>>(),
        };
        self.subjects_at(server).flat_map(|(_, subject)| of(subject)).collect()
    }
}

impl SubjectJob {
    /// The only subject, at the job's only server.
    pub fn only() -> Self {
        Self {
            name: ONLY.to_owned(),
            said: String::new(),
            asked: Asked::default(),
            server: Some(0),
            work: SubjectWork::Plan,
        }
    }
}

impl SubjectWork {
    /// The built-in script that is a subject's own.
    pub fn builtin(&self) -> Option<Builtin> {
        match self {
            Self::Script { work, .. } => work.builtin,
            Self::Plan | Self::Command(_) => None,
        }
    }
}

impl External {
    /// How everything but the driver's clients connects.
    pub fn admin(&self) -> &ConnectOptions {
        self.admin.as_ref().unwrap_or(&self.drive)
    }
}
