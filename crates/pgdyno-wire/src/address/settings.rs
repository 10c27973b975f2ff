//! What a connection is made with, besides where to: TLS, authentication, TCP, the kind of server.

use std::{fmt, path::PathBuf, time::Duration};

/// How much encryption is wanted (`sslmode`). Unix-domain sockets are never encrypted, whatever it says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SslMode {
    /// None.
    Disable,
    /// None, and TLS where the server refuses that.
    Allow,
    /// TLS, and none where that is not possible.
    #[default]
    Prefer,
    /// TLS with anybody; with a root certificate as [`SslMode::VerifyCa`], like libpq.
    Require,
    /// TLS with a server whose certificate a trusted authority signed.
    VerifyCa,
    /// The same, and the certificate is that of the host that was asked for.
    VerifyFull,
}

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    /// 1.2
    V12,
    /// 1.3
    V13,
}

/// Which authorities are trusted (`sslrootcert`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Roots {
    /// A file of certificates, used if it is there; `None` where there is no home directory to look in.
    File(Option<PathBuf>),
    /// Those that the system trusts.
    System,
}

/// Whether a client certificate is shown (`sslcertmode`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CertMode {
    /// Never.
    Disable,
    /// If the server asks and there is one.
    #[default]
    Allow,
    /// It must be: a server that does not ask is refused.
    Require,
}

/// A client certificate with its key, shown if it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// File of the certificate and those that lead to its authority.
    pub certificate: PathBuf,
    /// File of its key.
    pub key: PathBuf,
}

/// A version of the frontend/backend protocol. 3.1 never was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProtocolVersion {
    /// 3.0
    #[default]
    V30,
    /// 3.2, from PostgreSQL 18 on: the secret for a cancellation is longer.
    V32,
}

impl ProtocolVersion {
    /// Both, by the numbers that stand in messages, and their names.
    const ALL: [(Self, i32, &'static str); 2] =
        [(Self::V30, 3 << 16, "3.0"), (Self::V32, (3 << 16) + 2, "3.2")];

    /// Its number in messages: major version in the upper half, minor one in the lower.
    pub fn number(self) -> i32 {
        Self::ALL[self as usize].1
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].2
    }

    /// The version of a number.
    pub(crate) fn of_number(number: i32) -> Option<Self> {
        Self::ALL.iter().find(|(_, known, _)| *known == number).map(|(version, ..)| *version)
    }
}

/// Keys that were computed from a password, in place of it (`scram_client_key` and `scram_server_key`). They cannot be
/// printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct ScramKeys {
    /// Proves who the client is.
    pub(crate) client: [u8; 32],
    /// Shows whether the server knows the password too.
    pub(crate) server: [u8; 32],
}

impl fmt::Debug for ScramKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ScramKeys(…)")
    }
}

/// Everything about TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    /// `sslmode`.
    pub mode: SslMode,
    /// `sslnegotiation=direct`: TLS from the first byte, for servers from 17 on.
    pub direct: bool,
    /// `sslrootcert`.
    pub roots: Roots,
    /// `sslcert` and `sslkey`; `None` where there is no home directory to look in.
    pub client: Option<ClientCertificate>,
    /// `sslcertmode`.
    pub cert_mode: CertMode,
    /// `sslcrl`, and the files in `sslcrldir`.
    pub revoked: Vec<PathBuf>,
    /// `sslsni`: whether the host's name is told in the clear.
    pub sni: bool,
    /// `ssl_min_protocol_version`.
    pub min: TlsVersion,
    /// `ssl_max_protocol_version`.
    pub max: TlsVersion,
    /// `sslkeylogfile`: the file that the keys of every connection are added to, for programs that show its traffic.
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ChannelBinding {
    /// No.
    Disable,
    /// Where the server can.
    #[default]
    Prefer,
    /// It must be.
    Require,
}

/// A way in which a server authenticates a client, as `require_auth` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// No password is asked for.
    None,
    /// The password in the clear.
    Password,
    /// MD5.
    Md5,
    /// SCRAM-SHA-256, with or without channel binding.
    ScramSha256,
    /// GSSAPI, which is not possible here.
    Gss,
    /// SSPI, which is not possible here.
    Sspi,
    /// OAuth, which is not possible here.
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

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(method, _)| *method == self).map_or("", |(_, name)| name)
    }
}

/// Which methods the server may use (`require_auth`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequireAuth {
    /// As it was written.
    pub text: String,
    /// The methods that are allowed.
    pub allowed: Vec<Method>,
}

/// What a server must be (`target_session_attrs`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SessionAttrs {
    /// Anything.
    #[default]
    Any,
    /// One that takes writes.
    ReadWrite,
    /// One that takes none.
    ReadOnly,
    /// No standby.
    Primary,
    /// A standby.
    Standby,
    /// A standby, and anything where there is none.
    PreferStandby,
}

/// How the kernel looks after a TCP connection. `None` leaves a value to the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpSettings {
    /// `keepalives`.
    pub keepalives: bool,
    /// `keepalives_idle`.
    pub idle: Option<Duration>,
    /// `keepalives_interval`.
    pub interval: Option<Duration>,
    /// `keepalives_count`.
    pub count: Option<u32>,
    /// `tcp_user_timeout` in milliseconds.
    pub user_timeout_ms: Option<u32>,
}

/// The kernel asks after a silent peer, so that one that is gone without a word is noticed in a minute and a half.
/// Statements may take hours: a limit on silence itself would end good ones.
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
