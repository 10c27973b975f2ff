//! Bytes in and bytes out, against a server of rustls at the other end.

use std::{
    io::{Read, Write},
    sync::Arc,
};

use proptest::prelude::*;
use rustls::{
    CipherSuite, ServerConfig, ServerConnection, SupportedCipherSuite, SupportedProtocolVersion,
    crypto::ring::{ALL_CIPHER_SUITES, default_provider},
    pki_types::{PrivateKeyDer, ServerName},
    version::{TLS12, TLS13},
};

use super::*;

/// A connection after its handshake with one cipher: our records, and rustls at the other end.
fn pair(suite: SupportedCipherSuite) -> (Records, ServerConnection) {
    let version: &'static SupportedProtocolVersion = if suite.tls13().is_some() { &TLS13 } else { &TLS12 };
    let mut provider = default_provider();
    provider.cipher_suites = vec![suite];
    let provider = Arc::new(provider);
    let ca = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let certificate = ca.cert.der().clone();
    let key = PrivateKeyDer::try_from(ca.signing_key.serialize_der()).expect("a key");
    let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[version])
        .expect("the version fits the cipher")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .expect("the key fits");
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).expect("it is one");
    let client = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])
        .expect("the version fits the cipher")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let mut client = ClientConnection::new(Arc::new(client), name).expect("a client");
    let mut server = ServerConnection::new(Arc::new(server)).expect("a server");
    while client.is_handshaking() || server.is_handshaking() {
        let mut wire = Vec::new();
        client.write_tls(&mut wire).expect("memory");
        server.read_tls(&mut wire.as_slice()).expect("memory");
        server.process_new_packets().expect("a handshake");
        let mut wire = Vec::new();
        server.write_tls(&mut wire).expect("memory");
        client.read_tls(&mut wire.as_slice()).expect("memory");
        client.process_new_packets().expect("a handshake");
    }
    let mut last = Vec::new();
    client.write_tls(&mut last).expect("memory");
    server.read_tls(&mut last.as_slice()).expect("memory");
    server.process_new_packets().expect("a handshake");
    (Records::new(Box::new(client)).expect("the handshake is done"), server)
}

/// All ciphers that fit the certificate of the pair.
fn suites() -> impl Iterator<Item = SupportedCipherSuite> {
    let fits = |suite: &SupportedCipherSuite| {
        suite.tls13().is_some() || format!("{:?}", suite.suite()).contains("ECDSA")
    };
    ALL_CIPHER_SUITES.iter().copied().filter(fits)
}

/// Bytes that rustls sends for a plaintext.
fn sent_by(server: &mut ServerConnection, plain: &[u8]) -> Vec<u8> {
    let mut wire = Vec::new();
    for part in plain.chunks(20_000) {
        server.writer().write_all(part).expect("its buffer is large enough");
        while server.wants_write() {
            server.write_tls(&mut wire).expect("memory");
        }
    }
    wire
}

fn received_by(server: &mut ServerConnection, mut wire: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    while !wire.is_empty() {
        server.read_tls(&mut wire).expect("memory");
        let state = server.process_new_packets().expect("they are good records");
        let mut part = vec![0; state.plaintext_bytes_to_read()];
        server.reader().read_exact(&mut part).expect("it is there");
        plain.extend(part);
    }
    plain
}

fn opened(records: &mut Records, wire: &[u8], cuts: &[usize]) -> io::Result<Vec<u8>> {
    let (mut plain, mut rest) = (Vec::new(), wire);
    for cut in cuts.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (part, after) = rest.split_at((*cut).min(rest.len()));
        let bytes = records.open(part)?;
        plain.extend_from_slice(records.plain(bytes));
        records.done(bytes);
        rest = after;
    }
    Ok(plain)
}

#[test]
fn every_cipher_carries_data_both_ways() {
    let names: Vec<CipherSuite> = suites().map(|suite| suite.suite()).collect();
    assert!(names.len() >= 6, "{names:?}");
    for suite in suites() {
        let (mut records, mut server) = pair(suite);
        let long: Vec<u8> = (0..500_000u32).map(|n| n as u8).collect();
        for plain in [&b"x"[..], b"SELECT 1", &long, &long[..1 << 14]] {
            let mut wire = Vec::new();
            records.seal(plain, &mut wire).expect("it is little");
            assert_eq!(received_by(&mut server, &wire), plain, "{:?}", suite.suite());
            let wire = sent_by(&mut server, plain);
            assert_eq!(opened(&mut records, &wire, &[wire.len()]).expect("it is good"), plain);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// The same bytes come out, however the stream is cut; tickets between them are ignored.
    #[test]
    fn cuts_do_not_matter(
        texts in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..400), 1..12),
        cuts in prop::collection::vec(1usize..500, 1..20),
        suite in prop::sample::select(suites().collect::<Vec<_>>()),
    ) {
        let (mut records, mut server) = pair(suite);
        let wire: Vec<u8> = texts.iter().flat_map(|text| sent_by(&mut server, text)).collect();
        prop_assert_eq!(opened(&mut records, &wire, &cuts).expect("it is good"), texts.concat());
    }

    #[test]
    fn no_bytes_make_it_panic_or_keep_much(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let (mut records, _server) = pair(suites().next().expect("there is one"));
        let _ = records.open(&bytes);
        prop_assert!(records.plain.is_empty());
    }
}

#[test]
fn a_changed_byte_ends_the_connection() {
    for suite in suites() {
        let (mut records, mut server) = pair(suite);
        let mut wire = sent_by(&mut server, b"the quick brown fox");
        *wire.last_mut().expect("a record") ^= 1;
        let error = opened(&mut records, &wire, &[wire.len()]).expect_err("the tag is another");
        assert!(error.to_string().starts_with("TLS: "), "{error}");
    }
}

#[test]
fn the_end_and_new_keys_are_followed() {
    for suite in suites() {
        let (mut records, mut server) = pair(suite);
        server.send_close_notify();
        let mut wire = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut wire).expect("memory");
        }
        assert_eq!(opened(&mut records, &wire, &[7]).expect("the end is no error"), b"");
    }
    let suite = suites().find(|suite| suite.tls13().is_some()).expect("there is one");
    let (mut records, mut server) = pair(suite);
    server.refresh_traffic_keys().expect("TLS 1.3 has that");
    let wire = sent_by(&mut server, b"with new keys");
    assert_eq!(opened(&mut records, &wire, &[wire.len()]).expect("rustls changes its own"), b"with new keys");
    let mut answer = Vec::new();
    records.seal(b"likewise", &mut answer).expect("memory");
    assert_eq!(received_by(&mut server, &answer), b"likewise");
}

#[test]
fn buffers_stay_as_large_as_they_became() {
    let (mut records, mut server) = pair(suites().next().expect("there is one"));
    let mut out = Vec::new();
    let mut capacity = (0, 0);
    for round in 0..200 {
        out.clear();
        records.seal(&[7; 300], &mut out).expect("memory");
        let wire = sent_by(&mut server, &[8; 300]);
        assert_eq!(opened(&mut records, &wire, &[wire.len()]).expect("it is good"), [8; 300]);
        if round == 2 {
            capacity = (out.capacity(), records.plain.capacity());
        }
    }
    assert_eq!(capacity, (out.capacity(), records.plain.capacity()));
}
