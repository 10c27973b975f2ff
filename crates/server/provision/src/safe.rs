//! Directories and files that are made as one user and given to another, without following links that a third may have
//! put there.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use pgdyno_core::problem::Problem;
use rustix::{
    fs::{AtFlags, Gid, Mode, OFlags, Uid, fchmod, fchown},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use pgdyno_host::users::User;

/// Directory that pgdyno gave to a server, identified by more than its path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Absolute path.
    pub path: PathBuf,
    /// Whether pgdyno created it, or found it empty.
    pub made: bool,
    /// Device and inode, once it exists.
    pub identity: Option<(u64, u64)>,
}

impl Place {
    /// A directory that is yet to be created.
    pub fn planned(path: PathBuf) -> Self {
        Self { path, made: false, identity: None }
    }

    /// Creates the directory, or takes an empty one, restricts it to the server (mode 0700), and gives it to the
    /// server's user.
    ///
    /// # Errors
    /// If it cannot be created, is a symbolic link, is not empty, or belongs to another user.
    pub fn take(&mut self, what: &str, user: Option<&User>) -> Result<(), Problem> {
        let problem = |error: io::Error| {
            Problem::could_not(format!("could not make the {what} {}: {error}", self.path.display()))
        };
        make_parents(&self.path).map_err(problem)?;
        let made = match fs::DirBuilder::new().mode(0o700).create(&self.path) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(problem(error)),
        };
        let dir = open_dir(&self.path).map_err(|error| not_a_directory(what, &self.path, &error))?;
        let metadata = dir.metadata().map_err(problem)?;
        if !made {
            self.refuse_foreign(what, user, &metadata)?;
        }
        give(&dir, user, 0o700).map_err(problem)?;
        (self.made, self.identity) = (made, Some((metadata.dev(), metadata.ino())));
        Ok(())
    }

    fn refuse_foreign(
        &self,
        what: &str,
        user: Option<&User>,
        metadata: &fs::Metadata,
    ) -> Result<(), Problem> {
        let path = self.path.display();
        let empty = fs::read_dir(&self.path).map(|mut entries| entries.next().is_none());
        if !empty.unwrap_or(false) {
            return Err(Problem::wrong_request(format!("the {what} {path} is not empty and not ours"))
                .hint("name an empty or a new directory. Nothing was changed."));
        }
        let own = rustix::process::geteuid().as_raw();
        if metadata.uid() != own && user.is_none_or(|user| user.uid != metadata.uid()) {
            return Err(Problem::wrong_request(format!("the {what} {path} belongs to another user")));
        }
        Ok(())
    }

    /// Removes the directory with all its content, if it is still the one that was taken. A directory that was found
    /// empty is emptied and stays.
    ///
    /// # Errors
    /// If another directory is in its place, or something in it cannot be removed.
    pub fn remove(&self) -> io::Result<()> {
        let Some(identity) = self.identity else {
            // Only planned, or created just before a crash: then it is empty.
            let _ = fs::remove_dir(&self.path);
            return Ok(());
        };
        let metadata = match fs::symlink_metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if (metadata.dev(), metadata.ino()) != identity {
            return Err(io::Error::other("it is not the directory that pgdyno made"));
        }
        if self.made { fs::remove_dir_all(&self.path) } else { empty(&self.path) }
    }
}

fn empty(dir: &Path) -> io::Result<()> {
    fs::read_dir(dir)?.try_for_each(|entry| remove(&entry?.path()))
}

/// Removes a file, or a directory with its content; a missing path is no error.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => absent_is_fine(fs::remove_dir_all(path)),
        Ok(_) => absent_is_fine(fs::remove_file(path)),
        Err(error) => absent_is_fine(Err(error)),
    }
}

