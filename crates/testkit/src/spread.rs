//! Directories of tests that make and remove many files.

use std::{
    fs::{self, File, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::Path,
};

use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
use tempfile::TempDir;

/// A temporary directory that all users may pass through, removed when it is dropped. Ext4 keeps what is in it apart
/// from what is in others.
///
/// Ext4 uses no inode again within minutes of its removal, and scans past all of these for every new file. It allocates
/// near the directory of the file, and makes directories near their parent, unless that is marked as the top of trees
/// that have nothing to do with each other: then their names decide. Tests make and remove clusters of a thousand files
/// each: near each other, that takes them four times as long. Other file systems need no mark, and refuse it.
#[derive(Debug)]
pub struct Spread {
    /// Removed first.
    own: TempDir,
    _top: TempDir,
}

impl Spread {
    /// Makes the directory.
    ///
    /// # Errors
    /// If a temporary directory cannot be made.
    pub fn make() -> io::Result<Self> {
        let top = tempfile::tempdir()?;
        fs::set_permissions(top.path(), Permissions::from_mode(0o755))?;
        if let Ok(dir) = File::open(top.path())
            && let Ok(flags) = ioctl_getflags(&dir)
        {
            let _ = ioctl_setflags(&dir, flags | IFlags::TOPDIR);
        }
        // A random name: the same name would be the same place. A short one, for the paths of sockets.
        let own = tempfile::Builder::new().prefix("").tempdir_in(top.path())?;
        fs::set_permissions(own.path(), Permissions::from_mode(0o755))?;
        Ok(Self { own, _top: top })
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        self.own.path()
    }
}
