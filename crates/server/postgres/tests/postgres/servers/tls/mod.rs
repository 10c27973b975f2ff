//! TLS with real servers of the oldest and the newest major version and generated certificates: accepts what
//! libpq accepts, refuses what it refuses, and runs the measured path.

mod again;
mod between;
mod cancel;
mod rsa;
mod server;

use std::{fs, os::unix::fs::PermissionsExt, sync::Arc};

use between::Between;
use pgdyno_core::stop::Stop;
use pgdyno_engine::{Settings, SocketDriver, run};
use pgdyno_postgres::{
    load::load_tables,
    targets::SqlClients,
    verify::{BalanceMode, Expected, check_balance},
};
use pgdyno_rows::load::LoadRequest;
use pgdyno_script::{Builtin, Protocol};
use pgdyno_wire::{Address, connect};
use rcgen::{BasicConstraints, DnType, IsCa, KeyPair, date_time_ymd};
use rsa::certificates_of_rsa;
use server::{Authority, Server, all, hosts, named};
use testkit::OLDEST;

#[test]
fn the_oldest_major() {
    everything_holds(OLDEST);
}

#[test]
fn the_newest_major() {
    let server = everything_holds("18");
    somebody_between_is_noticed(&server);
    other_certificates_are_judged_as_libpq_judges_them(&server);
}

#[test]
#[ignore = "takes long: `cargo xtask test-all` runs it"]
fn every_major_between() {
    for major in ["9.6", "10", "11", "12", "13", "14", "15", "16", "17"] {
        println!("PostgreSQL {major}");
        everything_holds(major);
    }
}

fn everything_holds(major: &str) -> Server {
    let server = Server::start(major);
    the_server_is_verified_as_far_as_asked(&server);
    a_client_certificate_is_shown(&server);
    authentication_is_bound_to_the_connection(&server);
    what_the_session_starts_with_arrives(&server);
    keys_are_written_where_that_is_asked_for(&server);
    the_measured_path_is_encrypted(&server);
    certificates_of_rsa(&server);
    again::connections_are_made_again(&server);
    cancel::what_is_stopped_is_cancelled_in_private(&server);
    server
}

fn the_server_is_verified_as_far_as_asked(server: &Server) {
    let root = server.path("root.crt");
    let other = server.file("other.crt", &Authority::new("somebody else").pem, 0o644);
    let none = server.file("none.crt", "nothing\n", 0o644);
    let clean = server.file("clean.crl", &server.authority.revoking(&[7]), 0o644);
    let revoked = server.file("revoked.crl", &server.authority.revoking(&[42]), 0o644);
    for text in [
        "sslmode=prefer".to_owned(),
        "sslmode=allow".to_owned(),
        "sslmode=require".to_owned(),
        format!("sslmode=verify-ca sslrootcert={root}"),
        format!("sslmode=verify-ca sslrootcert={root} host=other.example"),
        format!("sslmode=verify-ca sslrootcert={root} host='no name at all'"),
        format!("sslmode=verify-full sslrootcert={root}"),
        format!("sslmode=verify-full sslrootcert={root} sslsni=0"),
        format!("sslmode=verify-full sslrootcert={root} sslcrl={clean}"),
        format!("sslmode=verify-full sslrootcert={root} ssl_max_protocol_version=TLSv1.2"),
    ] {
        let session = server.connects(&format!("user=plain {text}"));
        let encryption = session.encryption().expect("only those who are encrypted are let in");
        assert!(!text.contains("TLSv1.2") || encryption.starts_with("TLSv1.2 "), "{encryption}");
    }
    for (text, why) in [
        ("sslmode=disable".to_owned(), "28000"),
        (format!("sslmode=verify-full sslrootcert={root} host=other.example"), "for localhost, not for host"),
        (format!("sslmode=verify-full sslrootcert={root} host='no name'"), "is not valid in a certificate"),
        (format!("sslmode=verify-full sslrootcert={other}"), "not signed by a trusted authority"),
        (format!("sslmode=verify-ca sslrootcert={other}"), "not signed by a trusted authority"),
        (format!("sslmode=require sslrootcert={other}"), "not signed by a trusted authority"),
        (format!("sslmode=verify-full sslrootcert={none}"), "contains no certificate"),
        ("sslmode=verify-full sslrootcert=/no/such/file".to_owned(), "\"/no/such/file\" does not exist"),
        ("sslmode=verify-full".to_owned(), "no home directory"),
        ("sslrootcert=system".to_owned(), "not signed by a trusted authority"),
        (format!("sslmode=verify-full sslrootcert={root} sslcrl={revoked}"), "was revoked"),
        (format!("sslmode=verify-full sslrootcert={root} sslcrl=/no/such/list"), "revocation list"),
    ] {
        server.refuses(&format!("user=plain {text}"), why);
    }
    server.refuses("user=unencrypted sslmode=require", "28000");
    assert_eq!(server.connects("user=unencrypted sslmode=prefer").encryption(), None);
    if server.own.running.version_num >= 170_000 {
        server.connects("user=plain sslmode=require sslnegotiation=direct");
    } else {
        let problem = connect(&server.options("user=plain sslmode=require sslnegotiation=direct")).map(drop);
        problem.expect_err("it does not understand the first byte");
    }
}

