//! Messages of the startup phase, with limits on what a server may send before it is ready.

use crate::{ConnectOptions, Host, ProtocolVersion, ServerError, WireError, encode, session::Incoming};

/// Most messages accepted before the server is ready.
const MAX_GREETING_MESSAGES: usize = 1_000;
/// Most bytes of these messages together, since reported parameters are kept.
const MAX_GREETING_BYTES: usize = 1 << 20;

/// Startup phase of a connection (PostgreSQL manual, "Start-up").
pub(super) struct Startup<'a> {
    pub(super) incoming: Incoming,
    pub(super) options: &'a ConnectOptions,
    host: &'a Host,
    seen: usize,
    seen_bytes: usize,
    /// Whether the server has sent an authentication request, or let us in.
    pub(super) asked: bool,
    /// Whether the server has negotiated the protocol version.
    negotiated: bool,
}

impl<'a> Startup<'a> {
    pub(super) fn new(incoming: Incoming, options: &'a ConnectOptions, host: &'a Host) -> Self {
        Self { incoming, options, host, seen: 0, seen_bytes: 0, asked: false, negotiated: false }
    }

    /// Sends the StartupMessage.
    pub(super) fn start(&mut self) -> Result<(), WireError> {
        let options = self.options;
        let mut parameters = vec![("user", options.user.as_str()), ("database", options.database.as_str())];
        let others = [
            ("replication", options.replication.as_deref()),
            ("options", options.options.as_deref()),
            ("application_name", Some(options.application_name()).filter(|name| !name.is_empty())),
            ("client_encoding", options.client_encoding.as_deref()),
        ];
        parameters.extend(others.iter().filter_map(|(name, value)| Some((*name, (*value)?))));
        parameters.extend(options.startup.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        if parameters.iter().any(|(_, value)| value.contains('\0')) {
            return Err(WireError::Protocol("a connection parameter contains a NUL byte".to_owned()));
        }
        let mut out = Vec::new();
        encode::startup(&mut out, options.protocol.1.number(), &parameters);
        self.incoming.socket().write_all(&out)
    }

    /// Receives the next message; an ErrorResponse is an error.
    pub(super) fn next(&mut self) -> Result<(u8, Vec<u8>), WireError> {
        self.seen += 1;
        if self.seen > MAX_GREETING_MESSAGES {
            let text = format!("more than {MAX_GREETING_MESSAGES} messages before it is ready");
            return Err(WireError::Protocol(text));
        }
        let message = self.incoming.next()?;
        self.seen_bytes += message.1.len();
        if self.seen_bytes > MAX_GREETING_BYTES {
            let text = format!("more than {MAX_GREETING_BYTES} bytes before it is ready");
            return Err(WireError::Protocol(text));
        }
        match message {
            (b'E', body) => Err(WireError::Server(Box::new(ServerError::parse(&body)))),
            (b'v', body) if !self.asked && !self.negotiated => {
                self.negotiated = true;
                negotiate(&body, self.options.protocol)?;
                self.next()
            }
            (b'v', _) => Err(WireError::Protocol("it negotiates the protocol at the wrong time".to_owned())),
            message => Ok(message),
        }
    }

    /// Receives an Authentication message: its kind and the rest of its body.
    pub(super) fn request(&mut self) -> Result<(i32, Vec<u8>), WireError> {
        let (tag, mut body) = self.next()?;
        if tag != b'R' {
            return Err(unexpected(tag, "instead of an authentication request"));
        }
        let kind = *body.first_chunk::<4>().ok_or_else(|| cut("Authentication"))?;
        Ok((i32::from_be_bytes(kind), body.split_off(4)))
    }

    pub(super) fn answer(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        let mut out = Vec::new();
        encode::password(&mut out, bytes);
        self.incoming.socket().write_all(&out)
    }

    pub(super) fn password(&self) -> Result<&str, WireError> {
        let password = self.host.password.as_ref().ok_or(WireError::NoPassword)?;
        Ok(password.reveal())
    }
}

/// Evaluates NegotiateProtocolVersion: the newest version that the server supports, and the parameters that it does not
/// know, of which none was sent. Errors are in libpq's words.
fn negotiate(body: &[u8], (min, asked): (ProtocolVersion, ProtocolVersion)) -> Result<(), WireError> {
    let wrong =
        |why: &str| Err(WireError::Version(format!("received invalid protocol negotiation message: {why}")));
    let (Some(theirs), Some(unknown)) = (number(body, 0), number(body, 4)) else {
        return wrong("message too short");
    };
    match ProtocolVersion::from_number(theirs) {
        _ if theirs > asked.number() => wrong("server requested downgrade to a higher-numbered version"),
        None if theirs < ProtocolVersion::V30.number() => {
            wrong("server requested downgrade to pre-3.0 protocol version")
        }
        None => wrong("server requested downgrade to non-existent 3.1 protocol version"),
        _ if unknown < 0 => wrong("server reported negative number of unsupported parameters"),
        Some(version) if version == asked && unknown == 0 => {
            wrong("server negotiated but asks for no changes")
        }
        Some(version) if version < min => Err(WireError::Version(format!(
            "server only supports protocol version {}, but \"min_protocol_version\" was set to {}",
            version.name(),
            min.name()
        ))),
        Some(_) if unknown > 0 => wrong("server reported an unsupported parameter that was not requested"),
        Some(_) => Ok(()),
    }
}

fn number(body: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_be_bytes(*body.get(at..)?.first_chunk()?))
}

pub(super) fn unexpected(tag: u8, when: &str) -> WireError {
    WireError::Protocol(format!("a message of type {:?} {when}", tag as char))
}

pub(super) fn cut(what: &str) -> WireError {
    WireError::Protocol(format!("{what} is truncated or malformed"))
}
