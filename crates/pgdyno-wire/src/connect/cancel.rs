//! CancelRequest: what nobody waits for any more is not to go on in the server.

use std::{fmt, time::Instant};

use super::{
    Patience,
    channel::{Place, Way, encrypt},
};
use crate::{Address, TcpSettings, TlsSettings, WireError, encode, tls::Cache};

/// How a session's server is asked to end what it does for the session (PostgreSQL manual, "Canceling Requests in
/// Progress"): by a connection of its own to the same address, encrypted where the session is.
pub(crate) struct Canceller {
    pub(super) place: Place,
    /// As it was asked for: the server's certificate is held against it.
    pub(super) address: Address,
    /// TLS, where the session has it, with the files that it needs.
    pub(super) tls: Option<(TlsSettings, Cache)>,
    pub(super) tcp: TcpSettings,
    /// The number of the server's process, and a secret that proves whose client asks.
    pub(super) key: Vec<u8>,
}

impl Canceller {
    /// Where the server of the session listens.
    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Process id of the session's backend; 0 where none was told.
    pub(crate) fn backend_pid(&self) -> i32 {
        self.key.first_chunk().map_or(0, |pid| i32::from_be_bytes(*pid))
    }

    /// Asks, and waits until the server has passed it on: then it closes the connection, without a word.
    pub(crate) fn cancel(&self, deadline: Instant) -> Result<(), WireError> {
        if self.key.is_empty() {
            return Ok(());
        }
        let patience = Patience { deadline: Some(deadline), stop: None };
        let mut socket = self.place.open(&self.tcp, patience)?;
        if let Some((settings, cache)) = &self.tls {
            socket =
                encrypt(socket, &self.address, (settings, cache), Way::Tls).map_err(|failed| failed.error)?;
        }
        let mut request = Vec::new();
        encode::cancel_request(&mut request, &self.key);
        socket.write_all(&request)?;
        while socket.read(&mut [0; 64])? > 0 {}
        Ok(())
    }
}

/// The secret is nobody's to read.
impl fmt::Debug for Canceller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Canceller").field("place", &self.place).finish_non_exhaustive()
    }
}