fn not_a_directory(what: &str, path: &Path, error: &io::Error) -> Problem {
    let path = path.display();
    match Errno::from_io_error(error) {
        Some(Errno::LOOP | Errno::NOTDIR) => {
            Problem::wrong_request(format!("the {what} {path} is a symbolic link or no directory"))
                .hint("name the directory itself. Nothing was changed.")
        }
        _ => Problem::could_not(format!("could not open the {what} {path}: {error}")),
    }
}

/// Opens a directory that is no symbolic link.
pub fn open_dir(path: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Sets mode and, if a user is named, owner through a descriptor, never through a path.
pub fn give(file: &File, user: Option<&User>, mode: u32) -> io::Result<()> {
    fchmod(file, Mode::from_raw_mode(mode))?;
    if let Some(user) = user {
        fchown(file, Some(Uid::from_raw(user.uid)), Some(Gid::from_raw(user.gid)))?;
    }
    Ok(())
}

/// Turns the error about a missing file into success.
pub fn absent_is_fine(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// Creates the missing directories above a path, which other users may pass through whatever the umask.
pub fn make_parents(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), make_open_dir)
}

/// Creates a directory and the missing ones above it, which other users may pass through whatever the umask.
pub fn make_open_dir(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    make_parents(dir)?;
    match fs::create_dir(dir) {
        Ok(()) => fs::set_permissions(dir, fs::Permissions::from_mode(0o755)),
        // Another process created it in the same instant.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Lets all users pass through a tree of directories and read its files. A directory is opened to its owner before it
/// is read.
pub fn make_traversable(dir: &Path) -> io::Result<()> {
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            make_traversable(&entry.path())?;
        } else if kind.is_file() {
            let mode = entry.metadata()?.permissions().mode();
            fs::set_permissions(entry.path(), fs::Permissions::from_mode(mode | 0o444))?;
        }
    }
    Ok(())
}

/// Writes a file atomically: it has its old or its new content, after a crash too. The directory must belong to the
/// user of pgdyno.
pub fn write_file(path: &Path, content: &[u8], mode: u32, owner: Option<&User>) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    let _ = fs::remove_file(&new);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(content)?;
    give(&file, owner, mode)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    open_dir(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}

/// Opens a log file to append to, creating it if missing, for the given user alone. The directory must belong to the
/// user of pgdyno.
pub fn open_log(path: &Path, owner: Option<&User>) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW.bits() as i32;
    let file = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(path)?;
    give(&file, owner, 0o600)?;
    Ok(file)
}

/// Opens a lock file that only its owner can open, creating it if missing; an own file that others could open is
/// restricted.
///
/// # Errors
/// If it cannot be opened, or is a symbolic link or not a plain file.
pub fn open_lock(path: &Path) -> io::Result<File> {
    // Without NONBLOCK the open would wait on a pipe that has no writer.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let mut options = OpenOptions::new();
    let file = options.create(true).truncate(false).write(true).mode(0o600).custom_flags(flags).open(path);
    let file = file.map_err(|error| link_or(error, "symbolic link"))?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a plain file"));
    }
    if metadata.mode() & 0o077 != 0 && metadata.uid() == rustix::process::geteuid().as_raw() {
        fchmod(&file, Mode::from_raw_mode(0o600))?;
    }
    Ok(file)
}

/// Replaces the error of an open that did not follow a link by one in words.
fn link_or(error: io::Error, what: &str) -> io::Error {
    match Errno::from_io_error(&error) {
        Some(Errno::LOOP | Errno::NOTDIR) => io::Error::other(format!("it is a {what}")),
        _ => error,
    }
}

/// Creates a private directory of the user of pgdyno, and the missing ones above it.
///
/// # Errors
/// If it cannot be created, is a symbolic link or not a directory, or belongs to another user.
pub fn make_own_dir(dir: &Path) -> io::Result<()> {
    make_parents(dir)?;
    if let Err(error) = fs::DirBuilder::new().mode(0o700).create(dir)
        && error.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(error);
    }
    own_dir(dir).map(drop)
}

