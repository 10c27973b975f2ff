//! Certificates with RSA keys, made by `openssl` because rcgen has no RSA.

use std::{path::Path, process::Command};

use testkit::left_out;

use super::server::{Server, hosts};

/// Type of a certificate's key, and signature options of its authority.
struct Kind {
    name: &'static str,
    key: &'static str,
    signature: &'static [&'static str],
}

const PSS: &[&str] = &["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:32"];
/// The usual RSASSA-PKCS1-v1_5, RSASSA-PSS, and a key restricted to RSASSA-PSS.
const KINDS: [Kind; 3] = [
    Kind { name: "pkcs1", key: "RSA", signature: &[] },
    Kind { name: "pss", key: "RSA", signature: PSS },
    Kind { name: "pss-key", key: "RSA-PSS", signature: &[] },
];

/// Uses RSA certificates one after the other, and finally one like the first. Servers before 10 keep the
/// certificate they were started with.
pub fn certificates_of_rsa(server: &Server) {
    if server.own.running.version_num < 100_000 {
        return;
    }
    if Command::new("openssl").arg("version").output().is_err() {
        return left_out("openssl is not installed");
    }
    let dir = server.dir.path();
    openssl(dir, "req -x509 -newkey rsa:2048 -nodes -keyout rsa.key -out rsa.crt -subj /CN=rsa -days 3000");
    let root = server.path("rsa.crt");
    let newer = server.own.running.version_num >= 110_000;
    for kind in &KINDS[..if newer { 3 } else { 1 }] {
        server.shows(&sign(dir, kind));
        let verified = format!("sslmode=verify-full sslrootcert={root}");
        if kind.name == "pss-key" {
            server.refuses(&format!("user=plain {verified}"), "TLS");
            continue;
        }
        for version in ["TLSv1.2", "TLSv1.3"] {
            let versions = format!("ssl_min_protocol_version=TLSv1.2 ssl_max_protocol_version={version}");
            server.connects(&format!("user=plain {verified} {versions}"));
            if newer {
                let bound = "user=secret password=s3cret channel_binding=require";
                server.connects(&format!("{bound} {verified} {versions}"));
            }
        }
        server.refuses(&format!("user=plain {verified} host=other.example"), "not for host");
    }
    server.shows(&server.authority.sign(&hosts(&["localhost"])));
}

/// A certificate and its key as PEM.
fn sign(dir: &Path, kind: &Kind) -> (String, String) {
    let Kind { name, key, signature } = kind;
    openssl(dir, &format!("genpkey -algorithm {key} -pkeyopt rsa_keygen_bits:2048 -out {name}.key"));
    openssl(
        dir,
        &format!("req -new -key {name}.key -subj /CN=x -addext subjectAltName=DNS:localhost -out {name}.csr"),
    );
    let signing = format!(
        "x509 -req -in {name}.csr -CA rsa.crt -CAkey rsa.key -set_serial 7 -days 3000 -sha256 \
         -copy_extensions copy -out {name}.crt {}",
        signature.join(" ")
    );
    openssl(dir, &signing);
    let read = |end: &str| std::fs::read_to_string(dir.join(format!("{name}.{end}"))).expect("it was made");
    (read("crt"), read("key"))
}

fn openssl(dir: &Path, words: &str) {
    let output = Command::new("openssl").args(words.split_whitespace()).current_dir(dir).output();
    let output = output.expect("it can be run");
    assert!(output.status.success(), "openssl {words}: {}", String::from_utf8_lossy(&output.stderr));
}