fn a_client_certificate_is_shown(server: &Server) {
    let (certificate, key) = server.authority.sign(&named("certified"));
    let (_, foreign) = server.authority.sign(&named("certified"));
    let (stranger, strange_key) = Authority::new("somebody else").sign(&named("certified"));
    let certificate = server.file("client.crt", &certificate, 0o644);
    let open = server.file("open.key", &key, 0o644);
    let key = server.file("client.key", &key, 0o600);
    let foreign = server.file("foreign.key", &foreign, 0o600);
    let stranger = server.file("stranger.crt", &stranger, 0o644);
    let strange_key = server.file("strange.key", &strange_key, 0o600);
    let locked = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    let locked = server.file("locked.key", locked, 0o600);
    let good = format!("user=certified sslmode=require sslcert={certificate} sslkey={key}");
    let mut session = server.connects(&good);
    assert_eq!(session.value("SELECT current_user").expect("it answers").as_deref(), Some("certified"));
    server.connects(&format!("{good} sslcertmode=require"));
    server.connects(&format!("{good} ssl_max_protocol_version=TLSv1.2"));
    let with = |certificate: &str, key: &str| {
        format!("user=certified sslmode=require sslcert={certificate} sslkey={key}")
    };
    for (text, why) in [
        ("user=certified sslmode=require".to_owned(), "client certificate"),
        (format!("{good} sslcertmode=disable"), "client certificate"),
        ("user=certified sslmode=require sslcertmode=require".to_owned(), "there is no client certificate"),
        (with(&certificate, &open), "group or world access"),
        (with(&certificate, &foreign), "could not use certificate"),
        (with(&certificate, &locked), "is encrypted"),
        (with(&certificate, "/no/such/key"), "certificate present, but not private key file"),
        (with(&certificate, "/"), "is not a regular file"),
        (with(&key, &key), "contains no certificate"),
        (with(&stranger, &strange_key), "TLS"),
    ] {
        server.refuses(&text, why);
    }
    // As in libpq, a missing certificate file means no certificate.
    server.connects("user=plain sslmode=require sslcert=/no/such/certificate");
}

fn authentication_is_bound_to_the_connection(server: &Server) {
    let secret = "user=secret password=s3cret sslmode=require";
    server.connects(secret);
    server.connects(&format!("{secret} channel_binding=disable"));
    server.refuses("user=secret password=wrong sslmode=require", "28P01");
    if server.own.running.version_num < 110_000 {
        server.refuses(&format!("{secret} channel_binding=require"), "hannel binding");
        return;
    }
    server.connects(&format!("{secret} channel_binding=require require_auth=scram-sha-256"));
    server.connects(&format!("{secret} channel_binding=require ssl_max_protocol_version=TLSv1.2"));
    server.refuses("user=secret password=wrong sslmode=require channel_binding=require", "28P01");
    server.refuses(&format!("{secret} require_auth=md5"), "authentication method requirement");
    server.refuses("user=plain sslmode=require channel_binding=require", "hannel binding");
}

