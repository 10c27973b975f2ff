//! Cancel requests are sent over TLS, too, as the secret key in them must stay secret.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use pgdyno_core::stop::Stop;
use pgdyno_wire::{Address, WireError, connect_unless};

use super::server::Server;

/// Codes of an SSLRequest and a CancelRequest, after their lengths.
const SSL_REQUEST: [u8; 4] = 80_877_103u32.to_be_bytes();
const CANCEL_REQUEST: [u8; 4] = 80_877_102u32.to_be_bytes();

/// Everything that clients sent, by connection.
type Sent = Arc<Mutex<Vec<Vec<u8>>>>;

/// Relays connections to a server, and keeps what clients send. Threads end with their connections.
fn listen_in(to: u16) -> (u16, Sent) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("a port").port();
    let sent = Sent::default();
    let kept = Arc::clone(&sent);
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(("127.0.0.1", to)).expect("it listens");
            let [client_end, server_end] =
                [&client, &server].map(|end| end.try_clone().expect("a descriptor"));
            let number = {
                let mut sent = kept.lock().expect("nobody panicked");
                sent.push(Vec::new());
                sent.len() - 1
            };
            let kept = Arc::clone(&kept);
            thread::spawn(move || {
                pass_on(client, server_end, |bytes| {
                    kept.lock().expect("nobody panicked")[number].extend_from_slice(bytes);
                });
            });
            thread::spawn(move || pass_on(server, client_end, |_| ()));
        }
    });
    (port, sent)
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, mut keep: impl FnMut(&[u8])) {
    let mut buffer = [0; 4096];
    while let Ok(bytes @ 1..) = from.read(&mut buffer) {
        keep(&buffer[..bytes]);
        if to.write_all(&buffer[..bytes]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

pub fn what_is_stopped_is_cancelled_in_private(server: &Server) {
    let (port, sent) = listen_in(server.own.running.port);
    let through = |text: &str| {
        server.options(&format!("user=plain {text}")).at(Address::Tcp("127.0.0.1".to_owned(), port))
    };
    let mut ways =
        vec!["sslmode=require", "sslmode=prefer", "sslmode=require ssl_max_protocol_version=TLSv1.2"];
    if server.own.running.version_num >= 170_000 {
        ways.push("sslmode=require sslnegotiation=direct");
    }
    let mut admin = server.admin();
    for way in ways {
        sent.lock().expect("nobody panicked").clear();
        let stop = Stop::default();
        let mut session = connect_unless(&stop, &through(way)).expect("it is let in");
        session.heed(&stop);
        let sleeper = thread::spawn(move || session.execute("SELECT pg_sleep(600)"));
        let sleeps =
            "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query = 'SELECT pg_sleep(600)'";
        while admin.value(sleeps).expect("it can be asked").is_none() {
            thread::sleep(Duration::from_millis(5));
        }
        stop.request("enough");
        let ended = sleeper.join().expect("it does not panic");
        assert!(matches!(ended, Err(WireError::Stopped)), "{ended:?}");
        assert_eq!(admin.value(sleeps).expect("it can be asked"), None, "{way}");
        let sent = sent.lock().expect("nobody panicked");
        assert_eq!(sent.len(), 2, "{way}: a session and its cancellation");
        for bytes in &*sent {
            let direct = way.contains("direct");
            assert_eq!(bytes[4..8] == SSL_REQUEST, !direct, "{way}: {:?}", &bytes[..8]);
            assert!(!bytes.windows(4).any(|part| part == CANCEL_REQUEST), "{way}: not encrypted");
        }
    }
}
