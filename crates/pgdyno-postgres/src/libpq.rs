//! Errors in libpq's words: what programs that use it print, and what people search their logs for.

use std::{io, net::IpAddr};

use crate::wire::{Address, ConnectOptions, ServerError, Session, Tried, WireError, try_connect};

/// Connects and authenticates.
///
/// # Errors
/// What `PQerrorMessage` says after such a failure, without the end of its last line.
pub fn connect(options: &ConnectOptions) -> Result<Session, String> {
    try_connect(options).map_err(|error| match &error {
        WireError::Everywhere(tried) => {
            let told = tried.iter().map(|Tried { address, ip, error }| failed(address, *ip, error));
            told.collect::<Vec<_>>().join("\n")
        }
        error => failed(options.address(), None, error),
    })
}

/// That a connection to one address failed, and why.
fn failed(address: &Address, ip: Option<IpAddr>, error: &WireError) -> String {
    let ip = ip.map_or(String::new(), |ip| format!(" ({ip})"));
    let place = match address {
        address @ Address::Unix(..) => {
            let path = address.socket_path().unwrap_or_default();
            format!("on socket \"{}\"", path.display())
        }
        Address::Tcp(host, port) => format!("at \"{host}\"{ip}, port {port}"),
    };
    let local = matches!(address, Address::Unix(..));
    format!("connection to server {place} failed: {}", why(error, local))
}

/// What `PQhost` and `PQport` say.
pub fn host_and_port(options: &ConnectOptions) -> (String, u16) {
    match options.address() {
        Address::Unix(dir, port) => (dir.display().to_string(), *port),
        Address::Tcp(host, port) => (host.clone(), *port),
    }
}

fn why(error: &WireError, local: bool) -> String {
    match error {
        WireError::Io(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused if local => format!(
                "{}\n\tIs the server running locally and accepting connections on that socket?",
                system(error)
            ),
            io::ErrorKind::ConnectionRefused => format!(
                "{}\n\tIs the server running on that host and accepting TCP/IP connections?",
                system(error)
            ),
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "timeout expired".to_owned(),
            _ => system(error),
        },
        WireError::NoPassword => "fe_sendauth: no password supplied".to_owned(),
        other => message(other),
    }
}

/// The system's words, without its number.
fn system(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// What `PQerrorMessage` says after a statement failed, without the end of its last line.
pub fn message(error: &WireError) -> String {
    match error {
        WireError::Server(error) => server_message(error),
        WireError::Closed => "server closed the connection unexpectedly\n\
             \tThis probably means the server terminated abnormally\n\
             \tbefore or while processing the request."
            .to_owned(),
        WireError::Io(error) => format!("could not receive data from server: {}", system(error)),
        other => other.to_string(),
    }
}

fn server_message(error: &ServerError) -> String {
    let mut text = format!("{}:  {}", error.severity, error.message);
    for (name, part) in [("DETAIL", &error.detail), ("HINT", &error.hint), ("CONTEXT", &error.context)] {
        if let Some(part) = part {
            text.push_str(&format!("\n{name}:  {part}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_server_have_libpqs_form() {
        let error = ServerError {
            severity: "ERROR".to_owned(),
            code: "42P01".to_owned(),
            message: "relation \"x\" does not exist".to_owned(),
            detail: None,
            hint: Some("Create it.".to_owned()),
            context: Some("here".to_owned()),
        };
        let text = message(&WireError::Server(Box::new(error)));
        assert_eq!(text, "ERROR:  relation \"x\" does not exist\nHINT:  Create it.\nCONTEXT:  here");
    }

    #[test]
    fn a_server_that_is_not_there_is_told_as_libpq_tells_it() {
        let dir = std::env::temp_dir().join("pgdyno-no-such-directory");
        let options = ConnectOptions::local(Address::Unix(dir.clone(), 5432), "me");
        let text = connect(&options).expect_err("nothing is there");
        assert_eq!(
            text,
            format!(
                "connection to server on socket \"{}/.s.PGSQL.5432\" failed: No such file or directory\n\
                 \tIs the server running locally and accepting connections on that socket?",
                dir.display()
            )
        );
    }
}
