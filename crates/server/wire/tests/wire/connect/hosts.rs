//! Choice among several servers, and the kinds of addresses.

use std::{
    net::{Ipv6Addr, TcpListener},
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixListener},
    },
    thread,
};

use pgdyno_wire::{
    Address, ConnectOptions, Host, SessionAttrs, connect,
    fake::{Answer, FakeServer, Listen, Request, message, usual},
    libpq,
};

use testkit::left_out;

use super::greeting::{Greeting, fake};

/// All texts of a refused connection's problem.
fn refusal(options: &ConnectOptions) -> String {
    let problem = connect(options).expect_err("it is refused");
    format!("{}\n{}\n{}", problem.what, problem.detail.unwrap_or_default(), problem.hint.unwrap_or_default())
}

/// A fake server, and one host of a list.
fn host(greeting: Greeting) -> (FakeServer, Host) {
    let server = fake(Listen::Loopback, greeting, usual);
    let host = server.options(Some("s3cret")).hosts.remove(0);
    (server, host)
}

fn nobody() -> Host {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port");
    Host::at(Address::Tcp("127.0.0.1".to_owned(), free.port()))
}

fn among(hosts: Vec<Host>) -> ConnectOptions {
    let first = hosts[0].address.clone();
    ConnectOptions { hosts, ..ConnectOptions::local(first, "me") }
}

#[test]
fn the_next_host_is_tried_where_nobody_is_or_nobody_can_serve() {
    let starting = Greeting::Refuse("57P03".to_owned(), "the database system is starting up".to_owned());
    let (_starting, starting) = host(starting);
    let (_good, good) = host(Greeting::Trust);
    let options = among(vec![nobody(), starting.clone(), good.clone()]);
    assert_eq!(*connect(&options).expect("the third is good").address(), good.address);
    let text = refusal(&among(vec![nobody(), starting]));
    assert!(text.contains("nothing listens there") && text.contains("57P03"), "all are reported: {text}");
    // A password that is wrong here is reported, and not tried elsewhere.
    let (_strict, strict) = host(Greeting::Cleartext("other".to_owned()));
    let (never, last) = host(Greeting::Trust);
    assert!(refusal(&among(vec![strict, last])).contains("28P01"));
    assert_eq!(never.connections(), 0);
}

/// Compared with the text of libpq 18's PQerrorMessage.
#[test]
fn all_attempts_are_reported_in_libpqs_words() {
    let wrong =
        libpq_error(Greeting::Cleartext("other".to_owned()), |host| host.passfile = Some("/pass".into()));
    assert!(
        wrong.ends_with(
            "failed: FATAL:  password authentication failed\npassword retrieved from file \"/pass\""
        )
    );
    let refused = |address: &Address| match address {
        Address::Tcp(host, port) => format!(
            "connection to server at \"{host}\", port {port} failed: Connection refused\n\
             \tIs the server running on that host and accepting TCP/IP connections?"
        ),
        Address::Unix(..) => panic!("it is by TCP"),
    };
    let (_strict, strict) = host(Greeting::Cleartext("other".to_owned()));
    let nobody = nobody();
    let said = libpq::connect(&among(vec![nobody.clone(), strict.clone()])).expect_err("none would do");
    let (first, second) = said.split_once("\nconn").expect("two are reported");
    assert_eq!(first, refused(&nobody.address));
    assert!(second.ends_with("failed: FATAL:  password authentication failed"), "{said}");
    // A given address replaces the name, a resolved one is added to it.
    let Address::Tcp(_, port) = nobody.address else { panic!("it is by TCP") };
    let named = |name: &str, hostaddr: Option<&str>| {
        let hostaddr = hostaddr.map(|ip| ip.parse().expect("an IP"));
        let host = Host { hostaddr, ..Host::at(Address::Tcp(name.to_owned(), port)) };
        libpq::connect(&among(vec![host])).expect_err("nobody is there")
    };
    assert_eq!(
        named("somewhere.invalid", Some("127.0.0.1")),
        refused(&Address::Tcp("127.0.0.1".to_owned(), port))
    );
    let found = named("localhost", None);
    assert!(found.contains(&format!("at \"localhost\" (127.0.0.1), port {port} failed: ")), "{found}");
    let unknown = named("somewhere.invalid", None);
    assert!(
        unknown.starts_with("could not translate host name \"somewhere.invalid\" to address: "),
        "{unknown}"
    );
}

/// libpq's message for a server with this greeting, reached by a host that is modified first.
fn libpq_error(greeting: Greeting, change: impl FnOnce(&mut Host)) -> String {
    let (_server, mut host) = host(greeting);
    change(&mut host);
    libpq::connect(&among(vec![host])).expect_err("it is refused")
}

#[test]
fn hosts_are_tried_in_order_or_at_random() {
    let (first, a) = host(Greeting::Trust);
    let (second, b) = host(Greeting::Trust);
    let mut options = among(vec![a, b]);
    (0..20).for_each(|_| drop(connect(&options).expect("it is good")));
    assert_eq!((first.connections(), second.connections()), (20, 0));
    options.load_balance = true;
    (0..40).for_each(|_| drop(connect(&options).expect("it is good")));
    // All forty go to one of them once in 2^39 times.
    assert!(first.connections() > 20 && second.connections() > 0);
}