fn own_dir(dir: &Path) -> io::Result<File> {
    let file = open_dir(dir).map_err(|error| link_or(error, "symbolic link or no directory"))?;
    let owner = file.metadata()?.uid();
    match owner == rustix::process::geteuid().as_raw() {
        true => Ok(file),
        false => Err(io::Error::other(format!("it belongs to user {owner}: work as that user"))),
    }
}

/// Restricts an own directory to its owner and the server's user, who may pass through it but not list it.
///
/// # Errors
/// If it belongs to another user, or its mode or group cannot be changed.
pub fn close_dir(dir: &Path, user: Option<&User>) -> io::Result<()> {
    let file = own_dir(dir)?;
    let Some(user) = user else { return Ok(fchmod(&file, Mode::from_raw_mode(0o700))?) };
    fchown(&file, None, Some(Gid::from_raw(user.gid)))?;
    Ok(fchmod(&file, Mode::from_raw_mode(0o710))?)
}

/// Restricts a plain file in an own directory to its owner; a missing file is no error.
///
/// # Errors
/// If it cannot be opened, or its mode or owner cannot be changed.
pub fn close_file(dir: &Path, name: &str, owner: Option<&User>) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(own_dir(dir)?, name, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        other => File::from(other?),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.nlink() != 1 {
        return Err(io::Error::other(format!("{name} is not a plain file")));
    }
    give(&file, owner, 0o600)
}

