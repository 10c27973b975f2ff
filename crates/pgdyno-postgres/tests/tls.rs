//! TLS with real servers of the oldest and the newest major, and certificates made for the test: what libpq takes is
//! taken, what it refuses is refused, and the measured path runs over it.

use std::{
    env, fs,
    net::TcpListener,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use pgdyno_core::{
    plan::{Builtin, Protocol},
    problem::Problem,
};
use pgdyno_engine::{EpollDriver, Settings, Stop, run};
use pgdyno_postgres::{
    load::{CopyFormat, TpcbLoad, load_tpcb},
    provision::{Dirs, Environment, Lifetime, Request, RunningServer, up},
    targets::SqlClients,
    verify::{BalanceMode, Expected, check_balance},
    wire::{Address, ConnectOptions, Session, Sources, connect},
};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, IsCa, Issuer, KeyIdMethod,
    KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber, date_time_ymd,
};

#[test]
fn the_oldest_major() {
    everything_holds("9.6");
}

#[test]
fn the_newest_major() {
    let server = everything_holds("18");
    other_certificates_are_judged_as_libpq_judges_them(&server);
}

fn everything_holds(major: &str) -> Server {
    let server = Server::start(major);
    the_server_is_verified_as_far_as_asked(&server);
    a_client_certificate_is_shown(&server);
    authentication_is_bound_to_the_connection(&server);
    what_the_session_starts_with_arrives(&server);
    the_measured_path_is_encrypted(&server);
    server
}

/// An authority.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = named(name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A certificate and its key, as PEM.
    fn sign(&self, params: &CertificateParams) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }

    /// A list that revokes these serial numbers.
    fn revoking(&self, serials: &[u64]) -> String {
        let revoked = serials.iter().map(|serial| RevokedCertParams {
            serial_number: SerialNumber::from(*serial),
            revocation_time: date_time_ymd(2024, 1, 1),
            reason_code: None,
            invalidity_date: None,
        });
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2024, 1, 1),
            next_update: date_time_ymd(2099, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        list.signed_by(&self.issuer).expect("a list").pem().expect("it can be written")
    }
}

/// Parameters with a common name and no other.
fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).expect("no name is wrong");
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// Parameters of a certificate for hosts.
fn hosts(names: &[&str]) -> CertificateParams {
    let mut params = CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        .expect("they are names");
    params.serial_number = Some(SerialNumber::from(42));
    params
}

/// A server with TLS.
struct Server {
    running: RunningServer,
    authority: Authority,
    dir: tempfile::TempDir,
    _state: tempfile::TempDir,
}

