//! The frontend/backend protocol, version 3.0 (PostgreSQL manual, "Frontend/Backend Protocol").
//!
//! One stack for everything: the driver's hot path, administration and COPY share addresses, authentication and
//! framing. [`Session`] is blocking and convenient; the hot path takes its socket and frames messages itself with
//! [`Splitter`] and [`encode`].

mod address;
mod connect;
mod copy;
pub mod encode;
mod error;
mod parts;
mod passfile;
mod session;
mod splitter;
mod uri;

pub use address::{Address, ConnectOptions, Password, Sources};
pub use connect::connect;
pub(crate) use connect::try_connect;
pub use copy::CopyIn;
pub use error::{ServerError, WireError};
pub use session::{Row, Session};
pub use splitter::Splitter;
