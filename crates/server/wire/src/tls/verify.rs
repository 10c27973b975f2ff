//! Verification of the server's certificate.

use std::sync::Arc;

use rustls::{
    CertificateError, DigitallySignedStruct, Error, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
    server::ParsedCertificate,
};

use super::certificate;

/// Verifies a server's certificate as far as `sslmode` requires. The proof that the server has the key is always
/// checked, since channel binding relies on it.
#[derive(Debug)]
pub(super) struct Verifier {
    /// Verifier of the chain; `None` accepts every certificate.
    pub(super) chain: Option<Arc<WebPkiServerVerifier>>,
    /// Certificates that are trusted themselves, not only as issuers.
    pub(super) trusted: Vec<CertificateDer<'static>>,
    /// Whether the certificate must match the host name.
    pub(super) names: bool,
    pub(super) algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    /// Decides when the chain is valid and the name does not match: names may not be compared, or libpq finds the name
    /// elsewhere.
    fn name(
        &self,
        end_entity: &CertificateDer<'_>,
        name: &ServerName<'_>,
        error: CertificateError,
    ) -> Result<ServerCertVerified, Error> {
        let common_name = || certificate::lone_common_name(end_entity);
        if !self.names || common_name().is_some_and(|common| certificate::is_named(&common, &name.to_str())) {
            return Ok(ServerCertVerified::assertion());
        }
        Err(Error::InvalidCertificate(error))
    }

    fn itself(
        &self,
        end_entity: &CertificateDer<'_>,
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let at = std::time::Duration::from_secs(now.as_secs());
        if certificate::valid_at(end_entity, at) != Some(true) {
            return Err(Error::InvalidCertificate(CertificateError::Expired));
        }
        match verify_server_name(&ParsedCertificate::try_from(end_entity)?, name) {
            Ok(()) => Ok(ServerCertVerified::assertion()),
            Err(Error::InvalidCertificate(error)) => self.name(end_entity, name, error),
            Err(error) => Err(error),
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        let verified = chain.verify_server_cert(end_entity, intermediates, server_name, &[], now);
        let Err(Error::InvalidCertificate(error)) = verified else { return verified };
        match error {
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                self.name(end_entity, server_name, error)
            }
            // A self-signed certificate may be trusted as it is, even if it is a CA certificate.
            CertificateError::Other(_) if self.trusted.contains(end_entity) => {
                self.itself(end_entity, server_name, now)
            }
            error => Err(Error::InvalidCertificate(error)),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
