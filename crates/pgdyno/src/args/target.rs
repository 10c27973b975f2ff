//! The flags that name the server of a sub-command, as in psql.

use std::env;

use pgdyno_core::problem::Problem;
use pgdyno_provision::{Record, SUPERUSER, Status, registry};
use pgdyno_wire::{Address, ConnectOptions, OsUser, Sources};

use crate::detached::passwords::complete;

/// The server to connect to.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Target {
    /// Name of a server of `pgdyno up`
    #[arg(long, value_name = "NAME", conflicts_with_all = ["host", "port", "username"], help_heading = "Connection")]
    server: Option<String>,
    /// Host, or directory of the Unix-domain socket (PGHOST)
    #[arg(short = 'h', long, value_name = "HOST", help_heading = "Connection")]
    host: Option<String>,
    /// Port (PGPORT)
    #[arg(short, long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..),
          help_heading = "Connection")]
    port: Option<u16>,
    /// Role (PGUSER)
    #[arg(short = 'U', long, value_name = "ROLE", help_heading = "Connection")]
    username: Option<String>,
    /// Database, URI or keyword string (PGDATABASE); with --server, only a name [default: postgres]
    #[arg(short, long, visible_alias = "dsn", value_name = "DBNAME", help_heading = "Connection")]
    dbname: Option<String>,
}

impl Target {
    /// The server that the flags name; the environment alone never selects a server. Errors begin with `what`, such as
    /// `could not load`.
    ///
    /// # Errors
    /// No server is named, there is none of that name, or its address is invalid.
    pub fn resolve(&self, what: &str) -> Result<ConnectOptions, Problem> {
        if let Some(name) = &self.server {
            return own(name, self.dbname.as_deref(), what);
        }
        if self.host.is_none() && self.port.is_none() && self.username.is_none() && self.dbname.is_none() {
            let problem = Problem::wrong_request(format!("{what}: no server is named"));
            return Err(
                problem.hint("name one with --server (of `pgdyno up`), with --dsn, or with -h -p -U -d")
            );
        }
        let variable = |name: &str| env::var(name).ok();
        let port = self.port.map(|port| port.to_string());
        let resolved = ConnectOptions::resolve(&Sources {
            host: self.host.as_deref(),
            port: port.as_deref(),
            user: self.username.as_deref(),
            database: self.dbname.as_deref(),
            env: &variable,
            os_user: &OsUser::of_process(),
        });
        resolved.map(ConnectOptions::in_utf8).map(complete)
    }
}

/// Connection options for a running server of `pgdyno up`, and for one of its databases if that is given.
///
/// # Errors
/// There is no server of that name, or it is not running. The message begins with `what`.
pub fn own(name: &str, database: Option<&str>, what: &str) -> Result<ConnectOptions, Problem> {
    let record = running(name, what)?;
    let mut options = ConnectOptions::local(Address::Unix(record.socket.path, record.port), SUPERUSER);
    if let Some(database) = database {
        database.clone_into(&mut options.database);
    }
    Ok(options)
}

/// The connection string of a running server of `pgdyno up`, written `NAME` or `NAME/DBNAME`.
///
/// # Errors
/// As [`own`].
pub fn conninfo(server: &str, what: &str) -> Result<String, Problem> {
    let (name, database) = server.split_once('/').unwrap_or((server, SUPERUSER));
    let record = running(name, what)?;
    let quoted = |text: &str| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"));
    let host = quoted(&record.socket.path.to_string_lossy());
    Ok(format!("host={host} port={} user={SUPERUSER} dbname={}", record.port, quoted(database)))
}

fn running(name: &str, what: &str) -> Result<Record, Problem> {
    let record: Record = registry::find(&pgdyno_lab::dirs()?, name)?;
    if matches!(record.status(), Status::Running { .. }) {
        return Ok(record);
    }
    Err(Problem::wrong_request(format!("{what}: server `{name}` is not running"))
        .hint(format!("`pgdyno up {name}` starts it")))
}

/// Number of CPUs that this program may use.
pub fn processors() -> u64 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u64)
}
