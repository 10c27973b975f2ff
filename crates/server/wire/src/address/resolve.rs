//! Resolves connection parameters from flags, connection string, service file, environment and password file.

use std::time::Duration;

use pgdyno_core::problem::Problem;

use super::{
    APPLICATION_NAME, ConnectOptions, DEFAULT_CONNECT_TIMEOUT, Host, OsUser, Password, conninfo, hosts,
    keys::{self, Treatment},
    parts::{Origin, Parts},
    passfile,
    read::{self, one_of},
    service, uri,
};
use crate::tls::Cache;

/// Connect timeout for `connect_timeout=0`: practically infinite.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// Sources of connection parameters. `env` is passed in, so that the library itself reads no environment. An empty flag
/// counts as not given.
pub struct Sources<'a> {
    /// `-h`: host or list of hosts.
    pub host: Option<&'a str>,
    /// `-p`: port, or one port for each host.
    pub port: Option<&'a str>,
    /// `-U`: role.
    pub user: Option<&'a str>,
    /// `-d`: a database name, a URI or a keyword/value string. The latter two override the flags, as in psql.
    pub database: Option<&'a str>,
    /// Lookup of an environment variable.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// The user of this process.
    pub os_user: &'a OsUser,
}

impl Sources<'_> {
    /// Value of a variable; for `HOME` the system's home directory is the fallback.
    fn variable(&self, name: &str) -> Option<String> {
        match name {
            "HOME" => (self.env)(name).filter(|home| !home.is_empty()).or_else(|| self.os_user.home.clone()),
            _ => (self.env)(name),
        }
    }
}

impl ConnectOptions {
    /// Resolves the connection parameters from flags, a URI or keyword/value string, the service file, the environment
    /// and the password file.
    ///
    /// # Errors
    /// A wrong request, naming the source: an unknown keyword, an invalid value, an unknown service, a libpq feature
    /// that is not supported here, or no name for the role.
    pub fn resolve(sources: &Sources<'_>) -> Result<Self, Problem> {
        let mut parts = Parts::default();
        for (key, value, flag) in
            [("host", sources.host, "-h"), ("port", sources.port, "-p"), ("user", sources.user, "-U")]
        {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                parts.set(key, value, Origin::Flag(flag));
            }
        }
        if let Some(text) = sources.database.filter(|text| !text.is_empty()) {
            read_database(text, &mut parts)?;
        }
        add_service(&mut parts, &|name| sources.variable(name))?;
        for (key, variable) in keys::KEYS {
            if let Some((variable, value)) = variable.and_then(|name| Some((name, (sources.env)(name)?))) {
                parts.set_default(key, value, Origin::Variable(variable));
            }
        }
        Self::from_parts(&parts, sources)
    }

    fn from_parts(parts: &Parts, sources: &Sources<'_>) -> Result<Self, Problem> {
        let home = sources.variable("HOME");
        let user = user(parts, sources)?;
        let database = parts.get("dbname").unwrap_or(&user).to_owned();
        let startup = keys::STARTUP.iter().filter_map(|(variable, setting)| {
            let value = (sources.env)(variable).filter(|value| !value.eq_ignore_ascii_case("default"))?;
            Some(((*setting).to_owned(), value))
        });
        let balance = one_of(parts, "load_balance_hosts", &[("disable", false), ("random", true)])?;
        Ok(Self {
            notices: notices(parts)?,
            hosts: with_passwords(parts, sources, &database, &user)?,
            application_name: parts.text("application_name").map(str::to_owned),
            fallback_application_name: parts
                .get("fallback_application_name")
                .unwrap_or(APPLICATION_NAME)
                .to_owned(),
            connect_timeout: connect_timeout(parts)?,
            options: parts.get("options").map(str::to_owned),
            client_encoding: encoding(parts),
            replication: parts.get("replication").map(str::to_owned),
            startup: startup.collect(),
            protocol: read::protocol(parts)?,
            scram_keys: read::scram_keys(parts)?,
            tls: read::tls(parts, home.as_deref())?,
            tls_cache: Cache::default(),
            channel_binding: read::channel_binding(parts)?,
            require_auth: read::require_auth(parts)?,
            require_peer: parts.get("requirepeer").map(str::to_owned),
            tcp: read::tcp(parts)?,
            target: read::session_attrs(parts)?,
            load_balance: balance.unwrap_or(false),
            user,
            database,
            on_notice: None,
        })
    }
}

