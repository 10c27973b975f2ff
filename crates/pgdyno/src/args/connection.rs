//! The flags that name a server that is already there.

use std::env;

use clap::Args as ClapArgs;
use pgdyno_core::problem::Problem;
use pgdyno_wire::{ConnectOptions, OsUser, Sources};

use super::target::own;
use pgdyno_lab::External;

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
    pub fn resolve(&self) -> Result<Option<External>, Problem> {
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
