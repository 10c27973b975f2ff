//! The server for all programs: an existing one, or an own one that is loaded and removed again.

use std::{
    env,
    path::{Path, PathBuf},
    slice,
};

use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_postgres::load::load_tables;
use pgdyno_postgres::probe::loaded::prewarm;
use pgdyno_provision::{Dirs, Lifetime, Request, RunningServer, up};
use pgdyno_rows::load::{LoadRequest, Way};
use pgdyno_script::Builtin;
use pgdyno_wire::{Address, ConnectOptions, Session, WireError, connect};

use crate::Failure;

/// Sessions in addition to those of the programs: for loading, and for the superuser.
const SPARE_SESSIONS: u32 = 8;

/// Flags that name server and pgbench.
#[derive(Debug, Clone, clap::Args)]
pub struct ServerArgs {
    /// pgbench to compare with [default: of --pg-bindir, otherwise of PATH]
    #[arg(long, value_name = "PATH")]
    pub pgbench: Option<PathBuf>,
    /// Directory of postgres and pgbench, instead of a search
    #[arg(long, value_name = "DIR", conflicts_with = "dsn")]
    pub pg_bindir: Option<PathBuf>,
    /// Directory for the servers' data, new or empty, for example in memory to exclude the disk
    #[arg(long, value_name = "DIR", conflicts_with = "dsn")]
    pub data: Option<PathBuf>,
    /// An existing server, loaded by `pgbench -i -s SCALE`, instead of own ones; for read-only scripts
    #[arg(long, value_name = "CONNINFO")]
    pub dsn: Option<String>,
    /// Scale factor of the tables; every program has its own tables on its own server
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub scale: u32,
}

/// Background work of the server is not a property of a driver, and would disturb whichever program is running.
const UNDISTURBED: [(&str, &str); 3] =
    [("autovacuum", "off"), ("checkpoint_timeout", "1h"), ("max_wal_size", "4GB")];

/// Address for programs that do not support Unix-domain sockets.
pub const LOOPBACK: &str = "127.0.0.1";

/// An empty own server. Dropping it removes it.
pub struct Own {
    /// pgbench.
    pub pgbench: PathBuf,
    running: Box<RunningServer>,
}

/// Request for a server from the programs in `bindir`, or from those found by a search, for so many sessions of the
/// programs.
pub fn request(bindir: &Option<PathBuf>, data: &Option<PathBuf>, sessions: u32) -> Request {
    Request {
        bindir: bindir.clone(),
        search_path: env::var_os("PATH"),
        data: data.clone(),
        clients: sessions + SPARE_SESSIONS,
        lifetime: Lifetime::DiesWithUs,
        ..Request::named(format!("bench-{}", std::process::id()))
    }
}

impl Own {
    /// Starts one, with this pgbench or the one next to postgres.
    ///
    /// # Errors
    /// The server could not be started.
    pub fn start(request: Request, pgbench: Option<PathBuf>) -> Result<Self, Failure> {
        let dirs = Dirs::of_process().map(|dirs| Dirs { templates: None, ..dirs }).map_err(words)?;
        let running = up(&request, &dirs, &mut |_| {}).map_err(words)?;
        let pgbench = pgbench.unwrap_or_else(|| pgbench_of(&running.bindir));
        Ok(Self { pgbench, running: Box::new(running) })
    }

    /// Port.
    pub fn port(&self) -> u16 {
        self.running.port
    }

    /// Name of the superuser.
    pub fn superuser(&self) -> &str {
        self.running.superuser
    }

    /// Connection string for one of its databases.
    pub fn conninfo(&self, database: &str) -> String {
        let (host, port) = (self.running.socket_dir.display(), self.running.port);
        format!("host='{host}' port={port} user={} dbname={database}", self.running.superuser)
    }

    /// A superuser session with one of its databases; no program is measured in `postgres` of a server of loads.
    ///
    /// # Errors
    /// The connection failed.
    pub fn session(&self, database: &str) -> Result<Session, Failure> {
        let address = Address::Unix(self.running.socket_dir.clone(), self.running.port);
        let options = ConnectOptions::local(address, self.running.superuser);
        connect(&ConnectOptions { database: database.to_owned(), ..options }).map_err(words)
    }

    /// Executes a statement in one of its databases.
    ///
    /// # Errors
    /// The server refused.
    pub fn execute(&self, database: &str, sql: &str) -> Result<(), Failure> {
        self.session(database)?.execute(sql).map_err(|error| format!("{sql}: {error}"))?;
        Ok(())
    }

    /// Creates an empty database in place of the one of this name.
    ///
    /// # Errors
    /// The server refused.
    pub fn create(&self, database: &str) -> Result<(), Failure> {
        self.execute("postgres", &format!("DROP DATABASE IF EXISTS {database}"))?;
        self.execute("postgres", &format!("CREATE DATABASE {database}"))
    }

