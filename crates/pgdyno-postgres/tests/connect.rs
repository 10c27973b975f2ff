//! Connecting to servers that are honest, wrong, slow or hostile.

use std::{
    os::unix::net::UnixListener,
    time::{Duration, Instant},
};

use pgdyno_core::problem::Problem;
use pgdyno_postgres::{
    fake::{FakeServer, Greeting, Listen, Scram, message, usual},
    wire::{Address, ConnectOptions, Session, connect},
};

/// Far more than anything here takes, far less than a hang.
const QUICK: Duration = Duration::from_secs(20);

fn greeted(greeting: Greeting, password: Option<&str>) -> Result<Session, Problem> {
    let server = FakeServer::listen(Listen::Socket, greeting, usual).expect("it listens");
    connect(&server.options(password))
}

/// The problem that a greeting leads to, with all its texts in one.
fn refused(greeting: Greeting, password: Option<&str>) -> String {
    let start = Instant::now();
    let problem = greeted(greeting, password).expect_err("it is refused");
    assert!(start.elapsed() < QUICK);
    all(&problem)
}

fn all(problem: &Problem) -> String {
    let Problem { what, detail, hint, .. } = problem;
    format!("{what}\n{}\n{}", detail.as_deref().unwrap_or(""), hint.as_deref().unwrap_or(""))
}

fn greetings() -> [Greeting; 3] {
    let secret = || "s3cret".to_owned();
    [Greeting::Cleartext(secret()), Greeting::Md5(secret()), Greeting::Scram(secret(), Scram::Honest)]
}

#[test]
fn every_way_of_authentication_lets_the_right_password_in() {
    for greeting in greetings() {
        let server = FakeServer::listen(Listen::Socket, greeting, usual).expect("it listens");
        let mut session = connect(&server.options(Some("s3cret"))).expect("the password is right");
        assert_eq!(session.parameter("server_version"), Some("15.0 (fake)"));
        assert_eq!(session.backend_pid(), 42);
        session.query("SELECT 1").expect("it is let in");
    }
    greeted(Greeting::Trust, None).expect("everybody is trusted");
}

#[test]
fn over_tcp_it_is_the_same() {
    let server = FakeServer::listen(Listen::Loopback, Greeting::Trust, usual).expect("it listens");
    let mut session = connect(&server.options(None)).expect("everybody is trusted");
    assert_eq!(session.value("SELECT 1").expect("a row").as_deref(), Some("0"));
}

#[test]
fn a_wrong_password_is_named_and_a_missing_one_has_a_hint() {
    for greeting in greetings() {
        let text = refused(greeting.clone(), Some("wrong"));
        assert!(text.contains("28P01") && text.contains("check the password"), "{text}");
        let text = refused(greeting, None);
        assert!(text.contains("none was given") && text.contains("PGPASSWORD"), "{text}");
    }
}

#[test]
fn what_the_server_refuses_is_passed_on_with_a_hint() {
    for (code, hint) in [("3D000", "-d"), ("57P03", "try again"), ("53300", "max_connections")] {
        let text = refused(Greeting::Refuse(code.to_owned(), "no, \u{1b}[31mred\u{7}".to_owned()), None);
        assert!(text.contains(code) && text.contains(hint), "{text}");
        assert!(!text.contains(['\u{1b}', '\u{7}']), "a server must not steer the terminal: {text:?}");
    }
}

#[test]
fn scram_demands_that_the_server_plays_by_the_rules() {
    for (how, why) in [
        (Scram::Iterations(1 << 31), "iteration"),
        (Scram::Iterations(0), "iteration"),
        (Scram::Iterations(u64::MAX), "SCRAM"),
        (Scram::ForeignNonce, "nonce"),
        (Scram::SameNonce, "nonce"),
        (Scram::WrongSignature, "verification"),
        (Scram::NoSignature, "did not prove"),
        (Scram::OkAtOnce, "did not prove"),
    ] {
        let text = refused(Greeting::Scram("s3cret".to_owned(), how), Some("s3cret"));
        assert!(text.contains(why), "{how:?}: {text}");
        assert!(!text.contains("is a server running there"), "{how:?}: {text}");
    }
}

#[test]
fn authentication_that_is_not_possible_is_named_without_a_hint_at_passwords() {
    for bytes in [message::authentication(7, b""), message::authentication(10, b"SCRAM-SHA-256-PLUS\0\0")] {
        let text = refused(Greeting::Bytes(bytes), None);
        assert!(text.contains("not supported") || text.contains("need TLS"), "{text}");
        assert!(!text.contains("PGPASSWORD"), "{text}");
    }
}

