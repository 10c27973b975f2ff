//! Fetches the newest bundle of every major for this platform and prints the lines that `bundles.lock` pins: version,
//! architecture, digests of archive and files, and how its programs were compiled.
//!
//! `cargo run -p pgdyno-provision --example pin_bundles -- [DIRECTORY]`; with a directory, the archives are
//! kept there.

#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::{error::Error, path::PathBuf};

use pgdyno_provision::{Wanted, bundle_archive, installation, manifest::Manifest};
use sha2::{Digest, Sha256};

const MAJORS: [&str; 11] = ["9.5", "9.6", "10", "11", "12", "13", "14", "15", "16", "17", "18"];

fn main() -> Result<(), Box<dyn Error>> {
    let keep = std::env::args().nth(1).map(PathBuf::from);
    for major in MAJORS {
        let wanted: Wanted = major.parse()?;
        let (version, bytes) = bundle_archive::fetch(wanted, None).map_err(|problem| problem.to_string())?;
        let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let unpacked = tempfile::tempdir()?;
        let dir = unpacked.path().join("files");
        bundle_archive::extract(wanted, &bytes, &dir)?;
        let files = Manifest::from_files(&dir, "", &[])?.digest();
        let build = installation::build(&dir.join("bin"));
        let flags = build.telling_flags().map(|flags| flags.into_iter().collect::<Vec<_>>().join(" "));
        let flags = flags.unwrap_or_else(|| "-".to_owned());
        let compiler = build.compiler_in_short().ok_or("the program does not report its compiler")?;
        println!("{version} {} {digest} {files} {compiler} {flags}", std::env::consts::ARCH);
        if let Some(directory) = &keep {
            std::fs::write(directory.join(format!("{version}.jar")), &bytes)?;
        }
    }
    Ok(())
}
