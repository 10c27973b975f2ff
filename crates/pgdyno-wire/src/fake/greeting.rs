//! From StartupMessage to ReadyForQuery, honest or not.

use std::io::{self, Read, Write};

use postgres_protocol::authentication::md5_hash;

use super::{
    Message, message,
    scram::{self, Scram},
};

/// Salt of MD5 authentication.
const SALT: [u8; 4] = *b"salt";

/// How a server takes a client in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Greeting {
    /// Everybody is let in.
    Trust,
    /// The password as it is.
    Cleartext(String),
    /// The password, hashed with MD5.
    Md5(String),
    /// SCRAM-SHA-256 with this password, done in this way.
    Scram(String, Scram),
    /// FATAL with SQLSTATE and text.
    Refuse(String, String),
    /// These bytes, and nothing else until the client goes away.
    Bytes(Vec<u8>),
    /// One byte of these at a time, a pause in milliseconds between them.
    Drip(Vec<u8>, u64),
    /// Everybody is let in, and these bytes come before ReadyForQuery.
    TrustWith(Vec<u8>),
    /// These bytes answer a request for TLS, which every other greeting declines; nothing else until the client goes.
    Tls(Vec<u8>),
    /// The first greeting for who asks for TLS first (which is declined), the second for who does not.
    AfterTls(Box<Greeting>, Box<Greeting>),
}

/// An SSLRequest, instead of a StartupMessage.
const SSL_REQUEST: [u8; 4] = 80_877_103i32.to_be_bytes();
/// A CancelRequest, which is passed over.
const CANCEL_REQUEST: [u8; 4] = 80_877_102i32.to_be_bytes();

/// Greets a client; whether it was let in. `note` keeps its StartupMessage.
pub(super) fn greet(
    greeting: &Greeting,
    input: &mut impl Read,
    output: &mut impl Write,
    note: impl FnOnce(&Message),
) -> io::Result<bool> {
    let mut startup = message::read(input, true)?;
    let asked = startup.body == SSL_REQUEST;
    if asked {
        if let Greeting::Tls(answer) = greeting {
            return linger(answer, 0, input, output);
        }
        output.write_all(b"N")?;
        startup = message::read(input, true)?;
    }
    if startup.body.starts_with(&CANCEL_REQUEST) {
        return Ok(false);
    }
    note(&startup);
    let greeting = match greeting {
        Greeting::AfterTls(with, _) if asked => with,
        Greeting::AfterTls(_, without) => without,
        other => other,
    };
    let let_in = match greeting {
        Greeting::Tls(_) | Greeting::AfterTls(..) => true,
        Greeting::Trust | Greeting::TrustWith(_) => true,
        Greeting::Cleartext(password) => {
            output.write_all(&message::authentication(3, &[]))?;
            message::read(input, false)?.text(0) == *password
        }
        Greeting::Md5(password) => {
            output.write_all(&message::authentication(5, &SALT))?;
            let user = user(&startup.body);
            message::read(input, false)?.text(0) == md5_hash(&user, password.as_bytes(), SALT)
        }
        Greeting::Scram(password, how) => scram::authenticate(password, *how, input, output)?,
        Greeting::Refuse(code, text) => {
            output.write_all(&message::error("FATAL", code, text))?;
            return Ok(false);
        }
        Greeting::Bytes(bytes) => return linger(bytes, 0, input, output),
        Greeting::Drip(bytes, pause_ms) => return linger(bytes, *pause_ms, input, output),
    };
    if !let_in {
        output.write_all(&message::error("FATAL", "28P01", "password authentication failed"))?;
        return Ok(false);
    }
    let mut bytes = message::authentication(0, &[]);
    bytes.extend(message::parameter("server_version", "15.0 (fake)"));
    bytes.extend(message::message(b'K', &[0, 0, 0, 42, 0, 0, 0, 43]));
    if let Greeting::TrustWith(more) = greeting {
        bytes.extend(more);
    }
    bytes.extend(message::ready(b'I'));
    output.write_all(&bytes)?;
    Ok(true)
}

/// Sends bytes, at once or one by one, and waits for the client to go away.
fn linger(bytes: &[u8], pause_ms: u64, input: &mut impl Read, output: &mut impl Write) -> io::Result<bool> {
    let step = if pause_ms == 0 { bytes.len().max(1) } else { 1 };
    for part in bytes.chunks(step) {
        output.write_all(part)?;
        std::thread::sleep(std::time::Duration::from_millis(pause_ms));
    }
    io::copy(input, &mut io::sink())?;
    Ok(false)
}

/// The role in a StartupMessage: version, then names and values in turn.
fn user(body: &[u8]) -> Vec<u8> {
    let mut texts = body.get(4..).unwrap_or_default().split(|&byte| byte == 0);
    while let (Some(name), Some(value)) = (texts.next(), texts.next()) {
        if name == b"user" {
            return value.to_vec();
        }
    }
    Vec::new()
}
