//! Startup phase of the fake server, honest or not.

use std::io::{self, Read, Write};

use postgres_protocol::authentication::md5_hash;

use pgdyno_wire::fake::{
    Answer, CANCEL_REQUEST, FakeServer, Listen, Message, Request, SSL_REQUEST, Startup, message,
};

use super::scram::{self, Scram};

/// Salt of MD5 authentication.
const SALT: [u8; 4] = *b"salt";

/// How the server treats a new client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Greeting {
    /// Accept everybody.
    Trust,
    /// Request the password in cleartext.
    Cleartext(String),
    /// Request the password hashed with MD5.
    Md5(String),
    /// Request SCRAM-SHA-256 with this password, done in this way.
    Scram(String, Scram),
    /// Refuse with FATAL, SQLSTATE and text.
    Refuse(String, String),
    /// Send these bytes, and nothing else until the client disconnects.
    Bytes(Vec<u8>),
    /// Send these bytes one at a time, with a pause in milliseconds between them.
    Drip(Vec<u8>, u64),
    /// Accept everybody, and send these bytes before ReadyForQuery.
    TrustWith(Vec<u8>),
    /// Answer an SSLRequest, which every other greeting declines, with these bytes, and nothing else.
    Tls(Vec<u8>),
    /// Use the first greeting for clients that send an SSLRequest (which is declined), else the second.
    AfterTls(Box<Greeting>, Box<Greeting>),
}

/// Starts a server with this greeting.
pub fn fake(
    listen: Listen,
    greeting: Greeting,
    script: impl Fn(&Request) -> Answer + Send + Sync + 'static,
) -> FakeServer {
    let greets = Box::new(move |input: &mut dyn Read, output: &mut dyn Write, note: &dyn Fn(&Message)| {
        greet(&greeting, input, output, note)
    });
    FakeServer::listen(listen, greets, script).expect("it listens")
}

/// Greets a client; returns whether it was accepted. `note` records its StartupMessage.
fn greet(
    greeting: &Greeting,
    input: &mut dyn Read,
    output: &mut dyn Write,
    note: &dyn Fn(&Message),
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
            let startup = Startup::read(&startup);
            let user = startup.parameter("user").unwrap_or_default();
            message::read(input, false)?.text(0) == md5_hash(user.as_bytes(), password.as_bytes(), SALT)
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
    let more = if let Greeting::TrustWith(more) = greeting { &more[..] } else { &[] };
    output.write_all(&message::welcome(more))?;
    Ok(true)
}

/// Sends bytes, at once or one by one, and waits for the client to disconnect.
fn linger(bytes: &[u8], pause_ms: u64, input: &mut dyn Read, output: &mut dyn Write) -> io::Result<bool> {
    let step = if pause_ms == 0 { bytes.len().max(1) } else { 1 };
    for part in bytes.chunks(step) {
        output.write_all(part)?;
        std::thread::sleep(std::time::Duration::from_millis(pause_ms));
    }
    io::copy(input, &mut io::sink())?;
    Ok(false)
}
