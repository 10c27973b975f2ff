//! The flags that name the server of a sub-command, as in psql.

use std::env;

use pgdyno_core::problem::Problem;
use pgdyno_lab::named_server;
use pgdyno_wire::{ConnectOptions, OsUser, Sources};

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
    /// Database, URI or keyword string (PGDATABASE); with --server, no other server [default: postgres]
    #[arg(short, long, visible_alias = "dsn", value_name = "DBNAME", help_heading = "Connection")]
    dbname: Option<String>,
}

impl Target {
    /// Whether the flags name a server.
    pub fn is_named(&self) -> bool {
        let flags = [&self.server, &self.host, &self.username, &self.dbname];
        self.port.is_some() || flags.into_iter().any(Option::is_some)
    }

    /// The server that the flags name; the environment alone never selects a server. Errors begin with `what`, such as
    /// `could not load`.
    ///
    /// # Errors
    /// No server is named, there is none of that name, or its address is invalid.
    pub fn resolve(&self, what: &str) -> Result<ConnectOptions, Problem> {
        if let Some(name) = &self.server {
            return named_server(name, self.dbname.as_deref(), what).map(complete);
        }
        if !self.is_named() {
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

/// Number of CPUs that this program may use.
pub fn processors() -> u64 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u64)
}
