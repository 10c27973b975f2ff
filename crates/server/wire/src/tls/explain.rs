//! Explains TLS errors in words.

use rustls::{AlertDescription, CertificateError, Error};

use crate::WireError;

/// Converts an error of rustls for the user.
pub(crate) fn explain(error: Error) -> WireError {
    match error {
        Error::InvalidCertificate(error) => certificate(&error),
        Error::AlertReceived(alert) => WireError::tls(
            format!("the server refused the TLS connection: {alert:?}"),
            match alert {
                AlertDescription::CertificateRequired
                | AlertDescription::BadCertificate
                | AlertDescription::HandshakeFailure
                | AlertDescription::UnknownCA => {
                    Some("the server may want a client certificate that it trusts: sslcert and sslkey")
                }
                AlertDescription::ProtocolVersion => Some("only TLS 1.2 and 1.3 are supported"),
                _ => None,
            },
        ),
        Error::InvalidMessage(_) => WireError::tls(format!("the server's answer is not TLS: {error}"), None),
        error => WireError::tls(format!("TLS failed: {error}"), None),
    }
}

fn certificate(error: &CertificateError) -> WireError {
    let (what, hint) = match error {
        CertificateError::UnknownIssuer => (
            "the server's certificate is not signed by a trusted authority".to_owned(),
            "sslrootcert names the certificate of the authority that signed it",
        ),
        CertificateError::NotValidForName => {
            ("the server's certificate is not that of this host".to_owned(), WRONG_NAME)
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            let presented = match presented.as_slice() {
                [] => "no host".to_owned(),
                // rustls formats a name as `DnsName("localhost")`.
                names => names
                    .iter()
                    .map(|name| name.split('"').nth(1).unwrap_or(name))
                    .collect::<Vec<_>>()
                    .join(", "),
            };
            let expected = expected.to_str();
            (format!("the server's certificate is for {presented}, not for host \"{expected}\""), WRONG_NAME)
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            ("the server's certificate has expired".to_owned(), "the server needs a new one")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            ("the server's certificate is not valid yet".to_owned(), "compare the clocks of both machines")
        }
        CertificateError::Revoked => {
            ("the server's certificate was revoked".to_owned(), "the server needs a new one")
        }
        CertificateError::UnknownRevocationStatus => (
            "no revocation list covers the server's certificate".to_owned(),
            "sslcrl needs a list of every authority in the chain",
        ),
        other => (
            format!("the server's certificate is refused: {other}"),
            "certificates need version 3 of X.509 and a signature that is still considered safe",
        ),
    };
    WireError::tls(what, Some(hint))
}

const WRONG_NAME: &str =
    "connect by a name that is in the certificate; sslmode=verify-ca does not check the name";
