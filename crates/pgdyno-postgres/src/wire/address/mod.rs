//! Which server, and how, by libpq's rules (PostgreSQL manual, "Database Connection Control Functions").
//!
//! A value comes from the first of these that has it: the connection string (`-d`), a flag (`-h`, `-p`, `-U`), the
//! service file, the environment, the default. That is the order of libpq and of the programs that use it.

mod conninfo;
mod hosts;
mod keys;
mod parts;
pub mod passfile;
mod read;
mod resolve;
pub mod service;
mod settings;
mod uri;

use std::{fmt, net::IpAddr, path::PathBuf, time::Duration};

pub use resolve::Sources;
pub use settings::{
    CertMode, ChannelBinding, ClientCertificate, Method, RequireAuth, Roots, SessionAttrs, SslMode,
    TcpSettings, TlsSettings, TlsVersion,
};

/// `application_name` of sessions for which nobody gives another.
const APPLICATION_NAME: &str = "pgdyno";
/// Time to connect where none is given. libpq waits for ever; a benchmark that hangs tells nobody anything.
const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A password. It cannot be printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// Takes a password over.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for authentication only.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A Unix-domain socket: directory and port. With `@` before it, its name is in the abstract namespace.
    Unix(PathBuf, u16),
    /// Host name or address, and port.
    Tcp(String, u16),
}

impl Address {
    /// Path of the socket, for a Unix-domain address.
    pub fn socket_path(&self) -> Option<PathBuf> {
        match self {
            Self::Unix(dir, port) => Some(dir.join(format!(".s.PGSQL.{port}"))),
            Self::Tcp(..) => None,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(dir, port) => write!(f, "socket {}/.s.PGSQL.{port}", dir.display()),
            Self::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
        }
    }
}

/// One of the servers that are tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Where it listens. A host's name is what its certificate is compared with.
    pub address: Address,
    /// Its IP address, so that the name is not looked up (`hostaddr`).
    pub hostaddr: Option<IpAddr>,
    /// Password, if any source had one for it.
    pub password: Option<Password>,
    /// Why the password file was ignored, if it was.
    pub passfile_ignored: Option<String>,
}

impl Host {
    /// A server without a password.
    pub fn at(address: Address) -> Self {
        Self { address, hostaddr: None, password: None, passfile_ignored: None }
    }
}

/// Everything needed to connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectOptions {
    /// Where: tried in this order until one is as wanted. There is at least one.
    pub hosts: Vec<Host>,
    /// Role.
    pub user: String,
    /// Database.
    pub database: String,
    /// `application_name`, where somebody gave one.
    pub application_name: Option<String>,
    /// `application_name` otherwise.
    pub fallback_application_name: String,
    /// Time to connect and authenticate, for every address of every host.
    pub connect_timeout: Duration,
    /// Run-time options sent at the start (`options`, as PGOPTIONS).
    pub options: Option<String>,
    /// `client_encoding`.
    pub client_encoding: String,
    /// Settings of the session that are sent at the start: names and values.
    pub startup: Vec<(String, String)>,
    /// Encryption.
    pub tls: TlsSettings,
    /// `channel_binding`.
    pub channel_binding: ChannelBinding,
    /// `require_auth`.
    pub require_auth: Option<RequireAuth>,
    /// `requirepeer`: the user that a server on a Unix-domain socket must run as.
    pub require_peer: Option<String>,
    /// Keep-alives and time-outs of TCP.
    pub tcp: TcpSettings,
    /// `target_session_attrs`.
    pub target: SessionAttrs,
    /// `load_balance_hosts=random`: hosts, and the addresses of each, are tried in random order.
    pub load_balance: bool,
    /// What was given and changes nothing, to be told.
    pub notices: Vec<String>,
}

impl ConnectOptions {
    /// A server on this machine by its socket, as a role whose database has its name, without a password.
    pub fn local(address: Address, user: &str) -> Self {
        Self {
            hosts: vec![Host::at(address)],
            user: user.to_owned(),
            database: user.to_owned(),
            application_name: None,
            fallback_application_name: APPLICATION_NAME.to_owned(),
            connect_timeout: DEFAULT_CONNECT_TIMEOUT,
            options: None,
            client_encoding: "UTF8".to_owned(),
            startup: Vec::new(),
            tls: TlsSettings::default(),
            channel_binding: ChannelBinding::default(),
            require_auth: None,
            require_peer: None,
            tcp: TcpSettings::default(),
            target: SessionAttrs::default(),
            load_balance: false,
            notices: Vec::new(),
        }
    }

    /// The first address that is tried.
    pub fn address(&self) -> &Address {
        &self.hosts[0].address
    }

    /// `application_name` as the server gets it.
    pub fn application_name(&self) -> &str {
        self.application_name.as_deref().unwrap_or(&self.fallback_application_name)
    }

    /// All addresses, for people.
    pub fn places(&self) -> String {
        let places: Vec<_> = self.hosts.iter().map(|host| host.address.to_string()).collect();
        places.join(" or ")
    }

    /// The same by one other address. The password is that of the first host.
    #[must_use]
    pub fn at(&self, address: Address) -> Self {
        let host = Host { address, hostaddr: None, ..self.hosts[0].clone() };
        Self { hosts: vec![host], ..self.clone() }
    }

    /// The same server and role with another database.
    #[must_use]
    pub fn with_database(&self, database: &str) -> Self {
        Self { database: database.to_owned(), ..self.clone() }
    }
}
