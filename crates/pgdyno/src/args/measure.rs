//! Flags of all measuring commands, and the job made from them.

use std::{env, path::PathBuf};

use clap::{ArgAction, Args as ClapArgs};
use pgdyno_core::problem::Problem;
use pgdyno_lab::{Job, Question, SubjectJob, Wanted};
use pgdyno_plan::{Plan, WorkloadFiles, advice::bench::Level};
use pgdyno_provision::Request;

use super::{
    arm::Arm,
    connection::Connection,
    own_server::{OwnServer, setting},
    shape::Loading,
    subjects::{ForAll, subjects},
};
use crate::{conclude::Output, measure::Task};

/// Flags of all measuring commands.
#[derive(Debug, Clone, Default, ClapArgs)]
#[group(skip)] // its group would have the name of the sub-command's
pub struct Args {
    #[command(flatten)]
    pub(super) connection: Connection,
    /// PostgreSQL version, major or exact, such as 18 or 9.6.24
    #[arg(long, value_name = "VERSION", help_heading = "Temporary server")]
    pub(super) pg: Option<String>,
    /// Directory of the programs initdb and postgres
    #[arg(long, value_name = "DIR", conflicts_with = "bundle", help_heading = "Temporary server")]
    pub(super) bindir: Option<PathBuf>,
    /// Name of a build, as listed by `pgdyno builds`
    #[arg(long, value_name = "NAME", conflicts_with_all = ["bindir", "bundle"],
          help_heading = "Temporary server")]
    pub(super) build: Option<String>,
    /// Use a downloaded bundle even if PostgreSQL is installed
    #[arg(long, help_heading = "Temporary server")]
    pub(super) bundle: bool,
    /// Data directory, new or empty; its storage is part of the measurement
    #[arg(long, value_name = "DIR", help_heading = "Temporary server")]
    pub(super) data: Option<PathBuf>,
    /// WAL directory, new or empty
    #[arg(long, value_name = "DIR", help_heading = "Temporary server")]
    pub(super) waldir: Option<PathBuf>,
    /// Server setting that overrides pgdyno's choice; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting, help_heading = "Temporary server")]
    pub(super) set: Vec<(String, String)>,
    /// User to run the server as (root only)
    #[arg(long, value_name = "USER", help_heading = "Temporary server")]
    pub(super) run_as: Option<String>,
    #[command(flatten)]
    pub(super) loading: Loading,
    /// Keep the server's data (or the schema) after the run
    #[arg(long, help_heading = "Options")]
    pub(super) keep: bool,
    /// Random seed [default: chosen and printed]
    #[arg(long, value_name = "N", help_heading = "Options",
          value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub(super) seed: Option<u64>,
    /// Print run.json instead of the report
    #[arg(long, help_heading = "Options")]
    pub(super) json: bool,
    /// Also write the report to this file: .html, .md, .txt, .csv or .json
    #[arg(long, value_name = "FILE", help_heading = "Options")]
    pub(super) out: Option<PathBuf>,
    /// Print help
    #[arg(long, action = ArgAction::Help, help_heading = "Options")]
    pub(super) help: Option<bool>,
}

impl Args {
    /// Makes the task of a plan, with the subjects of `--subject`. Flags override the plan.
    ///
    /// # Errors
    /// The flags or the plan are invalid, or contradict each other.
    pub(super) fn task(
        &self,
        named: &[String],
        mut plan: Plan,
        files: WorkloadFiles,
        level: Level,
    ) -> Result<Task, Problem> {
        if self.seed.is_some() {
            plan.seed = self.seed;
        }
        plan.load = self.loading.over(&plan.load);
        plan.validate()?;
        let (subjects, servers) = match subjects(named, &plan, &self.for_all_subjects())? {
            Some(named) => named,
            None => (vec![SubjectJob::only()], vec![self.server(&plan)?]),
        };
        let job = Job {
            plan,
            workload_files: files,
            trust: false,
            level,
            servers,
            subjects,
            question: Question::Levels,
            command: command_line(),
            seed_given: self.seed.is_some(),
            keep: self.keep,
        };
        Ok(Task { job, dry_run: false, output: Output { json: self.json, out: self.out.clone() } })
    }

    fn server(&self, plan: &Plan) -> Result<Wanted, Problem> {
        Ok(match self.connection.resolve()? {
            Some(options) => {
                self.refuse_for_external(plan)?;
                Wanted::External(Box::new(options))
            }
            None => Wanted::Own(Box::new(self.request(plan)?)),
        })
    }

    /// Flags that apply to every subject.
    fn for_all_subjects(&self) -> ForAll<'_> {
        let arm = Arm {
            pg: self.pg.clone(),
            bindir: self.bindir.clone(),
            build: self.build.clone(),
            bundle: self.bundle,
            data: self.data.clone(),
            waldir: self.waldir.clone(),
            settings: self.set.iter().cloned().collect(),
            ..Arm::default()
        };
        ForAll { connection: &self.connection, arm, run_as: self.run_as.as_deref() }
    }

    /// Refuses flags about a temporary server together with an existing one.
    fn refuse_for_external(&self, plan: &Plan) -> Result<(), Problem> {
        let given = [
            ("--pg", self.pg.is_some() || plan.server.pg.is_some()),
            ("--bindir", self.bindir.is_some() || plan.server.bindir.is_some()),
            ("--build", self.build.is_some() || plan.server.build.is_some()),
            ("--bundle", self.bundle),
            ("--data", self.data.is_some() || plan.server.data.is_some()),
            ("--waldir", self.waldir.is_some() || plan.server.waldir.is_some()),
            ("data_checksums", plan.server.data_checksums.is_some()),
            ("--set", !self.set.is_empty() || !plan.server.settings.is_empty()),
            ("--run-as", self.run_as.is_some()),
            ("--server-cpus", plan.server.cpus.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((flag, _)) => Err(Problem::wrong_request(format!(
                "could not use {flag} with an existing server"
            ))
            .hint("leave out --server -h -p -U -d --dsn for a temporary server, or that flag (or the plan's key)")),
        }
    }

    /// Request for the temporary server.
    fn request(&self, plan: &Plan) -> Result<Request, Problem> {
        let mut settings = plan.server.settings.clone();
        settings.extend(self.set.iter().cloned());
        let server = OwnServer {
            pg: self.pg.clone(),
            bindir: self.bindir.clone(),
            build: self.build.clone(),
            bundle: self.bundle,
            data: self.data.clone(),
            waldir: self.waldir.clone(),
            settings,
            run_as: self.run_as.clone(),
        };
        server.request(plan, format!("{}-{}", plan.name, std::process::id()))
    }
}

/// The exact command line, without secrets.
pub(super) fn command_line() -> String {
    let program = std::iter::once("pgdyno".to_owned());
    let args: Vec<String> = program.chain(env::args().skip(1)).collect();
    pgdyno_record::command_line(&args)
}
