//! Unpacks tarballs without letting any member out of the target directory.

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom},
    path::{Component, Path},
};

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use liblzma::read::XzDecoder;
use pgdyno_core::{problem::Problem, stop::Stop};
use tar::{Archive, Entry, EntryType};

use crate::tree::stays_inside;

/// Most bytes that a tarball may unpack to: ten times PostgreSQL's largest.
const MOST_BYTES: u64 = 4 << 30;
/// Memory limit for decompressing xz, in bytes: above the need of its highest level.
const XZ_MEMORY: u64 = 256 << 20;

/// Unpacks a tarball (gzip, bzip2, xz or uncompressed, detected by content) into an empty directory. A stop request
/// ends it early.
///
/// # Errors
/// If the file is not a tarball, is truncated, or cannot be written, or if a member, which is then named, would land
/// outside of `to`.
pub fn unpack(path: &Path, to: &Path, stop: &Stop) -> Result<(), Problem> {
    let problem = |error: &io::Error| broken(path, &error.to_string());
    let mut archive = Archive::new(open(path)?);
    archive.set_preserve_ownerships(false);
    let mut bytes = 0;
    for entry in archive.entries().map_err(|error| problem(&error))? {
        let mut entry = entry.map_err(|error| problem(&error))?;
        bytes += entry.size();
        if bytes > MOST_BYTES {
            return Err(refused(path, "it unpacks to more than 4 GiB"));
        }
        if !is_wanted(path, &entry)? {
            continue;
        }
        entry.set_mask(0o022);
        let name = entry.path_bytes().into_owned();
        if !entry.unpack_in(to).map_err(|error| problem(&error))? {
            return Err(climbs(path, &name));
        }
        if stop.requested() {
            return Ok(());
        }
    }
    // The compressed stream ends after the last member: its check sum shows that nothing is missing.
    let rest = io::copy(&mut archive.into_inner().take(MOST_BYTES), &mut io::sink());
    rest.map(drop).map_err(|error| problem(&error))
}

fn open(path: &Path) -> Result<Box<dyn Read>, Problem> {
    let could_not = |error: io::Error| unreadable(path, &error);
    let mut file = File::open(path).map_err(could_not)?;
    let mut magic = Vec::new();
    Read::by_ref(&mut file).take(512).read_to_end(&mut magic).map_err(could_not)?;
    file.seek(SeekFrom::Start(0)).map_err(could_not)?;
    let file = BufReader::with_capacity(1 << 16, file);
    Ok(match &magic[..] {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(file)),
        [b'B', b'Z', b'h', ..] => Box::new(MultiBzDecoder::new(file)),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
            let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, 0);
            Box::new(XzDecoder::new_stream(file, stream.map_err(|error| could_not(error.into()))?))
        }
        plain if plain.get(257..262) == Some(b"ustar") => Box::new(file),
        _ => {
            return Err(Problem::wrong_request(format!("the source {} is not a tarball", path.display()))
                .hint("--source takes a directory, a .tar.gz, .tar.bz2 or .tar.xz, or debian:18"));
        }
    })
}

/// Error for a source that cannot be read.
pub fn unreadable(path: &Path, error: &io::Error) -> Problem {
    Problem::wrong_request(format!("could not read the source {}: {error}", path.display()))
        .hint("--source takes a directory, a tarball, or debian:18")
}

/// Whether a member is to be unpacked: plain files, directories, and links that stay inside.
fn is_wanted(path: &Path, entry: &Entry<'_, impl Read>) -> Result<bool, Problem> {
    let name = entry.path().map_err(|error| broken(path, &error.to_string()))?;
    let allowed = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !name.components().all(allowed) {
        return Err(climbs(path, &entry.path_bytes()));
    }
    let link = || entry.link_name().ok().flatten();
    match entry.header().entry_type() {
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse | EntryType::Directory => Ok(true),
        EntryType::XGlobalHeader => Ok(false),
        EntryType::Symlink if link().is_some_and(|target| stays_inside(&name, &target)) => Ok(true),
        // A hard link's target is relative to the root of the tarball.
        EntryType::Link if link().is_some_and(|target| target.components().all(allowed)) => Ok(true),
        EntryType::Symlink | EntryType::Link => Err(climbs(path, &entry.path_bytes())),
        _ => Err(refused(path, &format!("`{}` is neither a file nor a directory", name.display()))),
    }
}

