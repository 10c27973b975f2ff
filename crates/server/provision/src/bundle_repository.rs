//! The Maven repository with the archives of bundles: its files by HTTPS, and the versions of an artifact.
//!
//! Trusts the certificates that the machine trusts (`SSL_CERT_FILE` and `SSL_CERT_DIR` replace them) and uses the proxy
//! of the environment (`ALL_PROXY`, `HTTPS_PROXY`, `NO_PROXY`).

use std::{
    str,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use maven_toolbox::Resolver;
use rustls::crypto::ring;
use semver::{Version, VersionReq};
use sha2::{Digest, Sha512};
use ureq::{
    Agent, Error,
    tls::{Certificate, RootCerts, TlsConfig},
};

/// Longest duration of a fetch, with all its requests.
const FETCH_LIMIT: Duration = Duration::from_secs(600);
/// Waits before a request is repeated that failed for a reason that may pass.
const PAUSES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];
/// Largest file that is accepted: several times the largest archive.
const LARGEST_FILE_BYTES: u64 = 256 << 20;

/// Why nothing was fetched.
#[derive(Debug, PartialEq, Eq)]
pub enum Failed {
    /// The repository has no such artifact, or no such version of it.
    NotThere,
    /// The repository was not reached, or what it sent is of no use.
    Fetch(String),
}

/// Client of the repository, for one fetch.
pub struct Repository {
    base_url: String,
    agent: Agent,
    pauses: &'static [Duration],
    until: Instant,
}

impl Repository {
    /// The public repository of the Maven project.
    pub fn public() -> Self {
        let roots = rustls_native_certs::load_native_certs().certs;
        let roots = roots.iter().map(|root| Certificate::from_der(root).to_owned());
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::from(roots))
            .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
            .build();
        let agent = Agent::config_builder().tls_config(tls).https_only(true).build();
        Self {
            base_url: Resolver::default().repository.base_url,
            agent: agent.into(),
            pauses: &PAUSES,
            until: Instant::now() + FETCH_LIMIT,
        }
    }

    /// Fetches a file, given by its path in the repository. What may pass by itself (no connection, an overloaded
    /// server) is retried.
    ///
    /// # Errors
    /// If there is no such file, or it cannot be fetched in time.
    pub fn file(&self, path: &str) -> Result<Vec<u8>, Failed> {
        let url = format!("{}/{path}", self.base_url);
        let mut pauses = self.pauses.iter();
        loop {
            let error = match self.get(&url) {
                Err(Error::StatusCode(404)) => return Err(Failed::NotThere),
                Err(error) => error,
                Ok(bytes) => return Ok(bytes),
            };
            match pauses.next().filter(|_| may_pass(&error)) {
                Some(pause) => thread::sleep(*pause),
                None => return Err(Failed::Fetch(format!("{url}: {error}"))),
            }
        }
    }

    fn get(&self, url: &str) -> Result<Vec<u8>, Error> {
        let left = self.until.saturating_duration_since(Instant::now());
        let request = self.agent.get(url).config().timeout_global(Some(left)).build();
        request.call()?.body_mut().with_config().limit(LARGEST_FILE_BYTES).read_to_vec()
    }

    /// Fetches the archive of an artifact in the newest version that meets a requirement, checked against the SHA-512
    /// in the repository.
    ///
    /// # Errors
    /// If there is none, it cannot be fetched in time, or has another SHA-512.
    pub fn newest(&self, artifact: &str, wanted: &VersionReq) -> Result<(Version, Vec<u8>), Failed> {
        let metadata = self.file(&format!("{artifact}/maven-metadata.xml"))?;
        let versions = versions(str::from_utf8(&metadata).unwrap_or_default());
        let version = versions.into_iter().filter(|version| wanted.matches(version)).max();
        let path = archive(artifact, &version.clone().ok_or(Failed::NotThere)?);
        let digest = self.file(&format!("{path}.sha512")).map_err(|failed| match failed {
            Failed::NotThere => Failed::Fetch(format!("the repository has no SHA-512 of {path}")),
            failed => failed,
        })?;
        let bytes = self.file(&path)?;
        let found = hex::encode(Sha512::digest(&bytes));
        match version.filter(|_| digest.trim_ascii() == found.as_bytes()) {
            Some(version) => Ok((version, bytes)),
            None => Err(Failed::Fetch(format!("{path} has another SHA-512 than the repository names"))),
        }
    }
}

/// Path of the archive of an artifact in one version.
pub fn archive(artifact: &str, version: &Version) -> String {
    let name = artifact.rsplit('/').next().unwrap_or(artifact);
    format!("{artifact}/{version}/{name}-{version}.jar")
}

