//! TLS as in libpq, by rustls with the cryptography of `ring`.
//!
//! Handshakes and blocking sessions use rustls. The measured path takes the keys out of rustls and encrypts records
//! itself ([`Records`]), in buffers that it reuses: rustls allocates for every record.

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
