//! Flags of all measuring commands, and the job made from them.

use std::path::PathBuf;

use clap::{ArgAction, Args as ClapArgs};
use pgdyno_core::{observe::ObserveLevel, problem::Problem, profile::Profiling};
use pgdyno_lab::{Job, Question, SubjectJob, Wanted};
use pgdyno_plan::{Plan, Restart, ServerPlan, WorkloadFiles, advice::bench::Level};
use pgdyno_provision::Request;
use pgdyno_rows::load::LoadRequest;

use super::{
    arm::Arm,
    connection::Connection,
    detach::Detach,
    file,
    own_server::{refuse_as_published, request, setting},
    recorded,
    subjects::{ForAll, subjects},
    tables::{self, TablesFlags},
};
use crate::{advice, conclude::Output, measure::Task};

/// Flags of all measuring commands.
#[derive(Debug, Clone, Default, ClapArgs)]
#[group(skip)] // its group would have the name of the sub-command's
pub struct Args {
    #[command(flatten)]
    pub(super) connection: Connection,
    #[command(flatten, next_help_heading = "Temporary server")]
    pub(super) server: ServerPlan,
    /// Server setting that overrides pgdyno's choice; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting, help_heading = "Temporary server")]
    pub(super) set: Vec<(String, String)>,
    /// User to run the server as (root only)
    #[arg(long, value_name = "USER", help_heading = "Temporary server")]
    pub(super) run_as: Option<String>,
    #[command(flatten, next_help_heading = "Tables")]
    pub(super) tables: TablesFlags,
    #[command(flatten, next_help_heading = "Tables")]
    pub(super) loading: LoadRequest,
    /// Keep the server's data (or the schema) after the run
    #[arg(long, help_heading = "Options")]
    pub(super) keep: bool,
    /// Random seed [default: chosen and printed]
    #[arg(long, value_name = "N", help_heading = "Options",
          value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub(super) seed: Option<u64>,
    /// What to observe during the run: nothing, the host with the server's processes, or also the server [default: all]
    #[arg(long, value_name = "none|host|all", help_heading = "Options")]
    pub(super) observe: Option<ObserveLevel>,
    /// Profile the server's processes with perf in every measured interval; stacks by auto, fp or dwarf
    #[arg(
        long,
        value_name = "STACKS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "auto",
        help_heading = "Options"
    )]
    pub(super) profile: Option<Profiling>,
    /// TOML file with the vendor's nominal figures of the storage, shown next to the measured ones; a price gives the
    /// cost of transactions
    #[arg(long, value_name = "FILE.toml", help_heading = "Options")]
    pub(super) declared: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Options")]
    pub(super) detach: Detach,
    /// Print run.json instead of the report
    #[arg(long, conflicts_with = "detach", help_heading = "Options")]
    pub(super) json: bool,
    /// Print the full report instead of the 50-line summary
    #[arg(long, conflicts_with = "json", help_heading = "Options")]
    pub(super) full: bool,
    /// Also write the report to this file: .html, .md, .txt, .csv or .json
    #[arg(long, value_name = "FILE", help_heading = "Options")]
    pub(super) out: Option<PathBuf>,
    /// Print help
    #[arg(long, action = ArgAction::Help, help_heading = "Options")]
    pub(super) help: Option<bool>,
}

/// Parses when servers are restarted.
pub(super) fn restart(text: &str) -> Result<Restart, String> {
    match text {
        "auto" => Ok(Restart::Auto),
        "always" => Ok(Restart::Always),
        "never" => Ok(Restart::Never),
        _ => Err("it is auto, always or never".to_owned()),
    }
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
        plan.measure.observe = self.observe.unwrap_or(plan.measure.observe);
        plan.measure.profile = self.profile.unwrap_or(plan.measure.profile);
        plan.load = self.loading.over(&plan.load);
        plan.data.loaded = self.tables.existing().unwrap_or(plan.data.loaded);
        if let Some(path) = &self.declared {
            plan.storage = file::declared(path)?;
        }
        tables::leave_out_unused(&mut plan, files.names_tpcb());
        plan.validate()?;
        let (subjects, servers) = match subjects(named, &plan, &self.for_all_subjects())? {
            Some(named) => named,
            None => {
                let only = SubjectJob { host: plan.host.clone(), ..SubjectJob::only() };
                (vec![only], vec![self.server(&plan)?])
            }
        };
        let job = Job {
            plan,
            workload_files: files,
            trust: false,
            level,
            servers,
            subjects,
            question: Question::Levels,
            command: recorded::of_process(),
            seed_given: self.seed.is_some(),
            keep: self.keep,
            allow_host_changes: false,
        };
        Ok(Task {
            job,
            dry_run: false,
            output: Output { json: self.json, full: self.full, out: self.out.clone() },
        })
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

    /// Keys of the temporary server that flags set.
    fn own_server(&self) -> ServerPlan {
        ServerPlan { settings: self.set.iter().cloned().collect(), ..self.server.clone() }
    }

    /// Flags that apply to every subject.
    fn for_all_subjects(&self) -> ForAll<'_> {
        let arm = Arm { server: self.own_server(), ..Arm::default() };
        ForAll { connection: &self.connection, arm, run_as: self.run_as.as_deref() }
    }

    /// Refuses flags about a temporary server together with an existing one.
    fn refuse_for_external(&self, plan: &Plan) -> Result<(), Problem> {
        let flag = match self.run_as.is_some() {
            true => Some("--run-as"),
            false => key_of_temporary(&self.own_server()).map(|(flag, _)| flag),
        };
        let of_plan = |(flag, key): (&str, &str)| match key {
            // A command with this flag has no other source for the key.
            "cpus" if advice::has(flag) => flag.to_owned(),
            _ => format!("`{key}` of the plan's [server]"),
        };
        let key = || key_of_temporary(&plan.server).map(of_plan);
        let Some(given) = flag.map(str::to_owned).or_else(key) else { return Ok(()) };
        let what = format!("could not use {given} with an existing server");
        let hint = format!("leave out --server -h -p -U -d --dsn for a temporary server, or {given}");
        Err(Problem::wrong_request(what).hint(hint))
    }

    /// Request for the temporary server.
    fn request(&self, plan: &Plan) -> Result<Request, Problem> {
        let name = format!("{}-{}", plan.name, std::process::id());
        let server = self.own_server().over(&plan.server);
        refuse_as_published(std::slice::from_ref(&server))?;
        request(server, self.run_as.clone(), name)
    }
}

/// The first property of a server that only a temporary one can have: its flag, and its key in a plan.
fn key_of_temporary(server: &ServerPlan) -> Option<(&'static str, &'static str)> {
    let given = [
        ("--pg", "pg", server.pg.is_some()),
        ("--bindir", "bindir", server.bindir.is_some()),
        ("--build", "build", server.build.is_some()),
        ("--bundle", "bundle", server.bundle),
        ("--data", "data", server.data.is_some()),
        ("--waldir", "waldir", server.waldir.is_some()),
        ("data_checksums", "data_checksums", server.data_checksums.is_some()),
        ("--set", "settings", !server.settings.is_empty()),
        ("--preset", "preset", server.preset.is_some()),
        ("--as-published", "as_published", server.as_published),
        ("listen", "listen", server.listen.is_some()),
        ("allow", "allow", !server.allow.is_empty()),
        ("--server-cpus", "cpus", server.cpus.is_some()),
    ];
    given.into_iter().find(|(.., given)| *given).map(|(flag, key, _)| (flag, key))
}
