//! Connection parameters by libpq's rules (PostgreSQL manual, "Database Connection Control Functions").
//!
//! A value comes from the first of these that has it: the connection string (`-d`), a flag (`-h`, `-p`, `-U`), the
//! service file, the environment, the default. This is the order of libpq and of the programs that use it.

mod conninfo;
mod handover;
mod hosts;
mod keys;
mod parts;
pub mod passfile;
mod password;
mod place;
mod read;
mod resolve;
pub mod service;
mod settings;
mod uri;

use std::{fmt, net::IpAddr, path::PathBuf, sync::Arc, time::Duration};

use pgdyno_host::users;

pub use handover::Handover;
pub use passfile::{Ignored, WhyIgnored};
pub use password::Password;
pub use place::Address;
pub use resolve::Sources;
pub use settings::{
    CertMode, ChannelBinding, ClientCertificate, Method, ProtocolVersion, RequireAuth, Roots, ScramKeys,
    SessionAttrs, SslMode, TcpSettings, TlsSettings, TlsVersion,
};

use super::{ServerError, tls};

/// Default `application_name`.
const APPLICATION_NAME: &str = "pgdyno";
/// Encoding of the texts that this program reads.
const UTF8: &str = "UTF8";
/// Default connect timeout. libpq waits forever; a hanging benchmark helps nobody.
const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The user of this process, as the operating system knows them.
#[derive(Debug, Clone)]
pub struct OsUser {
    /// Name of the user, which is the default role; or why there is none.
    pub name: Result<String, String>,
    /// Home directory of the user, in case `HOME` is not set.
    pub home: Option<String>,
}

impl OsUser {
    /// The effective user of this process (`geteuid`), whatever the environment says, as in libpq.
    pub fn of_process() -> Self {
        let user = users::of_process();
        let home = user.as_ref().ok().and_then(|user| Some(user.home.to_str()?.to_owned()));
        Self { name: user.map(|user| user.name), home }
    }
}

/// Callback for the server's notices and warnings, called as they arrive.
#[derive(Clone)]
pub struct NoticeReceiver(Arc<dyn Fn(&ServerError) + Send + Sync>);

impl NoticeReceiver {
    /// Wraps a callback.
    pub fn new(receiver: impl Fn(&ServerError) + Send + Sync + 'static) -> Self {
        Self(Arc::new(receiver))
    }

    /// Calls the callback with a notice.
    pub(super) fn receive(&self, notice: &ServerError) {
        (self.0)(notice);
    }
}

impl fmt::Debug for NoticeReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NoticeReceiver")
    }
}

/// One of the servers to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Address it listens on. The certificate is verified against its host name.
    pub address: Address,
    /// IP address of the host, which saves the lookup of the name (`hostaddr`).
    pub hostaddr: Option<IpAddr>,
    /// Password for this host, if any source has one.
    pub password: Option<Password>,
    /// File that the password comes from, if it comes from one.
    pub passfile: Option<PathBuf>,
    /// Password file that was ignored, if one was.
    pub passfile_ignored: Option<Ignored>,
}

impl Host {
    /// Makes a host without a password.
    pub fn at(address: Address) -> Self {
        Self { address, hostaddr: None, password: None, passfile: None, passfile_ignored: None }
    }
}

/// Complete parameters of a connection.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// Servers, tried in this order until one is acceptable; never empty.
    pub hosts: Vec<Host>,
    /// Role name.
    pub user: String,
    /// Database name.
    pub database: String,
    /// `application_name`, if given; an empty one is not sent.
    pub application_name: Option<String>,
    /// `application_name` if none is given.
    pub fallback_application_name: String,
    /// Time limit to connect and authenticate, for each address of each host.
    pub connect_timeout: Duration,
    /// Command-line options for the server (`options`, PGOPTIONS), sent in the startup message.
    pub options: Option<String>,
    /// `client_encoding`; without it the server's choice: the database's encoding, unless its settings name another.
    pub client_encoding: Option<String>,
    /// `replication`, passed to the server as it is; with `database` the simple protocol still runs SQL.
    pub replication: Option<String>,
    /// Session settings sent in the startup message: names and values.
    pub startup: Vec<(String, String)>,
    /// Minimum acceptable and requested version of the protocol.
    pub protocol: (ProtocolVersion, ProtocolVersion),
    /// TLS settings.
    pub tls: TlsSettings,
    /// Content of the files that [`tls`](Self::tls) names, read once for all connections.
    pub tls_cache: tls::Cache,
    /// `channel_binding`.
    pub channel_binding: ChannelBinding,
    /// `require_auth`.
    pub require_auth: Option<RequireAuth>,
    /// SCRAM keys to use instead of a password.
    pub scram_keys: Option<ScramKeys>,
    /// `requirepeer`: the user that a server on a Unix-domain socket must run as.
    pub require_peer: Option<String>,
    /// TCP keepalives and timeouts.
    pub tcp: TcpSettings,
    /// `target_session_attrs`.
    pub target: SessionAttrs,
    /// `load_balance_hosts=random`: hosts, and the addresses of each, are tried in random order.
    pub load_balance: bool,
    /// Warnings for the user about parameters without effect.
    pub notices: Vec<String>,
    /// Callback for the server's notices while connecting and in a [`Session`](super::Session).
    pub on_notice: Option<NoticeReceiver>,
}

impl ConnectOptions {
    /// Parameters for the socket of a local server, with the database named like the role, and no password.
    pub fn local(address: Address, user: &str) -> Self {
        Self {
            hosts: vec![Host::at(address)],
            user: user.to_owned(),
            database: user.to_owned(),
            application_name: None,
            fallback_application_name: APPLICATION_NAME.to_owned(),
            connect_timeout: DEFAULT_CONNECT_TIMEOUT,
            options: None,
            client_encoding: Some(UTF8.to_owned()),
            replication: None,
            startup: Vec::new(),
            protocol: Default::default(),
            tls: TlsSettings::default(),
            tls_cache: tls::Cache::default(),
            channel_binding: ChannelBinding::default(),
            require_auth: None,
            scram_keys: None,
            require_peer: None,
            tcp: TcpSettings::default(),
            target: SessionAttrs::default(),
            load_balance: false,
            notices: Vec::new(),
            on_notice: None,
        }
    }

    /// Requests UTF-8 unless another encoding was requested: for reading names and texts of any database.
    #[must_use]
    pub fn in_utf8(self) -> Self {
        Self { client_encoding: self.client_encoding.or_else(|| Some(UTF8.to_owned())), ..self }
    }

    /// Address of the first server to try.
    pub fn address(&self) -> &Address {
        &self.hosts[0].address
    }

    /// `application_name` as sent to the server.
    pub fn application_name(&self) -> &str {
        self.application_name.as_deref().unwrap_or(&self.fallback_application_name)
    }

    /// All addresses as one text for messages.
    pub fn places(&self) -> String {
        let places: Vec<_> = self.hosts.iter().map(|host| host.address.to_string()).collect();
        places.join(" or ")
    }

    /// Replaces the hosts by one other address, with the password of the first host.
    #[must_use]
    pub fn at(&self, address: Address) -> Self {
        let host = Host { address, hostaddr: None, ..self.hosts[0].clone() };
        Self { hosts: vec![host], ..self.clone() }
    }

    /// Replaces the database.
    #[must_use]
    pub fn with_database(&self, database: &str) -> Self {
        Self { database: database.to_owned(), ..self.clone() }
    }
}
