//! What can go wrong between client and server.

use std::{fmt, io, net::IpAddr};

use pgdyno_core::problem::Problem;

use super::Address;

/// An error that the server reported (PostgreSQL manual, "Error and Notice Message Fields").
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerError {
    /// `ERROR`, `FATAL` or `PANIC`; of notices `WARNING`, `NOTICE` or less.
    pub severity: String,
    /// The same in the server's language, as libpq shows it.
    pub label: String,
    /// SQLSTATE: five characters. It decides; the text never does.
    pub code: String,
    /// Primary message.
    pub message: String,
    /// Detail.
    pub detail: Option<String>,
    /// Hint.
    pub hint: Option<String>,
    /// Where it happened, as the server tells it (such as the parameters of the statement).
    pub context: Option<String>,
    /// Character of the statement where it is, from 1.
    pub position: Option<u32>,
    /// The same for [`internal_query`](Self::internal_query).
    pub internal_position: Option<u32>,
    /// A statement that the server made by itself, such as one of a function, where the error is in that.
    pub internal_query: Option<String>,
    /// The statement that was sent, where [`position`](Self::position) is told and who sent it knows its text: the
    /// server does not repeat it.
    pub statement: Option<String>,
}

impl ServerError {
    /// Adds the statement that it answers, if the server told a place in it.
    pub fn in_statement(mut self, statement: impl FnOnce() -> Option<String>) -> Self {
        if self.position.is_some() {
            self.statement = statement();
        }
        self
    }

    /// Reads the fields of an ErrorResponse. Fields that are missing or cut stay empty.
    pub fn parse(body: &[u8]) -> Self {
        let mut error = Self::default();
        for field in body.split(|&byte| byte == 0) {
            let Some((&kind, text)) = field.split_first() else { break };
            let text = printable(text);
            match kind {
                b'V' => error.severity = text,
                b'S' => error.label = text,
                b'C' => error.code = text,
                b'M' => error.message = text,
                b'D' => error.detail = Some(text),
                b'H' => error.hint = Some(text),
                b'W' => error.context = Some(text),
                b'P' => error.position = text.parse().ok(),
                b'p' => error.internal_position = text.parse().ok(),
                b'q' => error.internal_query = Some(text),
                _ => {}
            }
        }
        if error.severity.is_empty() {
            error.severity.clone_from(&error.label);
        }
        error
    }
}

/// A text that can go to a terminal: who sent it may be nobody's friend.
fn printable(text: &[u8]) -> String {
    let plain = |c: char| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c };
    String::from_utf8_lossy(text).chars().map(plain).collect()
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (SQLSTATE {})", self.message, self.code)
    }
}

/// An address that was tried in vain.
#[derive(Debug)]
pub struct Tried {
    /// As it was asked for.
    pub address: Address,
    /// The IP address that its name was taken for.
    pub ip: Option<IpAddr>,
    /// What was wrong with it.
    pub error: WireError,
}

/// Why talking to a server failed.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The socket failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The server reported an error.
    #[error("{0}")]
    Server(Box<ServerError>),
    /// The peer closed the connection.
    #[error("the server closed the connection")]
    Closed,
    /// A request to stop came first.
    #[error("stopped")]
    Stopped,
    /// What came is not the protocol.
    #[error("the peer does not speak the PostgreSQL protocol as expected: {0}")]
    Protocol(String),
    /// A version of the protocol could not be agreed upon.
    #[error("{0}")]
    Version(String),
    /// What answered is no server for us, said before it proved who it is: its words may be anybody's.
    #[error("before encryption the peer said (unauthenticated): {0}")]
    Unauthenticated(Box<ServerError>),
    /// TLS failed, or what it needs is not there.
    #[error("{what}")]
    Tls {
        /// What failed.
        what: String,
        /// What to do.
        hint: Option<&'static str>,
    },
    /// A server is not what `target_session_attrs` asks for.
    #[error("{0}")]
    NotWanted(&'static str),
    /// None of several addresses would do: each with its reason.
    #[error("none of {} addresses would do", .0.len())]
    Everywhere(Vec<Tried>),
    /// The server asks for a kind of authentication that is not possible here.
    #[error("{0}")]
    Authentication(String),
    /// The server asks for a password, and none was given.
    #[error("the server asks for a password, and none was given")]
    NoPassword,
}

impl WireError {
    /// TLS failed, with what to do.
    pub(crate) fn tls(what: impl Into<String>, hint: Option<&'static str>) -> Self {
        Self::Tls { what: what.into(), hint }
    }

    /// Adds the statement that a server's error answers.
    pub(crate) fn in_statement(self, sql: &str) -> Self {
        match self {
            Self::Server(error) => Self::Server(Box::new(error.in_statement(|| Some(sql.to_owned())))),
            other => other,
        }
    }

    /// SQLSTATE of a server's error.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Server(error) => Some(&error.code),
            _ => None,
        }
    }

    /// The error as a user meets it: `what` says what could not be done.
    pub fn into_problem(self, what: &str) -> Problem {
        let problem = Problem::could_not(format!("{what}: {self}"));
        match self {
            Self::Server(error) => {
                let problem = match error.detail {
                    Some(detail) => problem.detail(detail),
                    None => problem,
                };
                match error.hint.or_else(|| hint_for(&error.code).map(str::to_owned)) {
                    Some(hint) => problem.hint(hint),
                    None => problem,
                }
            }
            Self::Tls { hint: Some(hint), .. } => problem.hint(hint),
            Self::NotWanted(_) => problem.hint("target_session_attrs says what the server must be"),
            Self::Protocol(_) => problem.hint("is it a PostgreSQL server that listens there?"),
            Self::Closed | Self::Io(_) => {
                problem.hint("look at the server's log: did it crash, was it stopped, or is it out of reach?")
            }
            _ => problem,
        }
    }
}

/// What to do about the errors that people meet first.
fn hint_for(code: &str) -> Option<&'static str> {
    Some(match code {
        "28P01" => "check the password: PGPASSWORD, or a line in the password file (PGPASSFILE, mode 0600)",
        "28000" => "check the role (-U) and the server's pg_hba.conf",
        "3D000" => "choose an existing database with -d",
        "53300" => "close other connections, ask for fewer clients, or raise max_connections",
        "53100" => "free space on the server's disk, or use a smaller --scale",
        "42501" => "use a role that owns the database, or grant what is missing",
        "57P03" => "the server is starting up or shutting down: try again when it is ready",
        _ => return None,
    })
}
