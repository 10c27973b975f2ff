//! All system calls that change something. Tests watch them, fail them, and end the process before each.

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
};

use rustix::{
    fs::{
        AtFlags, Gid, Mode, OFlags, Uid, chmodat, fchmod, fchown, fstatfs, mkdirat, openat, renameat,
        unlinkat,
    },
    io::Errno,
};

use crate::{dir::Dir, state::State};

/// `PROC_SUPER_MAGIC` and `SYSFS_MAGIC` of linux/magic.h.
const KERNEL_FILE_SYSTEMS: [u64; 2] = [0x9fa0, 0x6265_6572];

/// Who is asked before each call.
pub trait Watch {
    /// Called before a call that changes something at a path; an error takes its place.
    ///
    /// # Errors
    /// Those that a test plants.
    fn before(&self, call: &str, path: &Path) -> io::Result<()>;

    /// Called after a value was written, as the kernel would be.
    fn written(&self, _path: &Path) {}
}

/// Lets every call pass.
pub struct Unwatched;

impl Watch for Unwatched {
    fn before(&self, _call: &str, _path: &Path) -> io::Result<()> {
        Ok(())
    }
}

/// All system calls that change something.
pub struct Calls<'a>(pub &'a dyn Watch);

impl Calls<'_> {
    /// Writes a value with one call. With `kernel`, the file must be the kernel's.
    ///
    /// # Errors
    /// Those of the calls: EINVAL if the kernel refuses the value.
    pub fn write_value(&self, path: &Path, value: &str, kernel: bool) -> io::Result<()> {
        // A value of the kernel is replaced as a whole anyway; one in a tree that looks like one must be cut off.
        let cut = if kernel { OFlags::empty() } else { OFlags::TRUNC };
        let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY | cut;
        self.0.before("write value", path)?;
        let mut file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        if kernel && !KERNEL_FILE_SYSTEMS.contains(&(fstatfs(&file)?.f_type as u64)) {
            return Err(io::Error::other("it is not a file of the kernel"));
        }
        let line = format!("{value}\n");
        let written = file.write(line.as_bytes())?;
        self.0.written(path);
        match written == line.len() {
            true => Ok(()),
            false => Err(io::Error::other("the kernel took only a part of the value")),
        }
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// Those of the calls.
    pub fn make_dir(&self, parent: &Dir, name: &str, mode: u32) -> io::Result<()> {
        self.0.before("make directory", &parent.path.join(name))?;
        mkdirat(&parent.fd, name, Mode::from_raw_mode(mode))?;
        // Whatever the umask.
        chmodat(&parent.fd, name, Mode::from_raw_mode(mode), AtFlags::empty())?;
        self.sync(parent)
    }

    /// Replaces a file as a whole: it is there with all its content, mode and owner, or as before.
    ///
    /// # Errors
    /// Those of the calls. Only a temporary file may be left if it could not be removed either.
    pub fn replace(&self, dir: &Dir, name: &str, state: &State) -> io::Result<()> {
        let State::File { text, mode, uid, gid } = state else {
            return Err(io::Error::other("it is no state of a file"));
        };
        let new = new_name(name);
        let written = self.write_new(dir, &new, text, *mode, (*uid, *gid)).and_then(|()| {
            self.0.before("rename", &dir.path.join(name))?;
            Ok(renameat(&dir.fd, &new, &dir.fd, name)?)
        });
        if written.is_err() {
            // The first error is the one to report.
            let _ = self.remove(dir, &new);
        }
        written.and_then(|()| self.sync(dir))
    }

    fn write_new(&self, dir: &Dir, new: &str, text: &str, mode: u32, owner: (u32, u32)) -> io::Result<()> {
        let path = dir.path.join(new);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        self.0.before("create", &path)?;
        let mut file = File::from(openat(&dir.fd, new, flags, Mode::from_raw_mode(0o600))?);
        let half = text.len() / 2;
        for part in [&text.as_bytes()[..half], &text.as_bytes()[half..]] {
            self.0.before("write", &path)?;
            file.write_all(part)?;
        }
        self.0.before("give", &path)?;
        fchown(&file, Some(Uid::from_raw(owner.0)), Some(Gid::from_raw(owner.1)))?;
        // After the owner, whose change takes set-user-id bits away.
        fchmod(&file, Mode::from_raw_mode(mode))?;
        self.0.before("sync", &path)?;
        file.sync_all()
    }

    /// Removes a file; one that is not there is no error.
    ///
    /// # Errors
    /// Those of the calls.
    pub fn remove(&self, dir: &Dir, name: &str) -> io::Result<()> {
        if !dir.has(name)? {
            return Ok(());
        }
        self.0.before("remove", &dir.path.join(name))?;
        unlinkat(&dir.fd, name, AtFlags::empty())?;
        self.sync(dir)
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// Those of the calls: ENOTEMPTY if something is in it.
    pub fn remove_dir(&self, dir: &Dir, name: &str) -> io::Result<()> {
        self.0.before("remove directory", &dir.path.join(name))?;
        unlinkat(&dir.fd, name, AtFlags::REMOVEDIR)?;
        self.sync(dir)
    }

    fn sync(&self, dir: &Dir) -> io::Result<()> {
        self.0.before("sync directory", &dir.path)?;
        match rustix::fs::fsync(&dir.fd) {
            // A file system that cannot sync a directory has nothing to lose there.
            Err(Errno::INVAL) => Ok(()),
            synced => Ok(synced?),
        }
    }
}

/// Name of the file that is about to take the place of another. Programs that read directories of configuration take
/// no file of this name.
pub fn new_name(name: &str) -> String {
    format!(".{name}.pgdyno-new")
}
