//! Reads what is at a path. Nothing is changed here.

use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::MetadataExt,
};

use pgdyno_core::problem::Problem;
use rustix::{
    fs::{FileType, Mode, OFlags, fstat, openat},
    io::Errno,
};

use crate::{
    dir::Dir,
    place::Place,
    safe::{Missing, open_dir},
    state::{Kind, State},
    value::normal,
};

/// Largest value and file that is read.
const MOST_BYTES: u64 = 1 << 20;

/// A value of the kernel.
///
/// # Errors
/// Those of the system; `PermissionDenied` if it can only be written.
pub fn value(place: &Place, path: &str) -> io::Result<String> {
    let at = place.at(path);
    let metadata = fs::metadata(&at)?;
    if metadata.is_dir() {
        return Err(io::Error::from(io::ErrorKind::NotFound));
    }
    // Some can be read by root in spite of their mode, and answer nonsense.
    if metadata.mode() & 0o444 == 0 {
        return Err(io::Error::from(io::ErrorKind::PermissionDenied));
    }
    let mut text = String::new();
    File::open(&at)?.take(MOST_BYTES).read_to_string(&mut text)?;
    Ok(normal(path, &text))
}

/// The state of anything that a journal names.
///
/// # Errors
/// If it cannot be read, or its directory is not safe.
pub fn state(place: &Place, kind: Kind, path: &str) -> Result<State, Problem> {
    match kind {
        Kind::Value => value_state(place, path),
        Kind::File | Kind::Directory => match parent(place, path)? {
            Some((dir, name)) => entry(&dir, name),
            None => Ok(State::Absent),
        },
    }
}

fn value_state(place: &Place, path: &str) -> Result<State, Problem> {
    match value(place, path) {
        Ok(value) => Ok(State::Value(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(State::Absent),
        // A device went away while its file was read.
        Err(error) if Errno::from_io_error(&error) == Some(Errno::NODEV) => Ok(State::Absent),
        Err(error) => Err(could_not(&place.at(path), &error)),
    }
}

/// The directory of a file below the root, if it is there, and the name in it.
///
/// # Errors
/// If the directory is not safe.
pub fn parent<'a>(place: &Place, path: &'a str) -> Result<Option<(Dir, &'a str)>, Problem> {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let dir = open_dir(&place.root, above, place.user, &Missing::Absent)?;
    Ok(dir.map(|dir| (dir, name)))
}

/// What has a name in a directory.
fn entry(dir: &Dir, name: &str) -> Result<State, Problem> {
    let path = dir.path.join(name);
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mut file = match openat(&dir.fd, name, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::NOENT) => return Ok(State::Absent),
        Err(Errno::LOOP) => return Ok(State::Other("a symbolic link".to_owned())),
        Err(error) => return Err(could_not(&path, &error.into())),
    };
    let status = fstat(&file).map_err(|error| could_not(&path, &error.into()))?;
    match FileType::from_raw_mode(status.st_mode) {
        FileType::Directory => return Ok(State::Directory),
        FileType::RegularFile => {}
        _ => return Ok(State::Other("a special file".to_owned())),
    }
    if let Some(why) = unlike_ours(&file, status.st_nlink) {
        return Ok(State::Other(why));
    }
    let mut bytes = Vec::new();
    (&mut file).take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| could_not(&path, &error))?;
    Ok(match String::from_utf8(bytes) {
        Ok(text) if text.len() as u64 <= MOST_BYTES => {
            State::File { text, mode: status.st_mode & 0o7777, uid: status.st_uid, gid: status.st_gid }
        }
        Ok(_) => State::Other("a file of more than 1 MiB".to_owned()),
        Err(_) => State::Other("a file that is not UTF-8".to_owned()),
    })
}

/// What replacing a file would lose. The label of a security module comes with the directory.
fn unlike_ours(file: &File, links: impl Into<u64>) -> Option<String> {
    if links.into() > 1 {
        return Some("a file with several hard links".to_owned());
    }
    let mut names = vec![0u8; 4096];
    let names = match rustix::fs::flistxattr(file, &mut names[..]) {
        Ok(length) => names[..length].to_vec(),
        Err(Errno::RANGE) => return Some("a file with many extended attributes".to_owned()),
        // A file system without them.
        Err(_) => Vec::new(),
    };
    let mut names = names.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    let foreign = names.find(|name| !name.starts_with(b"security."))?;
    Some(format!("a file with the extended attribute {}", String::from_utf8_lossy(foreign)))
}

fn could_not(path: &std::path::Path, error: &io::Error) -> Problem {
    Problem::could_not(format!("could not read {}: {error}", path.display()))
}

/// Identifies the boot; empty if it is unknown.
pub fn boot_id(place: &Place) -> String {
    value(place, "proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// Identifies the network namespace of this process, if known.
pub fn network(place: &Place) -> Option<String> {
    let link = fs::read_link(place.at("proc/self/ns/net")).ok()?;
    Some(link.to_string_lossy().into_owned())
}
