//! The frontend/backend protocol, version 3.0 (PostgreSQL manual, "Frontend/Backend Protocol").
//!
//! One stack for everything: the driver's hot path, administration and COPY share addresses, TLS, authentication and
//! framing. [`Session`] is blocking and convenient; the hot path takes its socket and frames messages itself with
//! [`Splitter`] and [`encode`].

mod address;
mod connect;
mod copy;
pub mod encode;
mod error;
pub mod fake;
mod fields;
pub mod libpq;
mod pooler;
mod session;
mod splitter;
mod tls;

pub use address::{
    Address, CertMode, ChannelBinding, ClientCertificate, ConnectOptions, Handover, Host, Ignored, Method,
    NoticeReceiver, OsUser, Password, ProtocolVersion, RequireAuth, Roots, ScramKeys, SessionAttrs, Sources,
    SslMode, TcpSettings, TlsSettings, TlsVersion, WhyIgnored,
};
pub use connect::{NOBODY_THERE, connect, connect_unless, try_connect_unless};
pub(crate) use connect::{try_connect, try_everywhere};
pub use copy::CopyIn;
pub(crate) use error::{NO_PORT_LEFT, describe};
pub use error::{ServerError, Tried, WireError};
pub use fields::Fields;
pub use pooler::{PoolMode, Pooler, find_pooler};
pub use session::{Row, Session};
pub use splitter::Splitter;
pub use tls::{Cache, Records};

/// Parsers of untrusted input, for fuzzing.
#[doc(hidden)]
pub mod fuzz {
    pub use super::address::{passfile::fuzz as password_file, service::fuzz as service_file};
    pub use super::session::fuzz as server_messages;
}
