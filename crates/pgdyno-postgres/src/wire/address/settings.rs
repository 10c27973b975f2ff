//! What a connection is made with, besides where to: TLS, authentication, TCP, the kind of server.

use std::{path::PathBuf, time::Duration};

use pgdyno_core::problem::Problem;

use super::parts::{Part, Parts};
use crate::wire::tls::Cache;

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
    /// A file of certificates. Where nobody named it, it is used if it is there.
    File {
        /// Its path; `None` where there is no home directory to look in.
        path: Option<PathBuf>,
        /// Whether somebody named it.
        named: bool,
    },
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

/// A client certificate with its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// File of the certificate and those that lead to its authority.
    pub certificate: PathBuf,
    /// File of its key.
    pub key: PathBuf,
    /// Whether somebody named the certificate: else it is used if it is there.
    pub named: bool,
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
    /// What was read from the files above, once for all connections.
    pub cache: Cache,
}

impl Default for TlsSettings {
    fn default() -> Self {
        Self {
            mode: SslMode::Prefer,
            direct: false,
            roots: Roots::File { path: None, named: false },
            client: None,
            cert_mode: CertMode::Allow,
            revoked: Vec::new(),
            sni: true,
            min: TlsVersion::V12,
            max: TlsVersion::V13,
            cache: Cache::default(),
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
    const ALL: [(Self, &'static str); 7] = [
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

/// The value of a key as one of a list, or a problem that names the list and where the value comes from.
pub(super) fn one_of<T: Copy>(parts: &Parts, key: &str, choices: &[(&str, T)]) -> Result<Option<T>, Problem> {
    let Some(part) = parts.part(key) else { return Ok(None) };
    match choices.iter().find(|(name, _)| *name == part.value) {
        Some((_, choice)) => Ok(Some(*choice)),
        None => {
            let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
            Err(invalid(part).hint(format!("one of {}", names.join(", "))))
        }
    }
}

/// A value that is none of its key's, with its origin.
pub(super) fn invalid(part: &Part) -> Problem {
    Problem::wrong_request(format!("invalid {} value: \"{}\"", part.key, part.value))
        .detail(part.origin.to_string())
}

/// The value of a key as a whole number.
pub(super) fn integer(parts: &Parts, key: &str) -> Result<Option<i32>, Problem> {
    let Some(part) = parts.part(key) else { return Ok(None) };
    let number = part.value.trim().parse().map_err(|_| {
        let what = format!("invalid integer value \"{}\" for connection option \"{key}\"", part.value);
        Problem::wrong_request(what).detail(part.origin.to_string())
    })?;
    Ok(Some(number))
}

const MODES: [(&str, SslMode); 6] = [
    ("disable", SslMode::Disable),
    ("allow", SslMode::Allow),
    ("prefer", SslMode::Prefer),
    ("require", SslMode::Require),
    ("verify-ca", SslMode::VerifyCa),
    ("verify-full", SslMode::VerifyFull),
];

/// `home` is where `.postgresql` would be.
pub(super) fn tls(parts: &Parts, home: Option<&str>) -> Result<TlsSettings, Problem> {
    let in_home = |name: &str| home.map(|home| PathBuf::from(home).join(".postgresql").join(name));
    let mode = one_of(parts, "sslmode", &MODES)?;
    let roots = match parts.get("sslrootcert") {
        Some("system") => Roots::System,
        Some(path) => Roots::File { path: Some(path.into()), named: true },
        None => Roots::File { path: in_home("root.crt"), named: false },
    };
    let old = parts.get("requiressl").is_some_and(|value| value.starts_with('1'));
    let mode = match (mode, &roots, old) {
        (Some(mode), Roots::System, _) if mode < SslMode::VerifyFull => {
            let what = "weak sslmode cannot be used with sslrootcert=system";
            return Err(Problem::wrong_request(what).hint(
                "everybody has a certificate that the system trusts: use sslmode=verify-full, or leave it out",
            ));
        }
        (Some(mode), ..) => mode,
        (None, Roots::System, _) => SslMode::VerifyFull,
        (None, _, true) => SslMode::Require,
        (None, ..) => SslMode::Prefer,
    };
    let direct = one_of(parts, "sslnegotiation", &[("postgres", false), ("direct", true)])?.unwrap_or(false);
    if direct && mode < SslMode::Require {
        let what = "weak sslmode cannot be used with sslnegotiation=direct";
        return Err(Problem::wrong_request(what).hint("use sslmode=require, verify-ca or verify-full"));
    }
    let (min, max) = versions(parts)?;
    let modes = [("disable", CertMode::Disable), ("allow", CertMode::Allow), ("require", CertMode::Require)];
    Ok(TlsSettings {
        mode,
        direct,
        roots,
        client: client_certificate(parts, home),
        cert_mode: one_of(parts, "sslcertmode", &modes)?.unwrap_or_default(),
        revoked: revoked(parts, home)?,
        sni: one_of(parts, "sslsni", &[("0", false), ("1", true)])?.unwrap_or(true),
        min,
        max,
        cache: Cache::default(),
    })
}

fn client_certificate(parts: &Parts, home: Option<&str>) -> Option<ClientCertificate> {
    let in_home = |name: &str| home.map(|home| PathBuf::from(home).join(".postgresql").join(name));
    let named = parts.get("sslcert").map(PathBuf::from);
    Some(ClientCertificate {
        named: named.is_some(),
        certificate: named.or_else(|| in_home("postgresql.crt"))?,
        key: parts.get("sslkey").map(PathBuf::from).or_else(|| in_home("postgresql.key")).unwrap_or_default(),
    })
}

fn versions(parts: &Parts) -> Result<(TlsVersion, TlsVersion), Problem> {
    // What is older than 1.2 is never spoken, so as a lower limit it says nothing.
    let old = ["TLSv1", "TLSv1.1"];
    let choices = [("TLSv1.2", TlsVersion::V12), ("TLSv1.3", TlsVersion::V13)];
    let min = match parts.get("ssl_min_protocol_version") {
        Some(text) if old.contains(&text) => TlsVersion::V12,
        _ => one_of(parts, "ssl_min_protocol_version", &choices)?.unwrap_or(TlsVersion::V12),
    };
    if let Some(part) =
        parts.part("ssl_max_protocol_version").filter(|part| old.contains(&part.value.as_str()))
    {
        return Err(invalid(part).hint("TLS 1.2 and 1.3 are spoken, nothing older"));
    }
    let max = one_of(parts, "ssl_max_protocol_version", &choices)?.unwrap_or(TlsVersion::V13);
    if min > max {
        return Err(Problem::wrong_request("invalid SSL protocol version range")
            .hint("ssl_min_protocol_version must not be above ssl_max_protocol_version"));
    }
    Ok((min, max))
}

/// The files of `sslcrl` and `sslcrldir`; without either the one in the home directory, if it is there.
fn revoked(parts: &Parts, home: Option<&str>) -> Result<Vec<PathBuf>, Problem> {
    let mut files: Vec<PathBuf> = parts.get("sslcrl").map(PathBuf::from).into_iter().collect();
    if let Some(dir) = parts.get("sslcrldir") {
        let entries = std::fs::read_dir(dir)
            .map_err(|error| Problem::wrong_request(format!("could not read sslcrldir {dir}: {error}")))?;
        files.extend(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()));
        files.sort();
    }
    let default = home.map(|home| PathBuf::from(home).join(".postgresql/root.crl"));
    if files.is_empty() {
        files.extend(default.filter(|path| path.is_file()));
    }
    Ok(files)
}

pub(super) fn channel_binding(parts: &Parts) -> Result<ChannelBinding, Problem> {
    let choices = [
        ("disable", ChannelBinding::Disable),
        ("prefer", ChannelBinding::Prefer),
        ("require", ChannelBinding::Require),
    ];
    Ok(one_of(parts, "channel_binding", &choices)?.unwrap_or_default())
}

/// A list of methods, all of them with `!` or none.
pub(super) fn require_auth(parts: &Parts) -> Result<Option<RequireAuth>, Problem> {
    let Some(part) = parts.part("require_auth") else { return Ok(None) };
    let words: Vec<&str> = part.value.split(',').map(str::trim).collect();
    let negated = words[0].starts_with('!');
    let mut named = Vec::new();
    for word in words {
        if word.starts_with('!') != negated {
            return Err(invalid(part).hint("methods with and without `!` cannot stand in one list"));
        }
        let name = word.trim_start_matches('!');
        let Some((method, _)) = Method::ALL.iter().find(|(_, known)| *known == name) else {
            let names = Method::ALL.map(|(_, name)| name).join(", ");
            return Err(invalid(part).hint(format!("methods are {names}")));
        };
        if named.contains(method) {
            return Err(invalid(part).hint(format!("{name} is named twice")));
        }
        named.push(*method);
    }
    let all = Method::ALL.map(|(method, _)| method);
    let allowed = all.into_iter().filter(|method| named.contains(method) != negated).collect();
    Ok(Some(RequireAuth { text: part.value.clone(), allowed }))
}

pub(super) fn session_attrs(parts: &Parts) -> Result<SessionAttrs, Problem> {
    let choices = [
        ("any", SessionAttrs::Any),
        ("read-write", SessionAttrs::ReadWrite),
        ("read-only", SessionAttrs::ReadOnly),
        ("primary", SessionAttrs::Primary),
        ("standby", SessionAttrs::Standby),
        ("prefer-standby", SessionAttrs::PreferStandby),
    ];
    Ok(one_of(parts, "target_session_attrs", &choices)?.unwrap_or_default())
}

/// What is given goes over the defaults; 0 and less means the kernel's own, as in libpq.
pub(super) fn tcp(parts: &Parts) -> Result<TcpSettings, Problem> {
    let default = TcpSettings::default();
    let given = |key: &str, default: Option<u32>| -> Result<Option<u32>, Problem> {
        Ok(match integer(parts, key)? {
            None => default,
            Some(number) => u32::try_from(number).ok().filter(|number| *number > 0),
        })
    };
    let seconds = |key: &str, default: Option<Duration>| -> Result<Option<Duration>, Problem> {
        let number = given(key, default.map(|time| time.as_secs() as u32))?;
        Ok(number.map(|seconds| Duration::from_secs(seconds.into())))
    };
    Ok(TcpSettings {
        keepalives: integer(parts, "keepalives")?.is_none_or(|number| number != 0),
        idle: seconds("keepalives_idle", default.idle)?,
        interval: seconds("keepalives_interval", default.interval)?,
        count: given("keepalives_count", default.count)?,
        user_timeout_ms: given("tcp_user_timeout", None)?,
    })
}
