//! Converts the texts of connection parameters to settings.

use std::{path::PathBuf, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use pgdyno_core::problem::Problem;

use super::{
    parts::{Part, Parts},
    settings::{
        CertMode, ChannelBinding, ClientCertificate, Method, ProtocolVersion, RequireAuth, Roots, ScramKeys,
        SessionAttrs, SslMode, TcpSettings, TlsSettings, TlsVersion,
    },
};

/// Value of a key as one of `choices`; else a problem that lists them and names the source of the value.
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

/// Problem for an invalid value, with its source.
pub(super) fn invalid(part: &Part) -> Problem {
    Problem::wrong_request(format!("invalid {} value: \"{}\"", part.key, part.value))
        .detail(part.origin.to_string())
}

/// Value of a key as an integer.
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

/// Reads the TLS settings; `home` is the parent directory of `.postgresql`.
pub(super) fn tls(parts: &Parts, home: Option<&str>) -> Result<TlsSettings, Problem> {
    let in_home = |name: &str| home.map(|home| PathBuf::from(home).join(".postgresql").join(name));
    let mode = one_of(parts, "sslmode", &MODES)?;
    let roots = match parts.get("sslrootcert") {
        Some("system") => Roots::System,
        Some(path) => Roots::File(Some(path.into())),
        None => Roots::File(in_home("root.crt")),
    };
    let old = parts.get("requiressl").is_some_and(|value| value.starts_with('1'));
    let mode = match (mode, &roots, old) {
        (Some(mode), Roots::System, _) if mode < SslMode::VerifyFull => {
            let what = "weak sslmode cannot be used with sslrootcert=system";
            return Err(Problem::wrong_request(what).hint(
                "anybody can get a certificate that the system trusts: use sslmode=verify-full, or leave it out",
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
        key_log: parts.get("sslkeylogfile").map(PathBuf::from),
    })
}

fn client_certificate(parts: &Parts, home: Option<&str>) -> Option<ClientCertificate> {
    let in_home = |name: &str| home.map(|home| PathBuf::from(home).join(".postgresql").join(name));
    Some(ClientCertificate {
        certificate: parts.get("sslcert").map(PathBuf::from).or_else(|| in_home("postgresql.crt"))?,
        key: parts.get("sslkey").map(PathBuf::from).or_else(|| in_home("postgresql.key")).unwrap_or_default(),
    })
}

fn versions(parts: &Parts) -> Result<(TlsVersion, TlsVersion), Problem> {
    // TLS older than 1.2 is not supported, so a lower limit below it has no effect.
    let is = |text: &str, name: &str| text.eq_ignore_ascii_case(name);
    let old = |text: &str| is(text, "TLSv1") || is(text, "TLSv1.1");
    let version = |part: &Part| match &part.value {
        text if is(text, "TLSv1.2") => Ok(TlsVersion::V12),
        text if is(text, "TLSv1.3") => Ok(TlsVersion::V13),
        _ => Err(invalid(part).hint("only TLSv1.2 and TLSv1.3 are supported")),
    };
    let min = match parts.part("ssl_min_protocol_version") {
        Some(part) if old(&part.value) => TlsVersion::V12,
        part => part.map(version).transpose()?.unwrap_or(TlsVersion::V12),
    };
    let max = parts.part("ssl_max_protocol_version").map(version).transpose()?.unwrap_or(TlsVersion::V13);
    if min > max {
        return Err(Problem::wrong_request("invalid SSL protocol version range")
            .hint("ssl_min_protocol_version must not be above ssl_max_protocol_version"));
    }
    Ok((min, max))
}

/// Files of `sslcrl` and `sslcrldir`; without either, the one in the home directory, if it exists.
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

/// Minimum and requested version of the protocol.
pub(super) fn protocol(parts: &Parts) -> Result<(ProtocolVersion, ProtocolVersion), Problem> {
    use ProtocolVersion::{V30, V32};
    let choices = [("3.0", V30), ("3.2", V32), ("latest", V32)];
    let min = one_of(parts, "min_protocol_version", &choices)?.unwrap_or(V30);
    // As in libpq: old servers and poolers cannot negotiate, so the newest version is only used on request.
    let max = one_of(parts, "max_protocol_version", &choices)?.unwrap_or(min);
    if min > max {
        let what = "\"min_protocol_version\" is greater than \"max_protocol_version\"";
        return Err(Problem::wrong_request(what));
    }
    Ok((min, max))
}

/// Both SCRAM keys, or none.
pub(super) fn scram_keys(parts: &Parts) -> Result<Option<ScramKeys>, Problem> {
    let key = |name: &str, who: &str| -> Result<Option<[u8; 32]>, Problem> {
        let Some(part) = parts.part(name) else { return Ok(None) };
        let wrong = |what: String| Problem::wrong_request(what).detail(part.origin.to_string());
        let bytes = STANDARD.decode(&part.value).map_err(|_| wrong(format!("invalid SCRAM {who} key")))?;
        let length = bytes.len();
        let key = bytes.try_into().map_err(|_| wrong(format!("invalid SCRAM {who} key length: {length}")))?;
        Ok(Some(key))
    };
    match (key("scram_client_key", "client")?, key("scram_server_key", "server")?) {
        (Some(client), Some(server)) => Ok(Some(ScramKeys { client, server })),
        (None, None) => Ok(None),
        _ => Err(Problem::wrong_request("could not use one key of SCRAM without the other")
            .hint("give both scram_client_key and scram_server_key")),
    }
}

/// Parses a list of methods, all of them with `!` or none.
pub(super) fn require_auth(parts: &Parts) -> Result<Option<RequireAuth>, Problem> {
    let Some(part) = parts.part("require_auth") else { return Ok(None) };
    let words: Vec<&str> = part.value.split(',').map(str::trim).collect();
    let negated = words[0].starts_with('!');
    let mut named = Vec::new();
    for word in words {
        if word.starts_with('!') != negated {
            return Err(invalid(part).hint("methods with and without `!` cannot be mixed in one list"));
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

/// Given values override the defaults; 0 and less means the kernel's value, as in libpq.
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