/// Servers as they report their state from 14 on, and as older ones answer queries; and which of them are acceptable.
#[test]
fn a_server_is_what_was_asked_for() {
    use SessionAttrs::{Any, PreferStandby, Primary, ReadOnly, ReadWrite, Standby};
    let greeting = |read_only: &str, standby: &str| {
        let mut bytes = message::parameter("default_transaction_read_only", read_only);
        bytes.extend(message::parameter("in_hot_standby", standby));
        Greeting::TrustWith(bytes)
    };
    let asked = |read_only: &'static str, standby: &'static str| {
        move |request: &Request| match request.sql.as_str() {
            "SHOW transaction_read_only" => Answer::rows(&[&[Some(read_only)]]),
            "SELECT pg_catalog.pg_is_in_recovery()" => Answer::rows(&[&[Some(standby)]]),
            other => panic!("nobody asks {other}"),
        }
    };
    for (read_only, standby, wanted) in [
        ("off", "off", vec![Any, ReadWrite, Primary, PreferStandby]),
        ("on", "off", vec![Any, ReadOnly, Primary, PreferStandby]),
        ("on", "on", vec![Any, ReadOnly, Standby, PreferStandby]),
    ] {
        let new = fake(Listen::Socket, greeting(read_only, standby), |_| panic!("the parameters suffice"));
        let standby = if standby == "on" { "t" } else { "f" };
        let old = FakeServer::start(asked(read_only, standby)).expect("it listens");
        for server in [new, old] {
            for target in [Any, ReadWrite, ReadOnly, Primary, Standby, PreferStandby] {
                let options = ConnectOptions { target, ..server.options(None) };
                if wanted.contains(&target) {
                    connect(&options).unwrap_or_else(|problem| panic!("{target:?}: {problem}"));
                } else {
                    assert!(
                        refusal(&options).contains("target_session_attrs"),
                        "{target:?} {read_only} {standby}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_standby_is_preferred_wherever_it_is_in_the_list() {
    let in_recovery = |value: &str| Greeting::TrustWith(message::parameter("in_hot_standby", value));
    let (_primary, primary) = host(in_recovery("off"));
    let (_standby, standby) = host(in_recovery("on"));
    let preferring = |hosts| ConnectOptions { target: SessionAttrs::PreferStandby, ..among(hosts) };
    let reached = |hosts| connect(&preferring(hosts)).expect("one is good").address().clone();
    assert_eq!(reached(vec![primary.clone(), standby.clone()]), standby.address);
    assert_eq!(reached(vec![nobody(), primary.clone()]), primary.address);
    let text =
        refusal(&ConnectOptions { target: SessionAttrs::Standby, ..among(vec![primary.clone(), primary]) });
    assert!(text.matches("server is not in hot standby mode").count() == 2, "{text}");
}

#[test]
fn a_name_with_several_addresses_is_tried_by_all_of_them() {
    // `localhost` may be both ::1 and 127.0.0.1; the server listens on one of them.
    let server = fake(Listen::Loopback, Greeting::Trust, usual);
    let Address::Tcp(_, port) = *server.options(None).address() else { panic!("it listens on TCP") };
    connect(&server.options(None).at(Address::Tcp("localhost".to_owned(), port))).expect("it is one of them");
    let mut by_ip = server.options(None).at(Address::Tcp("no-such-host.invalid".to_owned(), port));
    by_ip.hosts[0].hostaddr = Some("127.0.0.1".parse().expect("an IP"));
    connect(&by_ip).expect("the name is not looked up");
    by_ip.hosts[0].hostaddr = None;
    let text = refusal(&by_ip);
    assert!(text.contains("could not translate host name \"no-such-host.invalid\""), "{text}");
}

/// Greets a client like a server that accepts everybody, on any kind of socket.
fn greet(mut link: impl std::io::Read + std::io::Write) {
    let mut length = [0; 4];
    link.read_exact(&mut length).expect("a message");
    let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
    link.read_exact(&mut body).expect("a message");
    if body == 80_877_103i32.to_be_bytes() {
        link.write_all(b"N").expect("it listens");
        return greet(link);
    }
    link.write_all(&[message::authentication(0, &[]), message::ready(b'I')].concat()).expect("it listens");
    let _ = link.read_to_end(&mut Vec::new());
}

#[test]
fn ipv6_and_abstract_sockets_are_connected_to() {
    let fake = FakeServer::start(usual).expect("it listens");
    match TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) {
        Err(error) => left_out(&format!("this machine has no IPv6 ({error})")),
        Ok(listener) => {
            let port = listener.local_addr().expect("a port").port();
            let server = thread::spawn(move || greet(listener.accept().expect("a client").0));
            let options = fake.options(None).at(Address::Tcp("::1".to_owned(), port));
            drop(connect(&options).expect("it trusts everybody"));
            server.join().expect("it does not panic");
        }
    }
    let name = format!("pgdyno-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(format!("{name}/.s.PGSQL.5432")).expect("a name");
    let listener = UnixListener::bind_addr(&address).expect("it listens");
    let server = thread::spawn(move || greet(listener.accept().expect("a client").0));
    let options = fake.options(None).at(Address::Unix(format!("@{name}").into(), 5432));
    drop(connect(&options).expect("it trusts everybody"));
    server.join().expect("it does not panic");
}

#[test]
fn the_user_behind_a_socket_can_be_required() {
    let server = FakeServer::start(usual).expect("it listens");
    let required =
        |name: &str| ConnectOptions { require_peer: Some(name.to_owned()), ..server.options(None) };
    let passwd = std::fs::read_to_string("/etc/passwd").expect("it is there");
    let own = rustix::process::geteuid().as_raw().to_string();
    let is_ours = |line: &&str| line.split(':').nth(2) == Some(own.as_str());
    if let Some(line) = passwd.lines().find(is_ours) {
        connect(&required(line.split(':').next().expect("a name"))).expect("it is us");
    }
    assert!(refusal(&required("no-such-user")).contains("requirepeer"));
    let other = if own == "0" { "daemon" } else { "root" };
    assert!(refusal(&required(other)).contains("requirepeer"));
}
