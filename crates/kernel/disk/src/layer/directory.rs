//! Open directories, as they were when they were read from the start.

use std::{
    ffi::OsString,
    os::{fd::OwnedFd, unix::ffi::OsStringExt},
    sync::{Arc, Mutex, PoisonError},
};

use fuser::{FileType, INodeNo};
use rustix::{fs::Dir, io::Result};

use crate::layer::attributes::file_type;

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) number: INodeNo,
    pub(crate) kind: FileType,
    pub(crate) name: OsString,
}

/// A directory that was opened, and its entries.
pub(crate) struct Directory {
    fd: OwnedFd,
    entries: Mutex<Arc<Vec<Listed>>>,
}

impl Directory {
    pub(crate) fn new(fd: OwnedFd) -> Self {
        Self { fd, entries: Mutex::default() }
    }

    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// The entries; read again when a reader starts at offset 0. A reader therefore misses no entry and sees none twice
    /// when other entries are created or removed meanwhile.
    ///
    /// # Errors
    /// Those of `getdents`.
    pub(crate) fn entries(&self, offset: u64) -> Result<Arc<Vec<Listed>>> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if offset == 0 {
            *entries = Arc::new(list(&self.fd)?);
        }
        Ok(Arc::clone(&entries))
    }
}

fn list(fd: &OwnedFd) -> Result<Vec<Listed>> {
    let entry = |entry: Result<rustix::fs::DirEntry>| {
        let entry = entry?;
        Ok(Listed {
            number: INodeNo(entry.ino()),
            kind: file_type(entry.file_type()),
            name: OsString::from_vec(entry.file_name().to_bytes().to_vec()),
        })
    };
    Dir::read_from(fd)?.map(entry).collect()
}
