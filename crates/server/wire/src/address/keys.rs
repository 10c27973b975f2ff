//! Keys of connection strings: all that libpq 18 knows, and how each is treated.

use pgdyno_core::problem::Problem;
use strsim::jaro_winkler;

/// Least similarity (0 to 1) at which a known key is suggested for an unknown one.
const ALIKE: f64 = 0.8;

/// All keys, each with its environment variable.
pub(super) const KEYS: [(&str, Option<&str>); 51] = [
    ("service", Some("PGSERVICE")),
    ("user", Some("PGUSER")),
    ("password", Some("PGPASSWORD")),
    ("passfile", Some("PGPASSFILE")),
    ("channel_binding", Some("PGCHANNELBINDING")),
    ("connect_timeout", Some("PGCONNECT_TIMEOUT")),
    ("dbname", Some("PGDATABASE")),
    ("host", Some("PGHOST")),
    ("hostaddr", Some("PGHOSTADDR")),
    ("port", Some("PGPORT")),
    ("client_encoding", Some("PGCLIENTENCODING")),
    ("options", Some("PGOPTIONS")),
    ("application_name", Some("PGAPPNAME")),
    ("fallback_application_name", None),
    ("keepalives", None),
    ("keepalives_idle", None),
    ("keepalives_interval", None),
    ("keepalives_count", None),
    ("tcp_user_timeout", None),
    ("sslmode", Some("PGSSLMODE")),
    ("sslnegotiation", Some("PGSSLNEGOTIATION")),
    ("sslcompression", Some("PGSSLCOMPRESSION")),
    ("sslcert", Some("PGSSLCERT")),
    ("sslkey", Some("PGSSLKEY")),
    ("sslcertmode", Some("PGSSLCERTMODE")),
    ("sslpassword", None),
    ("sslrootcert", Some("PGSSLROOTCERT")),
    ("sslcrl", Some("PGSSLCRL")),
    ("sslcrldir", Some("PGSSLCRLDIR")),
    ("sslsni", Some("PGSSLSNI")),
    ("requirepeer", Some("PGREQUIREPEER")),
    ("require_auth", Some("PGREQUIREAUTH")),
    ("min_protocol_version", Some("PGMINPROTOCOLVERSION")),
    ("max_protocol_version", Some("PGMAXPROTOCOLVERSION")),
    ("ssl_min_protocol_version", Some("PGSSLMINPROTOCOLVERSION")),
    ("ssl_max_protocol_version", Some("PGSSLMAXPROTOCOLVERSION")),
    ("gssencmode", Some("PGGSSENCMODE")),
    ("krbsrvname", Some("PGKRBSRVNAME")),
    ("gsslib", Some("PGGSSLIB")),
    ("gssdelegation", Some("PGGSSDELEGATION")),
    ("replication", None),
    ("target_session_attrs", Some("PGTARGETSESSIONATTRS")),
    ("load_balance_hosts", Some("PGLOADBALANCEHOSTS")),
    ("scram_client_key", None),
    ("scram_server_key", None),
    ("oauth_issuer", None),
    ("oauth_client_id", None),
    ("oauth_client_secret", None),
    ("oauth_scope", None),
    ("sslkeylogfile", None),
    ("requiressl", Some("PGREQUIRESSL")),
];

/// Session settings that libpq takes from the environment and sends in the startup message.
pub(super) const STARTUP: [(&str, &str); 3] =
    [("PGDATESTYLE", "datestyle"), ("PGTZ", "timezone"), ("PGGEQO", "geqo")];

/// Treatment of a key with a value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    /// The value is used.
    Used,
    /// The value has no effect here, for this reason, which is reported to the user.
    Harmless(&'static str),
    /// The value is not supported, for this reason.
    Refused(&'static str),
}

/// Treatment of a key with a non-empty value.
pub(super) fn treatment(key: &str, value: &str) -> Treatment {
    use Treatment::{Harmless, Refused, Used};
    match (key, value) {
        ("sslcompression", "0") | ("gssencmode", "disable" | "prefer") | ("gssdelegation", "0") => Used,
        ("sslcompression", _) => Harmless("TLS is not compressed: nothing has done so since CVE-2012-4929"),
        ("krbsrvname" | "gsslib" | "gssdelegation", _) => Harmless("GSSAPI is not used"),
        ("gssencmode", _) => Refused("GSSAPI encryption is not supported; use TLS (sslmode)"),
        ("sslpassword", _) => {
            Refused("encrypted keys are not supported; decrypt a copy with `openssl pkey`, mode 0600")
        }
        ("oauth_issuer" | "oauth_client_id" | "oauth_client_secret" | "oauth_scope", _) => {
            Refused("OAuth is not supported")
        }
        _ => Used,
    }
}

/// Refuses a key that libpq does not know, suggesting the most similar one.
pub(super) fn check(key: &str) -> Result<(), Problem> {
    if KEYS.iter().any(|(known, _)| *known == key) {
        return Ok(());
    }
    let what = format!("could not read the connection string: unknown keyword `{key}`");
    let scored = KEYS.iter().map(|(known, _)| (*known, jaro_winkler(known, key)));
    let nearest = scored.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, score)| *score >= ALIKE);
    Err(Problem::wrong_request(what).hint(match nearest {
        Some((known, _)) => format!("did you mean `{known}`?"),
        None => "the keys are those of libpq (PostgreSQL manual, \"Parameter Key Words\")".to_owned(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_misspelt_has_a_nearest() {
        for (wrong, right) in
            [("hots", "host"), ("ssl_mode", "sslmode"), ("pasword", "password"), ("db", "dbname")]
        {
            let hint = check(wrong).expect_err(wrong).hint.unwrap_or_default();
            assert!(hint.contains(&format!("`{right}`")), "{wrong}: {hint}");
        }
        assert!(check("xyzzy").expect_err("unknown").hint.is_some_and(|hint| hint.contains("libpq")));
    }

    #[test]
    fn every_key_is_there_once() {
        for (at, (key, variable)) in KEYS.iter().enumerate() {
            assert!(KEYS[..at].iter().all(|(other, env)| other != key && (env.is_none() || env != variable)));
        }
    }
}
