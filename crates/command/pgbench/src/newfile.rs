//! A file for results. It is created before the run, so that no run is lost to an unwritable file, and removed again if
//! nothing was written.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, ErrorKind, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// A result file. It is locked while it is open, so that no other run mistakes it for an abandoned one.
#[derive(Debug)]
pub struct NewFile {
    path: PathBuf,
    file: File,
    /// Whether anything was written.
    kept: bool,
}

impl NewFile {
    /// Creates the file. An existing empty file is reused unless a run has locked it: a killed run left it.
    ///
    /// # Errors
    /// The file cannot be created, or exists and is not empty.
    pub fn make(path: &Path) -> io::Result<Self> {
        let file = match File::create_new(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => abandoned(path).ok_or(error)?,
            made => made?,
        };
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        Ok(Self { path: path.to_owned(), file, kept: false })
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether something was written.
    pub fn holds_anything(&self) -> bool {
        self.kept
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// The write failed.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.kept = true;
        Ok(())
    }
}

/// Removes the file if nothing was written: it would only block its name for the next run.
impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.kept {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Opens an existing empty file, but no symbolic link to one.
fn abandoned(path: &Path) -> Option<File> {
    let named = fs::symlink_metadata(path).ok().filter(|named| named.is_file() && named.len() == 0)?;
    let file = OpenOptions::new().append(true).open(path).ok()?;
    let opened = file.metadata().ok()?;
    let same = (opened.dev(), opened.ino(), opened.len()) == (named.dev(), named.ino(), 0);
    same.then_some(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn refused(path: &Path) -> bool {
        NewFile::make(path).is_err_and(|error| error.kind() == ErrorKind::AlreadyExists)
    }

    #[test]
    fn a_file_to_which_nothing_was_written_is_gone_and_another_stays() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a.json");
        drop(NewFile::make(&path).expect("it can be made"));
        assert!(!path.exists());
        NewFile::make(&path).and_then(|mut file| file.write(b"{}\n")).expect("it can be written");
        assert_eq!(fs::read(&path).expect("it is there"), b"{}\n");
        assert!(refused(&path), "what is there is not written over");
        assert_eq!(fs::read(&path).expect("it is there"), b"{}\n");
    }

    #[test]
    fn an_empty_file_is_taken_unless_a_run_holds_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a.json");
        fs::write(&path, "").expect("it can be made");
        let mut held = NewFile::make(&path).expect("a run that was killed left it");
        assert!(refused(&path), "a running run holds it");
        held.write(b"[]").expect("it can be written");
        drop(held);
        assert_eq!(fs::read(&path).expect("it is there"), b"[]");
        let (empty, link) = (dir.path().join("empty"), dir.path().join("link"));
        fs::write(&empty, "").expect("it can be made");
        symlink(&empty, &link).expect("it can be made");
        assert!(refused(&link) && link.exists() && empty.exists(), "a link is not followed");
        assert!(refused(dir.path()), "a directory is no file");
    }

    #[test]
    fn a_disk_that_takes_nothing_leaves_nothing() {
        let full = OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a.json");
        drop(NewFile::make(&path).expect("it can be made"));
        fs::write(&path, "").expect("it can be made");
        let mut file = NewFile { path: path.clone(), file: full, kept: false };
        assert!(file.write(b"{}").is_err());
        drop(file);
        assert!(!path.exists());
    }
}
