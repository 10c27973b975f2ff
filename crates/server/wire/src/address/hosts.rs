//! The servers to try, from lists of hosts, addresses and ports.

use std::{net::IpAddr, path::PathBuf};

use pgdyno_core::problem::Problem;

use super::{Address, parts::Parts};

/// Default directories of the server's socket: Debian's and PostgreSQL's own.
const SOCKET_DIRS: [&str; 2] = ["/var/run/postgresql", "/tmp"];
/// Default port.
const DEFAULT_PORT: u16 = 5432;

/// The hosts in order, each with the IP address that replaces a lookup, if there is one.
pub(super) fn hosts(parts: &Parts) -> Result<Vec<(Address, Option<IpAddr>)>, Problem> {
    let names = list(parts.get("host"));
    let addresses = list(parts.get("hostaddr"));
    let count = names.len().max(addresses.len()).max(1);
    if !names.is_empty() && !addresses.is_empty() && names.len() != addresses.len() {
        return Err(Problem::wrong_request(format!(
            "could not match {} host names to {} hostaddr values",
            names.len(),
            addresses.len()
        )));
    }
    let ports = list(parts.get("port"));
    if ports.len() > 1 && ports.len() != count {
        return Err(Problem::wrong_request(format!(
            "could not match {} port numbers to {count} hosts",
            ports.len()
        ))
        .hint("give one port for all hosts, or one for each"));
    }
    (0..count)
        .map(|at| {
            let text = if ports.len() == 1 { ports[0] } else { ports.get(at).copied().unwrap_or_default() };
            let port = port(text, parts)?;
            host(names.get(at).copied(), addresses.get(at).copied(), port)
        })
        .collect()
}

/// Splits a comma-separated list; an absent list is empty.
fn list(text: Option<&str>) -> Vec<&str> {
    text.map(|text| text.split(',').map(str::trim).collect()).unwrap_or_default()
}

fn port(text: &str, parts: &Parts) -> Result<u16, Problem> {
    if text.is_empty() {
        return Ok(DEFAULT_PORT);
    }
    let what = match text.parse::<i32>() {
        Ok(number) => match u16::try_from(number) {
            Ok(port @ 1..) => return Ok(port),
            _ => format!("invalid port number: \"{text}\""),
        },
        Err(_) => format!("invalid integer value \"{text}\" for connection option \"port\""),
    };
    let detail = parts.part("port").map(|part| part.origin.to_string());
    Err(Problem { detail, ..Problem::wrong_request(what).hint("a number from 1 to 65535") })
}

fn host(name: Option<&str>, address: Option<&str>, port: u16) -> Result<(Address, Option<IpAddr>), Problem> {
    let name = name.filter(|name| !name.is_empty());
    if let Some(text) = address.filter(|text| !text.is_empty()) {
        let ip = text.parse().map_err(|_| {
            Problem::wrong_request(format!("could not parse network address \"{text}\""))
                .hint("hostaddr is a numeric IP address; names belong into host")
        })?;
        return Ok((Address::Tcp(name.unwrap_or(text).to_owned(), port), Some(ip)));
    }
    Ok(match name {
        Some(dir) if dir.starts_with(['/', '@']) => (Address::Unix(PathBuf::from(dir), port), None),
        Some(name) => (Address::Tcp(name.to_owned(), port), None),
        None => {
            let socket = |dir: &&&str| PathBuf::from(dir).join(format!(".s.PGSQL.{port}")).exists();
            let dir = SOCKET_DIRS.iter().find(socket).unwrap_or(&SOCKET_DIRS[0]);
            (Address::Unix(PathBuf::from(dir), port), None)
        }
    })
}
