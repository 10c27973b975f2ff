//! The conversation from StartupMessage to ReadyForQuery.

use std::collections::BTreeMap;

use postgres_protocol::authentication::md5_hash;
use rustix::net::sockopt;

use super::{Socket, scram};
use crate::{
    provision::uid_of,
    wire::{
        ChannelBinding, ConnectOptions, Host, Method, ProtocolVersion, ServerError, WireError, encode,
        session::Incoming,
    },
};

/// Messages a server may send before it is ready. More is a flood.
const MAX_GREETING_MESSAGES: usize = 1_000;
/// Bytes that they may have together: what the server reports of itself is kept.
const MAX_GREETING_BYTES: usize = 1 << 20;

/// A greeting under way.
pub(super) struct Greeting<'a> {
    pub(super) incoming: Incoming,
    pub(super) options: &'a ConnectOptions,
    host: &'a Host,
    seen: usize,
    seen_bytes: usize,
    /// Whether the server has asked for something, or let us in.
    pub(super) asked: bool,
    /// Whether the server has said which version of the protocol it speaks.
    negotiated: bool,
    /// Whether authentication was bound to the TLS connection.
    pub(super) bound: bool,
}

impl<'a> Greeting<'a> {
    pub(super) fn new(incoming: Incoming, options: &'a ConnectOptions, host: &'a Host) -> Self {
        Self {
            incoming,
            options,
            host,
            seen: 0,
            seen_bytes: 0,
            asked: false,
            negotiated: false,
            bound: false,
        }
    }

    /// Goes through it; gives what the server reports of itself, and the number of its process with the secret that a
    /// cancellation has to show.
    pub(super) fn greet(&mut self) -> Result<(BTreeMap<String, String>, Vec<u8>), WireError> {
        self.start()?;
        self.authenticate()?;
        let (mut parameters, mut key) = (BTreeMap::new(), Vec::new());
        loop {
            let (tag, body) = self.next()?;
            match tag {
                b'S' => {
                    let mut texts =
                        body.split(|&byte| byte == 0).map(|text| String::from_utf8_lossy(text).into_owned());
                    if let (Some(name), Some(value)) = (texts.next(), texts.next()) {
                        parameters.insert(name, value);
                    }
                }
                b'K' => key = body,
                b'Z' if body == b"I" => return Ok((parameters, key)),
                b'N' => {
                    if let Some(hear) = &self.options.hear {
                        hear.tell(&ServerError::parse(&body));
                    }
                }
                tag => return Err(unexpected(tag, "while starting")),
            }
        }
    }

    fn start(&mut self) -> Result<(), WireError> {
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

    /// The next message; an ErrorResponse is an error.
    fn next(&mut self) -> Result<(u8, Vec<u8>), WireError> {
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

    /// One of AuthenticationOk, cleartext, MD5 or SCRAM-SHA-256, as far as the user allows.
    fn authenticate(&mut self) -> Result<(), WireError> {
        let (kind, body) = self.request()?;
        self.asked = true;
        self.allow(kind)?;
        match kind {
            0 => return Ok(()),
            3 => {
                let password = format!("{}\0", self.password()?);
                self.answer(password.as_bytes())?;
            }
            5 => {
                let salt = *body.first_chunk::<4>().ok_or_else(|| cut("AuthenticationMD5Password"))?;
                let hash = md5_hash(self.options.user.as_bytes(), self.password()?.as_bytes(), salt);
                self.answer(format!("{hash}\0").as_bytes())?;
            }
            10 => scram::authenticate(self, &body)?,
            other => {
                let name = match other {
                    2 => "Kerberos 5".to_owned(),
                    7 | 8 => "GSSAPI".to_owned(),
                    9 => "SSPI".to_owned(),
                    kind => format!("kind {kind}"),
                };
                let text = format!("the server asks for authentication by {name}, which is not supported");
                return Err(WireError::Authentication(text));
            }
        }
        match self.request()? {
            (0, _) => Ok(()),
            (other, _) => {
                Err(WireError::Protocol(format!("authentication of kind {other} after the password")))
            }
        }
    }

    /// Refuses what `require_auth` and `channel_binding` do not allow, before anything is answered.
    fn allow(&self, kind: i32) -> Result<(), WireError> {
        let refuse = |text: String| Err(WireError::Authentication(text));
        let method = match kind {
            0 => Some(Method::None),
            3 => Some(Method::Password),
            5 => Some(Method::Md5),
            7 | 8 => Some(Method::Gss),
            9 => Some(Method::Sspi),
            10 => Some(Method::ScramSha256),
            _ => None,
        };
        if let Some(required) = &self.options.require_auth
            && !method.is_some_and(|method| required.allowed.contains(&method))
        {
            let did = match method {
                Some(Method::None) => "server did not complete authentication".to_owned(),
                Some(method) => format!("server requested {} authentication", method.name()),
                None => "server requested an unknown authentication type".to_owned(),
            };
            return refuse(format!("authentication method requirement \"{}\" failed: {did}", required.text));
        }
        if self.options.channel_binding == ChannelBinding::Require && kind != 10 {
            return refuse(
                match kind {
                    0 => "channel binding required, but server authenticated client without channel binding",
                    _ => "channel binding required but not supported by server's authentication request",
                }
                .to_owned(),
            );
        }
        Ok(())
    }

    /// The kind and the rest of an Authentication message.
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

/// Whether the server on a Unix-domain socket runs as the user that `requirepeer` names.
pub(super) fn check_peer(socket: &Socket, wanted: Option<&str>) -> Result<(), WireError> {
    let Some(name) = wanted else { return Ok(()) };
    let uid = sockopt::socket_peercred(socket).map_err(std::io::Error::from)?.uid.as_raw();
    match uid_of(name) {
        Some(known) if known == uid => Ok(()),
        _ => {
            let text = format!("requirepeer specifies \"{name}\", but the server runs as user number {uid}");
            Err(WireError::Authentication(text))
        }
    }
}

/// What NegotiateProtocolVersion comes to: the newest version that the server speaks, and parameters that it does not
/// know, of which none was sent. Refusals are libpq's, word by word.
fn negotiate(body: &[u8], (min, asked): (ProtocolVersion, ProtocolVersion)) -> Result<(), WireError> {
    let wrong =
        |why: &str| Err(WireError::Version(format!("received invalid protocol negotiation message: {why}")));
    let (Some(theirs), Some(unknown)) = (number(body, 0), number(body, 4)) else {
        return wrong("message too short");
    };
    match ProtocolVersion::of_number(theirs) {
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

fn unexpected(tag: u8, when: &str) -> WireError {
    WireError::Protocol(format!("a message of type {:?} {when}", tag as char))
}

pub(super) fn cut(what: &str) -> WireError {
    WireError::Protocol(format!("{what} is cut or out of order"))
}
