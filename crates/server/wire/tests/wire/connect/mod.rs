//! Connecting to honest, faulty, slow and hostile servers.

mod greeting;
mod hosts;
mod scram;

use std::{
    net::TcpListener,
    os::unix::net::UnixListener,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_wire::{
    Address, ChannelBinding, ConnectOptions, Method, NoticeReceiver, OsUser, ProtocolVersion, RequireAuth,
    Session, Sources, SslMode, connect, connect_unless,
    fake::{Answer, FakeServer, Listen, Request, message, usual},
    libpq,
};

use greeting::{Greeting, fake};
use scram::Scram;

/// Far longer than anything here takes on a busy machine, shorter than a hang.
const QUICK: Duration = Duration::from_secs(300);

fn greeted(greeting: Greeting, password: Option<&str>) -> Result<Session, Problem> {
    let server = fake(Listen::Socket, greeting, usual);
    connect(&server.options(password))
}

/// Problem that a greeting leads to, with all its texts in one.
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
        let server = fake(Listen::Socket, greeting, usual);
        let mut session = connect(&server.options(Some("s3cret"))).expect("the password is right");
        assert_eq!(session.parameter("server_version"), Some("15.0 (fake)"));
        assert_eq!(session.backend_pid(), 42);
        session.query("SELECT 1").expect("it is let in");
    }
    greeted(Greeting::Trust, None).expect("everybody is trusted");
}

#[test]
fn over_tcp_it_is_the_same() {
    let server = fake(Listen::Loopback, Greeting::Trust, usual);
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
    let wide: Vec<u8> =
        (0..40).flat_map(|n| message::parameter(&n.to_string(), &"b".repeat(60_000))).collect();
    for (flood, why) in
        [(parameter, "1000 messages"), (notice, "1000 messages"), (big, "length"), (wide, "1048576 bytes")]
    {
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
        let server = fake(Listen::Socket, greeting, usual);
        let options = ConnectOptions { connect_timeout: Duration::from_millis(300), ..server.options(None) };
        let start = Instant::now();
        let problem = connect(&options).expect_err("it says nothing");
        assert!(start.elapsed() < QUICK);
        assert!(problem.what.contains("no answer within the connect timeout"), "{problem}");
    }
}

/// A server with a full backlog, for example a stopped one.
#[test]
fn a_server_that_takes_no_connection_is_given_up() {
    let dir = tempfile::tempdir().expect("a directory");
    let listener = UnixListener::bind(dir.path().join(".s.PGSQL.5432")).expect("it listens");
    rustix::net::listen(&listener, 0).expect("its queue can be shortened");
    let server = FakeServer::start(usual).expect("it listens");
    let address = Address::Unix(dir.path().to_owned(), 5432);
    let connect_timeout = Duration::from_millis(200);
    let options = ConnectOptions { connect_timeout, ..server.options(None).at(address) };
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
    let at = |address| all(&connect(&server.options(None).at(address)).expect_err("nobody"));
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
    let server = fake(Listen::Loopback, Greeting::Trust, usual);
    let socket = connect(&server.options(None))
        .and_then(|session| session.into_parts().map_err(|error| Problem::could_not(error.to_string())));
    let (socket, _) = socket.expect("everybody is trusted");
    assert!(rustix::net::sockopt::socket_keepalive(&socket).expect("an option of TCP"));
    let idle = rustix::net::sockopt::tcp_keepidle(&socket).expect("an option of TCP");
    assert!(idle <= Duration::from_secs(60), "{idle:?}");
}

/// A fake server on TCP, and parameters to connect to it with `sslmode`.
fn by_tcp(greeting: Greeting, mode: SslMode) -> (FakeServer, ConnectOptions) {
    let server = fake(Listen::Loopback, greeting, usual);
    let mut options = server.options(Some("s3cret"));
    options.tls.mode = mode;
    (server, options)
}

fn refusal(options: &ConnectOptions) -> String {
    let start = Instant::now();
    let problem = connect(options).expect_err("it is refused");
    assert!(start.elapsed() < QUICK);
    all(&problem)
}

