//! The flags that all measuring commands share, and how they become a job.

use std::{collections::BTreeMap, env, path::PathBuf};

use clap::{ArgAction, Args as ClapArgs};
use pgdyno_core::{
    advice::bench::Level,
    plan::{Material, Plan, ServerPlan},
    problem::Problem,
};
use pgdyno_postgres::{
    provision::{self, Lifetime, Request},
    wire::{ConnectOptions, OsUser, Sources},
};

use super::{arm::Arm, shape::Loading, subjects::subjects, target::own};
use crate::{
    servers,
    stages::{External, Job, Output, Wanted},
};

/// Which server that is already there; none of these flags means that one is made for the run.
#[derive(Debug, Clone, Default, ClapArgs)]
#[command(next_help_heading = "A server that is already there")]
pub struct Connection {
    /// A server of `pgdyno up`, by its name; -d then names a database of it
    #[arg(long, value_name = "NAME", conflicts_with_all = ["host", "port", "username", "dsn", "admin_dsn"])]
    pub server: Option<String>,
    /// Host, or directory of the socket (PGHOST)
    #[arg(short = 'h', long, value_name = "HOST")]
    pub host: Option<String>,
    /// Port (PGPORT)
    #[arg(short, long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Role (PGUSER)
    #[arg(short = 'U', long = "username", value_name = "ROLE")]
    pub username: Option<String>,
    /// Database, URI or keyword string (PGDATABASE); what is made goes into its schema `pgdyno`
    #[arg(short, long, value_name = "DBNAME")]
    pub dbname: Option<String>,
    /// Connection string for the driver's clients, such as that of a pooler or a standby; goes over -h -p -U
    #[arg(long, value_name = "DSN", conflicts_with = "dbname")]
    pub dsn: Option<String>,
    /// Connection string for preparing, checking and observing [default: that of the clients]
    #[arg(long, value_name = "DSN")]
    pub admin_dsn: Option<String>,
}

impl Connection {
    /// The server that the flags name, the rest from PG* variables and the password file; `None` where no flag is
    /// given: the environment alone makes nobody's server a subject.
    ///
    /// # Errors
    /// A wrong request, naming the source.
    pub(super) fn resolve(&self) -> Result<Option<External>, Problem> {
        if let Some(name) = &self.server {
            let drive = own(name, self.dbname.as_deref(), "could not measure")?;
            return Ok(Some(External { drive, admin: None }));
        }
        let database = self.dsn.as_deref().or(self.dbname.as_deref());
        if self.host.is_none() && self.port.is_none() && self.username.is_none() && database.is_none() {
            return match self.admin_dsn {
                None => Ok(None),
                Some(_) => Err(Problem::wrong_request(
                    "could not use --admin-dsn alone: nothing names the server to drive",
                )
                .hint("name it by --dsn, or leave --admin-dsn out to have a server made")),
            };
        }
        let variable = |name: &str| env::var(name).ok();
        let port = self.port.map(|port| port.to_string());
        let os_user = &OsUser::of_process();
        let sources = Sources {
            host: self.host.as_deref(),
            port: port.as_deref(),
            user: self.username.as_deref(),
            database,
            env: &variable,
            os_user,
        };
        let drive = ConnectOptions::resolve(&sources)?.in_utf8();
        let admin = self.admin_dsn.as_deref().map(|dsn| {
            let alone =
                Sources { host: None, port: None, user: None, database: Some(dsn), env: &variable, os_user };
            ConnectOptions::resolve(&alone).map(ConnectOptions::in_utf8)
        });
        Ok(Some(External { drive, admin: admin.transpose()? }))
    }
}

