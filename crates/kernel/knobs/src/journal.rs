//! The file of the journal: it is there as a whole or not at all, and a changed one is refused.

use std::{
    fs::File,
    io::{self, Read},
    path::PathBuf,
};

use pgdyno_core::problem::Problem;
use rustix::{
    fs::{FlockOperation, Mode, OFlags, flock, fstat, openat},
    io::Errno,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    calls::{Calls, new_name},
    contents,
    dir::Dir,
    names,
    place::Place,
    safe::{Missing, open_dir, refused},
    state::{FORMAT, Journal, Kind, State},
};

const NAME: &str = "journal.json";
/// Largest journal that is read.
const MOST_BYTES: u64 = 64 << 20;

/// The file as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sealed {
    format: u32,
    /// SHA-256 of the journal as JSON without white space, in hexadecimal.
    sha256: String,
    journal: Journal,
}

/// The directory of the journal, locked by this process.
pub struct Store<'a> {
    dir: Dir,
    calls: &'a Calls<'a>,
    user: u32,
}

impl<'a> Store<'a> {
    /// Opens and locks the directory, which is made if it is missing.
    ///
    /// # Errors
    /// If it is not safe, cannot be made, or another process has it locked.
    pub fn make(place: &Place, calls: &'a Calls<'a>) -> Result<Self, Problem> {
        let dir = open(place, &Missing::Make(calls, 0o700))?;
        let Some(dir) = dir else { return Err(Problem::could_not("could not make the journal's directory")) };
        Self::lock(dir, place, calls)
    }

    /// Opens and locks the directory, if it is there.
    ///
    /// # Errors
    /// If it is not safe, or another process has it locked.
    pub fn open(place: &Place, calls: &'a Calls<'a>) -> Result<Option<Self>, Problem> {
        open(place, &Missing::Absent)?.map(|dir| Self::lock(dir, place, calls)).transpose()
    }

    fn lock(dir: Dir, place: &Place, calls: &'a Calls<'a>) -> Result<Self, Problem> {
        match flock(&dir.fd, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { dir, calls, user: place.user }),
            Err(Errno::WOULDBLOCK) => {
                Err(Problem::wrong_request("another pgdyno is changing or restoring this host at the moment")
                    .hint("wait until it has ended. Nothing was changed."))
            }
            Err(error) => Err(Problem::could_not(format!(
                "could not lock {}: {}",
                dir.path.display(),
                io::Error::from(error)
            ))),
        }
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.dir.path.join(NAME)
    }

    /// The journal, if there is one.
    ///
    /// # Errors
    /// If it cannot be read or trusted.
    pub fn load(&self) -> Result<Option<Journal>, Problem> {
        load(&self.dir, self.user)
    }

    /// Replaces the journal, and returns when it is on disk.
    ///
    /// # Errors
    /// Those of the system calls.
    pub fn save(&self, journal: &Journal) -> io::Result<()> {
        let sealed = Sealed { format: FORMAT, sha256: digest(journal)?, journal: journal.clone() };
        let gid = rustix::process::getegid().as_raw();
        let text = text(&sealed)?;
        self.clean()?;
        self.calls.replace(&self.dir, NAME, &State::File { text, mode: 0o600, uid: self.user, gid })
    }

    /// Removes the journal, and what a killed process left of a new one.
    ///
    /// # Errors
    /// Those of the system calls.
    pub fn remove(&self) -> io::Result<()> {
        self.clean()?;
        self.calls.remove(&self.dir, NAME)
    }

    /// Removes what a killed process left of a new journal.
    ///
    /// # Errors
    /// Those of the system calls.
    pub fn clean(&self) -> io::Result<()> {
        self.calls.remove(&self.dir, &new_name(NAME))
    }
}

impl Drop for Store<'_> {
    /// Closing would not do while a process that was just forked has the descriptor, until it executes its program.
    fn drop(&mut self) {
        let _ = flock(&self.dir.fd, FlockOperation::Unlock);
    }
}