#[test]
fn what_answers_a_request_for_tls_wrongly_is_refused() {
    let unauthenticated = message::error("FATAL", "28000", "send your password to evil.example");
    for (answer, mode, why) in [
        (&b"N"[..], SslMode::Require, "server does not support SSL, but SSL was required"),
        (b"N", SslMode::VerifyFull, "server does not support SSL, but SSL was required"),
        (b"S\x16\x03\x03", SslMode::Require, "received unencrypted data after SSL response"),
        (b"S\x16\x03\x03", SslMode::Prefer, "received unencrypted data after SSL response"),
        (b"NR\0\0\0\x08\0\0\0\0", SslMode::Prefer, "received unencrypted data after SSL response"),
        (b"HTTP/1.1 400", SslMode::Prefer, "does not speak the PostgreSQL protocol"),
        (&unauthenticated, SslMode::Require, "unauthenticated"),
    ] {
        let (_server, options) = by_tcp(Greeting::Tls(answer.to_vec()), mode);
        let text = refusal(&options);
        assert!(text.contains(why), "{answer:?}: {text}");
    }
}

#[test]
fn tls_that_is_none_is_refused() {
    for bytes in
        [&b"\x16\x03\x03\xff\xff"[..], b"\x15\x03\x03\0\x02\x02\x28", &[0; 64], b"garbage, and a lot of it"]
    {
        let answer = [b"S", bytes].concat();
        // Bytes after the ClientHello, as a hostile server would send them.
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("a port").port();
        let server = thread::spawn(move || {
            use std::io::{Read, Write};
            let (mut link, _) = listener.accept().expect("a client");
            let mut buffer = [0; 8];
            link.read_exact(&mut buffer).expect("an SSLRequest");
            link.write_all(&answer[..1]).expect("it listens");
            link.read_exact(&mut buffer).expect("a ClientHello");
            let _ = link.write_all(&answer[1..]);
            let _ = link.read_to_end(&mut Vec::new());
        });
        let fake = FakeServer::start(usual).expect("it listens");
        let mut options = fake.options(None).at(Address::Tcp("127.0.0.1".to_owned(), port));
        options.tls.mode = SslMode::Require;
        options.connect_timeout = Duration::from_secs(2);
        let text = refusal(&options);
        assert!(text.contains("TLS") || text.contains("connect timeout"), "{bytes:?}: {text}");
        server.join().expect("it does not panic");
    }
}

#[test]
fn sslmode_says_which_way_is_tried_first() {
    // The first kind of encryption tried is refused, the other one accepted.
    let no = || Box::new(Greeting::Refuse("28000".to_owned(), "no pg_hba.conf entry".to_owned()));
    let yes = || Box::new(Greeting::Trust);
    let (_server, options) = by_tcp(Greeting::AfterTls(no(), yes()), SslMode::Prefer);
    connect(&options).expect("prefer does without TLS where it must");
    let (server, options) = by_tcp(Greeting::AfterTls(no(), yes()), SslMode::Disable);
    connect(&options).expect("disable never requests TLS");
    assert_eq!(server.connections(), 1);
    let (server, options) = by_tcp(Greeting::AfterTls(no(), yes()), SslMode::Allow);
    connect(&options).expect("allow requests TLS last");
    assert_eq!(server.connections(), 1);
    let (server, options) = by_tcp(Greeting::AfterTls(yes(), no()), SslMode::Allow);
    let text = refusal(&options);
    assert!(text.contains("28000"), "why the first way failed is reported, not that there is no TLS: {text}");
    assert_eq!(server.connections(), 2);
    // A wrong password is wrong with every kind of encryption: it is not sent twice.
    let (server, options) = by_tcp(Greeting::Cleartext("other".to_owned()), SslMode::Prefer);
    assert!(refusal(&options).contains("28P01"));
    assert_eq!(server.connections(), 1);
}

