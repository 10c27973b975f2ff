//! One connection to one address: opened, and encrypted if requested.

use std::{net::SocketAddr, path::PathBuf, sync::atomic::Ordering};

use super::{Socket, WaitLimits};
use crate::{
    Address, CertMode, ServerError, TcpSettings, TlsSettings, WireError, encode,
    tls::{self, Cache},
};

/// Resolved address of one server.
#[derive(Debug, Clone)]
pub(super) enum Place {
    Unix(PathBuf),
    Tcp(SocketAddr),
}

impl Place {
    pub(super) fn open(&self, tcp: &TcpSettings, limits: WaitLimits) -> Result<Socket, WireError> {
        match self {
            Self::Unix(path) => Socket::unix(path, limits),
            Self::Tcp(address) => Socket::tcp(*address, tcp, limits),
        }
    }
}

/// Encryption to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Plain,
    /// TLS if the server supports it, else none.
    TlsIfPossible,
    Tls,
}

/// Encrypts a connection, or finds that the server does not support it.
pub(super) fn encrypt(
    mut socket: Socket,
    address: &Address,
    (settings, cache): (&TlsSettings, &Cache),
    way: Way,
) -> Result<Socket, Failed> {
    let on = way != Way::Plain && (settings.direct || ask_for_tls(&mut socket, way)?);
    if !on {
        return Ok(socket);
    }
    // An error in our own files does not justify falling back to no encryption.
    let context = tls::context(settings, cache).map_err(Failed::for_good)?;
    let (connection, asked) = match tls::connection(&context, address) {
        Ok(connection) => connection,
        Err(error) => return Err(Failed { error, next_way: true }),
    };
    socket.start_tls(connection).map_err(|error| Failed { error, next_way: true })?;
    if settings.direct && socket.tls().is_none_or(|tls| tls.alpn_protocol().is_none()) {
        let what = "direct SSL connection was established without ALPN protocol negotiation extension";
        return Err(Failed::for_good(WireError::tls(what, Some("leave sslnegotiation=direct out"))));
    }
    if settings.cert_mode == CertMode::Require && !asked.load(Ordering::Acquire) {
        let what = "server did not request an SSL certificate";
        let hint = "sslcertmode=require demands that the server requests one";
        return Err(Failed::for_good(WireError::tls(what, Some(hint))));
    }
    Ok(socket)
}

/// Error of one attempt, and whether another kind of encryption may be tried.
pub(super) struct Failed {
    pub(super) error: WireError,
    pub(super) next_way: bool,
}

impl Failed {
    pub(super) fn for_good(error: WireError) -> Self {
        Self { error, next_way: false }
    }
}

/// Sends an SSLRequest; returns whether the server supports TLS.
fn ask_for_tls(socket: &mut Socket, way: Way) -> Result<bool, Failed> {
    let mut request = Vec::new();
    encode::ssl_request(&mut request);
    let next = |error| Failed { error, next_way: true };
    socket.write_all(&request).map_err(next)?;
    let mut answer = [0; 4096];
    let bytes = socket.read_plain(&mut answer).map_err(next)?;
    match &answer[..bytes] {
        [] => Err(next(WireError::Closed)),
        [b'S'] => Ok(true),
        [b'N'] if way == Way::Tls => {
            let what = "server does not support SSL, but SSL was required";
            Err(Failed::for_good(WireError::tls(what, Some("sslmode=prefer falls back to no encryption"))))
        }
        [b'N'] => Ok(false),
        [b'S' | b'N', ..] => Err(Failed::for_good(WireError::tls(
            "received unencrypted data after SSL response",
            Some("a man in the middle may have inserted it"),
        ))),
        // Not authenticated: an attacker may have sent this. It is shown as such, and never trusted.
        [b'E', ..] => {
            let error = ServerError::parse(answer[..bytes].get(5..).unwrap_or_default());
            Err(next(WireError::Unauthenticated(Box::new(error))))
        }
        _ => {
            let what = format!("it answers a request for TLS with {:?}", char::from(answer[0]));
            Err(Failed::for_good(WireError::Protocol(what)))
        }
    }
}
