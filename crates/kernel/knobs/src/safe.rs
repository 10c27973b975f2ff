//! Directories that nobody but root and this user can exchange for others.

use std::{
    collections::VecDeque,
    ffi::{OsStr, OsString},
    io,
    os::unix::ffi::OsStringExt,
    path::{Component, Path, PathBuf},
};

use pgdyno_core::problem::Problem;
use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat},
    io::Errno,
};

use crate::{calls::Calls, dir::Dir};

/// Symbolic links that are followed in one path, as by the kernel (path_resolution(7)).
const MOST_LINKS: usize = 40;

/// What is done with a directory that is missing.
pub enum Missing<'a> {
    /// The path is not there.
    Absent,
    /// It is made, the last one with this mode, those above it with 0755.
    Make(&'a Calls<'a>, u32),
}

/// Opens a directory below `start`, component by component. Links are followed only if they are root's or this user's;
/// an absolute one begins at `start` again. Every directory must be root's or this user's, and one that others may
/// write to must be sticky, as `/tmp` is.
///
/// # Errors
/// If a component is not such a directory, or cannot be opened or made.
pub fn open_dir(start: &Path, path: &str, user: u32, missing: &Missing<'_>) -> Result<Option<Dir>, Problem> {
    let mut walk = Walk { start, user, last: open_start(start, user)?, above: Vec::new(), links: 0 };
    let mut rest = parts(Path::new(path));
    while let Some(part) = rest.pop_front() {
        if part == ".." {
            walk.up();
            continue;
        }
        match walk.status(&part)? {
            Some(status) if FileType::from_raw_mode(status.st_mode) == FileType::Symlink => {
                let target = walk.follow(&part, &status)?;
                for part in parts(&target).into_iter().rev() {
                    rest.push_front(part);
                }
            }
            Some(_) => walk.enter(&part)?,
            None => match missing {
                Missing::Absent => return Ok(None),
                Missing::Make(calls, mode) => {
                    walk.make(calls, &part, if rest.is_empty() { *mode } else { 0o755 })?;
                }
            },
        }
    }
    Ok(Some(walk.last))
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let named = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        _ => None,
    };
    path.components().filter_map(named).collect()
}

fn open_start(start: &Path, user: u32) -> Result<Dir, Problem> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
    let fd = rustix::fs::open(start, flags, Mode::empty()).map_err(|error| could_not(start, error))?;
    let dir = Dir { fd, path: start.to_owned() };
    refuse_shared(&dir, user)?;
    Ok(dir)
}

struct Walk<'a> {
    start: &'a Path,
    user: u32,
    /// The present directory, and those above it, from the start down.
    last: Dir,
    above: Vec<Dir>,
    links: usize,
}

impl Walk<'_> {
    fn at(&self, part: &OsStr) -> PathBuf {
        self.last.path.join(part)
    }

    fn up(&mut self) {
        // Nothing is above the start.
        if let Some(dir) = self.above.pop() {
            self.last = dir;
        }
    }

    fn status(&self, part: &OsStr) -> Result<Option<Stat>, Problem> {
        match statat(&self.last.fd, part, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(status) => Ok(Some(status)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(could_not(&self.at(part), error)),
        }
    }

    /// The target of a link, from the present directory on, or from the start if it is absolute.
    fn follow(&mut self, part: &OsStr, status: &Stat) -> Result<PathBuf, Problem> {
        let at = self.at(part);
        self.links += 1;
        if status.st_uid != 0 && status.st_uid != self.user {
            return Err(refused(&at, &format!("is a symbolic link of user {}", status.st_uid)));
        }
        if self.links > MOST_LINKS {
            return Err(refused(&at, "is one of too many symbolic links"));
        }
        let target = readlinkat(&self.last.fd, part, Vec::new()).map_err(|error| could_not(&at, error))?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        if target.is_absolute() {
            self.above.truncate(1);
            self.up();
        }
        Ok(target)
    }

    fn enter(&mut self, part: &OsStr) -> Result<(), Problem> {
        let path = self.at(part);
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        let fd = openat(&self.last.fd, part, flags, Mode::empty()).map_err(|error| match error {
            Errno::NOTDIR | Errno::LOOP => refused(&path, "is not a directory"),
            error => could_not(&path, error),
        })?;
        let dir = Dir { fd, path };
        refuse_shared(&dir, self.user)?;
        self.above.push(std::mem::replace(&mut self.last, dir));
        Ok(())
    }

    fn make(&mut self, calls: &Calls<'_>, part: &OsStr, mode: u32) -> Result<(), Problem> {
        let path = self.at(part);
        let Some(name) = part.to_str() else { return Err(refused(&path, "is not a name in UTF-8")) };
        calls.make_dir(&self.last, name, mode).map_err(|error| {
            Problem::could_not(format!("could not make the directory {}: {error}", path.display())).hint(
                format!("the directory {} must be writable. Nothing was changed.", self.start.display()),
            )
        })?;
        self.enter(part)
    }
}

fn refuse_shared(dir: &Dir, user: u32) -> Result<(), Problem> {
    let status = fstat(&dir.fd).map_err(|error| could_not(&dir.path, error))?;
    if status.st_uid != 0 && status.st_uid != user {
        return Err(refused(&dir.path, &format!("belongs to user {}", status.st_uid)));
    }
    let (mode, sticky) = (status.st_mode, status.st_mode & 0o1000 != 0);
    let own_group = status.st_gid == 0 || status.st_gid == rustix::process::getegid().as_raw();
    let others = mode & 0o002 != 0 || (mode & 0o020 != 0 && !own_group);
    match others && !sticky {
        true => Err(refused(&dir.path, &format!("may be written by others (mode {:04o})", mode & 0o7777))),
        false => Ok(()),
    }
}

fn could_not(path: &Path, error: Errno) -> Problem {
    Problem::could_not(format!("could not open the directory {}: {}", path.display(), io::Error::from(error)))
}

/// A directory or file that somebody else could exchange.
pub fn refused(path: &Path, why: &str) -> Problem {
    Problem::wrong_request(format!("{} {why}, so what is written there could end up elsewhere", path.display()))
        .hint("only directories, links and files of root that nobody else may write to are used. Nothing was changed.")
}
