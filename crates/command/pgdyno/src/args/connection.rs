//! The flags that name an existing server.

use std::env;

use clap::Args as ClapArgs;
use pgdyno_core::problem::Problem;
use pgdyno_wire::{ConnectOptions, OsUser, Sources};

use crate::detached::passwords::complete;
use pgdyno_lab::{External, named_server};

/// The existing server to measure. Without any of these flags, a temporary one is created.
#[derive(Debug, Clone, Default, ClapArgs)]
#[command(next_help_heading = "Existing server")]
pub struct Connection {
    /// Name of a server of `pgdyno up`; -d then names one of its databases, or has parameters
    #[arg(long, value_name = "NAME", conflicts_with_all = ["host", "port", "username", "dsn", "admin_dsn"])]
    pub server: Option<String>,
    /// Host, or directory of the Unix-domain socket (PGHOST)
    #[arg(short = 'h', long, value_name = "HOST")]
    pub host: Option<String>,
    /// Port (PGPORT)
    #[arg(short, long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Role (PGUSER)
    #[arg(short = 'U', long = "username", value_name = "ROLE")]
    pub username: Option<String>,
    /// Database, URI or keyword string (PGDATABASE); everything is created in its schema `pgdyno`
    #[arg(short, long, value_name = "DBNAME")]
    pub dbname: Option<String>,
    /// Connection string for the clients, such as that of a pooler or a standby; overrides -h -p -U
    #[arg(long, value_name = "DSN", conflicts_with = "dbname")]
    pub dsn: Option<String>,
    /// Connection string for setup, checks and monitoring [default: that of the clients]
    #[arg(long, value_name = "DSN")]
    pub admin_dsn: Option<String>,
}

impl Connection {
    /// The connections to an existing server; none for a temporary one.
    ///
    /// # Errors
    /// See [`Connection::resolve`].
    pub fn servers(&self) -> Result<Vec<ConnectOptions>, Problem> {
        Ok(self
            .resolve()?
            .into_iter()
            .flat_map(|server| [Some(server.drive), server.admin])
            .flatten()
            .collect())
    }

    /// The server that the flags name, completed from PG* variables and the password file; `None` if no flag is given,
    /// since the environment alone never selects a server.
    ///
    /// # Errors
    /// An invalid parameter; the problem names its source.
    pub fn resolve(&self) -> Result<Option<External>, Problem> {
        if let Some(name) = &self.server {
            let drive = named_server(name, self.dbname.as_deref(), "could not measure").map(complete)?;
            return Ok(Some(External { drive, admin: None }));
        }
        let database = self.dsn.as_deref().or(self.dbname.as_deref());
        if self.host.is_none() && self.port.is_none() && self.username.is_none() && database.is_none() {
            return match self.admin_dsn {
                None => Ok(None),
                Some(_) => Err(Problem::wrong_request(
                    "could not use --admin-dsn alone: it names no server for the clients",
                )
                .hint("name it with --dsn, or leave --admin-dsn out for a temporary server")),
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
        let drive = complete(ConnectOptions::resolve(&sources)?.in_utf8());
        let admin = self.admin_dsn.as_deref().map(|dsn| {
            let alone =
                Sources { host: None, port: None, user: None, database: Some(dsn), env: &variable, os_user };
            ConnectOptions::resolve(&alone).map(|options| complete(options.in_utf8()))
        });
        Ok(Some(External { drive, admin: admin.transpose()? }))
    }
}
