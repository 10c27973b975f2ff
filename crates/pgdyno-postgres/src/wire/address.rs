//! Which server, by libpq's rules (PostgreSQL manual, "Database Connection Control Functions").

use std::{fmt, path::PathBuf, time::Duration};

use pgdyno_core::problem::Problem;

use super::{parts::Parts, passfile, uri};

/// Directories in which a server's socket is looked for when no host is given: Debian's and PostgreSQL's own default.
const SOCKET_DIRS: [&str; 2] = ["/var/run/postgresql", "/tmp"];
/// `application_name` of every session.
const APPLICATION_NAME: &str = "pgdyno";
/// Port where none is given.
const DEFAULT_PORT: u16 = 5432;
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
    /// A Unix-domain socket: directory and port.
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
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
        }
    }
}

/// Everything needed to connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectOptions {
    /// Where.
    pub address: Address,
    /// Role.
    pub user: String,
    /// Database.
    pub database: String,
    /// Password, if any source had one.
    pub password: Option<Password>,
    /// Why the password file was ignored, if it was.
    pub passfile_ignored: Option<String>,
    /// `application_name`.
    pub application_name: String,
    /// Time to connect and authenticate.
    pub connect_timeout: Duration,
    /// Run-time options sent at the start (`options`, as PGOPTIONS).
    pub options: Option<String>,
}

/// Where the parts of an address may come from, in the order of their weight. `env` and `home` are passed in, so that
/// the library itself reads no environment.
pub struct Sources<'a> {
    /// `-h`.
    pub host: Option<&'a str>,
    /// `-p`.
    pub port: Option<u16>,
    /// `-U`.
    pub user: Option<&'a str>,
    /// `-d`: a name, a URI or a keyword string.
    pub database: Option<&'a str>,
    /// Environment.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// Name of the user at the operating system.
    pub os_user: String,
}

/// Keywords that are understood, with the environment variable of each.
const KEYWORDS: [(&str, &str); 9] = [
    ("host", "PGHOST"),
    ("port", "PGPORT"),
    ("user", "PGUSER"),
    ("dbname", "PGDATABASE"),
    ("password", "PGPASSWORD"),
    ("connect_timeout", "PGCONNECT_TIMEOUT"),
    ("options", "PGOPTIONS"),
    ("sslmode", "PGSSLMODE"),
    ("passfile", "PGPASSFILE"),
];

impl ConnectOptions {
    /// Puts an address together from flags, a URI or keyword string, the environment and the password file.
    ///
    /// # Errors
    /// A wrong request, naming the source: an unknown keyword, a port that is none, several hosts, a service, or an
    /// `sslmode` that demands TLS.
    pub fn resolve(sources: &Sources<'_>) -> Result<Self, Problem> {
        let mut parts = Parts::default();
        for (keyword, variable) in KEYWORDS {
            if let Some(value) = (sources.env)(variable) {
                parts.set(keyword, value);
            }
        }
        if let Some(service) = (sources.env)("PGSERVICE").filter(|service| !service.is_empty()) {
            return Err(no_service(&format!("PGSERVICE={service}")));
        }
        if let Some(text) = sources.database {
            for (keyword, value) in read_database(text)?.into_pairs() {
                parts.set(&keyword, value);
            }
        }
        set_some(&mut parts, "host", sources.host);
        set_some(&mut parts, "port", sources.port.map(|port| port.to_string()).as_deref());
        set_some(&mut parts, "user", sources.user);
        Self::from_parts(&parts, sources)
    }

    /// A server on this machine by its socket, as a role whose database has its name, without a password.
    pub fn local(address: Address, user: &str) -> Self {
        Self {
            address,
            user: user.to_owned(),
            database: user.to_owned(),
            password: None,
            passfile_ignored: None,
            application_name: APPLICATION_NAME.to_owned(),
            connect_timeout: DEFAULT_CONNECT_TIMEOUT,
            options: None,
        }
    }

