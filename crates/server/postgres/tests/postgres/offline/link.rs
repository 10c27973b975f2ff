//! An encrypted target sees the same data as an unencrypted one, and is notified when the connection becomes
//! unusable. The peer is rustls.

use std::{
    io::{Read, Write},
    sync::Arc,
};

use pgdyno_core::measure::Outcome;
use pgdyno_engine::{Event, Probe, Step, Target};
use pgdyno_postgres::targets::{Link, Reconnects};
use pgdyno_wire::Records;
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection,
    crypto::ring::default_provider,
    pki_types::{PrivateKeyDer, ServerName},
};

/// A target that sends a request and waits for the complete answer.
#[derive(Debug, Default)]
struct Asking {
    received: Vec<u8>,
    gone: Option<String>,
}

const REQUEST: &[u8] = b"how are you?";
const ANSWER: &[u8] = b"fine";

impl Target for Asking {
    fn step(&mut self, event: Event<'_>, _now_ns: u64, _probe: &mut Probe) -> Step {
        match event {
            Event::Begin => Step::Send,
            Event::Received(bytes) => {
                self.received.extend_from_slice(bytes);
                match self.received.ends_with(ANSWER) {
                    true => Step::Done(Outcome::Committed),
                    false => Step::Receive,
                }
            }
            Event::Gone(error) => {
                self.gone = error.map(|error| error.to_string());
                Step::Last(Outcome::Failed)
            }
            _ => Step::Receive,
        }
    }

    fn outgoing(&self) -> &[u8] {
        REQUEST
    }

    fn abandon(&mut self) -> Outcome {
        Outcome::InDoubt
    }
}

impl Reconnects for Asking {}

/// Moves pending data from one end to the other.
fn shake_hands(client: &mut ClientConnection, server: &mut ServerConnection) {
    while client.is_handshaking() || server.is_handshaking() || client.wants_write() || server.wants_write() {
        let mut wire = Vec::new();
        client.write_tls(&mut wire).expect("memory");
        server.read_tls(&mut wire.as_slice()).expect("memory");
        server.process_new_packets().expect("a handshake");
        let mut wire = Vec::new();
        server.write_tls(&mut wire).expect("memory");
        client.read_tls(&mut wire.as_slice()).expect("memory");
        client.process_new_packets().expect("a handshake");
    }
}

fn connected() -> (Link<Asking>, ServerConnection) {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).expect("a key");
    let mut roots = RootCertStore::empty();
    roots.add(own.cert.der().clone()).expect("a certificate");
    let server = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("there are versions")
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)
        .expect("they fit");
    let client = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("there are versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let mut client = ClientConnection::new(Arc::new(client), name).expect("a client");
    let mut server = ServerConnection::new(Arc::new(server)).expect("a server");
    shake_hands(&mut client, &mut server);
    let records = Records::new(Box::new(client)).expect("the handshake is done");
    (Link::new(Asking::default(), Some(records)), server)
}

fn said(server: &mut ServerConnection, plain: &[u8]) -> Vec<u8> {
    let mut wire = Vec::new();
    server.writer().write_all(plain).expect("it is little");
    while server.wants_write() {
        server.write_tls(&mut wire).expect("memory");
    }
    wire
}

#[test]
fn what_is_said_arrives_however_it_is_cut() {
    let (mut link, mut server) = connected();
    let mut probe = Probe::new(0);
    for round in 0..50 {
        assert_eq!(link.step(Event::Begin, 0, &mut probe), Step::Send);
        let sent = link.outgoing().to_vec();
        assert!(!sent.windows(REQUEST.len()).any(|part| part == REQUEST), "it is encrypted");
        server.read_tls(&mut sent.as_slice()).expect("memory");
        server.process_new_packets().expect("it is a good record");
        let mut heard = [0; REQUEST.len()];
        server.reader().read_exact(&mut heard).expect("all of it");
        assert_eq!(heard, REQUEST);
        assert_eq!(link.step(Event::Sent, 0, &mut probe), Step::Receive);
        // Two records, cut at different places: the target is done exactly at the last byte.
        let wire = [said(&mut server, b"thank you, "), said(&mut server, ANSWER)].concat();
        let (first, rest) = wire.split_at(round % (wire.len() - 1) + 1);
        assert_eq!(link.step(Event::Received(first), 0, &mut probe), Step::Receive, "{round}");
        assert_eq!(
            link.step(Event::Received(rest), 0, &mut probe),
            Step::Done(Outcome::Committed),
            "{round}"
        );
    }
}

#[test]
fn what_the_server_did_not_send_ends_the_client() {
    let (mut link, mut server) = connected();
    let mut probe = Probe::new(0);
    link.step(Event::Begin, 0, &mut probe);
    let mut wire = said(&mut server, ANSWER);
    *wire.last_mut().expect("it is long") ^= 1;
    assert_eq!(link.step(Event::Received(&wire), 0, &mut probe), Step::Last(Outcome::Failed));
    let text = format!("{link:?}");
    assert!(text.contains("cannot decrypt") && text.contains("received: []"), "{text}");
}

#[test]
fn without_records_nothing_is_changed() {
    let mut link = Link::new(Asking::default(), None);
    let mut probe = Probe::new(0);
    assert_eq!(link.step(Event::Begin, 0, &mut probe), Step::Send);
    assert_eq!(link.outgoing(), REQUEST);
    assert_eq!(link.step(Event::Received(ANSWER), 0, &mut probe), Step::Done(Outcome::Committed));
    assert_eq!(link.abandon(), Outcome::InDoubt);
}