/// Reads the journal without a lock: it is replaced as a whole, so one or the other is read.
///
/// # Errors
/// If it cannot be read or trusted.
pub fn peek(place: &Place) -> Result<Option<Journal>, Problem> {
    match open(place, &Missing::Absent)? {
        Some(dir) => load(&dir, place.user),
        None => Ok(None),
    }
}

fn open(place: &Place, missing: &Missing<'_>) -> Result<Option<Dir>, Problem> {
    let Some(path) = place.journal.to_str().filter(|path| path.starts_with('/')) else {
        return Err(Problem::wrong_request("the directory of the journal must be an absolute path in UTF-8"));
    };
    let Some(dir) = open_dir("/".as_ref(), path, place.user, missing)? else { return Ok(None) };
    let status = fstat(&dir.fd).map_err(|error| could_not(&dir, &error.into()))?;
    match status.st_uid == place.user && status.st_mode & 0o077 == 0 {
        true => Ok(Some(dir)),
        false => Err(Problem::wrong_request(format!(
            "the directory of the journal {} belongs to user {} with mode {:04o}, not to this user with mode 0700",
            dir.path.display(),
            status.st_uid,
            status.st_mode & 0o7777
        ))
        .hint("give it to this user with mode 0700, or remove it if it is empty. Nothing was changed.")),
    }
}

fn load(dir: &Dir, user: u32) -> Result<Option<Journal>, Problem> {
    let path = dir.path.join(NAME);
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = match openat(&dir.fd, NAME, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => return Err(refused(&path, "is a symbolic link")),
        Err(error) => return Err(could_not(dir, &error.into())),
    };
    let status = fstat(&file).map_err(|error| could_not(dir, &error.into()))?;
    if status.st_uid != user || status.st_mode & 0o077 != 0 || status.st_nlink != 1 {
        return Err(refused(&path, "is not a file of this user alone (mode 0600, one hard link)"));
    }
    let mut bytes = Vec::new();
    (&mut file).take(MOST_BYTES).read_to_end(&mut bytes).map_err(|error| could_not(dir, &error))?;
    checked(&bytes).map(Some).map_err(|why| {
        Problem::wrong_request(format!("the journal {} {why}", path.display())).hint(
            "it says what the host was like before; restore by hand what it lists, then remove it. \
             Nothing was changed.",
        )
    })
}

/// The journal in these bytes.
fn checked(bytes: &[u8]) -> Result<Journal, String> {
    #[derive(Deserialize)]
    struct Versioned {
        format: u32,
    }
    let damaged = || "is damaged or was cut off".to_owned();
    let Versioned { format } = serde_json::from_slice(bytes).map_err(|_| damaged())?;
    if format != FORMAT {
        return Err(format!("has the format {format}, and this pgdyno reads the format {FORMAT}"));
    }
    let sealed: Sealed = serde_json::from_slice(bytes).map_err(|_| damaged())?;
    let as_written = text(&sealed).is_ok_and(|text| text.as_bytes() == bytes);
    if !as_written || digest(&sealed.journal).is_ok_and(|digest| digest != sealed.sha256) {
        return Err("was changed: its checksum does not match".to_owned());
    }
    let strange = sealed.journal.steps.iter().find(|step| !may_name(step.kind, &step.path));
    match strange {
        Some(step) => Err(format!("names {}, which pgdyno never changes", step.path)),
        None => Ok(sealed.journal),
    }
}

fn may_name(kind: Kind, path: &str) -> bool {
    match kind {
        Kind::Value => names::is_value_path(path),
        Kind::File => contents::FILES.contains(&path),
        Kind::Directory => contents::FILES.iter().any(|file| file.starts_with(&format!("{path}/"))),
    }
}

fn text(sealed: &Sealed) -> io::Result<String> {
    let mut text = serde_json::to_string_pretty(sealed)?;
    text.push('\n');
    Ok(text)
}

fn digest(journal: &Journal) -> io::Result<String> {
    Ok(hex::encode(Sha256::digest(serde_json::to_vec(journal)?)))
}

fn could_not(dir: &Dir, error: &io::Error) -> Problem {
    Problem::could_not(format!("could not read the journal in {}: {error}", dir.path.display()))
}
