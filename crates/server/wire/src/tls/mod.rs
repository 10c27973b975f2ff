//! TLS as in libpq, by rustls with the cryptography of `ring`.
//!
//! Blocking sessions read and write through rustls; the measured path gives it bytes and takes bytes ([`Records`]),
//! since the engine owns the sockets.

mod certificate;
mod config;
mod explain;
mod key_log;
mod records;
mod verify;

use rustls::ClientConnection;

pub use config::Cache;
pub(crate) use config::{connection, context};
pub(crate) use explain::explain;
pub use records::Records;

/// Hash of the server's certificate for SCRAM's channel binding (RFC 5929, `tls-server-end-point`). `None` if its
/// signature algorithm has no hash.
pub(crate) fn end_point(connection: &ClientConnection) -> Option<Vec<u8>> {
    certificate::end_point(connection.peer_certificates()?.first()?)
}