    /// Process id of the postmaster.
    pub fn pid(&self) -> u32 {
        self.running.pid
    }

    /// The version as the program prints it.
    pub fn version(&self) -> &str {
        &self.running.version
    }

    /// Settings in its configuration.
    pub fn settings(&self) -> impl Iterator<Item = String> {
        self.running.choices.iter().map(|choice| format!("{} = {}", choice.name, choice.value))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if let Err(problem) = self.running.remove() {
            eprintln!("the server is still there: {}", problem.what);
        }
    }
}

/// Loaded servers, one for every program: a program that is stopped within a transaction keeps its row locks, and its
/// transaction holds back the xmin horizon of all databases of its server. Old row versions of other programs could not
/// be pruned then, and their TPS would suffer from ever longer version chains. Dropping it removes the own ones.
pub struct Servers {
    /// pgbench.
    pub pgbench: PathBuf,
    /// The servers in words.
    pub description: String,
    home: Home,
}

enum Home {
    Own(Vec<Own>),
    Foreign(String),
}

impl Servers {
    /// The requested servers, with tables for `programs` programs of at most `clients` clients.
    ///
    /// # Errors
    /// A server could not be started, or must not be used for one of the scripts.
    pub fn of(args: &ServerArgs, programs: usize, clients: u32, scripts: &[String]) -> Result<Self, Failure> {
        let Some(dsn) = &args.dsn else { return Self::start(args, programs, clients) };
        let writes = |name: &&String| Builtin::by_name(name).is_none_or(Builtin::writes);
        if let Some(script) = scripts.iter().find(writes) {
            let why = "a program that is stopped within a transaction blocks the others, so each needs its own server";
            return Err(format!("{script} cannot be run with --dsn: {why}").into());
        }
        let pgbench = args.pgbench.clone().unwrap_or_else(|| "pgbench".into());
        let description = "an existing server".to_owned();
        Ok(Self { pgbench, description, home: Home::Foreign(dsn.clone()) })
    }

    fn start(args: &ServerArgs, programs: usize, clients: u32) -> Result<Self, Failure> {
        let one = |number: usize| {
            let data = args.data.as_ref().map(|data| data.join(number.to_string()));
            let server = request(&args.pg_bindir, &data, clients);
            let own = Own::start(
                Request {
                    name: format!("{}-{number}", server.name),
                    settings: UNDISTURBED.map(|(name, value)| (name.into(), value.into())).into(),
                    ..server
                },
                args.pgbench.clone(),
            )?;
            load(&mut own.session(DATABASE)?, args.scale).map_err(words)?;
            Ok(own)
        };
        let servers = (0..programs).map(one).collect::<Result<Vec<_>, Failure>>()?;
        let first = servers.first().ok_or("there is no program to run")?;
        let (pgbench, description) = (first.pgbench.clone(), first.version().to_owned());
        Ok(Self { pgbench, description, home: Home::Own(servers) })
    }

    /// The first own server; `None` if an existing one is used.
    pub fn own(&self) -> Option<&Own> {
        match &self.home {
            Home::Own(servers) => servers.first(),
            Home::Foreign(_) => None,
        }
    }

    /// Connection string of a program, by its index.
    pub fn conninfo(&self, program: usize) -> String {
        match &self.home {
            Home::Foreign(dsn) => dsn.clone(),
            Home::Own(servers) => servers[program].conninfo(DATABASE),
        }
    }

    /// Executes CHECKPOINT, so that every run starts from the same state.
    ///
    /// # Errors
    /// A server refused.
    pub fn checkpoint(&self) -> Result<(), Failure> {
        let Home::Own(servers) = &self.home else { return Ok(()) };
        for server in servers {
            server.execute(DATABASE, "CHECKPOINT")?;
        }
        Ok(())
    }
}

/// Database with the tables.
const DATABASE: &str = "postgres";

/// Loads the tables and reads them into shared buffers.
fn load(session: &mut Session, scale: u32) -> Result<(), Problem> {
    let wish = LoadRequest { scale: Some(scale.into()), method: Some(Way::Stream), ..LoadRequest::default() };
    load_tables(slice::from_mut(session), None, &wish.plan(1)?, &Stop::default(), &mut |_| ())?;
    prewarm(session).map_err(|error: WireError| error.into_problem("could not read the tables"))?;
    Ok(())
}

/// pgbench of the same installation, otherwise of `PATH`: a bundle has none.
fn pgbench_of(bindir: &Path) -> PathBuf {
    let installed = bindir.join("pgbench");
    if installed.exists() { installed } else { "pgbench".into() }
}

fn words(problem: Problem) -> Failure {
    let more = [problem.detail, problem.hint].into_iter().flatten();
    [problem.what].into_iter().chain(more).collect::<Vec<_>>().join("; ").into()
}
