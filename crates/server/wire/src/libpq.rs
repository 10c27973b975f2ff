//! Errors in libpq's words, which its programs print and users search their logs for.

mod position;

use std::io;

use crate::{
    Address, ConnectOptions, NO_PORT_LEFT, ServerError, Session, Tried, WhyIgnored, WireError, try_everywhere,
};

/// Connects and authenticates.
///
/// # Errors
/// The text of `PQerrorMessage` after such a failure, without its final newline.
pub fn connect(options: &ConnectOptions) -> Result<Session, String> {
    try_everywhere(options).map_err(|tried| {
        let failures = tried.iter().map(|tried| failed(tried, options));
        failures.collect::<Vec<_>>().join("\n")
    })
}

/// Warnings that libpq prints to stderr before it connects, with their newlines. libpq repeats them for every
/// connection.
pub fn warnings(options: &ConnectOptions) -> Vec<String> {
    let mut lines = Vec::new();
    for ignored in options.hosts.iter().filter_map(|host| host.passfile_ignored.as_ref()) {
        let why = match ignored.why {
            WhyIgnored::Open => "has group or world access; permissions should be u=rw (0600) or less",
            WhyIgnored::NotPlain => "is not a plain file",
            WhyIgnored::Unreadable(_) => continue,
        };
        let line = format!("WARNING: password file \"{}\" {why}\n", ignored.path.display());
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// Message for a failed connection to one address.
fn failed(tried: &Tried, options: &ConnectOptions) -> String {
    let Tried { address, ip, error } = tried;
    let mut of_address = options.hosts.iter().filter(|host| host.address == *address);
    let place = match (address, ip) {
        (address @ Address::Unix(..), _) => {
            let path = address.socket_path().unwrap_or_default();
            format!("on socket \"{}\"", path.display())
        }
        (Address::Tcp(host, port), None) => format!("at \"{host}\", port {port}"),
        (Address::Tcp(_, port), Some(ip)) if of_address.clone().any(|host| host.hostaddr == Some(*ip)) => {
            format!("at \"{ip}\", port {port}")
        }
        (Address::Tcp(host, port), Some(ip)) => format!("at \"{host}\" ({ip}), port {port}"),
    };
    // libpq omits this prefix for errors before an address was reached.
    let head = match (address, error) {
        (Address::Tcp(..), WireError::Io(error)) if error.kind() == io::ErrorKind::Other && ip.is_none() => {
            String::new()
        }
        _ => format!("connection to server {place} failed: "),
    };
    let passfile = of_address.find_map(|host| host.passfile.as_ref());
    let retrieved = passfile.filter(|_| error.code() == Some("28P01"));
    let retrieved = retrieved.map(|path| format!("\npassword retrieved from file \"{}\"", path.display()));
    let local = matches!(address, Address::Unix(..));
    format!("{head}{}{}", why(error, local), retrieved.unwrap_or_default())
}

/// The values of `PQhost` and `PQport` for a session's address.
pub fn host_and_port(address: &Address) -> (String, u16) {
    match address {
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

/// The system's error text, without the number and without Rust's prefix.
fn system(error: &io::Error) -> String {
    let text = error.to_string().replace("failed to lookup address information: ", "");
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// The text of `PQerrorMessage` after a failed statement, without its final newline.
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

/// A notice as libpq prints it, with its final newline.
pub fn notice(notice: &ServerError) -> String {
    let notice = ServerError { context: None, ..notice.clone() };
    format!("{}\n", server_message(&notice))
}

fn server_message(error: &ServerError) -> String {
    let (place, lines) = place(error);
    let severity = if error.label.is_empty() { &error.severity } else { &error.label };
    let mut text = format!("{severity}:  {}{place}{lines}", error.message);
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

/// Position of the error: appended to the message as a number if the statement is unknown, else its line with a caret.
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

    /// Output of psql 15, once with the statement known and once (for a prepared one) unknown.
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

    /// Happens with `-C` and thousands of TCP connections a second.
    #[test]
    fn ports_that_are_used_up_are_named() {
        let error = io::Error::from_raw_os_error(rustix::io::Errno::ADDRNOTAVAIL.raw_os_error());
        let address = Address::Tcp("localhost".to_owned(), 5432);
        let options = ConnectOptions::local(address.clone(), "me");
        let text = failed(&Tried { address, ip: None, error: WireError::Io(error) }, &options);
        assert!(text.contains("failed: Cannot assign requested address\n\tno local port is left"), "{text}");
    }

    #[test]
    fn a_missing_server_is_reported_in_libpqs_words() {
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
