//! CancelRequest: ends statements whose result is not needed any more.

use std::{fmt, time::Instant};

use super::{
    WaitLimits,
    channel::{Place, Way, encrypt},
};
use crate::{Address, TcpSettings, TlsSettings, WireError, encode, tls::Cache};

/// Cancels what the server is doing for a session (PostgreSQL manual, "Canceling Requests in Progress"): over a
/// connection of its own to the same address, encrypted if the session is.
pub(crate) struct Canceller {
    pub(super) place: Place,
    /// Address as requested: the server's certificate is verified against it.
    pub(super) address: Address,
    /// TLS settings and files, if the session is encrypted.
    pub(super) tls: Option<(TlsSettings, Cache)>,
    pub(super) tcp: TcpSettings,
    /// Process ID of the backend, and the secret key that authorises the cancellation.
    pub(super) key: Vec<u8>,
}

impl Canceller {
    /// Address of the session's server.
    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Process ID of the session's backend; 0 if the server did not send one.
    pub(crate) fn backend_pid(&self) -> i32 {
        self.key.first_chunk().map_or(0, |pid| i32::from_be_bytes(*pid))
    }

    /// Sends the request and waits until the server has processed it, which closes the connection without an answer.
    pub(crate) fn cancel(&self, deadline: Instant) -> Result<(), WireError> {
        if self.key.is_empty() {
            return Ok(());
        }
        let limits = WaitLimits { deadline: Some(deadline), stop: None };
        let mut socket = self.place.open(&self.tcp, limits)?;
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

/// Hides the secret key.
impl fmt::Debug for Canceller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Canceller").field("place", &self.place).finish_non_exhaustive()
    }
}