    fn from_parts(parts: &Parts, sources: &Sources<'_>) -> Result<Self, Problem> {
        check_ssl_mode(parts.get("sslmode"))?;
        let port = port_of(parts.get("port")).map_err(|problem| {
            let variable = (sources.env)("PGPORT").filter(|value| parts.get("port") == Some(value));
            match variable {
                Some(value) => problem.detail(format!("PGPORT={value}")),
                None => problem,
            }
        })?;
        let address = address_of(parts.get("host"), port)?;
        let user = parts.get("user").unwrap_or(&sources.os_user).to_owned();
        let database = parts.get("dbname").unwrap_or(&user).to_owned();
        let found = match parts.get("password") {
            Some(password) => passfile::Found { password: Some(Password::new(password)), ignored: None },
            None => passfile::look_up(parts.get("passfile"), sources.env, &address, &database, &user),
        };
        let connect_timeout = match parts.get("connect_timeout").map(str::parse::<u64>) {
            None | Some(Ok(0)) => DEFAULT_CONNECT_TIMEOUT,
            Some(Ok(seconds)) => Duration::from_secs(seconds.max(2)), // libpq's minimum
            Some(Err(_)) => return Err(Problem::wrong_request("connect_timeout is not a number of seconds")),
        };
        Ok(Self {
            address,
            user,
            database,
            password: found.password,
            passfile_ignored: found.ignored,
            application_name: APPLICATION_NAME.to_owned(),
            connect_timeout,
            options: parts.get("options").map(str::to_owned),
        })
    }

    /// The same server and role with another database.
    #[must_use]
    pub fn with_database(&self, database: &str) -> Self {
        Self { database: database.to_owned(), ..self.clone() }
    }
}

fn set_some(parts: &mut Parts, keyword: &str, value: Option<&str>) {
    if let Some(value) = value {
        parts.set(keyword, value);
    }
}

/// A database name, a URI or a keyword string, told apart as libpq does.
fn read_database(text: &str) -> Result<Parts, Problem> {
    let parts = if uri::is_uri(text) {
        uri::read_uri(text)?
    } else if text.contains('=') {
        uri::read_keywords(text)?
    } else {
        let mut parts = Parts::default();
        parts.set("dbname", text);
        parts
    };
    for (keyword, value) in parts.pairs() {
        if keyword == "service" {
            return Err(no_service(&format!("service={value}")));
        }
        let known =
            KEYWORDS.iter().map(|(known, _)| *known).chain(["application_name", "fallback_application_name"]);
        if !known.clone().any(|known| known == keyword) {
            return Err(Problem::wrong_request(format!(
                "could not read the connection string: unknown keyword `{keyword}`"
            ))
            .hint(format!("known are {}", known.collect::<Vec<_>>().join(", "))));
        }
    }
    Ok(parts)
}

fn no_service(source: &str) -> Problem {
    Problem::wrong_request(format!("could not use {source}: service files are not read"))
        .hint("give host, port, user and database by -h -p -U -d or by their PG* variables")
}

fn check_ssl_mode(mode: Option<&str>) -> Result<(), Problem> {
    match mode {
        None | Some("disable" | "allow" | "prefer") => Ok(()),
        Some(mode @ ("require" | "verify-ca" | "verify-full")) => Err(Problem::wrong_request(format!(
            "could not connect with sslmode={mode}: connections are not encrypted"
        ))
        .hint("measure over a Unix-domain socket or a trusted network with sslmode=prefer or disable")),
        Some(other) => Err(Problem::wrong_request(format!("invalid sslmode value: \"{other}\""))
            .hint("one of disable, allow, prefer, require, verify-ca, verify-full")),
    }
}

fn port_of(text: Option<&str>) -> Result<u16, Problem> {
    let Some(text) = text else { return Ok(DEFAULT_PORT) };
    match text.parse() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(Problem::wrong_request(format!("invalid port number: \"{text}\""))
            .hint("a number from 1 to 65535")),
    }
}