/// Role: the one named, else the user of this process.
fn user(parts: &Parts, sources: &Sources<'_>) -> Result<String, Problem> {
    match (parts.get("user"), &sources.os_user.name) {
        (Some(name), _) => Ok(name.to_owned()),
        (None, Ok(name)) => Ok(name.clone()),
        (None, Err(why)) => Err(Problem::wrong_request(why.clone()).hint("name the role by -U or PGUSER")),
    }
}

/// Parses a database name, a URI or a keyword/value string, distinguished as in libpq.
fn read_database(text: &str, parts: &mut Parts) -> Result<(), Problem> {
    let pairs = if uri::is_uri(text) {
        uri::read(text)?
    } else if text.contains('=') {
        conninfo::read(text)?
    } else {
        vec![("dbname".to_owned(), text.to_owned())]
    };
    for (key, value) in pairs {
        keys::check(&key)?;
        parts.set(&key, value, Origin::Text);
    }
    Ok(())
}

/// Adds the parameters of the service file, if a service is named.
fn add_service(parts: &mut Parts, env: &dyn Fn(&str) -> Option<String>) -> Result<(), Problem> {
    let variable = env("PGSERVICE").filter(|service| !service.is_empty());
    let (service, origin) = match (parts.part("service"), variable) {
        (Some(part), _) => (part.value.clone(), part.origin.to_string()),
        (None, Some(service)) => (service, Origin::Variable("PGSERVICE").to_string()),
        (None, None) => return Ok(()),
    };
    let (entries, path) =
        service::look_up(&service, env).map_err(|problem| match problem.detail.clone() {
            Some(detail) => problem.detail(format!("the service is {origin}; {detail}")),
            None => problem.detail(format!("the service is {origin}")),
        })?;
    for (key, value, line) in entries {
        let place = format!("{}:{line} (service {service})", path.display());
        parts.set_default(&key, value, Origin::Service(place));
    }
    Ok(())
}

/// Warnings about parameters without effect; unsupported ones are refused.
fn notices(parts: &Parts) -> Result<Vec<String>, Problem> {
    let mut notices = Vec::new();
    for part in parts.iter().filter(|part| !part.value.is_empty()) {
        match keys::treatment(&part.key, &part.value) {
            Treatment::Used => {}
            Treatment::Harmless(why) => notices.push(format!("{} has no effect: {why}", part.key)),
            Treatment::Refused(why) => {
                return Err(Problem::wrong_request(format!("could not use {}: {why}", part.key))
                    .detail(part.origin.to_string())
                    .hint(format!("leave {} out", part.key)));
            }
        }
        let password = part.key == "password" && matches!(part.origin, Origin::Text);
        if password {
            notices.push(
                "a password in a connection string can be seen in the list of processes: PGPASSWORD or a \
                 password file hides it"
                    .to_owned(),
            );
        }
    }
    one_of(parts, "gssencmode", &[("disable", ()), ("prefer", ())])?;
    Ok(notices)
}

/// The hosts, each with its password: the given one, else that of the password file.
fn with_passwords(
    parts: &Parts,
    sources: &Sources<'_>,
    database: &str,
    user: &str,
) -> Result<Vec<Host>, Problem> {
    let given = parts.get("password").map(Password::new);
    let path = passfile::path(parts.get("passfile"), &|name| sources.variable(name));
    let hosts = hosts::hosts(parts)?.into_iter().map(|(address, hostaddr)| match (&given, &path) {
        (None, Some(path)) => {
            let found = passfile::look_up(path, &address, database, user);
            let (password, passfile_ignored) = (found.password, found.ignored);
            let passfile = password.is_some().then(|| path.clone());
            Host { hostaddr, password, passfile, passfile_ignored, ..Host::at(address) }
        }
        _ => Host { hostaddr, password: given.clone(), ..Host::at(address) },
    });
    Ok(hosts.collect())
}

/// Connect timeout in seconds; 0 and less is infinite, as in libpq.
fn connect_timeout(parts: &Parts) -> Result<Duration, Problem> {
    Ok(match read::integer(parts, "connect_timeout")? {
        None => DEFAULT_CONNECT_TIMEOUT,
        Some(seconds @ 1..) => Duration::from_secs(seconds as u64),
        Some(_) => FOR_EVER,
    })
}

/// Requested encoding. `auto` means that of the program's locale: like pgbench, this program sets none, and libpq then
/// takes SQL_ASCII.
fn encoding(parts: &Parts) -> Option<String> {
    let name = parts.get("client_encoding")?;
    Some(if name == "auto" { "SQL_ASCII" } else { name }.to_owned())
}

#[cfg(test)]
mod tests;