/// What all measuring commands can be told.
#[derive(Debug, Clone, Default, ClapArgs)]
#[group(skip)] // its group would have the name of the sub-command's
pub struct Args {
    #[command(flatten)]
    pub(super) connection: Connection,
    /// Version of PostgreSQL: a major or an exact one, such as 18 or 9.6.24
    #[arg(long, value_name = "VERSION", help_heading = "A server made for the run")]
    pub(super) pg: Option<String>,
    /// Directory of initdb and postgres
    #[arg(long, value_name = "DIR", conflicts_with = "bundle", help_heading = "A server made for the run")]
    pub(super) bindir: Option<PathBuf>,
    /// A build by its name, as `pgdyno builds` lists them
    #[arg(long, value_name = "NAME", conflicts_with_all = ["bindir", "bundle"],
          help_heading = "A server made for the run")]
    pub(super) build: Option<String>,
    /// Use the embedded bundle even where PostgreSQL is installed
    #[arg(long, help_heading = "A server made for the run")]
    pub(super) bundle: bool,
    /// Data directory, empty or absent: its storage is part of the measurement
    #[arg(long, value_name = "DIR", help_heading = "A server made for the run")]
    pub(super) data: Option<PathBuf>,
    /// Directory for WAL, empty or absent
    #[arg(long, value_name = "DIR", help_heading = "A server made for the run")]
    pub(super) waldir: Option<PathBuf>,
    /// Setting over those chosen from facts; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting, help_heading = "A server made for the run")]
    pub(super) set: Vec<(String, String)>,
    /// User that the server runs as, where root asks
    #[arg(long, value_name = "USER", help_heading = "A server made for the run")]
    pub(super) run_as: Option<String>,
    #[command(flatten)]
    pub(super) loading: Loading,
    /// Keep the server's data (or the schema) when the run is over
    #[arg(long, help_heading = "Options")]
    pub(super) keep: bool,
    /// Seed of every random choice
    #[arg(long, value_name = "N", help_heading = "Options",
          value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub(super) seed: Option<u64>,
    /// Print run.json instead of the report
    #[arg(long, help_heading = "Options")]
    pub(super) json: bool,
    /// Write the report to this file too: .html, .md, .txt, .csv or .json
    #[arg(long, value_name = "FILE", help_heading = "Options")]
    pub(super) out: Option<PathBuf>,
    /// Print help
    #[arg(long, action = ArgAction::Help, help_heading = "Options")]
    pub(super) help: Option<bool>,
}

/// `name=value`.
pub(super) fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("a setting is written NAME=VALUE")?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() || value.is_empty() {
        return Err("a setting is written NAME=VALUE, and both are needed".to_owned());
    }
    Ok((name.to_owned(), value.to_owned()))
}

impl Args {
    /// The job of a plan: what the flags say goes over what the plan says.
    ///
    /// # Errors
    /// What the flags or the plan ask for that cannot be.
    pub(super) fn job(&self, plan: Plan, material: Material, level: Level) -> Result<Job, Problem> {
        self.job_of(&[], plan, material, level)
    }

