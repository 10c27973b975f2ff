//! `dist`: the static release, packed with everything needed by users without Rust.

use std::{
    env::consts::ARCH,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use pgdyno_core::units;

use crate::{
    Failure,
    workspace::{cargo, output, root, succeed, target_dir},
};

/// Documents packed with the program.
const PAPERS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Builds, checks and packs.
pub fn run() -> Result<bool, Failure> {
    let target = format!("{ARCH}-unknown-linux-musl");
    check_tools(&target)?;
    let program = build(&target)?;
    if !is_static(&fs::read(&program)?)? {
        return Err(format!("{} is not static", program.display()).into());
    }
    let version = output(Command::new(&program).arg("--version"))?;
    let archive = pack(&program)?;
    println!("{}", version.trim());
    println!("program {}, static", units::bytes(fs::metadata(&program)?.len()));
    println!("{} {}", archive.display(), units::bytes(fs::metadata(&archive)?.len()));
    Ok(true)
}

fn check_tools(target: &str) -> Result<(), Failure> {
    let libraries = output(Command::new("rustc").args(["--print", "target-libdir", "--target", target]))?;
    if !Path::new(libraries.trim()).is_dir() {
        return Err(format!("the target {target} is missing: `rustup target add {target}`").into());
    }
    // Some crates compile C code, which needs musl's headers.
    if Command::new("musl-gcc").arg("--version").output().is_err() {
        return Err("musl-gcc is missing: install musl-tools (Debian, Ubuntu) or musl-gcc (Fedora)".into());
    }
    Ok(())
}

fn build(target: &str) -> Result<PathBuf, Failure> {
    let mut command = cargo();
    command.args(["build", "--release", "--package", "pgdyno", "--target", target]);
    succeed(command.env(format!("CC_{}", target.replace('-', "_")), "musl-gcc"))?;
    Ok(target_dir().join(target).join("release/pgdyno"))
}

/// Whether an ELF program is static: it has no segment that names a loader.
fn is_static(elf: &[u8]) -> Result<bool, Failure> {
    const INTERPRETER: u32 = 3;
    let word = |at: usize, size: usize| -> Option<u64> {
        let bytes = elf.get(at..at + size)?;
        Some(bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
    };
    // The magic number, 64-bit, little-endian.
    if !elf.starts_with(b"\x7fELF\x02\x01") {
        return Err("this is not a 64-bit little-endian ELF file".into());
    }
    let headers = || Some((word(32, 8)? as usize, word(54, 2)? as usize, word(56, 2)? as usize));
    let (first, size, count) = headers().ok_or("the ELF header is truncated")?;
    let is_interpreter = |at: usize| word(first + at * size, 4) == Some(u64::from(INTERPRETER));
    Ok(!(0..count).any(is_interpreter))
}

fn pack(program: &Path) -> Result<PathBuf, Failure> {
    let dist = target_dir().join("dist");
    let name = format!("pgdyno-{}-{ARCH}-linux-musl", env!("CARGO_PKG_VERSION"));
    let dir = dist.join(&name);
    if dir.exists() {
        fs::remove_dir_all(&dir)?;
    }
    fs::create_dir_all(&dir)?;
    fs::copy(program, dir.join("pgdyno"))?;
    for paper in PAPERS {
        fs::copy(root().join(paper), dir.join(paper)).map_err(|error| format!("{paper}: {error}"))?;
    }
    for kind in ["man", "completions"] {
        succeed(Command::new(program).args(["generate", kind]).arg(dir.join(kind)))?;
    }
    let archive = dist.join(format!("{name}.tar.gz"));
    // Sorted names and no owners, so that the same program gives the same list of files.
    let mut tar = Command::new("tar");
    tar.args(["--create", "--gzip", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--file"]);
    succeed(tar.arg(&archive).arg("--directory").arg(&dist).arg(&name))?;
    Ok(archive)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A 64-bit ELF header with one segment of this type.
    fn elf(segment: u8) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (bytes[32], bytes[54], bytes[56], bytes[64]) = (64, 56, 1, segment);
        bytes
    }

    #[test]
    fn a_program_with_a_loader_is_not_static() {
        assert_eq!(is_static(&elf(1)).ok(), Some(true));
        assert_eq!(is_static(&elf(3)).ok(), Some(false));
        assert!(is_static(b"#!/bin/sh").is_err());
        assert!(is_static(b"\x7fELF\x02\x01").is_err());
    }
}
