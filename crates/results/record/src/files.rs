//! Atomic writes and the lock of a run directory.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::Path,
};

use pgdyno_core::problem::Problem;

/// The problem of a file that could not be written, with a hint for common reasons.
pub(crate) fn could_not_write(path: &Path, error: &io::Error) -> Problem {
    let problem = Problem::could_not(format!("could not write {}: {}", path.display(), reason(error)));
    match error.kind() {
        io::ErrorKind::StorageFull => {
            problem.hint("free some space, or choose another directory with --runs")
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            problem.hint("choose a writable directory with --runs")
        }
        _ => problem,
    }
}

/// The operating system's error message without the error number.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// Writes a file atomically, so that readers see either the old or the new content: temporary file, fsync, rename,
/// fsync of the directory. A symbolic link with that name is replaced, never followed.
///
/// # Errors
/// The error of the operating system; the old content is then unchanged.
pub fn write_atomically(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().ok_or_else(|| io::Error::other("no file name"))?.to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let temporary = path.with_file_name(name);
    let _ = fs::remove_file(&temporary);
    let written = write_new(&temporary, content).and_then(|()| rename_durably(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Renames a file and makes the new name durable.
pub(crate) fn rename_durably(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    match to.parent() {
        Some(parent) => sync_dir(parent),
        None => Ok(()),
    }
}

pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    File::open(path)?.sync_all()
}

/// Locks the directory for this process.
///
/// # Errors
/// The directory cannot be opened, or another process has locked it.
pub(crate) fn lock(path: &Path) -> Result<File, Problem> {
    let dir = File::open(path)
        .map_err(|e| Problem::could_not(format!("could not open {}: {}", path.display(), reason(&e))))?;
    match dir.try_lock() {
        Ok(()) => Ok(dir),
        Err(fs::TryLockError::WouldBlock) => Err(Problem::could_not(format!(
            "could not write {}: another pgdyno is writing to it",
            path.display()
        ))
        .hint("wait until it ends, or stop it")),
        // Some network file systems do not support locks; two processes are then not excluded.
        Err(fs::TryLockError::Error(_)) => Ok(dir),
    }
}
