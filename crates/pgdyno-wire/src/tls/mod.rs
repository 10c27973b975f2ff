//! TLS as libpq does it, by rustls with the cryptography of `ring`.
//!
//! A handshake and a blocking session go through rustls. The measured path takes its keys out of rustls and protects
//! records by itself ([`Records`]), in buffers that stay: rustls allocates for every record.

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

/// What SCRAM binds to: the hash of the server's certificate (RFC 5929, `tls-server-end-point`). `None` where its kind
/// of signature has none.
pub(crate) fn end_point(connection: &ClientConnection) -> Option<Vec<u8>> {
    certificate::end_point(connection.peer_certificates()?.first()?)
}
