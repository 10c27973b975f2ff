//! Startup phase, from StartupMessage to ReadyForQuery.

use std::collections::BTreeMap;

use pgdyno_host::users::uid_of;
use postgres_protocol::authentication::md5_hash;
use rustix::net::sockopt;

use super::{
    Socket, scram,
    startup::{Startup, cut, unexpected},
};
use crate::{ChannelBinding, ConnectOptions, Method, ServerError, WireError};

/// Completes the startup phase; returns the parameters that the server reports, and the backend's PID with the secret
/// key for cancellation.
pub(super) fn greet(startup: &mut Startup<'_>) -> Result<(BTreeMap<String, String>, Vec<u8>), WireError> {
    startup.start()?;
    authenticate(startup)?;
    let (mut parameters, mut key) = (BTreeMap::new(), Vec::new());
    loop {
        let (tag, body) = startup.next()?;
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
                if let Some(receiver) = &startup.options.on_notice {
                    receiver.receive(&ServerError::parse(&body));
                }
            }
            tag => return Err(unexpected(tag, "while starting")),
        }
    }
}

/// Authenticates by one of AuthenticationOk, cleartext, MD5 or SCRAM-SHA-256, if allowed.
fn authenticate(startup: &mut Startup<'_>) -> Result<(), WireError> {
    let (kind, body) = startup.request()?;
    startup.asked = true;
    allow(startup.options, kind)?;
    match kind {
        0 => return Ok(()),
        3 => {
            let password = format!("{}\0", startup.password()?);
            startup.answer(password.as_bytes())?;
        }
        5 => {
            let salt = *body.first_chunk::<4>().ok_or_else(|| cut("AuthenticationMD5Password"))?;
            let hash = md5_hash(startup.options.user.as_bytes(), startup.password()?.as_bytes(), salt);
            startup.answer(format!("{hash}\0").as_bytes())?;
        }
        10 => scram::authenticate(startup, &body)?,
        other => {
            let name = match other {
                2 => "Kerberos 5".to_owned(),
                7 | 8 => "GSSAPI".to_owned(),
                9 => "SSPI".to_owned(),
                kind => format!("kind {kind}"),
            };
            let text = format!("the server requires authentication by {name}, which is not supported");
            return Err(WireError::Authentication(text));
        }
    }
    match startup.request()? {
        (0, _) => Ok(()),
        (other, _) => Err(WireError::Protocol(format!("authentication of kind {other} after the password"))),
    }
}

/// Refuses what `require_auth` and `channel_binding` do not allow, before anything is sent.
fn allow(options: &ConnectOptions, kind: i32) -> Result<(), WireError> {
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
    if let Some(required) = &options.require_auth
        && !method.is_some_and(|method| required.allowed.contains(&method))
    {
        let did = match method {
            Some(Method::None) => "server did not complete authentication".to_owned(),
            Some(method) => format!("server requested {} authentication", method.name()),
            None => "server requested an unknown authentication type".to_owned(),
        };
        return refuse(format!("authentication method requirement \"{}\" failed: {did}", required.text));
    }
    if options.channel_binding == ChannelBinding::Require && kind != 10 {
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

/// Checks that the server on a Unix-domain socket runs as the user that `requirepeer` names.
pub(super) fn check_peer(socket: &Socket, wanted: Option<&str>) -> Result<(), WireError> {
    let Some(name) = wanted else { return Ok(()) };
    let uid = sockopt::socket_peercred(socket).map_err(std::io::Error::from)?.uid.as_raw();
    match uid_of(name) {
        Some(known) if known == uid => Ok(()),
        _ => {
            let text = format!("requirepeer specifies \"{name}\", but the server runs as user ID {uid}");
            Err(WireError::Authentication(text))
        }
    }
}