/// Appends a line to a plain file in a directory of the server's user, who might have put a link there.
pub fn append_line(dir: &Path, name: &str, line: &str) -> io::Result<()> {
    let dir = open_dir(dir)?;
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(&dir, name, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.nlink() != 1 {
        return Err(io::Error::other(format!("{name} is not a plain file")));
    }
    file.write_all(format!("\n{line}\n").as_bytes())?;
    file.sync_all()
}

/// Removes a file by name in a directory of the server's user.
pub fn remove_in(dir: &Path, name: &str) -> io::Result<()> {
    Ok(rustix::fs::unlinkat(open_dir(dir)?, name, AtFlags::empty())?)
}

/// The first directory on the way to a path, from the root on, whose mode does not let a user pass.
pub fn first_closed(path: &Path, user: &User) -> Option<PathBuf> {
    let mut dirs: Vec<&Path> = path.ancestors().collect();
    dirs.reverse();
    let closed = dirs.into_iter().find(|dir| {
        fs::metadata(dir).is_ok_and(|metadata| {
            let shift = match (metadata.uid() == user.uid, metadata.gid() == user.gid) {
                (true, _) => 6,
                (false, true) => 3,
                _ => 0,
            };
            metadata.is_dir() && (metadata.mode() >> shift) & 1 == 0
        })
    });
    closed.map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn temp() -> tempfile::TempDir {
        tempfile::tempdir().expect("a temporary directory can be made")
    }

    #[test]
    fn a_new_directory_is_taken_and_removed() {
        let root = temp();
        let mut place = Place::planned(root.path().join("a/b/data"));
        place.take("data directory", None).expect("it can be made");
        assert!(place.made);
        let mode = fs::metadata(&place.path).expect("it is there").mode();
        assert_eq!(mode & 0o777, 0o700);
        fs::write(place.path.join("x"), "x").expect("it can be written");
        place.remove().expect("it can be removed");
        assert!(!place.path.exists() && place.path.parent().is_some_and(Path::exists));
        place.remove().expect("twice does no harm");
    }

    #[test]
    fn an_empty_directory_is_taken_and_left_empty() {
        let root = temp();
        let mut place = Place::planned(root.path().to_owned());
        place.take("data directory", None).expect("it is empty");
        assert!(!place.made);
        fs::create_dir(place.path.join("sub")).expect("it can be made");
        place.remove().expect("it can be emptied");
        assert_eq!(fs::read_dir(root.path()).expect("it stays").count(), 0);
    }

    #[test]
    fn what_is_not_ours_is_refused_and_kept() {
        let root = temp();
        let full = root.path().join("full");
        fs::create_dir(&full).expect("it can be made");
        fs::write(full.join("x"), "x").expect("it can be written");
        let link = root.path().join("link");
        symlink(&full, &link).expect("a link can be made");
        let file = root.path().join("file");
        fs::write(&file, "").expect("it can be written");
        for (path, words) in
            [(&full, "not empty and not ours"), (&link, "symbolic link"), (&file, "symbolic link")]
        {
            let problem =
                Place::planned(path.clone()).take("data directory", None).expect_err("it is refused");
            assert!(problem.what.contains(words), "{}", problem.what);
        }
        assert!(full.join("x").exists());
    }

    #[test]
    fn another_directory_in_its_place_is_not_removed() {
        let root = temp();
        let mut place = Place::planned(root.path().join("data"));
        place.take("data directory", None).expect("it can be made");
        fs::rename(&place.path, root.path().join("moved")).expect("it can be moved");
        fs::create_dir(&place.path).expect("another can be made");
        assert!(place.remove().is_err());
        assert!(place.path.exists());
    }

    #[test]
    fn lines_are_appended_to_plain_files_only() {
        let root = temp();
        let outside = root.path().join("outside");
        fs::write(&outside, "").expect("it can be written");
        let dir = root.path().join("dir");
        fs::create_dir(&dir).expect("it can be made");
        symlink(&outside, dir.join("link")).expect("a link can be made");
        fs::hard_link(&outside, dir.join("hard")).expect("a link can be made");
        assert!(append_line(&dir, "link", "x").is_err());
        assert!(append_line(&dir, "hard", "x").is_err());
        fs::write(dir.join("plain"), "a").expect("it can be written");
        append_line(&dir, "plain", "b").expect("it is a plain file");
        assert_eq!(fs::read_to_string(dir.join("plain")).expect("it is there"), "a\nb\n");
        assert_eq!(fs::read_to_string(&outside).expect("it is there"), "");
    }

    #[test]
    fn a_directory_and_its_files_are_closed_to_others() {
        let root = temp();
        let (dir, link) = (root.path().join("a/b"), root.path().join("link"));
        make_own_dir(&dir).and_then(|()| make_own_dir(&dir)).expect("it can be made");
        let mode = |path: &Path| fs::metadata(path).expect("it is there").mode() & 0o777;
        assert_eq!((mode(&dir), mode(&root.path().join("a"))), (0o700, 0o755));
        // As older versions left it.
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).expect("it is ours");
        fs::write(dir.join("x"), "").expect("it can be written");
        fs::set_permissions(dir.join("x"), fs::Permissions::from_mode(0o644)).expect("it is ours");
        close_dir(&dir, None).and_then(|()| close_file(&dir, "x", None)).expect("they are ours");
        close_file(&dir, "missing", None).expect("it needs nothing");
        assert_eq!((mode(&dir), mode(&dir.join("x"))), (0o700, 0o600));
        let us = User {
            name: "us".into(),
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            home: "/".into(),
        };
        close_dir(&dir, Some(&us)).expect("it is ours");
        assert_eq!(mode(&dir), 0o710);
        symlink(&dir, &link).expect("a link can be made");
        symlink(dir.join("x"), dir.join("y")).expect("a link can be made");
        assert!(make_own_dir(&link).is_err() && close_dir(&link, None).is_err());
        assert!(close_file(&dir, "y", None).is_err());
    }

    #[test]
    fn a_closed_directory_is_named() {
        let root = temp();
        let dir = root.path().join("closed/open");
        fs::create_dir_all(&dir).expect("it can be made");
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
        fs::set_permissions(root.path().join("closed"), fs::Permissions::from_mode(0o700))
            .expect("it is ours");
        let stranger = User { name: "x".into(), uid: 4_000_000, gid: 4_000_000, home: "/".into() };
        assert_eq!(first_closed(&dir, &stranger), Some(root.path().join("closed")));
        assert_eq!(first_closed(Path::new("/usr/bin"), &stranger), None);
    }
}
