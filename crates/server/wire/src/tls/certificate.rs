//! Certificate fields that rustls does not evaluate.

use std::time::Duration;

use ring::digest::{self, SHA256, SHA384, SHA512};
use x509_cert::{
    Certificate,
    der::{
        Decode, Encode,
        asn1::{AnyRef, ObjectIdentifier},
    },
    ext::pkix::{SubjectAltName, name::GeneralName},
};

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
/// RSASSA-PSS, whose hash is in its parameters.
const PSS: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.10");

/// Signature algorithms with their hash. RFC 5929 replaces MD5 and SHA-1 by SHA-256.
const HASHES: [(ObjectIdentifier, &digest::Algorithm); 12] = [
    (ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.4"), &SHA256), // md5WithRSAEncryption
    (ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.5"), &SHA256), // sha1WithRSAEncryption
    (ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.11"), &SHA256), // sha256WithRSAEncryption
    (ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.12"), &SHA384), // sha384WithRSAEncryption
    (ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.13"), &SHA512), // sha512WithRSAEncryption
    (ObjectIdentifier::new_unwrap("1.2.840.10045.4.1"), &SHA256),    // ecdsa-with-SHA1
    (ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.2"), &SHA256),  // ecdsa-with-SHA256
    (ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.3"), &SHA384),  // ecdsa-with-SHA384
    (ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.4"), &SHA512),  // ecdsa-with-SHA512
    (ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.1"), &SHA256), // sha256, as a parameter of PSS
    (ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.2"), &SHA384), // sha384, likewise
    (ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.3"), &SHA512), // sha512, likewise
];

/// Hash of a certificate with the hash function of its signature; `None` if that has none (Ed25519).
pub(super) fn end_point(der: &[u8]) -> Option<Vec<u8>> {
    let certificate = Certificate::from_der(der).ok()?;
    let algorithm = &certificate.signature_algorithm;
    let oid = match algorithm.oid {
        PSS => pss_hash(&algorithm.parameters.as_ref()?.to_der().ok()?)?,
        oid => oid,
    };
    let (_, hash) = HASHES.iter().find(|(known, _)| *known == oid)?;
    Some(digest::digest(hash, der).as_ref().to_vec())
}

/// Hash in the parameters of RSASSA-PSS: `SEQUENCE { [0] SEQUENCE { OID, … }, … }` (RFC 4055). The default is SHA-1,
/// which counts as SHA-256.
fn pss_hash(parameters: &[u8]) -> Option<ObjectIdentifier> {
    let sequence = AnyRef::from_der(parameters).ok()?;
    let content = sequence.value();
    if content.first() != Some(&0xa0) {
        return Some(ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.5"));
    }
    let length = usize::from(*content.get(1).filter(|length| **length < 0x80)?);
    let algorithm = AnyRef::from_der(content.get(2..2 + length)?).ok()?;
    let oid = algorithm.value();
    let length = usize::from(*oid.get(1)?);
    ObjectIdentifier::from_der(oid.get(..2 + length)?).ok()
}

/// Common name, if the certificate has no other host name: libpq uses it then.
pub(super) fn lone_common_name(der: &[u8]) -> Option<String> {
    let certificate = Certificate::from_der(der).ok()?.tbs_certificate;
    if let Ok(Some((_, SubjectAltName(names)))) = certificate.get::<SubjectAltName>()
        && names.iter().any(|name| matches!(name, GeneralName::DnsName(_) | GeneralName::IpAddress(_)))
    {
        return None;
    }
    let mut attributes = certificate.subject.0.iter().flat_map(|rdn| rdn.0.iter());
    let value = attributes.rfind(|attribute| attribute.oid == COMMON_NAME)?.value.value();
    String::from_utf8(value.to_vec()).ok()
}

/// Whether a certificate is valid at a time since 1970; `None` if it cannot be parsed.
pub(super) fn valid_at(der: &[u8], at: Duration) -> Option<bool> {
    let validity = Certificate::from_der(der).ok()?.tbs_certificate.validity;
    let (from, until) = (validity.not_before.to_unix_duration(), validity.not_after.to_unix_duration());
    Some((from..=until).contains(&at))
}

/// Whether a name in a certificate matches a host: case-insensitive, with a star only as the whole first label.
pub(super) fn is_named(pattern: &str, host: &str) -> bool {
    let (pattern, host) = (pattern.to_ascii_lowercase(), host.to_ascii_lowercase());
    match pattern.strip_prefix("*.") {
        None => pattern == host,
        Some(rest) => host.split_once('.').is_some_and(|(first, after)| !first.is_empty() && after == rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_one_label() {
        for (pattern, host, is) in [
            ("db.example", "DB.example", true),
            ("*.example", "db.example", true),
            ("*.example", "a.db.example", false),
            ("*.example", ".example", false),
            ("*.example", "example", false),
            ("d*.example", "db.example", false),
            ("*", "db", false),
        ] {
            assert_eq!(is_named(pattern, host), is, "{pattern} {host}");
        }
    }

    #[test]
    fn the_hash_of_pss_is_in_its_parameters() {
        // SEQUENCE { [0] { SEQUENCE { OID sha384, NULL } } }, and an empty one.
        let sha384 = [
            &[0x30, 0x11, 0xa0, 0x0f, 0x30, 0x0d, 0x06, 0x09][..],
            &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02, 0x05, 0x00],
        ]
        .concat();
        assert_eq!(pss_hash(&sha384).map(|oid| oid.to_string()).as_deref(), Some("2.16.840.1.101.3.4.2.2"));
        assert_eq!(
            pss_hash(&[0x30, 0x00]).map(|oid| oid.to_string()).as_deref(),
            Some("1.2.840.113549.1.1.5")
        );
        for cut in 0..sha384.len() {
            let _ = pss_hash(&sha384[..cut]);
        }
    }
}