fn address_of(host: Option<&str>, port: u16) -> Result<Address, Problem> {
    match host {
        Some(hosts) if hosts.contains(',') => Err(Problem::wrong_request(format!(
            "could not use the hosts {hosts}: several hosts are not supported"
        ))
        .hint("name the one to be measured")),
        Some(dir) if dir.starts_with('/') => Ok(Address::Unix(PathBuf::from(dir), port)),
        Some(host) => Ok(Address::Tcp(host.to_owned(), port)),
        None => {
            let socket = |dir: &&&str| PathBuf::from(dir).join(format!(".s.PGSQL.{port}")).exists();
            let dir = SOCKET_DIRS.iter().find(socket).unwrap_or(&SOCKET_DIRS[0]);
            Ok(Address::Unix(PathBuf::from(dir), port))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(database: Option<&str>, env: &[(&str, &str)]) -> Result<ConnectOptions, Problem> {
        let env =
            |name: &str| env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let sources =
            Sources { host: None, port: None, user: None, database, env: &env, os_user: "me".to_owned() };
        ConnectOptions::resolve(&sources)
    }

    #[test]
    fn a_uri_outweighs_the_environment() {
        let env = [("PGHOST", "other"), ("PGUSER", "someone"), ("PGPORT", "1")];
        let options =
            resolve(Some("postgresql://u%20x:p%40ss@db.example:6000/my%2Fdb?connect_timeout=3"), &env);
        let options = options.expect("it is a URI");
        assert_eq!(options.address, Address::Tcp("db.example".into(), 6000));
        assert_eq!((options.user.as_str(), options.database.as_str()), ("u x", "my/db"));
        assert_eq!(options.password, Some(Password::new("p@ss")));
        assert_eq!(options.connect_timeout, Duration::from_secs(3));
    }

    #[test]
    fn what_is_missing_comes_from_the_environment_and_the_system() {
        let options = resolve(None, &[("PGHOST", "/run/pg"), ("PGPORT", "5433")]).expect("defaults");
        assert_eq!(options.address, Address::Unix("/run/pg".into(), 5433));
        assert_eq!((options.user.as_str(), options.database.as_str()), ("me", "me"));
    }

    #[test]
    fn keyword_strings_and_socket_hosts_are_understood() {
        let options = resolve(Some(r"host = /tmp/x user='a \'b' dbname=d port=77"), &[]).expect("keywords");
        assert_eq!(options.address, Address::Unix("/tmp/x".into(), 77));
        assert_eq!(options.user, "a 'b");
        let options = resolve(Some("postgres://%2Ftmp%2Fx:78/d"), &[]).expect("a URI");
        assert_eq!(options.address, Address::Unix("/tmp/x".into(), 78));
        let options = resolve(Some("postgres://[::1]:79/d?user=q"), &[]).expect("a URI");
        assert_eq!((options.address, options.user.as_str()), (Address::Tcp("::1".into(), 79), "q"));
    }

    #[test]
    fn wrong_addresses_name_what_is_wrong() {
        for (text, env, message) in [
            ("host=a hots=b", ("A", ""), "unknown keyword `hots`"),
            ("postgres://h:0/d", ("A", ""), "invalid port number: \"0\""),
            ("postgres://h:x/d", ("A", ""), "invalid port number: \"x\""),
            ("postgres://a,b/d", ("A", ""), "several hosts"),
            ("d", ("PGPORT", "99999"), "invalid port number: \"99999\""),
            ("d", ("PGSSLMODE", "require"), "sslmode=require"),
            ("d", ("PGSSLMODE", "reqire"), "invalid sslmode value"),
            ("service=prod", ("A", ""), "service files are not read"),
            ("d", ("PGSERVICE", "prod"), "PGSERVICE=prod"),
            ("host='a", ("A", ""), "unterminated quoted string"),
            ("host a=b", ("A", ""), "missing \"=\""),
            ("postgres://u%zz@h/d", ("A", ""), "percent"),
            ("postgres://[::1/d", ("A", ""), "]"),
        ] {
            let problem = resolve(Some(text), &[env]).expect_err(text);
            assert!(problem.what.contains(message), "{text}: {}", problem.what);
        }
    }

    #[test]
    fn a_password_is_never_printed() {
        let options = resolve(Some("postgres://u:hunter2@h/d"), &[]).expect("a URI");
        assert!(!format!("{options:?}").contains("hunter2"));
    }
}
