//! The server that a sub-command works on, as psql's flags name it.

use std::env;

use pgdyno_core::problem::Problem;
use pgdyno_provision::{Record, SUPERUSER, Status, registry};
use pgdyno_wire::{Address, ConnectOptions, OsUser, Sources};

/// Where to.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Target {
    /// A server of `pgdyno up`, by its name
    #[arg(long, value_name = "NAME", conflicts_with_all = ["host", "port", "username"], help_heading = "Where")]
    server: Option<String>,
    /// Host, or directory of the socket (PGHOST)
    #[arg(short = 'h', long, value_name = "HOST", help_heading = "Where")]
    host: Option<String>,
    /// Port (PGPORT)
    #[arg(short, long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Where")]
    port: Option<u16>,
    /// Role (PGUSER)
    #[arg(short = 'U', long, value_name = "ROLE", help_heading = "Where")]
    username: Option<String>,
    /// Database, URI or keyword string (PGDATABASE); with --server, the name of a database [default there: postgres]
    #[arg(short, long, visible_alias = "dsn", value_name = "DBNAME", help_heading = "Where")]
    dbname: Option<String>,
}

impl Target {
    /// The server that the flags name; the environment alone makes nobody's server a target. `what` begins a refusal,
    /// such as `could not load`.
    ///
    /// # Errors
    /// That no server is named, that there is none of that name, or what is wrong with the address.
    pub fn resolve(&self, what: &str) -> Result<ConnectOptions, Problem> {
        if let Some(name) = &self.server {
            return own(name, self.dbname.as_deref(), what);
        }
        if self.host.is_none() && self.port.is_none() && self.username.is_none() && self.dbname.is_none() {
            let problem = Problem::wrong_request(format!("{what}: no server is named"));
            return Err(problem.hint("name one by --server (of `pgdyno up`), by --dsn, or by -h -p -U -d"));
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
        resolved.map(ConnectOptions::in_utf8)
    }
}

/// How a running server of `pgdyno up` is reached, by its name; a database of it where one is named.
///
/// # Errors
/// That there is none of that name, or that it does not run; `what` begins the sentence.
pub fn own(name: &str, database: Option<&str>, what: &str) -> Result<ConnectOptions, Problem> {
    let record: Record = registry::find(&pgdyno_lab::dirs()?, name)?;
    if !matches!(record.status(), Status::Running { .. }) {
        return Err(Problem::wrong_request(format!("{what}: server `{name}` does not run"))
            .hint(format!("`pgdyno up {name}` starts it")));
    }
    let mut options = ConnectOptions::local(Address::Unix(record.socket.path, record.port), SUPERUSER);
    if let Some(database) = database {
        database.clone_into(&mut options.database);
    }
    Ok(options)
}

/// The processors that this program may use, for what works on all of them.
pub fn processors() -> u64 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u64)
}
