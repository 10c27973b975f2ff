//! The server that all programs drive: one that is there, or one of our own, loaded and removed again.

use std::{
    env,
    path::{Path, PathBuf},
    slice,
};

use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_postgres::load::{load_tables, prewarm};
use pgdyno_provision::{Dirs, Lifetime, Request, RunningServer, up};
use pgdyno_rows::load::{LoadRequest, Way};
use pgdyno_script::Builtin;
use pgdyno_wire::{Address, ConnectOptions, Session, WireError, connect};

use crate::Failure;

/// Sessions beside those of the programs: loading, superuser's.
const SPARE_SESSIONS: u32 = 8;

/// Flags that name server and pgbench.
#[derive(Debug, Clone, clap::Args)]
pub struct ServerArgs {
    /// pgbench to compare with [default: of --pg-bindir, else of PATH]
    #[arg(long, value_name = "PATH")]
    pub pgbench: Option<PathBuf>,
    /// Directory of postgres and pgbench, in place of a search
    #[arg(long, value_name = "DIR", conflicts_with = "dsn")]
    pub pg_bindir: Option<PathBuf>,
    /// Directory of the servers' data, new or empty, such as one in memory: what a disk does is then left out
    #[arg(long, value_name = "DIR", conflicts_with = "dsn")]
    pub data: Option<PathBuf>,
    /// A server that is there, loaded by `pgbench -i -s SCALE`, in place of one of its own; for scripts that only read
    #[arg(long, value_name = "CONNINFO")]
    pub dsn: Option<String>,
    /// Scale factor of the tables, of which every program has its own, in a server of its own
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub scale: u32,
}

/// What a server of our own is to be.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Directory of postgres and pgbench, in place of a search.
    pub bindir: Option<PathBuf>,
    /// Data directory, new or empty.
    pub data: Option<PathBuf>,
    /// pgbench, in place of that beside postgres.
    pub pgbench: Option<PathBuf>,
    /// Sessions.
    pub sessions: u32,
    /// Whether it listens at the loopback, too.
    pub listen: bool,
    /// Its place among several.
    pub number: usize,
    /// Settings beside those that pgdyno chooses.
    pub settings: &'static [(&'static str, &'static str)],
}

/// What a server does in the background is no property of a driver, and would hit whichever program has its turn.
const UNDISTURBED: [(&str, &str); 3] =
    [("autovacuum", "off"), ("checkpoint_timeout", "1h"), ("max_wal_size", "4GB")];

/// For programs that know no sockets of files.
pub const LOOPBACK: &str = "127.0.0.1";

/// An empty server of our own. Dropping it removes it.
pub struct Own {
    /// pgbench.
    pub pgbench: PathBuf,
    running: Box<RunningServer>,
}

impl Own {
    /// Makes one: of the programs in `bindir`, else of those that are found.
    ///
    /// # Errors
    /// Why there is none.
    pub fn start(wanted: Wanted) -> Result<Self, Failure> {
        let request = Request {
            bindir: wanted.bindir,
            search_path: env::var_os("PATH"),
            data: wanted.data,
            clients: wanted.sessions,
            listen: wanted.listen.then(|| LOOPBACK.to_owned()),
            lifetime: Lifetime::DiesWithUs,
            settings: wanted.settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            ..Request::named(format!("bench-{}-{}", std::process::id(), wanted.number))
        };
        let running = up(&request, &Dirs::of_process().map_err(words)?, &mut |_| {}).map_err(words)?;
        let pgbench = wanted.pgbench.unwrap_or_else(|| pgbench_beside(&running.bindir));
        Ok(Self { pgbench, running: Box::new(running) })
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.running.port
    }

    /// The name of its superuser.
    pub fn superuser(&self) -> &str {
        self.running.superuser
    }

    /// How a database of it is reached by the superuser.
    pub fn options(&self, database: &str) -> ConnectOptions {
        let address = Address::Unix(self.running.socket_dir.clone(), self.running.port);
        ConnectOptions {
            database: database.to_owned(),
            ..ConnectOptions::local(address, self.running.superuser)
        }
    }

    /// The same as a connection string.
    pub fn conninfo(&self, database: &str) -> String {
        let (host, port) = (self.running.socket_dir.display(), self.running.port);
        format!("host='{host}' port={port} user={} dbname={database}", self.running.superuser)
    }