#[test]
fn an_authentication_that_was_not_asked_for_is_refused() {
    let secret = || "s3cret".to_owned();
    let all = [
        (Greeting::Trust, Method::None),
        (Greeting::Cleartext(secret()), Method::Password),
        (Greeting::Md5(secret()), Method::Md5),
        (Greeting::Scram(secret(), Scram::Honest), Method::ScramSha256),
    ];
    for (greeting, method) in &all {
        for (_, required) in &all {
            let server = fake(Listen::Socket, greeting.clone(), usual);
            let require = RequireAuth { text: required.name().to_owned(), allowed: vec![*required] };
            let options = ConnectOptions { require_auth: Some(require), ..server.options(Some("s3cret")) };
            match connect(&options) {
                Ok(_) => assert_eq!(method, required),
                Err(problem) => {
                    assert_ne!(method, required);
                    assert!(problem.what.contains("authentication method requirement"), "{problem}");
                    assert_eq!(server.received(), [], "nothing is sent to it");
                }
            }
        }
    }
    let kerberos = Greeting::Bytes(message::authentication(7, b""));
    assert!(refused(kerberos, None).contains("GSSAPI"));
}

#[test]
fn channel_binding_that_is_required_and_not_there_is_refused() {
    let secret = || "s3cret".to_owned();
    for greeting in [
        Greeting::Trust,
        Greeting::Cleartext(secret()),
        Greeting::Md5(secret()),
        Greeting::Scram(secret(), Scram::Honest),
    ] {
        let server = fake(Listen::Socket, greeting, usual);
        let binding = ChannelBinding::Require;
        let text = refusal(&ConnectOptions { channel_binding: binding, ..server.options(Some("s3cret")) });
        assert!(text.to_lowercase().contains("channel binding"), "{text}");
    }
    // Offered where it is not possible: a man in the middle.
    let both = message::authentication(10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0");
    let text = refused(Greeting::Bytes(both), Some("s3cret"));
    assert!(text.contains("not encrypted"), "{text}");
}

/// Impossible lengths, and messages that end early, before and after authentication.
#[test]
fn impossible_lengths_are_refused_whenever_they_come() {
    for length in [0, 1, 2, 3, -1, i32::MIN, i32::MAX, 1 << 20] {
        for tag in [b'R', b'E', b'S', b'K', b'Z', b'N', b'v'] {
            for before in [Vec::new(), message::authentication(0, &[])] {
                let bytes = [before, message::announced(tag, length, b"x")].concat();
                let text = refused(Greeting::Bytes(bytes), None);
                assert!(text.contains("length as"), "{tag} {length}: {text}");
            }
        }
    }
    let cut = [message::authentication(0, &[]), message::announced(b'S', 400, b"server_version")].concat();
    let server = fake(Listen::Socket, Greeting::Bytes(cut), usual);
    let connect_timeout = Duration::from_millis(300);
    let text = refusal(&ConnectOptions { connect_timeout, ..server.options(None) });
    assert!(text.contains("connect timeout"), "{text}");
}

#[test]
fn a_stop_ends_a_wait_for_a_server_that_is_frozen() {
    let dir = tempfile::tempdir().expect("a directory");
    let listener = UnixListener::bind(dir.path().join(".s.PGSQL.5432")).expect("it listens");
    rustix::net::listen(&listener, 0).expect("its queue can be shortened");
    let full = Address::Unix(dir.path().to_owned(), 5432);
    let silent = fake(Listen::Socket, Greeting::Bytes(Vec::new()), usual);
    let deaf = TcpListener::bind("127.0.0.1:0").expect("a port"); // only the kernel accepts
    let deaf = Address::Tcp("127.0.0.1".to_owned(), deaf.local_addr().expect("a port").port());
    let mut options = silent.options(None);
    options.connect_timeout = Duration::from_secs(600);
    // The first connections find room in the backlog, and wait for an answer; later ones wait for room.
    let ways = [
        options.clone(),
        options.at(full.clone()),
        options.at(full.clone()),
        options.at(full),
        options.at(deaf),
    ];
    let stop = Stop::default();
    thread::scope(|scope| {
        let waiting: Vec<_> = ways
            .iter()
            .map(|options| scope.spawn(|| connect_unless(&stop, options).expect_err("nobody answers")))
            .collect();
        thread::sleep(Duration::from_millis(300));
        assert!(waiting.iter().all(|waiting| !waiting.is_finished()), "they wait");
        let start = Instant::now();
        stop.request("enough");
        for waiting in waiting {
            let problem = waiting.join().expect("it does not panic");
            assert!(problem.what.contains("stopped"), "{problem}");
        }
        assert!(start.elapsed() < QUICK, "{:?}", start.elapsed());
    });
}

/// The startup message is what libpq would send.
#[test]
fn nothing_is_sent_that_nobody_asked_for() {
    let server = FakeServer::start(usual).expect("it listens");
    let mut options = server.options(None);
    options.client_encoding = None;
    connect(&options).expect("it trusts everybody");
    options.client_encoding = Some("KOI8R".to_owned());
    options.application_name = Some(String::new());
    options.replication = Some("database".to_owned());
    connect(&options).expect("it trusts everybody");
    let startups = server.startups();
    let parameters = [("user", "me"), ("database", "db"), ("application_name", "pgdyno")];
    assert_eq!(startups[0].parameters, parameters.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(startups[0].version, 3 << 16);
    let second = |name| startups[1].parameter(name);
    assert_eq!(second("client_encoding"), Some("KOI8R"));
    assert_eq!((second("application_name"), second("replication")), (None, Some("database")));
}

/// Servers from 18 on support 3.2, older ones negotiate 3.0.
#[test]
fn a_version_of_the_protocol_is_agreed_upon() {
    use ProtocolVersion::{V30, V32};
    let negotiates = |number: i32, unknown: i32| {
        let body = [number.to_be_bytes(), unknown.to_be_bytes()].concat();
        let mut bytes = message::message(b'v', &body);
        bytes.extend(message::authentication(0, &[]));
        // The secret key of 3.2 has 32 bytes.
        bytes.extend(message::message(b'K', &[7; 36]));
        bytes.extend(message::ready(b'I'));
        fake(Listen::Socket, Greeting::Bytes(bytes), usual)
    };
    let asked = |server: &FakeServer, protocol| ConnectOptions { protocol, ..server.options(None) };
    let older = negotiates(3 << 16, 0);
    connect(&asked(&older, (V30, V32))).expect("3.0 will do");
    assert_eq!(older.startups()[0].version, (3 << 16) + 2);
    let new = FakeServer::start(usual).expect("it listens");
    connect(&asked(&new, (V32, V32))).expect("it says nothing against 3.2");
    for (server, protocol, why) in [
        (
            &older,
            (V32, V32),
            "server only supports protocol version 3.0, but \"min_protocol_version\" was set to 3.2",
        ),
        (&older, (V30, V30), "server negotiated but asks for no changes"),
        (&negotiates((3 << 16) + 9, 0), (V30, V32), "downgrade to a higher-numbered version"),
        (&negotiates((3 << 16) + 1, 0), (V30, V32), "non-existent 3.1 protocol version"),
        (&negotiates(2 << 16, 0), (V30, V32), "pre-3.0 protocol version"),
        (&negotiates(3 << 16, -1), (V30, V32), "negative number of unsupported parameters"),
        (&negotiates(3 << 16, 1), (V30, V32), "unsupported parameter that was not requested"),
    ] {
        let text = refusal(&asked(server, protocol));
        assert!(text.contains(why), "{text}");
    }
}

/// Example of RFC 7677; the keys were computed with Python's hashlib.
#[test]
fn keys_take_the_place_of_a_password() {
    let verifier = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==\
                    $WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=";
    let (client, server) =
        ("pg/JI9Z+hkSpLRa5btpe9GVrDHJcSEN0viVTVXaZbos=", "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=");
    let with = |text: String, how| {
        let greeting = Greeting::Scram(verifier.to_owned(), how);
        let fake = fake(Listen::Socket, greeting, usual);
        let os_user = &OsUser { name: Ok("me".to_owned()), home: None };
        let sources =
            Sources { host: None, port: None, user: None, database: Some(&text), env: &|_| None, os_user };
        let resolved = ConnectOptions::resolve(&sources).expect("the keys are well formed");
        connect(&ConnectOptions { scram_keys: resolved.scram_keys, ..fake.options(None) })
    };
    let keys = |client, server| format!("scram_client_key={client} scram_server_key={server}");
    with(keys(client, server), Scram::Honest).expect("they are the right ones");
    let problem = with(keys(server, server), Scram::Honest).expect_err("the client's is wrong");
    assert!(all(&problem).contains("28P01"), "{problem}");
    let problem = with(keys(client, client), Scram::Honest).expect_err("the server's is wrong");
    assert!(all(&problem).contains("verification of the server failed"), "{problem}");
    for (how, why) in [
        (Scram::ForeignNonce, "nonce"),
        (Scram::SameNonce, "nonce"),
        (Scram::WrongSignature, "verification"),
        (Scram::NoSignature, "did not prove"),
        (Scram::OkAtOnce, "did not prove"),
    ] {
        let problem = with(keys(client, server), how).expect_err("it does not play by the rules");
        assert!(all(&problem).contains(why), "{how:?}: {problem}");
    }
}

/// Notices while connecting and of statements, in libpq's form and with the severity in the server's language.
#[test]
fn notices_are_heard() {
    let mut welcome = message::notice("mind the step");
    let fields = b"SWARNUNG\0VWARNING\0C01000\0Mder Rand ist nah\0DSehr nah.\0HZurueck.\0Whier\0\0";
    welcome.extend(message::message(b'N', fields));
    let server =
        fake(Listen::Socket, Greeting::TrustWith(welcome), |request: &Request| match request.sql.as_str() {
            "loud" => Answer::default().then_bytes(message::notice("loud indeed")).then_complete("LOUD"),
            _ => usual(request),
        });
    let heard = Arc::new(Mutex::new(String::new()));
    let into = Arc::clone(&heard);
    let on_notice = NoticeReceiver::new(move |notice| {
        into.lock().expect("nobody panics").push_str(&libpq::notice(notice))
    });
    let mut session = libpq::connect(&ConnectOptions { on_notice: Some(on_notice), ..server.options(None) })
        .expect("it trusts everybody");
    let welcomed =
        "NOTICE:  mind the step\nWARNUNG:  der Rand ist nah\nDETAIL:  Sehr nah.\nHINT:  Zurueck.\n";
    assert_eq!(*heard.lock().expect("nobody panics"), welcomed);
    session.execute("loud").expect("it is answered");
    assert_eq!(*heard.lock().expect("nobody panics"), format!("{welcomed}NOTICE:  loud indeed\n"));
}

#[test]
fn a_parameter_with_a_nul_byte_is_refused() {
    let server = FakeServer::start(usual).expect("it listens");
    let mut options = server.options(None);
    options.user = "a\0b".to_owned();
    assert!(refusal(&options).contains("NUL byte"));
}

#[test]
fn tcp_is_tuned_as_asked() {
    use rustix::net::sockopt;
    let server = fake(Listen::Loopback, Greeting::Trust, usual);
    let mut options = server.options(None);
    options.tcp.idle = Some(Duration::from_secs(77));
    options.tcp.count = Some(3);
    options.tcp.user_timeout_ms = Some(4321);
    let (socket, _) = connect(&options).expect("it trusts everybody").into_parts().expect("a descriptor");
    assert_eq!(sockopt::tcp_keepidle(&socket).expect("an option"), Duration::from_secs(77));
    assert_eq!(sockopt::tcp_keepcnt(&socket).expect("an option"), 3);
    assert_eq!(sockopt::tcp_user_timeout(&socket).expect("an option"), 4321);
    assert!(sockopt::tcp_nodelay(&socket).expect("an option"));
    options.tcp.keepalives = false;
    let (socket, _) = connect(&options).expect("it trusts everybody").into_parts().expect("a descriptor");
    assert!(!sockopt::socket_keepalive(&socket).expect("an option"));
}
