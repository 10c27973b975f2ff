//! The server that both programs drive: one that is there, or one of our own, loaded and removed again.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use pgdyno_core::problem::Problem;
use pgdyno_postgres::provision::{Dirs, Environment, Lifetime, Request, RunningServer, up};

use super::Args;
use crate::{Failure, workspace::succeed};

/// Sessions beside those of the two programs: loading, superuser's.
const SPARE_SESSIONS: u32 = 8;

/// A loaded server. Dropping it removes it where it is our own.
pub struct Server {
    /// How to connect.
    pub conninfo: String,
    /// pgbench.
    pub pgbench: PathBuf,
    /// Which server it is.
    pub description: String,
    own: Option<RunningServer>,
}

impl Server {
    /// The server that the flags ask for.
    pub fn of(args: &Args) -> Result<Self, Failure> {
        let Some(dsn) = &args.dsn else { return Self::own(args) };
        let pgbench = args.pgbench.clone().unwrap_or_else(|| "pgbench".into());
        let description = "a server that was there".to_owned();
        Ok(Self { conninfo: dsn.clone(), pgbench, description, own: None })
    }

    fn own(args: &Args) -> Result<Self, Failure> {
        let request = Request {
            bindir: args.pg_bindir.clone(),
            search_path: env::var_os("PATH"),
            clients: 2 * args.clients.iter().max().copied().unwrap_or(1) + SPARE_SESSIONS,
            lifetime: Lifetime::DiesWithUs,
            ..Request::named("bench-driver")
        };
        let running = up(&request, &dirs().map_err(words)?, &mut |_| {}).map_err(words)?;
        let (host, port, user) = (running.socket_dir.display(), running.port, running.superuser);
        let server = Self {
            conninfo: format!("host='{host}' port={port} user={user} dbname={user}"),
            pgbench: args.pgbench.clone().unwrap_or_else(|| pgbench_beside(&running.bindir)),
            description: running.version.clone(),
            own: Some(running),
        };
        let mut load = Command::new(&server.pgbench);
        load.args(["-i", "-q", "-s", &args.scale.to_string(), &server.conninfo]);
        succeed(&mut load)?;
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(problem) = self.own.as_ref().and_then(|own| own.remove().err()) {
            eprintln!("the server is still there: {}", problem.what);
        }
    }
}

/// pgbench of the same installation, else of `PATH`: a bundle has none.
fn pgbench_beside(bindir: &Path) -> PathBuf {
    let beside = bindir.join("pgbench");
    if beside.exists() { beside } else { "pgbench".into() }
}

fn dirs() -> Result<Dirs, Problem> {
    let path = |name| env::var_os(name).map(PathBuf::from);
    Dirs::of(&Environment {
        state: path("PGDYNO_STATE"),
        cache: path("PGDYNO_CACHE"),
        xdg_data_home: path("XDG_DATA_HOME"),
        xdg_cache_home: path("XDG_CACHE_HOME"),
        xdg_runtime_dir: path("XDG_RUNTIME_DIR"),
        home: path("HOME"),
    })
}

fn words(problem: Problem) -> Failure {
    let more = [problem.detail, problem.hint].into_iter().flatten();
    [problem.what].into_iter().chain(more).collect::<Vec<_>>().join("; ").into()
}