fn what_the_session_starts_with_arrives(server: &Server) {
    let mut options = server.options("user=plain application_name=mine options='-c work_mem=123kB'");
    options.startup = vec![("timezone".to_owned(), "Asia/Tokyo".to_owned())];
    let mut session = connect(&options).expect("it is let in");
    for (setting, value) in [("application_name", "mine"), ("work_mem", "123kB"), ("timezone", "Asia/Tokyo")]
    {
        assert_eq!(session.value(&format!("SHOW {setting}")).expect("it has that").as_deref(), Some(value));
    }
    assert_eq!(session.address(), options.address());
}

/// Lines in NSS key log format, appended to a file that only the user can read.
fn keys_are_written_where_that_is_asked_for(server: &Server) {
    let path = server.file("keys.log", "# mine\n", 0o600);
    let new = server.path("new.log");
    for version in ["TLSv1.2", "TLSv1.3"] {
        let text = format!("user=plain sslmode=require ssl_max_protocol_version={version} sslkeylogfile=");
        drop((server.connects(&format!("{text}{path}")), server.connects(&format!("{text}{new}"))));
    }
    let text = fs::read_to_string(&path).expect("it is there");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("# mine"));
    let labels: Vec<_> = lines
        .map(|line| {
            let words: Vec<_> = line.split(' ').collect();
            let [label, random, secret] = words[..] else { panic!("{line}") };
            assert!(random.len() == 64 && [64, 96].contains(&secret.len()), "{line}");
            label
        })
        .collect();
    // The OpenSSL in the bundle of 9.5 knows no TLS 1.3.
    let known = server.own.running.version_num >= 90_600;
    assert!(labels.contains(&"CLIENT_RANDOM"), "{labels:?}");
    assert_eq!(labels.contains(&"SERVER_TRAFFIC_SECRET_0"), known, "{labels:?}");
    let mode = fs::metadata(&new).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let nowhere = "user=plain sslmode=require sslkeylogfile=/no/such/dir/keys";
    server.refuses(nowhere, "could not open SSL key logging file");
}

/// Loads by COPY and runs transactions over TLS 1.3 and 1.2; balances show that nothing was lost or doubled.
fn the_measured_path_is_encrypted(server: &Server) {
    let stop = Stop::default();
    let mut session = server.connects("user=plain sslmode=require");
    let plan = LoadRequest { scale: Some(1), ..LoadRequest::default() }.plan(1).expect("it can be");
    let sessions = std::slice::from_mut(&mut session);
    let loaded = load_tables(sessions, None, &plan, &stop, &mut |_| ()).expect("it loads");
    assert_eq!(loaded.rows, 100_011);
    let mut committed = 0;
    for (version, protocol) in
        [("TLSv1.3", Protocol::Prepared), ("TLSv1.2", Protocol::Extended), ("TLSv1.2", Protocol::Simple)]
    {
        let text = format!("user=plain sslmode=require ssl_max_protocol_version={version}");
        let script = Arc::new(Builtin::TpcbLike.scripts());
        let settings = Settings {
            warmup_ns: 0,
            ramp_ns: 0,
            duration_ns: 700_000_000,
            interval_ns: 250_000_000,
            drain_ns: 5_000_000_000,
            rate_per_s: None,
            seed: 1,
            statements: script.statements().count(),
            cpus: Vec::new(),
        };
        let sql = SqlClients { run: committed as u32, ..SqlClients::new(script, protocol) };
        let (workers, _) = sql.connect(&server.options(&text), 3, 1, &stop).expect("they connect");
        let report = run(SocketDriver::best(), workers, &settings, &stop, |_| (), |_| ()).expect("it runs");
        report.counts_whole.check().expect("nothing is lost in counting");
        assert_eq!((report.counts_whole.in_doubt, report.counts_whole.failed, report.stopped), (0, 0, None));
        assert!(report.counts_whole.committed > 0);
        committed += report.counts_whole.committed;
    }
    let expected = Expected { scale: 1, committed, in_doubt: 0, tellers_and_branches: true };
    let outcome = check_balance(&mut session, BalanceMode::Full, &expected).expect("it can be checked");
    assert_eq!(outcome.violations, 0, "{:?}", outcome.examples);
}

