//! Flags, connection string, service file, environment and password file put together.

use std::time::Duration;

use pgdyno_core::problem::Problem;

use super::{
    APPLICATION_NAME, ConnectOptions, DEFAULT_CONNECT_TIMEOUT, Host, Password, conninfo, hosts,
    keys::{self, Treatment},
    parts::{Origin, Parts},
    passfile,
    read::{self, one_of},
    service, uri,
};

/// Time to connect for whoever asks for none (`connect_timeout=0`): long enough to be for ever.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// Where the parts of an address may come from. `env` is passed in, so that the library itself reads no environment.
pub struct Sources<'a> {
    /// `-h`.
    pub host: Option<&'a str>,
    /// `-p`.
    pub port: Option<u16>,
    /// `-U`.
    pub user: Option<&'a str>,
    /// `-d`: a name, a URI or a keyword string. What the latter two say goes over the flags, as in psql.
    pub database: Option<&'a str>,
    /// Environment.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// Name of the user at the operating system.
    pub os_user: String,
}

impl ConnectOptions {
    /// Puts an address together from flags, a URI or keyword string, the service file, the environment and the
    /// password file.
    ///
    /// # Errors
    /// A wrong request, naming the source: an unknown keyword, a value that its keyword does not have, a service that
    /// there is not, or something that libpq has and that is not possible here.
    pub fn resolve(sources: &Sources<'_>) -> Result<Self, Problem> {
        let mut parts = Parts::default();
        let port = sources.port.map(|port| port.to_string());
        for (key, value, flag) in
            [("host", sources.host, "-h"), ("port", port.as_deref(), "-p"), ("user", sources.user, "-U")]
        {
            if let Some(value) = value {
                parts.set(key, value, Origin::Flag(flag));
            }
        }
        if let Some(text) = sources.database {
            read_database(text, &mut parts)?;
        }
        add_service(&mut parts, sources.env)?;
        for (key, variable) in keys::KEYS {
            if let Some((variable, value)) = variable.and_then(|name| Some((name, (sources.env)(name)?))) {
                parts.set_default(key, value, Origin::Variable(variable));
            }
        }
        Self::from_parts(&parts, sources)
    }

    fn from_parts(parts: &Parts, sources: &Sources<'_>) -> Result<Self, Problem> {
        let home = (sources.env)("HOME");
        let user = parts.get("user").unwrap_or(&sources.os_user).to_owned();
        let database = parts.get("dbname").unwrap_or(&user).to_owned();
        let startup = keys::STARTUP.iter().filter_map(|(variable, setting)| {
            let value = (sources.env)(variable).filter(|value| value != "default")?;
            Some(((*setting).to_owned(), value))
        });
        let balance = one_of(parts, "load_balance_hosts", &[("disable", false), ("random", true)])?;
        Ok(Self {
            notices: notices(parts)?,
            hosts: with_passwords(parts, sources, &database, &user)?,
            application_name: parts.get("application_name").map(str::to_owned),
            fallback_application_name: parts
                .get("fallback_application_name")
                .unwrap_or(APPLICATION_NAME)
                .to_owned(),
            connect_timeout: connect_timeout(parts)?,
            options: parts.get("options").map(str::to_owned),
            client_encoding: encoding(parts),
            startup: startup.collect(),
            tls: read::tls(parts, home.as_deref())?,
            channel_binding: read::channel_binding(parts)?,
            require_auth: read::require_auth(parts)?,
            require_peer: parts.get("requirepeer").map(str::to_owned),
            tcp: read::tcp(parts)?,
            target: read::session_attrs(parts)?,
            load_balance: balance.unwrap_or(false),
            user,
            database,
        })
    }
}

/// A database name, a URI or a keyword string, told apart as libpq does.
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

/// Adds what the service file says, where a service is named.
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

/// What is given and changes nothing.
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
    one_of(parts, "min_protocol_version", &[("3.0", ())])?;
    one_of(parts, "max_protocol_version", &[("3.0", ()), ("3.2", ()), ("latest", ())])?;
    one_of(parts, "gssencmode", &[("disable", ()), ("prefer", ())])?;
    Ok(notices)
}

/// The hosts, each with its password: the one that is given, else that of the password file.
fn with_passwords(
    parts: &Parts,
    sources: &Sources<'_>,
    database: &str,
    user: &str,
) -> Result<Vec<Host>, Problem> {
    let given = parts.get("password").map(Password::new);
    let hosts = hosts::hosts(parts)?.into_iter().map(|(address, hostaddr)| {
        let found = match &given {
            Some(password) => passfile::Found { password: Some(password.clone()), ignored: None },
            None => passfile::look_up(parts.get("passfile"), sources.env, &address, database, user),
        };
        Host { address, hostaddr, password: found.password, passfile_ignored: found.ignored }
    });
    Ok(hosts.collect())
}

/// In seconds; 1 counts as 2, and 0 and less as for ever, as in libpq.
fn connect_timeout(parts: &Parts) -> Result<Duration, Problem> {
    Ok(match read::integer(parts, "connect_timeout")? {
        None => DEFAULT_CONNECT_TIMEOUT,
        Some(seconds @ 1..) => Duration::from_secs(seconds.max(2) as u64),
        Some(_) => FOR_EVER,
    })
}

/// What is sent is UTF-8 unless somebody knows better; `auto` means that too, whatever the locale.
fn encoding(parts: &Parts) -> String {
    parts.get("client_encoding").filter(|name| *name != "auto").unwrap_or("UTF8").to_owned()
}

#[cfg(test)]
mod tests;
