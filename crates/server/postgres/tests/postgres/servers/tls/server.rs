//! A server with TLS, and certificates for it.

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use pgdyno_core::problem::Problem;
use pgdyno_provision::Request;
use pgdyno_wire::{ConnectOptions, OsUser, Session, Sources, connect};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, IsCa, Issuer, KeyIdMethod,
    KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber, date_time_ymd,
};

use crate::own::{self, bundle};

/// A certificate authority.
pub struct Authority {
    pub issuer: Issuer<'static, KeyPair>,
    pub pem: String,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let mut params = named(name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// Signs a certificate; returns it with its key as PEM.
    pub fn sign(&self, params: &CertificateParams) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }

    /// A list that revokes these serial numbers.
    pub fn revoking(&self, serials: &[u64]) -> String {
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

/// Certificate parameters with a common name and no other name.
pub fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).expect("no name is wrong");
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// Certificate parameters for host names.
pub fn hosts(names: &[&str]) -> CertificateParams {
    let mut params = CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        .expect("they are names");
    params.serial_number = Some(SerialNumber::from(42));
    params
}

/// A server with TLS.
pub struct Server {
    pub own: own::Server,
    pub authority: Authority,
    pub dir: tempfile::TempDir,
}

impl Server {
    pub fn start(major: &str) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
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
            listen: Some("127.0.0.1".to_owned()),
            port: Some(free_port()),
            settings: settings.into_iter().collect(),
            ..bundle(major)
        };
        let server = Self { own: own::Server::start(&request), authority, dir };
        server.let_in();
        server
    }

    /// Creates roles and their entries in pg_hba.conf.
    pub fn let_in(&self) {
        let mut admin = self.admin();
        let scram = self.own.running.version_num >= 100_000;
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

    pub fn admin(&self) -> Session {
        connect(&self.own.options()).expect("its owner is let in")
    }

    /// Reloads the server's files, and waits until new connections see them.
    pub fn reload(&self) {
        let loaded = |session: &mut Session| session.value("SELECT pg_conf_load_time()").expect("it answers");
        let mut admin = self.admin();
        let before = loaded(&mut admin);
        admin.execute("SELECT pg_reload_conf()").expect("it is ours");
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(900) {
            if loaded(&mut self.admin()) != before {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("it does not read its files again");
    }

    /// Replaces the server's certificate.
    pub fn shows(&self, (certificate, key): &(String, String)) {
        for (name, text) in [("server.crt", certificate), ("server.key", key)] {
            fs::write(self.dir.path().join(name), text).expect("it is ours");
        }
        self.reload();
    }

    pub fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    pub fn file(&self, name: &str, text: &str, mode: u32) -> String {
        write(&self.dir.path().join(name), text, mode).display().to_string()
    }

    /// Options from a connection string in libpq's syntax, with the address added.
    pub fn options(&self, text: &str) -> ConnectOptions {
        let port = self.own.running.port;
        let text = format!("host=localhost hostaddr=127.0.0.1 port={port} dbname=postgres {text}");
        let sources = Sources {
            host: None,
            port: None,
            user: None,
            database: Some(&text),
            env: &|_| None,
            os_user: &OsUser { name: Ok("nobody".to_owned()), home: None },
        };
        ConnectOptions::resolve(&sources).unwrap_or_else(|problem| panic!("{text}: {problem}"))
    }

    pub fn connects(&self, text: &str) -> Session {
        let problem = |problem: Problem| panic!("{text}: {}", all(&problem));
        connect(&self.options(text)).unwrap_or_else(problem)
    }

    pub fn refuses(&self, text: &str, why: &str) {
        let problem = connect(&self.options(text)).map(drop).expect_err(text);
        assert!(all(&problem).contains(why), "{text}: {}", all(&problem));
    }
}

pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener.expect("a port is free").port()
}

pub fn all(problem: &Problem) -> String {
    let Problem { what, detail, hint, .. } = problem;
    format!("{what}\n{}\n{}", detail.as_deref().unwrap_or(""), hint.as_deref().unwrap_or(""))
}

pub fn write(path: &Path, text: &str, mode: u32) -> PathBuf {
    fs::write(path, text).expect("it can be written");
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    path.to_owned()
}

/// Gives a file to the user that runs a server started by root, who must own its key.
pub fn give_to_server(path: &Path) {
    if rustix::process::geteuid().is_root() {
        let passwd = fs::read_to_string("/etc/passwd").expect("it is there");
        let user = |name: &str| passwd.lines().find(|line| line.split(':').next() == Some(name));
        let line = user("postgres").or_else(|| user("nobody")).expect("somebody is nobody");
        let number = |field| line.split(':').nth(field).and_then(|text| text.parse().ok());
        chown(path, number(2), number(3)).expect("root may");
    }
}