    /// A session of the superuser outside of all databases that are measured.
    ///
    /// # Errors
    /// Why there is none.
    pub fn admin(&self) -> Result<Session, Failure> {
        connect(&self.options("postgres")).map_err(words)
    }

    /// A session with one of its databases.
    ///
    /// # Errors
    /// Why there is none.
    pub fn session(&self, database: &str) -> Result<Session, Failure> {
        connect(&self.options(database)).map_err(|problem| problem.what.into())
    }

    /// Number of the postmaster.
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
/// transaction is the oldest one that every snapshot of the same server sees, in all of its databases. Old versions of
/// the rows that others update cannot be pruned then, and their TPS is that of ever longer chains of versions. Dropping
/// it removes those that are our own.
pub struct Servers {
    /// pgbench.
    pub pgbench: PathBuf,
    /// Which servers they are.
    pub description: String,
    home: Home,
}

enum Home {
    Own(Vec<Own>),
    Foreign(String),
}

impl Servers {
    /// The servers that the flags ask for, with tables for so many programs of at most so many clients.
    ///
    /// # Errors
    /// Where one cannot be made, or must not be used for such a script.
    pub fn of(args: &ServerArgs, programs: usize, clients: u32, scripts: &[String]) -> Result<Self, Failure> {
        let Some(dsn) = &args.dsn else { return Self::own(args, programs, clients) };
        let writes = |name: &&String| Builtin::by_name(name).is_none_or(Builtin::writes);
        if let Some(script) = scripts.iter().find(writes) {
            let why = "a program that sleeps within a transaction holds up the others, so each needs its own server";
            return Err(format!("{script} cannot be run with --dsn: {why}").into());
        }
        let pgbench = args.pgbench.clone().unwrap_or_else(|| "pgbench".into());
        let description = "a server that was there".to_owned();
        Ok(Self { pgbench, description, home: Home::Foreign(dsn.clone()) })
    }

    fn own(args: &ServerArgs, programs: usize, clients: u32) -> Result<Self, Failure> {
        let one = |number: usize| {
            let own = Own::start(Wanted {
                bindir: args.pg_bindir.clone(),
                data: args.data.as_ref().map(|data| data.join(number.to_string())),
                pgbench: args.pgbench.clone(),
                sessions: clients + SPARE_SESSIONS,
                number,
                settings: &UNDISTURBED,
                ..Wanted::default()
            })?;
            load(&own.options(DATABASE), args.scale).map_err(words)?;
            Ok(own)
        };
        let servers = (0..programs).map(one).collect::<Result<Vec<_>, Failure>>()?;
        let first = servers.first().ok_or("there is no program to drive")?;
        let (pgbench, description) = (first.pgbench.clone(), first.version().to_owned());
        Ok(Self { pgbench, description, home: Home::Own(servers) })
    }

    /// Connection string of a program, by its place.
    pub fn conninfo(&self, program: usize) -> String {
        match &self.home {
            Home::Foreign(dsn) => dsn.clone(),
            Home::Own(servers) => servers[program].conninfo(DATABASE),
        }
    }

    /// Begins a run from the same state as the one before.
    ///
    /// # Errors
    /// Where a server does not do it.
    pub fn checkpoint(&self) -> Result<(), Failure> {
        let Home::Own(servers) = &self.home else { return Ok(()) };
        for server in servers {
            server.admin()?.execute("CHECKPOINT").map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

/// Database with the tables.
const DATABASE: &str = "postgres";

/// Fills the tables and reads them into shared buffers.
fn load(options: &ConnectOptions, scale: u32) -> Result<(), Problem> {
    let mut session = connect(options)?;
    let wish = LoadRequest { scale: Some(scale.into()), way: Some(Way::Stream), ..LoadRequest::default() };
    load_tables(slice::from_mut(&mut session), None, &wish.plan(1)?, &Stop::default(), &mut |_| ())?;
    prewarm(&mut session).map_err(|error: WireError| error.into_problem("could not read the tables"))?;
    Ok(())
}

/// pgbench of the same installation, else of `PATH`: a bundle has none.
fn pgbench_beside(bindir: &Path) -> PathBuf {
    let beside = bindir.join("pgbench");
    if beside.exists() { beside } else { "pgbench".into() }
}

fn words(problem: Problem) -> Failure {
    let more = [problem.detail, problem.hint].into_iter().flatten();
    [problem.what].into_iter().chain(more).collect::<Vec<_>>().join("; ").into()
}