fn climbs(path: &Path, name: &[u8]) -> Problem {
    refused(path, &format!("`{}` would land outside of the directory", String::from_utf8_lossy(name)))
}

fn refused(path: &Path, why: &str) -> Problem {
    Problem::wrong_request(format!("could not unpack {}: {why}", path.display()))
        .hint("PostgreSQL's own tarballs have no such member: do not use this file")
}

fn broken(path: &Path, why: &str) -> Problem {
    Problem::could_not(format!("could not unpack {}: {why}", path.display()))
        .hint("check that the file is complete and that the cache has room; PGDYNO_CACHE moves the cache")
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write};

    use super::*;

    /// A tarball with one member, whose name the builder has not checked.
    fn tarball(name: &str, kind: EntryType, link: &str) -> Vec<u8> {
        let mut header = tar::Header::new_ustar();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        let content: &[u8] = if kind == EntryType::Regular { b"evil" } else { b"" };
        header.set_entry_type(kind);
        header.set_size(content.len() as u64);
        header.set_mode(0o4777);
        header.set_cksum();
        let mut builder = tar::Builder::new(Vec::new());
        builder.append(&header, content).expect("it can be written");
        builder.into_inner().expect("it can be written")
    }

    fn unpacked(bytes: &[u8]) -> (tempfile::TempDir, Result<(), Problem>) {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let (path, to) = (root.path().join("x.tar"), root.path().join("a/to"));
        fs::write(&path, bytes).expect("it can be written");
        fs::create_dir_all(&to).expect("it can be made");
        let result = unpack(&path, &to, &Stop::default());
        (root, result)
    }

    #[test]
    fn members_that_climb_out_are_refused_by_name() {
        for (name, kind, link) in [
            ("../evil", EntryType::Regular, ""),
            ("a/../../evil", EntryType::Regular, ""),
            ("/tmp/evil", EntryType::Regular, ""),
            ("evil", EntryType::Symlink, "/etc/passwd"),
            ("b/evil", EntryType::Symlink, "../../x"),
            ("evil", EntryType::Link, "../../x"),
            ("evil", EntryType::Link, "/etc/passwd"),
            ("evil", EntryType::Fifo, ""),
            ("evil", EntryType::Block, ""),
        ] {
            let (root, result) = unpacked(&tarball(name, kind, link));
            let problem = result.expect_err(name);
            assert!(problem.what.contains(&format!("`{name}`")), "{problem}");
            assert!(!root.path().join("evil").exists() && !root.path().join("a/evil").exists());
        }
    }

    #[test]
    fn what_stays_inside_is_unpacked_without_special_rights() {
        use std::os::unix::fs::PermissionsExt;
        let (root, result) = unpacked(&tarball("x/ok", EntryType::Regular, ""));
        result.expect("it is allowed");
        let mode = fs::metadata(root.path().join("a/to/x/ok")).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o7777, 0o755);
        let (_root, result) = unpacked(&tarball("x/ok", EntryType::Symlink, "../y"));
        result.expect("it is allowed");
    }

    #[test]
    fn every_packing_is_known_by_its_content() {
        let plain = tarball("x/ok", EntryType::Regular, "");
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&plain).expect("it can be packed");
        let mut bz = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        bz.write_all(&plain).expect("it can be packed");
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 0);
        xz.write_all(&plain).expect("it can be packed");
        let packed = [gz.finish(), bz.finish(), xz.finish()].map(|bytes| bytes.expect("it can be packed"));
        for bytes in packed.iter().chain([&plain]) {
            let (root, result) = unpacked(bytes);
            result.expect("it can be unpacked");
            assert!(root.path().join("a/to/x/ok").is_file());
        }
        for bytes in &packed {
            let (_root, result) = unpacked(&bytes[..bytes.len() - 8]);
            assert!(result.is_err(), "cut short");
        }
        let (_root, result) = unpacked(b"hello");
        assert!(result.expect_err("it is none").what.contains("not a tarball"));
    }
}
