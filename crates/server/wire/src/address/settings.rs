//! Connection settings other than the address: TLS, authentication, TCP, kind of server.

use std::{fmt, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

/// Requested encryption (`sslmode`). Unix-domain sockets are never encrypted, in any mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SslMode {
    /// No TLS.
    Disable,
    /// No TLS; TLS only if the server refuses a plain connection.
    Allow,
    /// TLS if the server supports it, else none.
    #[default]
    Prefer,
    /// TLS without verification; with a root certificate like [`SslMode::VerifyCa`], as in libpq.
    Require,
    /// TLS with a server whose certificate was signed by a trusted authority.
    VerifyCa,
    /// Like [`SslMode::VerifyCa`], and the certificate must match the host name.
    VerifyFull,
}

/// TLS version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TlsVersion {
    /// TLS 1.2
    V12,
    /// TLS 1.3
    V13,
}

/// Trusted root certificates (`sslrootcert`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Roots {
    /// A file of certificates, used if it exists; `None` if there is no home directory to find it in.
    File(Option<PathBuf>),
    /// The certificates that the system trusts.
    System,
}

/// Whether to send a client certificate (`sslcertmode`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CertMode {
    /// Never.
    Disable,
    /// If the server requests one and there is one.
    #[default]
    Allow,
    /// Always: a server that does not request one is refused.
    Require,
}

/// A client certificate with its key, used if it exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientCertificate {
    /// File with the certificate and the chain to its authority.
    pub certificate: PathBuf,
    /// File with the private key.
    pub key: PathBuf,
}

/// Version of the frontend/backend protocol. There is no 3.1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ProtocolVersion {
    /// Version 3.0.
    #[default]
    V30,
    /// Version 3.2, from PostgreSQL 18 on: the cancel key is longer.
    V32,
}

impl ProtocolVersion {
    /// All versions with their numbers in messages and their names.
    const ALL: [(Self, i32, &'static str); 2] =
        [(Self::V30, 3 << 16, "3.0"), (Self::V32, (3 << 16) + 2, "3.2")];

    /// Number in messages: major version in the upper half, minor version in the lower.
    pub fn number(self) -> i32 {
        Self::ALL[self as usize].1
    }

    /// Name of the version, such as `3.0`.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].2
    }

    /// Version of a number in a message.
    pub(crate) fn from_number(number: i32) -> Option<Self> {
        Self::ALL.iter().find(|(_, known, _)| *known == number).map(|(version, ..)| *version)
    }
}

/// Keys derived from a password, to use instead of it (`scram_client_key` and `scram_server_key`). `Debug` does not
/// show them.
#[derive(Clone, PartialEq, Eq)]
pub struct ScramKeys {
    /// Proves the client's identity.
    pub(crate) client: [u8; 32],
    /// Verifies that the server knows the password too.
    pub(crate) server: [u8; 32],
}

impl fmt::Debug for ScramKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ScramKeys(…)")
    }
}

/// TLS settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsSettings {
    /// `sslmode`.
    pub mode: SslMode,
    /// `sslnegotiation=direct`: TLS from the first byte, for servers from 17 on.
    pub direct: bool,
    /// `sslrootcert`.
    pub roots: Roots,
    /// `sslcert` and `sslkey`; `None` if there is no home directory to find them in.
    pub client: Option<ClientCertificate>,
    /// `sslcertmode`.
    pub cert_mode: CertMode,
    /// Files with certificate revocation lists: `sslcrl`, and those in `sslcrldir`.
    pub revoked: Vec<PathBuf>,
    /// `sslsni`: whether the host name is sent, unencrypted.
    pub sni: bool,
    /// `ssl_min_protocol_version`.
    pub min: TlsVersion,
    /// `ssl_max_protocol_version`.
    pub max: TlsVersion,
    /// `sslkeylogfile`: file to which the keys of every connection are appended, for traffic analysis.
    pub key_log: Option<PathBuf>,
}

impl Default for TlsSettings {
    fn default() -> Self {
        Self {
            mode: SslMode::Prefer,
            direct: false,
            roots: Roots::File(None),
            client: None,
            cert_mode: CertMode::Allow,
            revoked: Vec::new(),
            sni: true,
            min: TlsVersion::V12,
            max: TlsVersion::V13,
            key_log: None,
        }
    }
}

/// Whether authentication is bound to the TLS connection (`channel_binding`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChannelBinding {
    /// Never.
    Disable,
    /// If the server supports it.
    #[default]
    Prefer,
    /// Always: otherwise authentication fails.
    Require,
}

/// Authentication method, as `require_auth` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    /// No authentication requested.
    None,
    /// Cleartext password.
    Password,
    /// MD5-hashed password.
    Md5,
    /// SCRAM-SHA-256, with or without channel binding.
    ScramSha256,
    /// GSSAPI, not supported here.
    Gss,
    /// SSPI, not supported here.
    Sspi,
    /// OAuth, not supported here.
    Oauth,
}

impl Method {
    pub(super) const ALL: [(Self, &'static str); 7] = [
        (Self::None, "none"),
        (Self::Password, "password"),
        (Self::Md5, "md5"),
        (Self::ScramSha256, "scram-sha-256"),
        (Self::Gss, "gss"),
        (Self::Sspi, "sspi"),
        (Self::Oauth, "oauth"),
    ];

    /// Name in `require_auth`.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(method, _)| *method == self).map_or("", |(_, name)| name)
    }
}

/// Authentication methods that the server may use (`require_auth`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequireAuth {
    /// Text as given.
    pub text: String,
    /// Allowed methods.
    pub allowed: Vec<Method>,
}

/// Required kind of server (`target_session_attrs`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SessionAttrs {
    /// Any server.
    #[default]
    Any,
    /// A server whose sessions accept writes.
    ReadWrite,
    /// A server whose sessions are read-only.
    ReadOnly,
    /// A server that is not a standby.
    Primary,
    /// A standby.
    Standby,
    /// A standby; any server if there is no standby.
    PreferStandby,
}

/// TCP options. `None` leaves a value to the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpSettings {
    /// Whether keepalives are on (`keepalives`).
    pub keepalives: bool,
    /// Idle time before the first keepalive (`keepalives_idle`).
    pub idle: Option<Duration>,
    /// Time between keepalives (`keepalives_interval`).
    pub interval: Option<Duration>,
    /// Lost keepalives that end the connection (`keepalives_count`).
    pub count: Option<u32>,
    /// `tcp_user_timeout` in milliseconds.
    pub user_timeout_ms: Option<u32>,
}

/// Keepalives detect a peer that vanished within a minute and a half. There is no limit on silence itself, since
/// statements may take hours.
impl Default for TcpSettings {
    fn default() -> Self {
        Self {
            keepalives: true,
            idle: Some(Duration::from_secs(30)),
            interval: Some(Duration::from_secs(15)),
            count: Some(4),
            user_timeout_ms: None,
        }
    }
}