    /// The same with the words that name several subjects.
    ///
    /// # Errors
    /// As [`Args::job`].
    pub(super) fn job_of(
        &self,
        words: &[String],
        mut plan: Plan,
        material: Material,
        level: Level,
    ) -> Result<Job, Problem> {
        if self.seed.is_some() {
            plan.seed = self.seed;
        }
        plan.load = self.loading.over(&plan.load);
        plan.validate()?;
        let (subjects, servers) = match subjects(words, &plan, self)? {
            // One alone is a server like any other.
            Some((subjects, servers)) => (Some(subjects).filter(|_| servers.len() > 1), servers),
            None => (None, vec![self.server(&plan)?]),
        };
        let command = command_line();
        let output = Output { json: self.json, out: self.out.clone() };
        let seed_given = self.seed.is_some();
        Ok(Job {
            plan,
            material,
            trust: false,
            dry_run: false,
            level,
            servers,
            compare: None,
            subjects,
            command,
            seed_given,
            keep: self.keep,
            output,
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

    /// What the flags say of every subject.
    pub(super) fn for_all_subjects(&self) -> Arm {
        Arm {
            pg: self.pg.clone(),
            bindir: self.bindir.clone(),
            build: self.build.clone(),
            bundle: self.bundle,
            data: self.data.clone(),
            waldir: self.waldir.clone(),
            settings: self.set.iter().cloned().collect(),
            ..Arm::default()
        }
    }

    /// Flags that name a server, or a place for one, contradict several.
    pub(super) fn refuse_beside_subjects(&self, plan: &Plan, subjects: usize) -> Result<(), Problem> {
        let Connection { server, host, port, username, dbname, dsn, admin_dsn } = &self.connection;
        let given = [
            ("--server", server.is_some()),
            ("-h", host.is_some()),
            ("-p", port.is_some()),
            ("-U", username.is_some()),
            ("-d", dbname.is_some()),
            ("--dsn", dsn.is_some()),
            ("--admin-dsn", admin_dsn.is_some()),
            ("--data", (self.data.is_some() || plan.server.data.is_some()) && subjects > 1),
            ("--waldir", (self.waldir.is_some() || plan.server.waldir.is_some()) && subjects > 1),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((flag, _)) => {
                Err(Problem::wrong_request(format!("could not use {flag} beside subjects of a plan"))
                    .hint("say it of one of them: --subject data=DIR,pg=18, --subject dsn=CONNINFO"))
            }
        }
    }

    /// Flags about a server to be made contradict one that is there.
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
                "could not use {flag} with a server that is already there"
            ))
            .hint("leave out -h -p -U -d --dsn to have a server made, or leave out that flag (or the plan's key)")),
        }
    }

    /// The server to be made.
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
    let words: Vec<String> = program.chain(env::args().skip(1)).collect();
    pgdyno_record::command_line(&words)
}

/// A server to be made, as flags say it.
#[derive(Debug, Clone, Default)]
pub(super) struct OwnServer {
    /// Its version.
    pub pg: Option<String>,
    /// Directory of its programs.
    pub bindir: Option<PathBuf>,
    /// Name of the build that they are.
    pub build: Option<String>,
    /// Whether to pass over installed servers.
    pub bundle: bool,
    /// Data directory.
    pub data: Option<PathBuf>,
    /// Directory for WAL.
    pub waldir: Option<PathBuf>,
    /// All settings, those of the plan too.
    pub settings: BTreeMap<String, String>,
    /// User that it runs as.
    pub run_as: Option<String>,
}

impl OwnServer {
    /// The request for it; what flags leave open, the plan may say.
    ///
    /// # Errors
    /// A wrong request, as far as it can be seen before facts are known.
    pub fn request(self, plan: &Plan, name: String) -> Result<Request, Problem> {
        let server = &plan.server;
        let wanted = |text: &String| {
            text.parse().map_err(|error| {
                Problem::wrong_request(format!("could not use --pg {text}: {error}")).hint(
                    "a major or an exact version, such as 18, 9.6 or 16.4; `pgdyno versions` lists them",
                )
            })
        };
        let pg = self.pg.as_ref().or(server.pg.as_ref());
        // A program that a flag names is another one than that of the plan, whatever it is named by.
        let named = self.bindir.is_some() || self.build.is_some() || self.bundle;
        let of_plan = if named { &ServerPlan::default() } else { server };
        let request = Request {
            pg: pg.map(wanted).transpose()?,
            bindir: self.bindir.or_else(|| of_plan.bindir.clone().map(PathBuf::from)),
            build: self.build.or_else(|| of_plan.build.clone()),
            bundle_only: self.bundle,
            search_path: env::var_os("PATH"),
            data: self.data.or_else(|| server.data.clone().map(PathBuf::from)),
            waldir: self.waldir.or_else(|| server.waldir.clone().map(PathBuf::from)),
            data_checksums: server.data_checksums,
            settings: self.settings,
            run_as: self.run_as,
            lifetime: Lifetime::DiesWithUs,
            ..Request::named(name)
        };
        provision::check(&request)?;
        provision::check_build(&request, &servers::dirs()?).map(|()| request)
    }
}
