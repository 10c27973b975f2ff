//! Errors in libpq's words: what programs that use it print, and what people search their logs for.

mod position;

use std::{io, net::IpAddr};

use crate::wire::{
    Address, ConnectOptions, NO_PORT_LEFT, ServerError, Session, Tried, WireError, try_connect,
};

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
            io::ErrorKind::AddrNotAvailable => format!("{}\n\t{NO_PORT_LEFT}", system(error)),
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
    let (place, lines) = place(error);
    let mut text = format!("{}:  {}{place}{lines}", error.severity, error.message);
    for (name, part) in [
        ("DETAIL", &error.detail),
        ("HINT", &error.hint),
        ("QUERY", &error.internal_query),
        ("CONTEXT", &error.context),
    ] {
        if let Some(part) = part {
            text.push_str(&format!("\n{name}:  {part}"));
        }
    }
    text
}

/// Where the error is: a number behind the message where nobody knows the statement, else its line with a caret.
fn place(error: &ServerError) -> (String, String) {
    let (position, statement) = match (error.position, error.internal_position) {
        (Some(position), _) => (position, &error.statement),
        (None, Some(position)) => (position, &error.internal_query),
        (None, None) => return Default::default(),
    };
    match statement {
        None => (format!(" at character {position}"), String::new()),
        Some(statement) => {
            let lines = position::lines(statement, position);
            (String::new(), lines.map_or(String::new(), |lines| format!("\n{lines}")))
        }
    }
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
            ..ServerError::default()
        };
        let text = message(&WireError::Server(Box::new(error)));
        assert_eq!(text, "ERROR:  relation \"x\" does not exist\nHINT:  Create it.\nCONTEXT:  here");
    }

    /// What psql 15 printed, once with the statement at hand and once (for a prepared one) without.
    #[test]
    fn errors_of_sql_show_their_place() {
        let body = b"SERROR\0VERROR\0C42703\0Mcolumn \"nosuch\" does not exist\0P12\0HLook.\0\0";
        let said = |error| message(&WireError::Server(Box::new(error)));
        let error = || ServerError::parse(body);
        let known = error().in_statement(|| Some("SELECT 1,\n nosuch".to_owned()));
        let head = "ERROR:  column \"nosuch\" does not exist";
        assert_eq!(said(known), format!("{head}\nLINE 2:  nosuch\n         ^\nHINT:  Look."));
        assert_eq!(said(error()), format!("{head} at character 12\nHINT:  Look."));
        let inner = ServerError {
            internal_position: Some(12),
            internal_query: Some("SELECT 1,\n nosuch".to_owned()),
            context: Some("PL/pgSQL function f() line 1 at EXECUTE".to_owned()),
            ..ServerError { position: None, hint: None, ..error() }
        };
        let expected = format!(
            "{head}\nLINE 2:  nosuch\n         ^\nQUERY:  SELECT 1,\n nosuch\n\
             CONTEXT:  PL/pgSQL function f() line 1 at EXECUTE"
        );
        assert_eq!(said(inner.in_statement(|| panic!("nobody asks"))), expected);
    }

    /// As with `-C` and thousands of connections a second by TCP.
    #[test]
    fn ports_that_are_used_up_are_named() {
        let error = io::Error::from_raw_os_error(rustix::io::Errno::ADDRNOTAVAIL.raw_os_error());
        let text = failed(&Address::Tcp("localhost".to_owned(), 5432), None, &WireError::Io(error));
        assert!(text.contains("failed: Cannot assign requested address\n\tno local port is left"), "{text}");
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
