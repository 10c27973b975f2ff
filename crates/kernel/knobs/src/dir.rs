//! An open directory.

use std::{io, os::fd::OwnedFd, path::PathBuf};

use rustix::{
    fs::{AtFlags, statat},
    io::Errno,
};

/// An open directory.
#[derive(Debug)]
pub struct Dir {
    /// Opened for reading.
    pub fd: OwnedFd,
    /// Where it is.
    pub path: PathBuf,
}

impl Dir {
    /// Whether something has this name.
    ///
    /// # Errors
    /// Those of `fstatat`.
    pub fn has(&self, name: &str) -> io::Result<bool> {
        match statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
