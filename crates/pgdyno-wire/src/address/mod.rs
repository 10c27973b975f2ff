//! Which server, and how, by libpq's rules (PostgreSQL manual, "Database Connection Control Functions").
//!
//! A value comes from the first of these that has it: the connection string (`-d`), a flag (`-h`, `-p`, `-U`), the
//! service file, the environment, the default. That is the order of libpq and of the programs that use it.

mod conninfo;
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

pub use passfile::{Ignored, WhyIgnored};
pub use password::Password;
pub use place::Address;
pub use resolve::Sources;
pub use settings::{
    CertMode, ChannelBinding, ClientCertificate, Method, ProtocolVersion, RequireAuth, Roots, ScramKeys,
    SessionAttrs, SslMode, TcpSettings, TlsSettings, TlsVersion,
};

use super::{ServerError, tls};

/// `application_name` of sessions for which nobody gives another.
const APPLICATION_NAME: &str = "pgdyno";
/// Encoding of the texts that this program reads.
const UTF8: &str = "UTF8";
/// Time to connect where none is given. libpq waits for ever; a benchmark that hangs tells nobody anything.
const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Who runs this program, as the operating system knows them.
#[derive(Debug, Clone)]
pub struct OsUser {
    /// Their name: the role where no other is named. Where there is none, why.
    pub name: Result<String, String>,
    /// Their home directory, for where `HOME` names none.
    pub home: Option<String>,
}

impl OsUser {
    /// The user with whose rights this process works (`geteuid`), whatever the environment says: as with libpq.
    pub fn of_process() -> Self {
        let user = users::of_process();
        let home = user.as_ref().ok().and_then(|user| Some(user.home.to_str()?.to_owned()));
        Self { name: user.map(|user| user.name), home }
    }
}

/// Who hears what a server says unasked: its notices and warnings, as they come.
#[derive(Clone)]
pub struct Hear(Arc<dyn Fn(&ServerError) + Send + Sync>);

impl Hear {
    /// A listener.
    pub fn new(hear: impl Fn(&ServerError) + Send + Sync + 'static) -> Self {
        Self(Arc::new(hear))
    }

    /// Tells a notice.
    pub(super) fn tell(&self, notice: &ServerError) {
        (self.0)(notice);
    }
}

impl fmt::Debug for Hear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hear")
    }
}

impl PartialEq for Hear {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Hear {}

/// One of the servers that are tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Where it listens. A host's name is what its certificate is compared with.
    pub address: Address,
    /// Its IP address, so that the name is not looked up (`hostaddr`).
    pub hostaddr: Option<IpAddr>,
    /// Password, if any source had one for it.
    pub password: Option<Password>,
    /// The file that the password comes from, if it comes from one.
    pub passfile: Option<PathBuf>,
    /// The password file that was ignored, if it was.
    pub passfile_ignored: Option<Ignored>,
}

impl Host {
    /// A server without a password.
    pub fn at(address: Address) -> Self {
        Self { address, hostaddr: None, password: None, passfile: None, passfile_ignored: None }
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
    /// `application_name`, where somebody gave one; an empty one is sent to nobody.
    pub application_name: Option<String>,
    /// `application_name` otherwise.
    pub fallback_application_name: String,
    /// Time to connect and authenticate, for every address of every host.
    pub connect_timeout: Duration,
    /// Run-time options sent at the start (`options`, as PGOPTIONS).
    pub options: Option<String>,
    /// `client_encoding`; without it the server's own choice: the database's, unless its settings name another.
    pub client_encoding: Option<String>,
    /// `replication`, which the server makes of what it will: with `database` it still runs SQL by the simple protocol.
    pub replication: Option<String>,
    /// Settings of the session that are sent at the start: names and values.
    pub startup: Vec<(String, String)>,
    /// The oldest version of the protocol that will do, and the one that is asked for.
    pub protocol: (ProtocolVersion, ProtocolVersion),
    /// Encryption.
    pub tls: TlsSettings,
    /// What was read from the files that [`tls`](Self::tls) names, once for all connections.
    pub tls_cache: tls::Cache,
    /// `channel_binding`.
    pub channel_binding: ChannelBinding,
    /// `require_auth`.
    pub require_auth: Option<RequireAuth>,
    /// What SCRAM is done with in place of a password.
    pub scram_keys: Option<ScramKeys>,
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
    /// Who hears the server's notices, of connecting and of what a [`Session`](super::Session) asks for.
    pub hear: Option<Hear>,
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
            hear: None,
        }
    }

    /// The same in UTF-8, unless somebody asked for another encoding: for who reads names and texts of any database.
    #[must_use]
    pub fn in_utf8(self) -> Self {
        Self { client_encoding: self.client_encoding.or_else(|| Some(UTF8.to_owned())), ..self }
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