/// The versions in an artifact's list, without those that are not semantic. The list is XML with plain texts only.
fn versions(metadata: &str) -> Vec<Version> {
    let texts = metadata.split("<version>").skip(1).filter_map(|rest| rest.split('<').next());
    texts.filter_map(|text| Version::parse(text.trim()).ok()).collect()
}

/// Whether the same request can succeed a little later.
fn may_pass(error: &Error) -> bool {
    match error {
        Error::StatusCode(code) => matches!(code, 408 | 429 | 500..),
        Error::Io(_) | Error::HostNotFound | Error::ConnectionFailed | Error::BodyStalled => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead, BufReader, Write},
        net::TcpListener,
        slice,
    };

    use super::*;

    const LIST: &str = "<metadata><versioning><latest>18.6.0</latest><release>18.6.0</release><versions>
        <version>9.6.24</version><version>18.0.0-1</version><version>1.0.0.RC2</version>
        <version>18.0.0</version><version>18.1.0</version></versions></versioning></metadata>";

    /// A repository that answers the given requests, each by a path, a status and a content, in this order.
    fn repository(answers: Vec<(&'static str, u16, String)>) -> Repository {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let base_url = format!("http://{}", listener.local_addr().expect("it has an address"));
        thread::spawn(move || {
            for (path, status, content) in answers {
                let (mut stream, _) = listener.accept().expect("a request comes");
                let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
                assert_eq!(lines.next(), Some(format!("GET {path} HTTP/1.1")));
                lines.take_while(|line| !line.is_empty()).for_each(drop);
                let head = format!("HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length:");
                write!(stream, "{head} {}\r\n\r\n{content}", content.len()).expect("it is read");
            }
        });
        let agent = Agent::config_builder().proxy(None).build().into();
        Repository { base_url, agent, pauses: &[Duration::ZERO; 2], until: Instant::now() + FETCH_LIMIT }
    }

    #[test]
    fn what_may_pass_is_tried_again() {
        let answered = |statuses: &[u16]| {
            let answers = statuses.iter().map(|status| ("/a", *status, "content".to_owned()));
            repository(answers.collect()).file("a")
        };
        assert_eq!(answered(&[200]), Ok(b"content".to_vec()));
        assert_eq!(answered(&[503, 429, 200]), Ok(b"content".to_vec()));
        assert_eq!(answered(&[404]), Err(Failed::NotThere));
        for statuses in [&[503, 500, 502][..], &[403]] {
            let Err(Failed::Fetch(words)) = answered(statuses) else { panic!("{statuses:?} is a failure") };
            assert!(
                words.ends_with(&format!("/a: http status: {}", statuses[statuses.len() - 1])),
                "{words}"
            );
        }
    }

    #[test]
    fn without_a_repository_the_address_is_named() {
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port is free");
        let mut nowhere = repository(Vec::new());
        nowhere.base_url = format!("http://{port}");
        let Err(Failed::Fetch(words)) = nowhere.file("a") else { panic!("nobody answers there") };
        assert!(words.contains(&format!("{port}/a: ")) && words.contains("refused"), "{words}");
    }

    #[test]
    fn a_fetch_ends_in_time() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let mut silent = repository(Vec::new());
        silent.base_url = format!("http://{}", listener.local_addr().expect("it has an address"));
        silent.until = Instant::now() + Duration::from_millis(50);
        let Err(Failed::Fetch(words)) = silent.file("a") else { panic!("nobody answers") };
        assert!(words.contains("timeout"), "{words}");
    }

    #[test]
    fn the_newest_version_that_was_requested_is_fetched() {
        let digest = hex::encode(Sha512::digest("archive"));
        let list = ("/g/a/maven-metadata.xml", 200, LIST.to_owned());
        let archive = ("/g/a/18.1.0/a-18.1.0.jar", 200, "archive".to_owned());
        let sum = |status, text: &str| ("/g/a/18.1.0/a-18.1.0.jar.sha512", status, text.to_owned());
        let newest = |answers: &[_], wanted| {
            let wanted = VersionReq::parse(wanted).expect("a requirement");
            repository(answers.to_vec()).newest("g/a", &wanted)
        };
        let whole = [list.clone(), sum(200, &digest), archive.clone()];
        assert_eq!(newest(&whole, "~18"), Ok((Version::new(18, 1, 0), b"archive".to_vec())));
        assert_eq!(newest(slice::from_ref(&list), "~17"), Err(Failed::NotThere));
        assert_eq!(newest(&[("/g/a/maven-metadata.xml", 404, String::new())], "~18"), Err(Failed::NotThere));
        for (answers, words) in [
            (&[list.clone(), sum(200, "0"), archive][..], "another SHA-512"),
            (&[list, sum(404, "")], "no SHA-512"),
        ] {
            let failed = newest(answers, "~18.1");
            assert!(matches!(&failed, Err(Failed::Fetch(why)) if why.contains(words)), "{failed:?}");
        }
    }
}