impl Server {
    fn start(major: &str) -> Self {
        let state = tempfile::tempdir().expect("a temporary directory");
        let dir = tempfile::tempdir().expect("a temporary directory");
        for dir in [state.path(), dir.path()] {
            fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).expect("it is ours");
        }
        let authority = Authority::new("the test's authority");
        let (certificate, key) = authority.sign(&hosts(&["localhost"]));
        let file = |name: &str, text: &str, mode| write(&dir.path().join(name), text, mode);
        file("root.crt", &authority.pem, 0o644);
        give_to_server(&file("server.crt", &certificate, 0o644));
        give_to_server(&file("server.key", &key, 0o600));
        give_to_server(&file("clients.crt", &authority.pem, 0o644));
        let setting = |name: &str, file: &str| (name.to_owned(), dir.path().join(file).display().to_string());
        let settings = [
            ("ssl".to_owned(), "on".to_owned()),
            setting("ssl_cert_file", "server.crt"),
            setting("ssl_key_file", "server.key"),
            setting("ssl_ca_file", "clients.crt"),
        ];
        let request = Request {
            pg: Some(major.parse().expect("it is a version")),
            bundle_only: true,
            lifetime: Lifetime::DiesWithUs,
            listen: Some("127.0.0.1".to_owned()),
            port: Some(free_port()),
            settings: settings.into_iter().collect(),
            ..Request::named("tls")
        };
        let running = up(&request, &dirs(&state), &mut |_| {}).expect("the server starts");
        let server = Self { running, authority, dir, _state: state };
        server.let_in();
        server
    }

    /// Makes roles, and says who comes in how.
    fn let_in(&self) {
        let mut admin = self.admin();
        let scram = self.running.version_num >= 100_000;
        let method = if scram { "scram-sha-256" } else { "md5" };
        if scram {
            admin.execute("SET password_encryption = 'scram-sha-256'").expect("it has that");
        }
        admin
            .execute(
                "CREATE ROLE plain LOGIN; CREATE ROLE secret LOGIN PASSWORD 's3cret'; CREATE ROLE certified LOGIN; \
                 CREATE ROLE unencrypted LOGIN; GRANT ALL ON SCHEMA public TO plain",
            )
            .expect("it is ours");
        let path = admin.value("SHOW hba_file").expect("it has one").expect("it has one");
        let rules = format!(
            "local all all trust\nhostssl all plain 127.0.0.1/32 trust\nhostssl all secret 127.0.0.1/32 {method}\n\
             hostssl all certified 127.0.0.1/32 cert\nhostnossl all unencrypted 127.0.0.1/32 trust\n"
        );
        fs::write(path, rules).expect("it is ours");
        self.reload();
    }

    fn admin(&self) -> Session {
        let address = Address::Unix(self.running.socket_dir.clone(), self.running.port);
        connect(&ConnectOptions::local(address, self.running.superuser)).expect("its owner is let in")
    }

    /// Lets the server read its files again; what comes later finds it so.
    fn reload(&self) {
        let loaded = |session: &mut Session| session.value("SELECT pg_conf_load_time()").expect("it tells");
        let mut admin = self.admin();
        let before = loaded(&mut admin);
        admin.execute("SELECT pg_reload_conf()").expect("it is ours");
        for _ in 0..200 {
            if loaded(&mut self.admin()) != before {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("it does not read its files again");
    }

    /// Another certificate for the server.
    fn shows(&self, (certificate, key): &(String, String)) {
        for (name, text) in [("server.crt", certificate), ("server.key", key)] {
            fs::write(self.dir.path().join(name), text).expect("it is ours");
        }
        self.reload();
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    fn file(&self, name: &str, text: &str, mode: u32) -> String {
        write(&self.dir.path().join(name), text, mode).display().to_string()
    }

    /// Options from a connection string, as a user writes it; the address is added.
    fn options(&self, text: &str) -> ConnectOptions {
        let port = self.running.port;
        let text = format!("host=localhost hostaddr=127.0.0.1 port={port} dbname=postgres {text}");
        let sources = Sources {
            host: None,
            port: None,
            user: None,
            database: Some(&text),
            env: &|_| None,
            os_user: "nobody".to_owned(),
        };
        ConnectOptions::resolve(&sources).unwrap_or_else(|problem| panic!("{text}: {problem}"))
    }

    fn connects(&self, text: &str) -> Session {
        let problem = |problem: Problem| panic!("{text}: {}", all(&problem));
        connect(&self.options(text)).unwrap_or_else(problem)
    }

    fn refuses(&self, text: &str, why: &str) {
        let problem = connect(&self.options(text)).map(drop).expect_err(text);
        assert!(all(&problem).contains(why), "{text}: {}", all(&problem));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let removed = self.running.remove();
        assert!(thread::panicking() || removed.is_ok(), "{removed:?}");
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener.expect("a port is free").port()
}

fn all(problem: &Problem) -> String {
    let Problem { what, detail, hint, .. } = problem;
    format!("{what}\n{}\n{}", detail.as_deref().unwrap_or(""), hint.as_deref().unwrap_or(""))
}

fn write(path: &Path, text: &str, mode: u32) -> PathBuf {
    fs::write(path, text).expect("it can be written");
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    path.to_owned()
}

/// A server started by root runs as somebody else, who must own its key.
fn give_to_server(path: &Path) {
    if rustix::process::geteuid().is_root() {
        let passwd = fs::read_to_string("/etc/passwd").expect("it is there");
        let user = |name: &str| passwd.lines().find(|line| line.split(':').next() == Some(name));
        let line = user("postgres").or_else(|| user("nobody")).expect("somebody is nobody");
        let number = |field| line.split(':').nth(field).and_then(|text| text.parse().ok());
        chown(path, number(2), number(3)).expect("root may");
    }
}

fn dirs(state: &tempfile::TempDir) -> Dirs {
    let path = |name| env::var_os(name).map(PathBuf::from);
    let environment = Environment {
        state: Some(state.path().to_owned()),
        cache: path("PGDYNO_CACHE"),
        xdg_cache_home: path("XDG_CACHE_HOME"),
        home: path("HOME"),
        ..Environment::default()
    };
    Dirs::of(&environment).expect("there is a cache")
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
        (format!("sslmode=verify-full sslrootcert={root} host='no name'"), "cannot stand in a certificate"),
        (format!("sslmode=verify-full sslrootcert={other}"), "signed by nobody that is trusted"),
        (format!("sslmode=verify-ca sslrootcert={other}"), "signed by nobody that is trusted"),
        (format!("sslmode=require sslrootcert={other}"), "signed by nobody that is trusted"),
        (format!("sslmode=verify-full sslrootcert={none}"), "holds none"),
        ("sslmode=verify-full sslrootcert=/no/such/file".to_owned(), "\"/no/such/file\" does not exist"),
        ("sslmode=verify-full".to_owned(), "no home directory"),
        ("sslrootcert=system".to_owned(), "signed by nobody that is trusted"),
        (format!("sslmode=verify-full sslrootcert={root} sslcrl={revoked}"), "was revoked"),
        (format!("sslmode=verify-full sslrootcert={root} sslcrl=/no/such/list"), "revocation list"),
    ] {
        server.refuses(&format!("user=plain {text}"), why);
    }
    server.refuses("user=unencrypted sslmode=require", "28000");
    assert_eq!(server.connects("user=unencrypted sslmode=prefer").encryption(), None);
    if server.running.version_num >= 170_000 {
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
        (with(&key, &key), "holds none"),
        (with(&stranger, &strange_key), "TLS"),
    ] {
        server.refuses(&text, why);
    }
    // As with libpq a certificate that is not there is none.
    server.connects("user=plain sslmode=require sslcert=/no/such/certificate");
}

fn authentication_is_bound_to_the_connection(server: &Server) {
    let secret = "user=secret password=s3cret sslmode=require";
    server.connects(secret);
    server.connects(&format!("{secret} channel_binding=disable"));
    server.refuses("user=secret password=wrong sslmode=require", "28P01");
    if server.running.version_num < 110_000 {
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

/// Loads by COPY and drives transactions over TLS 1.3 and 1.2; the balances say that nothing was lost or doubled.
fn the_measured_path_is_encrypted(server: &Server) {
    let stop = Stop::default();
    let mut session = server.connects("user=plain sslmode=require");
    let load = TpcbLoad { scale: 1, seed: 1, format: CopyFormat::FASTEST };
    let loaded = load_tpcb(&mut session, &load, &stop, &mut |_| ()).expect("it loads");
    assert_eq!(loaded.rows, 100_011);
    let mut committed = 0;
    for (version, protocol) in
        [("TLSv1.3", Protocol::Prepared), ("TLSv1.2", Protocol::Extended), ("TLSv1.2", Protocol::Simple)]
    {
        let text = format!("user=plain sslmode=require ssl_max_protocol_version={version}");
        let script = Arc::new(Builtin::TpcbLike.script());
        let settings = Settings {
            warmup_ns: 0,
            duration_ns: 700_000_000,
            interval_ns: 250_000_000,
            drain_ns: 5_000_000_000,
            rate_per_s: None,
            seed: 1,
            statements: script.statements().count(),
            cpus: Vec::new(),
        };
        let sql = SqlClients { script, protocol, scale: 1, seed: 1, run: committed as u32 };
        let (workers, _) = sql.connect(&server.options(&text), 3, 1, &stop).expect("they connect");
        let report = run(EpollDriver, workers, &settings, &stop, |_| (), |_| ()).expect("it runs");
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

    // The common name counts where no other name is there.
    server.shows(&server.authority.sign(&named("localhost")));
    server.connects(&verify(&root));
    server.refuses(&format!("{} host=other.example", verify(&root)), "not for host");
    let mut both = hosts(&["other.example"]);
    both.distinguished_name.push(DnType::CommonName, "localhost");
    server.shows(&server.authority.sign(&both));
    server.refuses(&verify(&root), "not for host");
    server.connects(&format!("{} host=other.example", verify(&root)));

    // One that signs itself is trusted by whoever has it, an authority's or not.
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