#[test]
fn a_flood_before_the_server_is_ready_ends() {
    let parameter = message::parameter("a", "b").repeat(2_000);
    let notice = message::notice("hear, hear").repeat(2_000);
    let big = message::parameter("a", &"b".repeat(1 << 20));
    for (flood, why) in [(parameter, "1000 messages"), (notice, "1000 messages"), (big, "length")] {
        let text = refused(Greeting::TrustWith(flood), None);
        assert!(text.contains(why), "{text}");
    }
    let few = message::notice("welcome").repeat(20);
    greeted(Greeting::TrustWith(few), None).expect("some notices are no flood");
}

#[test]
fn a_silent_and_a_dripping_server_are_given_up() {
    let notice = message::notice(&"x".repeat(2_000));
    for greeting in [Greeting::Bytes(Vec::new()), Greeting::Drip(notice, 20)] {
        let server = FakeServer::listen(Listen::Socket, greeting, usual).expect("it listens");
        let options = ConnectOptions { connect_timeout: Duration::from_millis(300), ..server.options(None) };
        let start = Instant::now();
        let problem = connect(&options).expect_err("it says nothing");
        assert!(start.elapsed() < QUICK);
        assert!(problem.what.contains("no answer within the connect timeout"), "{problem}");
    }
}

/// A server whose queue of connections is full: one that is stopped, for example.
#[test]
fn a_server_that_takes_no_connection_is_given_up() {
    let dir = tempfile::tempdir().expect("a directory");
    let listener = UnixListener::bind(dir.path().join(".s.PGSQL.5432")).expect("it listens");
    rustix::net::listen(&listener, 0).expect("its queue can be shortened");
    let server = FakeServer::start(usual).expect("it listens");
    let address = Address::Unix(dir.path().to_owned(), 5432);
    let connect_timeout = Duration::from_millis(200);
    let options = ConnectOptions { address, connect_timeout, ..server.options(None) };
    let start = Instant::now();
    for _ in 0..3 {
        let problem = connect(&options).expect_err("nobody accepts");
        assert!(problem.what.contains("no answer within the connect timeout"), "{problem}");
    }
    assert!(start.elapsed() < QUICK);
}

#[test]
fn what_is_no_postgresql_is_said_to_be_none() {
    for bytes in
        [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b"220 mail.example ESMTP\r\n", b"\0\0\0\0\0\0\0\0"]
    {
        let text = refused(Greeting::Bytes(bytes.to_vec()), None);
        assert!(text.contains("does not speak the PostgreSQL protocol"), "{text}");
        assert!(text.contains("is it a PostgreSQL server"), "{text}");
    }
}

#[test]
fn wrong_messages_in_the_greeting_are_refused() {
    let negotiate = message::message(b'v', &[0, 3, 0, 9, 0, 0, 0, 0]);
    let ok = message::authentication(0, &[]);
    for bytes in [
        negotiate.clone(),
        [ok.as_slice(), &negotiate].concat(),
        message::message(b'R', &[0]),
        message::authentication(5, b"sa"),
        [ok.as_slice(), &ok].concat(),
        message::announced(b'R', 3, &[]),
        message::announced(b'R', -1, &[]),
        message::announced(b'R', i32::MAX, &[]),
        message::ready(b'I'),
        [ok.as_slice(), &message::message(b'Z', &[])].concat(),
        [ok.as_slice(), &message::ready(b'T')].concat(),
    ] {
        let text = refused(Greeting::Bytes(bytes.clone()), Some("s3cret"));
        assert!(text.contains("does not speak"), "{bytes:?}: {text}");
    }
}

#[test]
fn backend_key_data_of_odd_length_harms_nobody() {
    for body in [&[][..], &[1, 2, 3], &[7; 300]] {
        greeted(Greeting::TrustWith(message::message(b'K', body)), None).expect("the key is of no use to us");
    }
}

#[test]
fn addresses_where_nobody_listens_are_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = FakeServer::start(usual).expect("it listens");
    let at =
        |address| all(&connect(&ConnectOptions { address, ..server.options(None) }).expect_err("nobody"));
    let text = at(Address::Unix(dir.path().to_owned(), 1));
    assert!(text.contains("no such socket") && text.contains(".s.PGSQL.1"), "{text}");
    let long = dir.path().join("x".repeat(100));
    let text = at(Address::Unix(long, 5432));
    assert!(text.contains("107 are possible"), "{text}");
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port");
    let text = at(Address::Tcp("127.0.0.1".to_owned(), free.port()));
    assert!(text.contains("nothing listens there"), "{text}");
}

#[test]
fn a_dead_peer_is_noticed_in_minutes() {
    let server = FakeServer::listen(Listen::Loopback, Greeting::Trust, usual).expect("it listens");
    let socket = connect(&server.options(None))
        .and_then(|session| session.into_socket().map_err(|error| Problem::could_not(error.to_string())));
    let socket = socket.expect("everybody is trusted");
    assert!(rustix::net::sockopt::socket_keepalive(&socket).expect("an option of TCP"));
    let idle = rustix::net::sockopt::tcp_keepidle(&socket).expect("an option of TCP");
    assert!(idle <= Duration::from_secs(60), "{idle:?}");
}