fn other_certificates_are_judged_as_libpq_judges_them(server: &Server) {
    let verify = |root: &str| format!("user=plain sslmode=verify-full sslrootcert={root}");
    let root = server.path("root.crt");
    let mut expired = hosts(&["localhost"]);
    expired.not_after = date_time_ymd(2020, 1, 1);
    server.shows(&server.authority.sign(&expired));
    server.refuses(&verify(&root), "has expired");
    server.connects("user=plain sslmode=require");

    let mut early = hosts(&["localhost"]);
    early.not_before = date_time_ymd(2098, 1, 1);
    early.not_after = date_time_ymd(2099, 1, 1);
    server.shows(&server.authority.sign(&early));
    server.refuses(&verify(&root), "not valid yet");

    // The common name counts only without alternative names.
    server.shows(&server.authority.sign(&named("localhost")));
    server.connects(&verify(&root));
    server.refuses(&format!("{} host=other.example", verify(&root)), "not for host");
    let mut both = hosts(&["other.example"]);
    both.distinguished_name.push(DnType::CommonName, "localhost");
    server.shows(&server.authority.sign(&both));
    server.refuses(&verify(&root), "not for host");
    server.connects(&format!("{} host=other.example", verify(&root)));

    // A self-signed certificate is trusted if it is a root certificate, whether or not it is a CA.
    for is_ca in [IsCa::ExplicitNoCa, IsCa::Ca(BasicConstraints::Unconstrained)] {
        let mut itself = hosts(&["localhost"]);
        itself.is_ca = is_ca;
        let key = KeyPair::generate().expect("a key");
        let certificate = itself.self_signed(&key).expect("a certificate").pem();
        let trusted = server.file("itself.crt", &certificate, 0o644);
        server.shows(&(certificate, key.serialize_pem()));
        server.connects(&verify(&trusted));
        server.refuses(&format!("{} host=other.example", verify(&trusted)), "not for host");
        server.refuses(&verify(&root), "");
        server.connects("user=secret password=s3cret sslmode=require channel_binding=require");
    }
}

/// A man in the middle with a certificate of his own who relays everything: unnoticed without verification, but
/// detected by channel binding.
fn somebody_between_is_noticed(server: &Server) {
    let between = Between::start(server);
    let through = |text: &str| {
        let options = server.options(&format!("user=secret password=s3cret sslmode=require {text}"));
        connect(&options.at(Address::Tcp("127.0.0.1".to_owned(), between))).map_err(|problem| all(&problem))
    };
    let mut session = through("channel_binding=disable").expect("he passes everything on");
    assert_eq!(session.value("SELECT current_user").expect("and back").as_deref(), Some("secret"));
    drop(session); // he takes one connection after the other
    for binding in ["prefer", "require"] {
        let why = through(&format!("channel_binding={binding}")).map(drop).expect_err("he is between");
        assert!(why.contains("channel binding check failed"), "the server says so: {why}");
    }
    let root = server.path("root.crt");
    let verified =
        server.options(&format!("user=secret password=s3cret sslmode=verify-ca sslrootcert={root}"));
    let problem =
        connect(&verified.at(Address::Tcp("127.0.0.1".to_owned(), between))).expect_err("he is nobody");
    assert!(all(&problem).contains("not signed by a trusted authority"), "{problem}");
}
